//! A call whose tasks run, as the extension shows it and pi keeps it.

use std::time::Duration;

use serde_json::{Value, json};
use session::view::{self, Extent, Phase};
use tools::{Reporting, Retrieved, RunningCall, ToolAnswer};

use crate::wire;

/// How often a screen is drawn at most.
const FRAME: Duration = Duration::from_millis(50);
/// How often the clocks in the windows are set, and how often text is sent where there is no screen.
const SECOND: Duration = Duration::from_secs(1);

/// A call of pi's that is not answered yet.
pub(crate) struct PendingCall {
    /// What pi calls it. Several calls can have the same id.
    pub(crate) id: String,
    /// The request that gets the answer.
    pub(crate) request: Value,
}

/// How often pi gets a report about a call. Windows do not show activity.
pub(crate) fn reporting(is_drawn: bool) -> Reporting {
    let (busy, quiet) = if is_drawn { (FRAME, Some(SECOND)) } else { (SECOND, None) };
    Reporting::Paced { busy, quiet, shows_activity: false }
}

/// How a call stands: windows for a screen, and elsewhere a line for each task that runs.
pub(crate) fn report(id: &str, call: &RunningCall, is_drawn: bool) -> Value {
    let views = call.views();
    let lines = if is_drawn {
        view::render(&views, Extent::Collapsed)
    } else {
        let running = views.iter().filter(|task| task.phase == Phase::Running);
        [view::overview(&views)].into_iter().chain(running.map(view::window_header)).collect()
    };
    json!({
        "callId": id,
        "text": view::streaming_text(&views),
        "details": {"status": "running", "lines": wire::kept(&lines), "runs": runs(call)},
    })
}

/// The answer to a call whose tasks have ended.
pub(crate) fn answer(call: &RunningCall) -> Value {
    let lines = view::render(&call.views(), Extent::Collapsed);
    let sessions = call.results().map(|result| {
        json!({
            "name": result.name,
            "sessionId": result.session_id.as_str(),
            "status": result.status.word(),
        })
    });
    let details = json!({
        "status": "done",
        "sessions": sessions.collect::<Vec<Value>>(),
        "lines": wire::kept(&lines),
        "runs": runs(call),
    });
    json!({
        "text": session::clean(&call.answer()),
        "details": details,
        "usage": call.usage(),
        "isError": call.is_failure(),
    })
}

/// The answer to a call that runs no tasks. pi shows its first lines.
pub(crate) fn tool_answer(answer: ToolAnswer) -> Value {
    let Retrieved { text, mut details } = answer.retrieved;
    details["lines"] = wire::kept(&view::truncated(&text, answer.max_lines));
    json!({"text": session::clean(&text), "details": details, "usage": null, "isError": false})
}

fn runs(call: &RunningCall) -> Vec<&str> {
    call.tasks().iter().map(|task| task.shown.meta.run_id.as_str()).collect()
}
