//! The line below the windows, and the list of keys.

use session::view::{Line, Role};

use super::Scene;
use crate::controls::{Controls, Mode, Ownership};
use crate::fit::{add, line_width};

/// With fewer rows, none is spent on the hint.
const ROWS_WITH_HINT: usize = 5;

/// Keys with what they do, the most important first. The last one is always shown.
type Keys = &'static [(&'static str, &'static str)];

const OPENED: Keys = &[
    ("Esc", "back"),
    ("⏎", "unfold"),
    ("m", "tell"),
    ("/", "search"),
    ("↑↓", "scroll"),
    ("c", "copy"),
    ("Tab", "another"),
    ("?", "keys"),
];
const READING: Keys = &[
    ("q", "leave"),
    ("⏎", "unfold"),
    ("/", "search"),
    ("↑↓", "scroll"),
    ("c", "copy"),
    ("Tab", "another"),
    ("?", "keys"),
];
const HELP: Keys = &[("Esc", "back")];
const ONE: Keys = &[("⏎", "open"), ("s", "stop"), ("m", "tell"), ("?", "keys")];
const MANY: Keys = &[
    ("↑↓", "select"),
    ("⏎", "open"),
    ("s", "stop"),
    ("m", "tell"),
    ("S", "stop all"),
    ("?", "keys"),
];
const WATCHED: Keys =
    &[("↑↓", "select"), ("⏎", "open"), ("s", "stop"), ("m", "tell"), ("q", "leave"), ("?", "keys")];

pub(super) fn hint(
    scene: &Scene<'_>,
    controls: &Controls,
    rows: usize,
    columns: usize,
) -> Option<Line> {
    if let Mode::Question(task) = controls.mode {
        let name = scene.tasks.get(task).map_or("", |task| task.name);
        return Some(Line::of(Role::Warning, &format!(" Stop {name}? y/n")));
    }
    if let Mode::Draft { task, .. } | Mode::Answer { task, .. } = controls.mode {
        let name = scene.tasks.get(task).map_or("", |task| task.name);
        let room = columns.saturating_sub(line_width(&Line::of(Role::Plain, name)) + 6);
        let excess = controls.draft.chars().count().saturating_sub(room);
        let end: String = controls.draft.chars().skip(excess).collect();
        let label = Line::of(Role::Accent, &format!(" {name} ❯ "));
        return Some(label.with(Role::Plain, &end).with(Role::Dim, "▏"));
    }
    if let Some(typed) = controls.reader.typed().filter(|_| controls.mode == Mode::Opened) {
        return Some(Line::of(Role::Accent, " /").with(Role::Plain, typed).with(Role::Dim, "▏"));
    }
    if let Some(message) = &controls.message {
        return Some(Line::of(Role::Warning, &format!(" {message}")));
    }
    if rows < ROWS_WITH_HINT || !scene.has_keys {
        return None;
    }
    let keys = match (controls.mode, controls.ownership) {
        (Mode::Help, _) => HELP,
        (Mode::Opened, Ownership::Reader) => READING,
        (Mode::Opened, _) => OPENED,
        (_, Ownership::Owner) if scene.tasks.len() == 1 => ONE,
        (_, Ownership::Owner) => MANY,
        (_, Ownership::Watcher | Ownership::Reader) => WATCHED,
    };
    let (last, first) = keys.split_last()?;
    let named = |(key, word): &(&str, &str)| {
        let gap = Line::of(Role::Plain, "   ");
        gap.with(Role::Accent, key).with(Role::Muted, &format!(" {word}"))
    };
    let last = named(last);
    let mut line = Line::default();
    for next in first.iter().map(named) {
        if line_width(&line) + line_width(&next) + line_width(&last) > columns + 2 {
            break;
        }
        line = line.and(next);
    }
    // The gap before the first one is the margin of the view.
    let spans = line.and(last);
    let pieces = spans.spans().iter().skip(1);
    Some(pieces.fold(Line::of(Role::Plain, " "), |line, span| add(line, span, span.text())))
}

pub(super) fn help(ownership: Ownership) -> Vec<Line> {
    let (ctrl_c, leave) = match ownership {
        Ownership::Owner => ("stop all agents; a second time: at once", "close what is open"),
        Ownership::Watcher => ("leave; the runs go on", "close what is open, or leave"),
        Ownership::Reader => ("leave", "leave"),
    };
    let is_owner = ownership == Ownership::Owner;
    let can_stop = ownership != Ownership::Reader;
    let keys = [
        Some(("↑ ↓  j k  Tab", "select an agent")),
        Some(("Ctrl+O  Enter", "open it: its prompt, and everything that it said and did")),
        can_stop.then_some(("m", "tell it something, which it reads before its next step")),
        can_stop.then_some(("y a n", "answer what an agent asks: yes, for this run, no")),
        can_stop.then_some(("s", "stop it; a second time: at once")),
        is_owner.then_some(("S", "stop all agents")),
        Some(("Ctrl-C", ctrl_c)),
        Some(("Esc  q", leave)),
        None,
        Some(("in an opened one", "")),
        Some(("↑ ↓  PgUp PgDn", "scroll; g and G go to the ends")),
        Some(("Enter  Space", "unfold what is folded here, or fold it again; o: everything")),
        Some(("/  n  N", "search; the next place, the one before")),
        Some(("c", "copy the answer")),
        Some(("Tab", "the next agent")),
    ];
    let line = |(keys, words): (&str, &str)| {
        Line::of(Role::Plain, "   ")
            .with(if words.is_empty() { Role::Muted } else { Role::Accent }, &format!("{keys:<17}"))
            .with(Role::Muted, words)
    };
    keys.into_iter().flatten().map(line).collect()
}
