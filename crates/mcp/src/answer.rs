//! What the client is answered: for models that read the text, and for programs that read the
//! structure. Some clients show a model only one of the two, so both say everything.

use std::path::Path;
use std::time::Duration;

use model::{RunResult, SessionId};
use serde_json::{Value, json};
use session::cut_bytes;
use session::view::Phase;
use store::{RunDir, Store};
use tools::{CallKind, MOST_BYTES, Retrieved, RunningCall, now_ms};

use crate::place::Place;

/// What comes of a call.
pub(crate) type Reply = Result<Answer, Refusal>;

/// A call is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Value,
    /// Whether none of the tasks has completed.
    pub(crate) is_error: bool,
}

/// A call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It cannot be what was meant: an unknown tool, or a field that is wrong.
    Arguments(String),
    /// It could not be carried out, for a reason that the model should know.
    Failed(String),
}

impl Answer {
    /// What agents say may be shown in a terminal, and is of no use to a model with escape
    /// sequences.
    fn new(text: &str, mut structured: Value, is_error: bool) -> Answer {
        clean(&mut structured);
        Answer { text: session::clean(text).into_owned(), structured, is_error }
    }
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = session::clean(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// All tasks of a call have ended.
pub(crate) fn of_tasks(call: &RunningCall) -> Answer {
    let mut text = call.answer();
    let is_told = matches!(call.kind(), CallKind::Subagent(_));
    let most_bytes = MOST_BYTES / call.results().count().max(1);
    for report in call.reports().filter(|report| is_told && is_long(&report.result, most_bytes)) {
        let result = &report.result;
        let rest = rest(&result.session_id, report.run_dir.as_deref());
        text.push_str(&format!("\n[the whole answer of {}: {rest}]", result.name));
    }
    let sessions = call.results().map(|result| {
        let mut session = ended(result);
        if is_told {
            session["output"] = json!(cut_bytes(&result.output, most_bytes));
        }
        session
    });
    let sessions: Vec<Value> = sessions.collect();
    let mut structured = json!({"status": "done", "sessions": sessions});
    let warnings: Vec<String> = call.warnings().collect();
    if !warnings.is_empty() {
        structured["warnings"] = json!(warnings);
    }
    Answer::new(&text, structured, call.is_failure())
}

/// Somebody who hears nothing meanwhile has waited long enough; the work goes on.
pub(crate) fn of_tasks_so_far(call: &RunningCall, waited: Duration) -> Answer {
    let mut text = format!(
        "Still running after {} s, and going on. get_subagent_output waits for the answer of a \
         session:",
        waited.as_secs()
    );
    let now = now_ms();
    let sessions = call.tasks().map(|task| {
        let view = task.view(now);
        let status = match task.phase {
            Phase::Queued => "queued",
            Phase::Running => "running",
            Phase::Ended => {
                let of_task = |result: &&RunResult| result.run_id == task.meta.run_id;
                call.results().find(of_task).map_or("ended", |result| result.status.word())
            }
        };
        let id = task.meta.session_id.as_str();
        text.push_str(&format!("\n- {} (session: {id}): {status}", view.name));
        if task.phase == Phase::Running {
            text.push_str(&format!(", {}", task.state.doing_words()));
        }
        let run_id = task.meta.run_id.as_str();
        json!({"name": view.name, "sessionId": id, "runId": run_id, "status": status})
    });
    let sessions: Vec<Value> = sessions.collect();
    Answer::new(&text, json!({"status": "running", "sessions": sessions}), false)
}

/// The same for somebody who waits for a session.
pub(crate) fn of_session_so_far(id: &str, words: &str, waited: Duration) -> Answer {
    let text = format!(
        "Still running after {} s: {words}. Call get_subagent_output again to wait on.",
        waited.as_secs()
    );
    let structured = json!({"sessionId": id, "status": "running", "output": text});
    Answer::new(&text, structured, false)
}

/// `get_subagent_output`.
pub(crate) fn of_output(retrieved: Retrieved, is_full: bool, store: &Store) -> Answer {
    of_session("output", retrieved, is_full, store)
}

/// `get_subagent_session`.
pub(crate) fn of_transcript(retrieved: Retrieved, is_full: bool, store: &Store) -> Answer {
    of_session("transcript", retrieved, is_full, store)
}

fn of_session(field: &str, retrieved: Retrieved, is_full: bool, store: &Store) -> Answer {
    let Retrieved { text, mut details } = retrieved;
    let id = details["sessionId"].as_str().and_then(|id| SessionId::parse(id).ok());
    let text = match id {
        Some(id) if !is_full && text.len() > MOST_BYTES => {
            let kept = cut_bytes(&text, MOST_BYTES);
            let run_dir = tools::latest_run(store, &id).ok().flatten();
            let rest = rest(&id, run_dir.as_ref().map(RunDir::path));
            format!("{kept}\n[the first {} of {} bytes; the rest: {rest}]", kept.len(), text.len())
        }
        _ => text,
    };
    without_lines(&mut details);
    details[field] = json!(text);
    Answer::new(&text, details, false)
}

/// `list_subagent_profiles`.
pub(crate) fn of_profiles(Retrieved { text, mut details }: Retrieved) -> Answer {
    if details.get("profiles").is_none() {
        details["profiles"] = json!({});
    }
    Answer::new(&text, details, false)
}

/// `background_agent`.
pub(crate) fn of_background(Retrieved { mut text, mut details }: Retrieved) -> Answer {
    if let Some(session) = details["sessionId"].as_str() {
        text.push_str(&format!("\nSession: {session}; get_subagent_output waits for its answer."));
    }
    cut_fields(&mut details);
    Answer::new(&text, details, false)
}

/// `background_agent_status`.
pub(crate) fn of_status(Retrieved { text, mut details }: Retrieved) -> Answer {
    let mut text = text;
    if text.len() > MOST_BYTES {
        let bytes = text.len();
        text.truncate(cut_bytes(&text, MOST_BYTES).len());
        text.push_str(&format!("\n[the first {MOST_BYTES} of {bytes} bytes"));
        let session = details["runs"][0]["sessionId"].as_str().unwrap_or_default();
        let run_dir = details["runs"][0]["paths"]["runDir"].as_str().map(Path::new);
        if let Ok(session) = SessionId::parse(session) {
            text.push_str(&format!("; the rest: {}", rest(&session, run_dir)));
        }
        text.push(']');
    }
    if let Some(runs) = details["runs"].as_array_mut() {
        runs.iter_mut().for_each(cut_fields);
    }
    Answer::new(&text, details, false)
}

/// Cuts what may be long in the record of a run.
fn cut_fields(run: &mut Value) {
    for field in ["finalText", "task"] {
        if let Some(long) = run.get(field).and_then(Value::as_str) {
            run[field] = json!(cut_bytes(long, MOST_BYTES));
        }
    }
}

/// How a task ended.
fn ended(result: &RunResult) -> Value {
    let mut session = json!({
        "name": result.name,
        "sessionId": result.session_id.as_str(),
        "runId": result.run_id.as_str(),
        "status": result.status.word(),
    });
    if let Some(error) = &result.error {
        session["error"] = json!(error);
    }
    session
}

fn is_long(result: &RunResult, most_bytes: usize) -> bool {
    result.output.trim().len() > most_bytes
}

/// Where the rest of a long answer is.
fn rest(session: &SessionId, run_dir: Option<&Path>) -> String {
    let place = Place::Session(session.clone());
    let file = run_dir.map(|dir| format!(", file {}", dir.join("result.json").display()));
    let file = file.unwrap_or_default();
    format!("get_subagent_output with full: true, resource {place}{file}")
}

/// How much a view may show is of no interest here.
fn without_lines(details: &mut Value) {
    if let Some(details) = details.as_object_mut() {
        details.remove("maxLines");
    }
}
