//! `get_subagent_output`, `get_subagent_session` and `list_subagent_profiles`.

use model::{RunId, SessionId, Status};
use plan::{Definitions, Surroundings, definition_summary};
use serde::Deserialize;
use serde_json::{Value, json};
use session::is_message;
use store::{RunDir, Store, StoreError};

use crate::session_book::without_absent;
use crate::sessions::{KnownRun, Session, SessionError};
use crate::{Retrieved, SessionBook, list_profiles};

/// `get_subagent_output`: the answer of the latest run. `max_lines` is what a view may show.
pub fn session_output(
    store: &Store,
    book: Option<&SessionBook>,
    id: &str,
    max_lines: usize,
) -> Result<Retrieved, SessionError> {
    match find(store, book, id)? {
        Found::Remembered(session, book) => book.output(session.as_str(), max_lines),
        Found::Kept(session, latest) => {
            let latest_result = session.runs[latest].result.as_ref();
            let details = without_absent(json!({
                "sessionId": session.id.as_str(),
                "status": session.status().word(),
                "error": session.runs[latest].error(),
                "value": latest_result.and_then(|result| result.value.as_ref()),
                "check": latest_result.and_then(|result| result.check.as_ref()),
                "taskName": session.runs[latest].meta.name,
                "runCount": session.runs.len(),
                "maxLines": max_lines,
            }));
            Ok(Retrieved { text: session.output(), details })
        }
    }
}

/// `get_subagent_session`: the conversation of all runs. `max_lines` is what a view may show.
pub fn session_transcript(
    store: &Store,
    book: Option<&SessionBook>,
    id: &str,
    max_lines: usize,
) -> Result<Retrieved, SessionError> {
    let (session, latest) = match find(store, book, id)? {
        Found::Remembered(session, book) => {
            return book.transcript(session.as_str(), max_lines);
        }
        Found::Kept(session, latest) => (session, latest),
    };
    let events = session.runs.iter().filter_map(|run| run.dir.events().ok()).flatten();
    let messages = events.filter(|record| is_message(&record.event)).count();
    let latest = &session.runs[latest];
    let exit_code = latest.result.as_ref().and_then(|result| result.exit_code);
    let answered = latest.result.as_ref().and_then(|result| result.model.as_deref());
    let details = without_absent(json!({
        "sessionId": session.id.as_str(),
        "status": latest.status().word(),
        "taskName": latest.meta.name,
        "messageCount": messages,
        // A failed run that was never started, or that a signal ended, has none of its own.
        "exitCode": exit_code.or((latest.status() == Status::Error).then_some(1)),
        "model": answered.or(latest.meta.model.as_deref()),
        "runCount": session.runs.len(),
        "maxLines": max_lines,
    }));
    Ok(Retrieved { text: session.transcript(), details })
}

/// The session with this id, without reading anything else.
pub fn load_session(store: &Store, id: &SessionId) -> Result<Session, SessionError> {
    let runs = runs_of(store, id)?;
    if runs.is_empty() {
        return Err(SessionError::NotFound(id.to_string()));
    }
    Ok(Session { id: id.clone(), runs })
}

/// The run with this id.
pub fn load_run(store: &Store, id: &RunId) -> Result<KnownRun, StoreError> {
    KnownRun::read(RunDir::open(&store.path().join(id.as_str()))?)
}

/// The runs of a session that have not ended, of any program.
pub fn running_runs(store: &Store, id: &SessionId) -> Result<Vec<RunDir>, StoreError> {
    let running = runs_of(store, id)?.into_iter().filter(|run| run.result.is_none());
    Ok(running.map(|run| run.dir).collect())
}

/// The latest run of a session, if the store knows it.
pub fn latest_run(store: &Store, id: &SessionId) -> Result<Option<RunDir>, StoreError> {
    Ok(runs_of(store, id)?.pop().map(|run| run.dir))
}

/// `list_subagent_profiles`: a line for each.
pub fn profiles_answer(profiles: &Definitions, surroundings: &Surroundings) -> Retrieved {
    let summaries =
        profiles.iter().map(|profile| (profile.name.clone(), definition_summary(profile).into()));
    let summaries: serde_json::Map<String, Value> = summaries.collect();
    let mut details = json!({"count": summaries.len()});
    if !summaries.is_empty() {
        details["profiles"] = Value::Object(summaries);
    }
    Retrieved { text: list_profiles(profiles, surroundings), details }
}

enum Found<'a> {
    /// The store has it; the index is that of its latest run.
    Kept(Session, usize),
    /// Only the book has it, or its runs are the same.
    Remembered(SessionId, &'a SessionBook),
}

/// Finds out where the latest run is known. Another program can have continued a session in the store, and
/// a session of the book can be gone from the store, or have never been in it.
fn find<'a>(
    store: &Store,
    book: Option<&'a SessionBook>,
    id: &str,
) -> Result<Found<'a>, SessionError> {
    let not_found = || SessionError::NotFound(id.to_owned());
    let parsed = session_id(store, id).ok_or_else(not_found)?;
    let book = book.filter(|book| book.knows(parsed.as_str()));
    let runs = runs_of(store, &parsed)?;
    match (runs.last(), book) {
        (None, None) => Err(not_found()),
        (Some(latest), Some(book)) if book.knows_run(&latest.meta.run_id) => {
            Ok(Found::Remembered(parsed, book))
        }
        (None, Some(book)) => Ok(Found::Remembered(parsed, book)),
        (Some(_), _) => {
            let latest = runs.len() - 1;
            Ok(Found::Kept(Session { id: parsed, runs }, latest))
        }
    }
}

/// The session with this id, or that of the run with this id. Only a whole id counts: the beginning of one
/// could be that of another session.
pub(crate) fn session_id(store: &Store, id: &str) -> Option<SessionId> {
    let of_run = || session_of(&store.run(&RunId::parse(id).ok()?)?);
    SessionId::parse(id).ok().or_else(of_run)
}

/// The session of a run, without reading anything else of it. Nothing if it cannot be read, or was
/// removed meanwhile.
pub fn session_of(dir: &RunDir) -> Option<SessionId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct SessionOnly {
        session_id: SessionId,
    }
    dir.meta_as::<SessionOnly>().ok().map(|meta| meta.session_id)
}

/// The runs of one session, oldest first.
fn runs_of(store: &Store, session: &SessionId) -> Result<Vec<KnownRun>, StoreError> {
    let of_session =
        store.runs()?.into_iter().filter(|dir| session_of(dir).as_ref() == Some(session));
    let (mut runs, mut problem) = (Vec::new(), None);
    for dir in of_session {
        match KnownRun::read(dir) {
            Ok(run) => runs.push(run),
            Err(error) => problem = Some(error),
        }
    }
    match problem {
        // A run that cannot be read does not hide the others.
        Some(error) if runs.is_empty() => Err(error),
        _ => Ok(runs),
    }
}
