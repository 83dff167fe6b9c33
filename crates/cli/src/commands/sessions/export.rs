//! `sessions export`: a session as one document.

use model::{AgentKind, Outcome, Record, Status, Usage};
use serde::Serialize;
use session::{ExportedRun, ExportedSession};
use store::Store;

use super::find;
use crate::arguments::{Export, ExportFormat};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn export(
    store: &Store,
    arguments: &Export,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let exported = find(store, &arguments.id)?.export()?;
    let text = match arguments.format {
        ExportFormat::Md => exported.to_markdown(),
        ExportFormat::Html => exported.to_html(),
        ExportFormat::Json => {
            let json = serde_json::to_string_pretty(&Document::of(&exported))
                .map_err(|error| CommandError::failure(error.to_string()))?;
            format!("{}\n", session::escape_json(&json))
        }
    };
    match &arguments.output {
        None => printer.script(&text)?,
        Some(path) => {
            store::write_export(path, &text)?;
            printer.note(&format!("Wrote session {} to {}", exported.id, path.display()));
        }
    }
    Ok(Exit::Completed)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
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
    agent: Option<AgentKind>,
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

impl<'a> Document<'a> {
    fn of(session: &'a ExportedSession) -> Document<'a> {
        Document {
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
            agent: run.meta.agent,
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
