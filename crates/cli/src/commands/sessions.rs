//! `sessions`: what was run in this project.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use model::{Meta, Outcome, Record, RunResult, SessionId, Status};
use plan::Surroundings;
use serde::Serialize;
use session::{Facts, cut_chars};
use store::{Retention, RunDir, Store};

use crate::arguments::{SessionArguments, Sessions, SessionsCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn sessions(arguments: Sessions, printer: &Printer) -> Result<Exit, CommandError> {
    let surroundings = Surroundings::of_this_process()?;
    let store = Store::in_project(surroundings.project_root());
    match arguments.command {
        SessionsCommand::List { json } => list(&store, json, printer),
        SessionsCommand::Show(arguments) => show(&store, &arguments, printer),
        SessionsCommand::Output(arguments) => output(&store, &arguments, printer),
        SessionsCommand::Prune { keep, days, mebibytes, json } => {
            let retention = Retention {
                runs: keep,
                age: Duration::from_secs(days.saturating_mul(24 * 60 * 60)),
                bytes: mebibytes.saturating_mul(1024 * 1024),
            };
            prune(&store, &retention, json, printer)
        }
    }
}

/// One run of a session, as it stands.
struct KnownRun {
    dir: RunDir,
    meta: Meta,
    result: Option<RunResult>,
}

impl KnownRun {
    fn status(&self) -> Status {
        self.result.as_ref().map_or(Status::Running, |result| result.status)
    }

    fn error(&self) -> Option<String> {
        self.result.as_ref().and_then(|result| result.error.clone())
    }

    fn records(&self) -> Result<Vec<Record>, CommandError> {
        Ok(self.dir.events()?.collect())
    }

    /// The last text that the agent said, also if the run has not ended.
    fn output(&self) -> Result<String, CommandError> {
        match &self.result {
            Some(result) => Ok(result.output.clone()),
            None => Ok(Facts::replay(self.dir.events()?).output),
        }
    }
}

type KnownSessions = BTreeMap<SessionId, Vec<KnownRun>>;

/// All sessions. Runs that have lost their supervisor are ended on the way; runs that cannot be
/// read are a warning.
fn load(store: &Store, printer: &Printer) -> Result<KnownSessions, CommandError> {
    let mut sessions = KnownSessions::new();
    for dir in store.runs()? {
        let known = runner::recover(&dir).and_then(|recovery| Ok((dir.meta()?, recovery.result())));
        match known {
            Ok((meta, result)) => {
                let runs = sessions.entry(meta.session_id.clone()).or_default();
                runs.push(KnownRun { dir, meta, result });
            }
            // Somebody may have pruned it in the meantime.
            Err(_) if !dir.path().exists() => {}
            Err(error) => printer.warning(&error.to_string()),
        }
    }
    Ok(sessions)
}

fn find(
    store: &Store,
    id: &str,
    printer: &Printer,
) -> Result<(SessionId, Vec<KnownRun>), CommandError> {
    let mut sessions = load(store, printer)?;
    let matches: Vec<SessionId> = sessions
        .iter()
        .filter(|(session, runs)| {
            session.as_str().starts_with(id)
                || runs.iter().any(|run| run.meta.run_id.as_str().starts_with(id))
        })
        .map(|(session, _)| session.clone())
        .collect();
    match matches.as_slice() {
        [session] if !id.is_empty() => {
            let runs = sessions.remove(session).unwrap_or_default();
            Ok((session.clone(), runs))
        }
        [] => Err(CommandError::usage(format!(
            "Session {id:?} not found. The session may have expired or the ID is incorrect."
        ))
        .hint("`pi-subagents sessions list` lists the sessions of this project")),
        several => Err(CommandError::usage(format!("{id:?} is the beginning of several ids"))
            .hint(several.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", "))),
    }
}

