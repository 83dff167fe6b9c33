//! What the keys do.

use session::view::{Standing, TaskView};

use crate::keys::Key;
use crate::layout::Layout;

/// Whether the program that shows the tasks also runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The tasks end with the view.
    Owner,
    /// The tasks go on without the view.
    Watcher,
}

/// What the program that shows the view has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The task with this index.
    Stop(usize),
    /// Gracefully.
    StopAll,
    /// Without waiting for their end.
    StopAllAtOnce,
    /// Close the view; the tasks go on.
    Leave,
}

/// Which part of the tasks is shown.
#[derive(Debug)]
pub struct Controls {
    pub(crate) ownership: Ownership,
    pub(crate) selected: Option<usize>,
    pub(crate) mode: Mode,
    /// An answer to the last key that is not visible otherwise.
    pub(crate) message: Option<&'static str>,
    page: usize,
    rows_above: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All tasks.
    Overview,
    /// Everything of the selected task, scrolled back by this many rows.
    Expanded { back: usize },
    /// The list of keys.
    Help,
    /// Whether to stop this task.
    Question(usize),
}

const SELECT_FIRST: &str = "Select an agent first: ↑ ↓";

impl Controls {
    /// Shows all tasks, with none selected.
    pub fn new(ownership: Ownership) -> Controls {
        Controls {
            ownership,
            selected: None,
            mode: Mode::Overview,
            message: None,
            page: 1,
            rows_above: 0,
        }
    }

    /// Takes from the layout that was drawn how far the view can scroll.
    pub fn drawn(&mut self, layout: &Layout) {
        self.page = layout.page.max(1);
        self.rows_above = layout.rows_above;
        if let Mode::Expanded { back } = &mut self.mode {
            *back = (*back).min(self.rows_above);
        }
    }

