//! The answer to a call: a text for models, and a structure for programs. Some clients show a model only
//! one of the two, so that both say everything.

use std::path::Path;
use std::time::Duration;

use model::{RunResult, SessionId};
use serde_json::{Value, json};
use session::cut_bytes;
use session::view::Phase;
use store::{RunDir, Store};
use tools::{Retrieved, RunningCall, Tool, ToolAnswer, ToolError};

use crate::missing_keys;
use crate::resource_uri::ResourceUri;

/// The most bytes of an answer or a transcript that was asked for.
const MOST_BYTES: usize = 48 * 1024;

/// The end of a call.
pub(crate) type Reply = Result<Answer, Refusal>;

/// What a call is answered with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Value,
    /// Whether none of the tasks has completed.
    pub(crate) is_error: bool,
}

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The tool is unknown, or a field is wrong.
    Arguments(String),
    /// It could not be carried out, for a reason that the model should know.
    Failed(String),
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Refusal {
        let message = error.to_string();
        match error {
            ToolError::UnknownTool { .. } | ToolError::Argument(_) => Refusal::Arguments(message),
            _ => Refusal::Failed(message),
        }
    }
}

impl Answer {
    /// The answer to a call that runs no tasks.
    pub(crate) fn of_tool(answer: ToolAnswer, is_full: bool, store: &Store) -> Answer {
        let ToolAnswer { tool, retrieved, .. } = answer;
        match tool {
            Tool::Output => of_session("output", retrieved, is_full, store),
            Tool::Transcript => of_session("transcript", retrieved, is_full, store),
            Tool::Profiles => of_profiles(retrieved),
            Tool::Background => of_background(retrieved),
            Tool::Control => of_control(retrieved),
            Tool::Status => of_status(retrieved),
            Tool::Delegate | Tool::Subagent => {
                Answer::new(&retrieved.text, retrieved.details, false)
            }
        }
    }

    /// The answer to a call whose tasks have ended. The files of the user are in `agent_dir`.
    pub(crate) fn of_tasks(call: &RunningCall, agent_dir: &Path) -> Answer {
        let answers = call.answers(|report| {
            let rest = rest(&report.result.session_id, report.run_dir.as_deref());
            format!("the whole answer: {rest}")
        });
        let sessions = call.results().enumerate().map(|(index, result)| {
            let mut session = ended(result);
            if let Some(answer) = answers.get(index) {
                session["output"] = json!(answer.text);
                session["truncated"] = json!(answer.is_cut);
            }
            session
        });
        let sessions: Vec<Value> = sessions.collect();
        let mut structured = json!({"status": "done", "sessions": sessions});
        let mut text = call.answer(&answers);
        let mut warnings: Vec<String> = call.warnings().collect();
        if let Some(explanation) = missing_keys::explanation(call, agent_dir) {
            text.push_str(&format!("\nWarning: {explanation}"));
            warnings.push(explanation);
        }
        if !warnings.is_empty() {
            structured["warnings"] = json!(warnings);
        }
        Answer::new(&text, structured, call.is_failure())
    }

    /// The answer to a call whose tasks go on.
    pub(crate) fn of_tasks_so_far(call: &RunningCall, waited: Duration) -> Answer {
        let mut text = format!(
            "Still running after {} s, and going on. get_subagent_output waits for the answer of a \
             session:",
            waited.as_secs()
        );
        let sessions = call.tasks().iter().map(|task| {
            let shown = &task.shown;
            let status = match &task.report {
                Some(report) => report.result.status.word(),
                None if shown.phase == Phase::Queued => "queued",
                None => "running",
            };
            let (name, id) = (&shown.meta.name, shown.meta.session_id.as_str());
            text.push_str(&format!("\n- {name} (session: {id}): {status}"));
            let waiting = shown.state.facts.waiting.as_deref();
            if shown.phase == Phase::Running || waiting.is_some() {
                text.push_str(&format!(", {}", shown.state.doing_words()));
            }
            let run_id = shown.meta.run_id.as_str();
            let mut session =
                json!({"name": name, "sessionId": id, "runId": run_id, "status": status});
            if let Some(waiting) = waiting {
                session["waiting"] = json!(waiting);
            }
            session
        });
        let sessions: Vec<Value> = sessions.collect();
        let mut structured = json!({"status": "running", "sessions": sessions});
        let warnings: Vec<String> = call.warnings().collect();
        if !warnings.is_empty() {
            text.extend(warnings.iter().map(|warning| format!("\nWarning: {warning}")));
            structured["warnings"] = json!(warnings);
        }
        Answer::new(&text, structured, false)
    }

    /// The answer to a call that waits for a session, which goes on.
    pub(crate) fn of_session_so_far(id: &SessionId, report: &str, waited: Duration) -> Answer {
        let text = format!(
            "Still running after {} s: {report}. Call get_subagent_output again to wait on.",
            waited.as_secs()
        );
        let structured = json!({"sessionId": id.as_str(), "status": "running", "output": text});
        Answer::new(&text, structured, false)
    }

    /// Answers are shown in terminals, and escape sequences are of no use to a model.
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

fn of_session(field: &str, retrieved: Retrieved, is_full: bool, store: &Store) -> Answer {
    let Retrieved { mut text, mut details } = retrieved;
    // What was said before a failure must not be taken for an answer.
    if let Some(error) = details["error"].as_str() {
        text = format!("It failed: {error}\nBefore that it said:\n{text}");
    }
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
    if let Some(details) = details.as_object_mut() {
        // Nothing here has windows.
        details.remove("maxLines");
    }
    details[field] = json!(text);
    Answer::new(&text, details, false)
}

/// `list_subagent_profiles`.
fn of_profiles(Retrieved { text, mut details }: Retrieved) -> Answer {
    if details.get("profiles").is_none() {
        details["profiles"] = json!({});
    }
    Answer::new(&text, details, false)
}

/// `background_agent`.
fn of_background(Retrieved { mut text, mut details }: Retrieved) -> Answer {
    if let Some(session) = details["sessionId"].as_str() {
        text.push_str(&format!("\nSession: {session}; get_subagent_output waits for its answer."));
    }
    cut_fields(&mut details);
    Answer::new(&text, details, false)
}

/// `background_agent_control`.
fn of_control(Retrieved { text, mut details }: Retrieved) -> Answer {
    cut_fields(&mut details);
    Answer::new(&text, details, false)
}

/// `background_agent_status`.
fn of_status(Retrieved { text, mut details }: Retrieved) -> Answer {
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
    if let Some(value) = &result.value {
        session["value"] = value.clone();
    }
    if let Some(check) = &result.check {
        session["check"] = json!(check);
    }
    if !result.budget.is_unlimited() {
        session["budget"] = json!(result.budget);
    }
    if let Some(changes) = &result.changes {
        session["changes"] = json!(changes);
    }
    session
}

/// Where the rest of a long answer is.
fn rest(session: &SessionId, run_dir: Option<&Path>) -> String {
    let uri = ResourceUri::Session(session.clone());
    let file = run_dir.map(|dir| format!(", file {}", dir.join("result.json").display()));
    let file = file.unwrap_or_default();
    format!("get_subagent_output with full: true, resource {uri}{file}")
}