fn list(store: &Store, json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    let mut sessions: Vec<_> = load(store, printer)?.into_iter().collect();
    sessions.sort_by_key(|(_, runs)| runs.last().map(|run| run.meta.run_id.clone()));
    if json {
        let sessions = sessions.iter().map(|(id, runs)| SessionReport::new(id, runs)).collect();
        printer.json(&SessionsDocument { sessions })?;
        return Ok(Exit::Completed);
    }
    if sessions.is_empty() {
        printer.note("No sessions in this project yet. `pi-subagents run \"...\"` starts one.");
    }
    for (id, runs) in &sessions {
        let Some(latest) = runs.last() else {
            continue;
        };
        let what = latest.error().unwrap_or(latest.output()?);
        let what = what.trim().lines().next().unwrap_or_default();
        printer.answer(&format!(
            "{id}  {:<9}  {:>8}  {}  {}",
            latest.status().word(),
            age(latest.meta.created_at),
            latest.meta.name,
            cut_chars(what, 80)
        ))?;
    }
    Ok(Exit::Completed)
}

fn show(
    store: &Store,
    arguments: &SessionArguments,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let (id, runs) = find(store, &arguments.id, printer)?;
    if arguments.json {
        printer.json(&SessionReport::new(&id, &runs))?;
        return Ok(Exit::Completed);
    }
    let mut parts = Vec::new();
    for run in &runs {
        parts.push((run.status(), run.error(), run.records()?));
    }
    printer.answer(&session::transcript(parts))?;
    Ok(Exit::Completed)
}

fn output(
    store: &Store,
    arguments: &SessionArguments,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let (id, runs) = find(store, &arguments.id, printer)?;
    if arguments.json {
        printer.json(&SessionReport::new(&id, &runs))?;
        return Ok(Exit::Completed);
    }
    let text = runs.last().map(KnownRun::output).transpose()?.unwrap_or_default();
    let is_silent = text.trim().is_empty();
    printer.answer(if is_silent { "(no text output from sub-agent)" } else { &text })?;
    Ok(Exit::Completed)
}

fn prune(
    store: &Store,
    retention: &Retention,
    json: bool,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let pruned = store.prune(retention, SystemTime::now())?;
    if json {
        let report =
            PruneReport { removed: pruned.removed, kept: pruned.kept, bytes: pruned.bytes };
        printer.json(&report)?;
    } else {
        printer.answer(&format!(
            "removed {} runs ({} KiB), kept {}",
            pruned.removed,
            pruned.bytes / 1024,
            pruned.kept
        ))?;
    }
    Ok(Exit::Completed)
}

/// How long ago, in the largest unit that fits.
fn age(created_at: u64) -> String {
    let created = SystemTime::UNIX_EPOCH + Duration::from_millis(created_at);
    let seconds = created.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[derive(Serialize)]
struct SessionsDocument<'a> {
    sessions: Vec<SessionReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionReport<'a> {
    session_id: &'a str,
    name: &'a str,
    status: Status,
    runs: Vec<RunReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunReport<'a> {
    run_id: &'a str,
    status: Status,
    outcome: Option<Outcome>,
    error: Option<String>,
    output: String,
    created_at: u64,
    duration_ms: Option<u64>,
    run_dir: String,
}

impl<'a> SessionReport<'a> {
    fn new(id: &'a SessionId, runs: &'a [KnownRun]) -> SessionReport<'a> {
        let latest = runs.last();
        SessionReport {
            session_id: id.as_str(),
            name: latest.map_or("", |run| &run.meta.name),
            status: latest.map_or(Status::Running, KnownRun::status),
            runs: runs.iter().map(RunReport::from).collect(),
        }
    }
}

impl<'a> From<&'a KnownRun> for RunReport<'a> {
    fn from(run: &'a KnownRun) -> RunReport<'a> {
        RunReport {
            run_id: run.meta.run_id.as_str(),
            status: run.status(),
            outcome: run.result.as_ref().map(|result| result.outcome),
            error: run.error(),
            output: run.output().unwrap_or_default(),
            created_at: run.meta.created_at,
            duration_ms: run.result.as_ref().map(|result| result.duration_ms),
            run_dir: run.dir.path().display().to_string(),
        }
    }
}

#[derive(Serialize)]
struct PruneReport {
    removed: usize,
    kept: usize,
    bytes: u64,
}
