//! `sessions export`: sessions as one document.

use model::{AgentKind, Changes, Outcome, Record, Status, Usage};
use serde::Serialize;
use session::{ExportedRun, ExportedSession, LARGEST_DIFF, ShownDiff};
use store::{RunDir, Store};
use tools::{ChangesError, RunChanges, RunNames};

use crate::arguments::{Export, ExportFormat};
use crate::browser;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn export(
    store: &Store,
    arguments: &Export,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let format = format(arguments)?;
    let names = RunNames::load(store)?;
    let mut exported: Vec<ExportedSession> = Vec::new();
    for word in &arguments.ids {
        for named in names.sessions(word)? {
            if exported.iter().all(|other| other.id != named.session.id) {
                exported.push(named.session.export());
            }
        }
    }
    let text = match format {
        ExportFormat::Md => session::to_markdown(&exported),
        ExportFormat::Html => {
            add_diffs(store, &mut exported, printer);
            session::to_html(&exported)
        }
        ExportFormat::Json => json(&exported)?,
    };
    let path = match &arguments.output {
        None if arguments.open => store::write_temporary_export("report.html", &text)?,
        None => {
            printer.script(&text)?;
            return Ok(Exit::Completed);
        }
        Some(path) => {
            store::write_export(path, &text)?;
            path.clone()
        }
    };
    let what = match exported.as_slice() {
        [only] => format!("session {}", only.id),
        several => format!("{} sessions", several.len()),
    };
    printer.note(&format!("Wrote {what} to {}", path.display()));
    if arguments.open {
        browser::open(&path)?;
    }
    Ok(Exit::Completed)
}

/// Reads what the runs changed. A page without the diff of one run is better than none.
fn add_diffs(store: &Store, exported: &mut [ExportedSession], printer: &Printer) {
    for run in exported.iter_mut().flat_map(|session| &mut session.runs) {
        let changes = run.result.as_ref().and_then(|result| result.changes.as_deref());
        let dir = store.run(&run.meta.run_id);
        let Some(dir) = dir.filter(|_| changes.is_some_and(Changes::has_diff)) else { continue };
        match diff(dir) {
            Ok(diff) => run.diff = Some(ShownDiff::new(&diff, LARGEST_DIFF)),
            Err(error) => printer.warning(&format!(
                "The page does not show what \"{}\" changed: {error}",
                run.meta.name
            )),
        }
    }
}

fn diff(dir: RunDir) -> Result<Vec<u8>, ChangesError> {
    RunChanges::read(dir)?.open()?.diff()
}

/// What is opened is a page, also if no format is named.
fn format(arguments: &Export) -> Result<ExportFormat, CommandError> {
    match (arguments.format, arguments.open) {
        (Some(ExportFormat::Html) | None, true) => Ok(ExportFormat::Html),
        (Some(_), true) => Err(CommandError::usage(
            "`--open` shows a page, and `--format` asks for another format",
        )
        .hint("leave out `--format`, or `--open`")),
        (format, false) => Ok(format.unwrap_or(ExportFormat::Md)),
    }
}

/// One session, or a list of several.
fn json(exported: &[ExportedSession]) -> Result<String, CommandError> {
    let json = match exported {
        [only] => serde_json::to_string_pretty(&SessionDocument::of(only)),
        several => serde_json::to_string_pretty(&Document {
            sessions: several.iter().map(SessionDocument::of).collect(),
        }),
    };
    let json = json.map_err(|error| CommandError::failure(error.to_string()))?;
    Ok(format!("{}\n", session::escape_json(&json)))
}

#[derive(Serialize)]
struct Document<'a> {
    sessions: Vec<SessionDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionDocument<'a> {
    session_id: &'a str,
    name: &'a str,
    status: Status,
    usage: Usage,
    runs: Vec<RunDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunDocument<'a> {
    run_id: &'a str,
    name: &'a str,
    status: Status,
    outcome: Option<Outcome>,
    error: Option<&'a str>,
    agent: Option<&'a AgentKind>,
    model: Option<&'a str>,
    profile: Option<&'a str>,
    preset: Option<&'a str>,
    cwd: String,
    /// Milliseconds since 1970.
    created_at: u64,
    duration_ms: Option<u64>,
    usage: Option<Usage>,
    tool_calls: Option<u64>,
    warnings: &'a [String],
    prompt: &'a str,
    output: &'a str,
    events: &'a [Record],
}

impl<'a> SessionDocument<'a> {
    fn of(session: &'a ExportedSession) -> SessionDocument<'a> {
        SessionDocument {
            session_id: session.id.as_str(),
            name: session.name(),
            status: session.status(),
            usage: session.usage(),
            runs: session.runs.iter().map(RunDocument::of).collect(),
        }
    }
}

impl<'a> RunDocument<'a> {
    fn of(run: &'a ExportedRun) -> RunDocument<'a> {
        let result = run.result.as_ref();
        let answered = result.and_then(|result| result.model.as_deref());
        RunDocument {
            run_id: run.meta.run_id.as_str(),
            name: &run.meta.name,
            status: run.status(),
            outcome: result.map(|result| result.outcome),
            error: result.and_then(|result| result.error.as_deref()),
            agent: run.meta.agent.as_ref(),
            model: answered.or(run.meta.model.as_deref()),
            profile: run.meta.profile.as_deref(),
            preset: run.meta.preset.as_deref(),
            cwd: run.meta.cwd.display().to_string(),
            created_at: run.meta.created_at,
            duration_ms: result.map(|result| result.duration_ms),
            usage: result.map(|result| result.usage),
            tool_calls: result.map(|result| result.tool_calls),
            warnings: result.map_or(&[], |result| &result.warnings),
            prompt: &run.asked,
            output: result.map_or("", |result| &result.output),
            events: &run.records,
        }
    }
}
