//! What an agent asks, in full, and the keys that answer it.

use model::{OpenQuestion, QuestionKind};
use session::view::{Line, Role};

use super::{Scene, Size};
use crate::controls::{Asked, Controls, Mode, Ownership};
use crate::fit::wrap;

/// The question of the selected task, or else of the first task that asks. The controls learn which it is.
pub(super) fn question(
    scene: &Scene<'_>,
    controls: &mut Controls,
    selected: Option<usize>,
    size: Size,
) -> Vec<Line> {
    controls.asked = None;
    if controls.ownership == Ownership::Reader || controls.mode == Mode::Help {
        return Vec::new();
    }
    let asking = |task: usize| {
        let open = scene.tasks.get(task)?.state.facts.open_questions.first()?;
        Some((task, open))
    };
    let first = || (0..scene.tasks.len()).find_map(asking);
    let Some((task, open)) = selected.and_then(asking).or_else(first) else { return Vec::new() };
    let OpenQuestion { number, question, .. } = open;
    let name = scene.tasks.get(task).map_or("", |task| task.name);
    let title = match &question.tool {
        Some(tool) => format!(" {name} asks whether it may use {tool}:"),
        None => format!(" {name} asks:"),
    };
    let mut lines = vec![Line::of(Role::Warning, &title)];
    let width = size.columns.saturating_sub(4);
    let options = question.options.iter().zip(1..);
    let options = options.map(|(option, number)| format!("{number}  {option}"));
    let texts = question.text.lines().map(str::to_owned).chain(options);
    let rows = texts.flat_map(|text| wrap(Line::of(Role::Plain, &text), width, 0));
    let rows: Vec<Line> = rows.collect();
    // What is allowed must have been seen: the keys that allow come only behind all of it.
    let room = size.rows.saturating_sub(3);
    if rows.len() > room {
        let hidden = rows.len() - room;
        lines.extend(rows.into_iter().take(room).map(indented));
        let hint = format!(" … {hidden} more lines, for which the window is too small. n denies");
        lines.push(Line::of(Role::Warning, &hint));
        controls.asked = Some(Asked { task, number: *number, is_whole: false });
        return lines;
    }
    controls.asked = Some(Asked { task, number: *number, is_whole: true });
    lines.extend(rows.into_iter().map(indented));
    if scene.has_keys {
        lines.push(keys(question.kind, question.tool.as_deref().unwrap_or_default()));
    }
    lines
}

fn indented(line: Line) -> Line {
    Line::of(Role::Warning, " ┃ ").and(line)
}

fn keys(kind: QuestionKind, tool: &str) -> Line {
    let always = format!(" allow {tool} for this run");
    let keys: &[(&str, &str)] = match kind {
        QuestionKind::Permission => &[("y", " allow once"), ("a", &always), ("n", " deny")],
        QuestionKind::Confirmation => &[("y", " yes"), ("n", " no")],
        QuestionKind::Choice => &[("1-9", " choose"), ("n", " none")],
        QuestionKind::Text => &[("y", " type an answer"), ("n", " none")],
    };
    let named = |line: Line, (key, word): &(&str, &str)| {
        line.with(Role::Plain, "   ").with(Role::Accent, key).with(Role::Muted, word)
    };
    keys.iter().fold(Line::default(), named)
}