    /// Acts on a key.
    pub fn press(&mut self, key: Key, tasks: &[TaskView<'_>]) -> Option<Command> {
        self.message = None;
        if let Mode::Question(task) = self.mode {
            self.mode = Mode::Overview;
            return matches!(key, Key::Character('y' | 'Y')).then_some(Command::Stop(task));
        }
        match key {
            Key::Up | Key::Character('k') => self.select(tasks, Direction::Up),
            Key::Down | Key::Character('j') => self.select(tasks, Direction::Down),
            Key::Enter | Key::Control('o') => self.expand(tasks),
            Key::PageUp => self.scroll(|back, page, _| back.saturating_add(page)),
            Key::PageDown => self.scroll(|back, page, _| back.saturating_sub(page)),
            Key::Home => self.scroll(|_, _, last| last),
            Key::End => self.scroll(|_, _, _| 0),
            Key::Character('?') => {
                self.mode = if self.mode == Mode::Help { Mode::Overview } else { Mode::Help };
            }
            Key::Character('s') => return self.stop(tasks),
            Key::Character('S') if self.ownership == Ownership::Owner => {
                return Some(Command::StopAll);
            }
            Key::Character('S') => self.message = Some("Select a run, and press s to stop it"),
            Key::Control('\\') if self.ownership == Ownership::Owner => {
                return Some(Command::StopAllAtOnce);
            }
            Key::Control('\\') => return Some(Command::Leave),
            Key::Escape | Key::Character('q') => return self.leave(key),
            Key::Character(_) | Key::Control(_) => self.message = Some("? lists the keys"),
        }
        None
    }

    fn select(&mut self, tasks: &[TaskView<'_>], direction: Direction) {
        let count = tasks.len();
        self.selected = match (self.selected, direction) {
            _ if count == 0 => None,
            (Some(selected), Direction::Down) => Some((selected + 1) % count),
            (Some(selected), Direction::Up) => Some((selected + count - 1) % count),
            (None, Direction::Down) => Some(first_running(tasks).unwrap_or(0)),
            (None, Direction::Up) => Some(count - 1),
        };
        match &mut self.mode {
            Mode::Expanded { back } => *back = 0,
            mode => *mode = Mode::Overview,
        }
    }

    fn expand(&mut self, tasks: &[TaskView<'_>]) {
        if matches!(self.mode, Mode::Expanded { .. }) {
            self.mode = Mode::Overview;
        } else if !tasks.is_empty() {
            self.selected = self.selected.or_else(|| first_running(tasks)).or(Some(0));
            self.mode = Mode::Expanded { back: 0 };
        }
    }

    /// Scrolls to where `target` says, from the present position, the page and the last position.
    fn scroll(&mut self, target: impl FnOnce(usize, usize, usize) -> usize) {
        match &mut self.mode {
            Mode::Expanded { back } => {
                *back = target(*back, self.page, self.rows_above).min(self.rows_above);
            }
            _ => self.message = Some("Ctrl+O shows everything of the selected agent"),
        }
    }

    fn stop(&mut self, tasks: &[TaskView<'_>]) -> Option<Command> {
        let only = (tasks.len() == 1).then_some(0);
        let Some(task) = self.selected.or(only) else {
            self.message = Some(SELECT_FIRST);
            return None;
        };
        let has_ended = tasks
            .get(task)
            .is_none_or(|task| matches!(task.standing(), Standing::Done | Standing::Failed));
        if has_ended {
            self.message = Some("It has ended");
            return None;
        }
        if self.ownership == Ownership::Watcher {
            self.mode = Mode::Question(task);
            return None;
        }
        Some(Command::Stop(task))
    }

    fn leave(&mut self, key: Key) -> Option<Command> {
        match (self.mode, self.ownership) {
            (Mode::Overview, Ownership::Watcher) if key == Key::Character('q') => {
                Some(Command::Leave)
            }
            (Mode::Overview, Ownership::Owner) if key == Key::Character('q') => {
                self.message = Some("Ctrl-C stops all agents");
                None
            }
            (Mode::Overview, _) => {
                self.selected = None;
                None
            }
            _ => {
                self.mode = Mode::Overview;
                None
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

fn first_running(tasks: &[TaskView<'_>]) -> Option<usize> {
    tasks.iter().position(|task| task.standing() == Standing::Running)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{done, queued, running, views};

    fn typed(controls: &mut Controls, text: &str) -> Option<Command> {
        let tasks = [done("a"), running("b", &["x"]), queued("c")];
        let views = views(&tasks);
        let mut last = None;
        for key in crate::Keys::default().read(text.as_bytes()) {
            last = controls.press(key, &views);
        }
        last
    }

    #[test]
    fn keys_do_what_the_help_says() {
        use Mode::{Expanded, Help, Overview, Question};
        let expanded = Expanded { back: 0 };
        for (ownership, text, selected, mode, command) in [
            (Ownership::Owner, "j", Some(1), Overview, None),
            (Ownership::Owner, "jj", Some(2), Overview, None),
            (Ownership::Owner, "jjj", Some(0), Overview, None),
            (Ownership::Owner, "\x1b[A", Some(2), Overview, None),
            (Ownership::Owner, "\t\tk", Some(1), Overview, None),
            (Ownership::Owner, "j\x1b", None, Overview, None),
            (Ownership::Owner, "\x0f", Some(1), expanded, None),
            (Ownership::Owner, "\r\r", Some(1), Overview, None),
            (Ownership::Owner, "\rq", Some(1), Overview, None),
            (Ownership::Owner, "\rj", Some(2), expanded, None),
            (Ownership::Owner, "?", None, Help, None),
            (Ownership::Owner, "??", None, Overview, None),
            (Ownership::Owner, "s", None, Overview, None),
            (Ownership::Owner, "js", Some(1), Overview, Some(Command::Stop(1))),
            (Ownership::Owner, "jjs", Some(2), Overview, Some(Command::Stop(2))),
            (Ownership::Owner, "jjjs", Some(0), Overview, None),
            (Ownership::Owner, "S", None, Overview, Some(Command::StopAll)),
            (Ownership::Owner, "\x1c", None, Overview, Some(Command::StopAllAtOnce)),
            (Ownership::Owner, "q", None, Overview, None),
            (Ownership::Watcher, "q", None, Overview, Some(Command::Leave)),
            (Ownership::Watcher, "?q", None, Overview, None),
            (Ownership::Watcher, "js", Some(1), Question(1), None),
            (Ownership::Watcher, "jsn", Some(1), Overview, None),
            (Ownership::Watcher, "jsy", Some(1), Overview, Some(Command::Stop(1))),
            (Ownership::Watcher, "S", None, Overview, None),
        ] {
            let mut controls = Controls::new(ownership);
            let done = typed(&mut controls, text);
            assert_eq!(
                (controls.selected, controls.mode, done),
                (selected, mode, command),
                "{text:?}"
            );
        }
    }

    #[test]
    fn scrolling_stops_at_both_ends() {
        let mut controls = Controls::new(Ownership::Owner);
        typed(&mut controls, "\r");
        controls.drawn(&Layout { lines: Vec::new(), page: 10, rows_above: 25 });
        for (text, back) in [
            ("\x1b[5~", 10),
            ("\x1b[5~\x1b[5~", 25),
            ("\x1b[6~", 15),
            ("\x1b[1~", 25),
            ("\x1b[F", 0),
            ("\x1b[6~", 0),
        ] {
            typed(&mut controls, text);
            assert_eq!(controls.mode, Mode::Expanded { back }, "{text:?}");
        }
    }
}
