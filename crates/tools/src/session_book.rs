//! The sessions of one caller in memory, for answers about runs that are not in the store, or not any
//! more.
//!
//! Nothing here reads a file or a clock. A caller that keeps a log gets its book back from the log.

mod catch_up;
mod entry;
#[cfg(test)]
mod restore_tests;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use model::{Access, Event, Meta, Record, RunId, RunResult, SessionId, Status};
use serde_json::{Value, json};
use session::{Facts, PastRun};

pub(crate) use self::entry::without_absent;
use crate::SessionError;
use crate::sessions::answer;

/// The kind of the log entry for a run that begins, and for a run that has ended.
pub const SESSION_ENTRY: &str = "pi-subagents";

/// The latest sessions, their latest runs, and the latest messages of those.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionBook {
    /// In the order in which they were added; none is without runs.
    sessions: Vec<BookSession>,
}

/// What the book keeps of a run's plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StartedRun {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub name: String,
    /// The task, without files and earlier runs.
    pub prompt: String,
    pub cwd: PathBuf,
    pub profile: Option<String>,
    pub model: Option<String>,
    /// What the agent could change.
    pub access: Access,
    /// In milliseconds since 1970.
    pub started_at: u64,
}

/// The answer of a tool: a text for the model, and details for views and programs.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Retrieved {
    pub text: String,
    pub details: Value,
}

impl SessionBook {
    /// How many sessions are kept, unless more are running.
    pub const MOST_SESSIONS: usize = 32;
    /// How many runs of a session are kept.
    pub const MOST_RUNS: usize = 10;
    /// How many messages of a run are kept. Tool calls belong to the message that made them.
    pub const MOST_MESSAGES: usize = 500;

    /// Adds a run that begins. If it is known, it begins anew.
    pub fn start(&mut self, run: StartedRun) {
        self.put(BookRun::new(run));
    }

    /// Adds an event of a run, unless the book has dropped the run.
    pub fn apply(&mut self, run: &RunId, record: &Record) {
        if let Some(run) = self.run_mut(run) {
            run.apply(record);
        }
    }

    /// Adds how a run ended.
    pub fn end(&mut self, run: &RunId, result: &RunResult) {
        if let Some(run) = self.run_mut(run) {
            run.end(result);
        }
    }

    /// `get_subagent_output`: the answer of the latest run. `max_lines` is what a view may show.
    pub fn output(&self, session: &str, max_lines: usize) -> Result<Retrieved, SessionError> {
        let (session, latest) = self.find(session)?;
        let details = without_absent(json!({
            "sessionId": session.id.as_str(),
            "status": latest.status.word(),
            "error": latest.facts.error,
            "taskName": latest.started.name,
            "runCount": session.runs.len(),
            "maxLines": max_lines,
        }));
        Ok(Retrieved { text: answer(&latest.facts.output).to_owned(), details })
    }

    /// `get_subagent_session`: the conversation of all runs. `max_lines` is what a view may show.
    pub fn transcript(&self, session: &str, max_lines: usize) -> Result<Retrieved, SessionError> {
        let (session, latest) = self.find(session)?;
        let messages: usize = session.runs.iter().map(BookRun::message_count).sum();
        let details = without_absent(json!({
            "sessionId": session.id.as_str(),
            "status": latest.status.word(),
            "taskName": latest.started.name,
            "messageCount": messages,
            "exitCode": latest.exit_code(),
            "model": latest.model(),
            "runCount": session.runs.len(),
            "maxLines": max_lines,
        }));
        let runs =
            session.runs.iter().map(|run| (run.status, run.facts.error.clone(), run.records()));
        Ok(Retrieved { text: session::transcript(runs.collect()), details })
    }

    /// Whether the book has this session.
    pub fn knows(&self, session: &str) -> bool {
        self.find(session).is_ok()
    }

    /// Whether the book has this run.
    pub fn knows_run(&self, run: &RunId) -> bool {
        self.runs().any(|known| known.run_id() == run)
    }

