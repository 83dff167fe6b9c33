//! A call whose tasks run, as the extension shows it and pi keeps it.

use model::Usage;
use std::time::Duration;

use serde_json::{Value, json};
use session::view::{self, Line, Phase, Role, Standing, TaskView};
use tools::{
    CallKind, CallTask, Notification, Reporting, Retrieved, RunningCall, Tool, ToolAnswer,
};

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

/// How often pi gets a report about a call.
pub(crate) fn reporting(is_drawn: bool) -> Reporting {
    let (busy, quiet) = if is_drawn { (FRAME, Some(SECOND)) } else { (SECOND, None) };
    Reporting::Paced { busy, quiet, shows_activity: true }
}

/// How a call stands: windows for a screen, and elsewhere a line for each task that runs.
pub(crate) fn report(id: &str, call: &RunningCall, is_drawn: bool) -> Value {
    let views = call.views();
    let lines = if is_drawn {
        wire::kept(&view::call_blocks(&views))
    } else {
        let running = views.iter().filter(|task| task.phase == Phase::Running);
        let lines = [view::overview(&views)].into_iter().chain(running.map(view::plain_line));
        wire::kept_lines(&lines.collect::<Vec<_>>())
    };
    json!({
        "callId": id,
        "text": progress(call.kind(), &views),
        "details": details(call, &views, "running", &lines),
    })
}

/// How many tasks stand how, and what the running ones said or did last. For a single task its words
/// are enough.
fn progress(kind: &CallKind, views: &[TaskView<'_>]) -> String {
    match (kind, views) {
        (CallKind::Subagent(arguments), [task])
            if arguments.is_single && task.phase == Phase::Running =>
        {
            task.state.latest_words().into_owned()
        }
        _ => {
            let running = views.iter().filter_map(view::progress_line);
            let lines = [view::streaming_text(views)].into_iter();
            lines.chain(running.map(|line| line.text())).collect::<Vec<String>>().join("\n")
        }
    }
}

/// The answer to a call whose tasks have ended.
pub(crate) fn answer(call: &RunningCall) -> Value {
    let views = call.views();
    let lines = wire::kept(&view::call_blocks(&views));
    let answers = call.answers(|report| {
        format!("get_subagent_output has all of it, session {}", report.result.session_id)
    });
    json!({
        "text": session::clean(&call.answer(&answers)),
        "details": details(call, &views, "done", &lines),
        "usage": known_usage(call.results().map(|result| result.usage)),
        "isError": call.is_failure(),
    })
}

/// What is known of what the runs have used. pi adds the numbers up and knows no unknown ones, so that a run without
/// a price must not hide the prices of the others.
fn known_usage(runs: impl Iterator<Item = Usage>) -> Option<Usage> {
    let priced = |usage: Usage| Usage { cost: Some(usage.cost.unwrap_or_default()), ..usage };
    let sum: Usage = runs.map(priced).sum();
    let nothing = [Usage::default(), priced(Usage::default())];
    (!nothing.contains(&sum)).then_some(sum)
}

/// The answer to a call that runs no tasks. pi shows its first lines, or the whole text where there are
/// no lines.
pub(crate) fn tool_answer(answer: ToolAnswer) -> Value {
    let Retrieved { text, mut details } = answer.retrieved;
    if answer.tool == Tool::Background {
        let run = details["runId"].as_str().unwrap_or_default();
        let line = Line::of(Role::Dim, &format!("runs in the background · {run}"));
        details["lines"] = wire::kept_lines(&[line]);
    } else if let Some(max_lines) = answer.max_lines {
        details["lines"] = wire::kept_lines(&view::truncated(&text, max_lines));
    }
    json!({"text": session::clean(&text), "details": details, "usage": null, "isError": false})
}

/// What pi keeps with the message about a background run that has ended. `answerFrom` is where in the message the
/// words of the agent begin, as JavaScript counts: `lines` are shown in place of what is before.
pub(crate) fn ended(ended: &Notification) -> Value {
    let before = session::clean(ended.message.get(..ended.answer_from).unwrap_or_default());
    json!({
        "runId": ended.run_id,
        "status": ended.status,
        "lines": wire::kept(std::slice::from_ref(&ended.heading)),
        "answerFrom": before.encode_utf16().count(),
    })
}

/// What pi keeps with a report or an answer: the state of the windows, and what draws them.
fn details(call: &RunningCall, views: &[TaskView<'_>], status: &str, lines: &Value) -> Value {
    let max_lines = views.first().map(|task| task.state.context().window_lines);
    let windows = call.tasks().iter().zip(views).map(|(task, view)| window(task, view));
    json!({
        "status": status,
        "sessionIds": views.iter().map(|task| task.session.as_str()).collect::<Vec<&str>>(),
        "maxLines": max_lines,
        "windows": windows.collect::<Vec<Value>>(),
        "lines": lines,
    })
}

fn window(task: &CallTask, view: &TaskView<'_>) -> Value {
    let facts = &view.state.facts;
    let standing = view.standing();
    let status = match standing {
        Standing::Queued => "queued",
        Standing::Running => "running",
        Standing::Done => "completed",
        Standing::Failed => "error",
    };
    let mut window = json!({
        "name": view.name,
        "runId": task.shown.meta.run_id.as_str(),
        "sessionId": view.session.as_str(),
        "status": status,
        "toolCount": facts.tool_calls,
        "elapsedMs": view.elapsed_ms,
        "timeoutMs": view.timeout_ms,
    });
    if let Some(waiting) = &facts.waiting {
        window["waiting"] = json!(waiting);
    }
    let doing = (standing == Standing::Running).then(|| view.state.doing_words());
    let error = facts.error.as_deref().filter(|_| standing == Standing::Failed);
    for (field, value) in [
        ("profile", view.profile.map(|profile| profile.name)),
        ("model", facts.model.as_deref()),
        ("doing", doing.as_deref()),
        ("error", error),
    ] {
        if let Some(value) = value {
            window[field] = json!(session::clean(value));
        }
    }
    window
}

#[cfg(test)]
mod tests {
    use model::Cost;

    use super::*;

    #[test]
    fn an_unknown_price_does_not_hide_the_others() {
        let tokens = Usage { output: 5, ..Usage::default() };
        let priced = Usage { cost: Some(Cost { total: 1.0, ..Cost::default() }), ..tokens };
        let known = |runs: &[Usage]| known_usage(runs.iter().copied());
        let total =
            |runs: &[Usage]| known(runs).and_then(|usage| usage.cost).map(|cost| cost.total);
        assert_eq!(total(&[priced, tokens, priced]), Some(2.0));
        assert_eq!(known(&[priced, tokens]).map(|usage| usage.output), Some(10));
        assert_eq!(total(&[tokens]), Some(0.0), "pi knows no unknown price");
        assert_eq!(known(&[]), None);
        assert_eq!(known(&[Usage::default()]), None);
    }
}
