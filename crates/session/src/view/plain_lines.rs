//! A task in one line of text, for where there are no windows or no room for them. The header of a window is in `header.rs`.

use std::borrow::Cow;

use crate::usage_words;

use super::header::queued_words;
use super::{Line, Phase, ProfileView, Role, Standing, TaskView};

/// Between the parts of a line.
const SEPARATOR: &str = " • ";

/// Icon, name, profile, number of tool calls, to-dos, time and usage, as far as they are known.
pub fn plain_line(task: &TaskView<'_>) -> Line {
    let (role, icon) = icon(task.standing());
    let mut line = Line::of(role, icon).with(Role::Plain, " ").with_bold(Role::Plain, task.name);
    for segment in segments(task) {
        line = line.with(Role::Dim, SEPARATOR).with(Role::Muted, &segment);
    }
    line
}

/// What a running task said or did last, for where there are no windows.
pub fn progress_line(task: &TaskView<'_>) -> Option<Line> {
    let is_waiting = task.phase == Phase::Queued && task.state.facts.waiting.is_some();
    let is_running = task.phase == Phase::Running || is_waiting;
    let line = || Line::of(Role::Plain, task.name).with(Role::Plain, ": ");
    is_running.then(|| line().with(Role::Plain, &task.state.latest_words()))
}

/// A whole window in one line: the most important comes first, because the end may not fit.
pub fn compact_line(task: &TaskView<'_>) -> Line {
    let (role, icon) = icon(task.standing());
    let line = Line::of(role, icon).with(Role::Plain, " ").with_bold(Role::Plain, task.name);
    let mut line = match doing(task) {
        Some((words, time)) => line
            .with(Role::Dim, SEPARATOR)
            .with(Role::Accent, &words)
            .with(Role::Plain, " ")
            .with(Role::Muted, &time),
        None if task.phase == Phase::Queued => {
            return line.with(Role::Dim, SEPARATOR).with(Role::Muted, &queued_words(task));
        }
        None => line,
    };
    if let Some(error) = task.state.facts.error.as_ref().filter(|_| role == Role::Error) {
        line = line.with(Role::Dim, SEPARATOR).with(Role::Error, error);
    }
    for segment in segments(task) {
        line = line.with(Role::Dim, SEPARATOR).with(Role::Muted, &segment);
    }
    line
}

fn doing<'a>(task: &TaskView<'a>) -> Option<(Cow<'a, str>, String)> {
    let seconds = task.doing_ms / 1000;
    (task.phase == Phase::Running).then(|| (task.state.doing_words(), format!("{seconds}s")))
}

fn icon(standing: Standing) -> (Role, &'static str) {
    match standing {
        Standing::Queued => (Role::Dim, "·"),
        Standing::Running => (Role::Warning, "⏳"),
        Standing::Done => (Role::Success, "✓"),
        Standing::Failed => (Role::Error, "✗"),
    }
}

fn segments(task: &TaskView<'_>) -> Vec<String> {
    let facts = &task.state.facts;
    let todos = task.state.todos;
    let mut segments = Vec::new();
    segments.extend(task.profile.map(|profile| profile_text(profile, facts.model.as_deref())));
    if task.access.is_restricted() {
        segments.push(format!("access {}", task.access.word()));
    }
    segments.push(format!("{} tools", facts.tool_calls));
    if todos.are_open() {
        segments.push(format!("[{}/{}]", todos.done, todos.total));
    }
    segments.push(time_text(task));
    segments.extend(usage_words(&facts.usage));
    segments
}

/// The profile's name, and in brackets its model and level of thinking.
fn profile_text(profile: ProfileView<'_>, answered: Option<&str>) -> String {
    let model = match (profile.model, answered) {
        // The same model, but the profile names its provider, too.
        (Some(asked), Some(answered)) if asked.ends_with(&format!("/{answered}")) => Some(asked),
        (asked, answered) => answered.or(asked),
    };
    let filled = |part: &Option<&str>| part.is_some_and(|part| !part.is_empty());
    let model: Vec<&str> = [profile.provider, model].into_iter().filter(filled).flatten().collect();
    let model = Some(model.join("/"));
    let details: Vec<&str> =
        [model.as_deref(), profile.thinking].into_iter().filter(filled).flatten().collect();
    if details.is_empty() {
        profile.name.to_owned()
    } else {
        format!("{} ({})", profile.name, details.join(" "))
    }
}

fn time_text(task: &TaskView<'_>) -> String {
    // The time counts from the start of the child.
    let elapsed_ms = if task.phase == Phase::Queued { 0 } else { task.elapsed_ms };
    let elapsed = elapsed_ms / 1000;
    match task.timeout_ms {
        Some(timeout_ms) => format!("{elapsed}s/{}s", timeout_ms as f64 / 1000.0),
        None => format!("{elapsed}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_says_what_it_knows() {
        let profile =
            |provider, model, thinking| ProfileView { name: "fast", provider, model, thinking };
        for (profile, answered, expected) in [
            (profile(None, None, None), None, "fast"),
            (profile(Some(""), None, Some("")), None, "fast"),
            (profile(Some("p"), Some("m"), None), None, "fast (p/m)"),
            (profile(Some("p"), Some("m"), Some("low")), None, "fast (p/m low)"),
            (profile(None, None, Some("low")), None, "fast (low)"),
            (profile(Some("p"), None, None), None, "fast (p)"),
            (profile(None, Some("m"), None), None, "fast (m)"),
            (profile(Some("p"), Some("m"), None), Some("n"), "fast (p/n)"),
            (profile(None, Some("p/m"), None), Some("m"), "fast (p/m)"),
            (profile(None, None, None), Some("m"), "fast (m)"),
        ] {
            assert_eq!(profile_text(profile, answered), expected);
        }
    }
}