    /// Whether a run of the session has not ended.
    pub fn is_running(&self, session: &str) -> bool {
        self.find(session).is_ok_and(|(session, _)| session.is_running())
    }

    /// The prompt for an agent that continues the session.
    pub fn resume_prompt(&self, session: &str, prompt: &str) -> Result<String, SessionError> {
        let (session, _) = self.find(session)?;
        let runs = session.runs.iter().map(|run| PastRun {
            status: run.status,
            error: run.facts.error.clone(),
            prompt: Some(run.started.prompt.clone()),
            records: run.records(),
        });
        Ok(session::continued(&session::resume_transcript(runs.collect()), prompt))
    }

    /// What the latest agent of the session could change.
    pub(crate) fn access(&self, session: &str) -> Option<Access> {
        let (session, _) = self.find(session).ok()?;
        session.runs.back().map(|run| run.started.access)
    }

    /// The log entry for a run.
    pub fn to_entry(&self, run: &RunId) -> Option<Value> {
        self.runs().find(|known| known.started.run_id == *run).map(BookRun::to_entry)
    }

    /// Reads the entries of a log. Of several entries about a run the last counts; what is not an entry is
    /// ignored. A run without an end in the log was interrupted.
    pub fn restore<'a>(entries: impl IntoIterator<Item = &'a Value>) -> SessionBook {
        let mut runs: Vec<BookRun> = Vec::new();
        let mut positions = HashMap::new();
        let entries = entries.into_iter().enumerate();
        for run in entries.filter_map(|(index, entry)| BookRun::from_entry(entry, index)) {
            let position = *positions.entry(run.started.run_id.clone()).or_insert(runs.len());
            match runs.get_mut(position) {
                Some(known) => *known = run,
                None => runs.push(run),
            }
        }
        let mut book = SessionBook::default();
        for run in runs {
            book.put(run);
        }
        book
    }

    fn put(&mut self, run: BookRun) {
        if let Some(known) = self.run_mut(&run.started.run_id)
            && known.started.session_id == run.started.session_id
        {
            *known = run;
            return;
        }
        self.forget(&run.started.run_id);
        let id = run.started.session_id.clone();
        match self.sessions.iter_mut().find(|session| session.id == id) {
            Some(session) => {
                session.runs.push_back(run);
                if session.runs.len() > SessionBook::MOST_RUNS {
                    session.runs.pop_front();
                }
            }
            None => {
                self.make_room();
                self.sessions.push(BookSession { id, runs: VecDeque::from([run]) });
            }
        }
    }

    /// Removes a run that has moved to another session.
    fn forget(&mut self, run: &RunId) {
        for session in &mut self.sessions {
            session.runs.retain(|known| known.started.run_id != *run);
        }
        self.sessions.retain(|session| !session.runs.is_empty());
    }

    fn make_room(&mut self) {
        while self.sessions.len() >= SessionBook::MOST_SESSIONS {
            let candidates = self.sessions.iter().enumerate();
            let oldest = candidates
                .filter(|(_, session)| !session.is_running())
                .min_by_key(|(_, session)| session.started_at())
                .map(|(position, _)| position);
            let Some(oldest) = oldest else {
                return;
            };
            self.sessions.remove(oldest);
        }
    }

    fn find(&self, session: &str) -> Result<(&BookSession, &BookRun), SessionError> {
        let found = self.sessions.iter().find(|known| known.id.as_str() == session);
        found
            .and_then(|session| Some((session, session.runs.back()?)))
            .ok_or_else(|| SessionError::NotFound(session.to_owned()))
    }

    fn runs(&self) -> impl Iterator<Item = &BookRun> {
        self.sessions.iter().flat_map(|session| &session.runs)
    }

    fn run_mut(&mut self, run: &RunId) -> Option<&mut BookRun> {
        let mut runs = self.sessions.iter_mut().flat_map(|session| &mut session.runs);
        runs.find(|known| known.started.run_id == *run)
    }
}

impl StartedRun {
    /// The run that is described so.
    pub fn of(meta: &Meta) -> StartedRun {
        StartedRun {
            run_id: meta.run_id.clone(),
            session_id: meta.session_id.clone(),
            name: meta.name.clone(),
            prompt: meta.task.clone().unwrap_or_default(),
            cwd: meta.cwd.clone(),
            profile: meta.profile.clone(),
            model: meta.model.clone(),
            access: meta.access,
            started_at: meta.created_at,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct BookSession {
    id: SessionId,
    /// Oldest first, and at least one.
    runs: VecDeque<BookRun>,
}

impl BookSession {
    fn is_running(&self) -> bool {
        self.runs.iter().any(|run| run.status == Status::Running)
    }

    fn started_at(&self) -> u64 {
        self.runs.front().map_or(0, |run| run.started.started_at)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct BookRun {
    started: StartedRun,
    /// Apart from the facts, because a run that comes from a log entry has no terminal event.
    status: Status,
    facts: Facts,
    /// The conversation, abridged, oldest first.
    messages: VecDeque<Event>,
    /// Whether the log has its beginning and not its end.
    is_cut_off: bool,
}

impl BookRun {
    /// Tool calls do not count as messages, but need a limit, too.
    const MOST_EVENTS: usize = 2 * SessionBook::MOST_MESSAGES;

    fn new(started: StartedRun) -> BookRun {
        BookRun {
            started,
            status: Status::Running,
            facts: Facts::default(),
            messages: VecDeque::new(),
            is_cut_off: false,
        }
    }

    fn run_id(&self) -> &RunId {
        &self.started.run_id
    }

    fn apply(&mut self, record: &Record) {
        self.facts.apply(record);
        if let Event::RunEnded { outcome, .. } = record.event {
            self.status = outcome.status();
        }
        self.push(&record.event);
    }

    fn push(&mut self, event: &Event) {
        let Some(mut event) = session::abridged(event) else {
            return;
        };
        if let Event::UserMessage { text } = &mut event
            && !self.messages.iter().any(is_users)
        {
            // The first message also has files and earlier runs, which can have any length and which no
            // transcript shows.
            text.clone_from(&self.started.prompt);
        }
        self.messages.push_back(event);
        while self.message_count() > SessionBook::MOST_MESSAGES
            || self.messages.len() > BookRun::MOST_EVENTS
        {
            self.drop_oldest();
        }
    }

    /// The first message of the user stays, because the next one would be taken for it.
    fn drop_oldest(&mut self) {
        let oldest = usize::from(self.messages.front().is_some_and(is_users));
        let is_message = self.messages.remove(oldest).is_some_and(|event| !is_call(&event));
        // Calls go with the message that made them.
        while is_message && self.messages.get(oldest).is_some_and(is_call) {
            self.messages.remove(oldest);
        }
    }

    fn end(&mut self, result: &RunResult) {
        self.status = result.status;
        self.facts.error.clone_from(&result.error);
        self.facts.exit_code = result.exit_code;
        self.facts.stop_reason.clone_from(&result.stop_reason);
        if result.model.is_some() {
            self.facts.model.clone_from(&result.model);
        }
        self.facts.output.clone_from(&result.output);
    }

    fn message_count(&self) -> usize {
        self.messages.iter().filter(|event| !is_call(event)).count()
    }

    /// A failed run that was never started, or that a signal ended, has no exit code of its own.
    fn exit_code(&self) -> Option<i32> {
        self.facts.exit_code.or_else(|| (self.status == Status::Error).then_some(1))
    }

    /// The model that answered, or else the one that was asked for.
    fn model(&self) -> Option<&str> {
        self.facts.model.as_deref().or(self.started.model.as_deref())
    }

    fn records(&self) -> Vec<Record> {
        let events = self.messages.iter().cloned();
        (1..).zip(events).map(|(seq, event)| Record { seq, at: 0, event }).collect()
    }
}

fn is_users(event: &Event) -> bool {
    matches!(event, Event::UserMessage { .. })
}

fn is_call(event: &Event) -> bool {
    matches!(event, Event::ToolCall { .. })
}
