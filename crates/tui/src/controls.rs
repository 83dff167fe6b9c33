//! What the keys do.

use session::view::{Standing, TaskView};

use crate::keys::Key;
use crate::layout::Layout;

/// What whoever looks at the tasks is to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Its owner: they end together with the view.
    Owner,
    /// A watcher: they go on without the view.
    Watcher,
}

/// Something that is to be done outside of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Stop this task.
    Stop(usize),
    /// Stop all tasks.
    StopAll,
    /// Stop all tasks, and do not wait for them.
    StopAllAtOnce,
    /// Look away.
    Leave,
}

/// What of the tasks is looked at.
#[derive(Debug)]
pub struct Controls {
    seat: Seat,
    pub(crate) selected: Option<usize>,
    pub(crate) mode: Mode,
    /// An answer to the last key that is not visible otherwise.
    pub(crate) message: Option<&'static str>,
    page: usize,
    longest_way: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All tasks.
    Overview,
    /// Everything of the selected one, so many rows before its end.
    Expanded { back: usize },
    /// The keys.
    Help,
    /// Whether to stop this one.
    Question(usize),
}

const SELECT_FIRST: &str = "Select an agent first: ↑ ↓";

impl Controls {
    /// All tasks are looked at.
    pub fn new(seat: Seat) -> Controls {
        Controls {
            seat,
            selected: None,
            mode: Mode::Overview,
            message: None,
            page: 1,
            longest_way: 0,
        }
    }

    /// What it means for the view to be drawn like this: how far one can go back, for one.
    pub fn drawn(&mut self, layout: &Layout) {
        self.page = layout.page.max(1);
        self.longest_way = layout.rows_above;
        if let Mode::Expanded { back } = &mut self.mode {
            *back = (*back).min(self.longest_way);
        }
    }

    /// A key was pressed.
    pub fn press(&mut self, key: Key, tasks: &[TaskView<'_>]) -> Option<Command> {
        self.message = None;
        if let Mode::Question(task) = self.mode {
            self.mode = Mode::Overview;
            return matches!(key, Key::Character('y' | 'Y')).then_some(Command::Stop(task));
        }
        match key {
            Key::Up | Key::Character('k') => self.select(tasks, Direction::Back),
            Key::Down | Key::Character('j') => self.select(tasks, Direction::On),
            Key::Enter | Key::Control('o') => self.expand(tasks),
            Key::PageUp => self.scroll(|back, page, _| back.saturating_add(page)),
            Key::PageDown => self.scroll(|back, page, _| back.saturating_sub(page)),
            Key::Home => self.scroll(|_, _, longest| longest),
            Key::End => self.scroll(|_, _, _| 0),
            Key::Character('?') => {
                self.mode = if self.mode == Mode::Help { Mode::Overview } else { Mode::Help };
            }
            Key::Character('s') => return self.stop(tasks),
            Key::Character('S') if self.seat == Seat::Owner => return Some(Command::StopAll),
            Key::Character('S') => self.message = Some("Select a run, and press s to stop it"),
            Key::Control('\\') if self.seat == Seat::Owner => return Some(Command::StopAllAtOnce),
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
            (Some(selected), Direction::On) => Some((selected + 1) % count),
            (Some(selected), Direction::Back) => Some((selected + count - 1) % count),
            (None, Direction::On) => Some(first_running(tasks).unwrap_or(0)),
            (None, Direction::Back) => Some(count - 1),
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

    fn scroll(&mut self, way: impl FnOnce(usize, usize, usize) -> usize) {
        match &mut self.mode {
            Mode::Expanded { back } => {
                *back = way(*back, self.page, self.longest_way).min(self.longest_way);
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
        if self.seat == Seat::Watcher {
            self.mode = Mode::Question(task);
            return None;
        }
        Some(Command::Stop(task))
    }

    fn leave(&mut self, key: Key) -> Option<Command> {
        match (self.mode, self.seat) {
            (Mode::Overview, Seat::Watcher) if key == Key::Character('q') => Some(Command::Leave),
            (Mode::Overview, Seat::Owner) if key == Key::Character('q') => {
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

    pub(crate) fn seat(&self) -> Seat {
        self.seat
    }
}

#[derive(Clone, Copy)]
enum Direction {
    On,
    Back,
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
        for (seat, text, selected, mode, command) in [
            (Seat::Owner, "j", Some(1), Overview, None),
            (Seat::Owner, "jj", Some(2), Overview, None),
            (Seat::Owner, "jjj", Some(0), Overview, None),
            (Seat::Owner, "\x1b[A", Some(2), Overview, None),
            (Seat::Owner, "\t\tk", Some(1), Overview, None),
            (Seat::Owner, "j\x1b", None, Overview, None),
            (Seat::Owner, "\x0f", Some(1), expanded, None),
            (Seat::Owner, "\r\r", Some(1), Overview, None),
            (Seat::Owner, "\rq", Some(1), Overview, None),
            (Seat::Owner, "\rj", Some(2), expanded, None),
            (Seat::Owner, "?", None, Help, None),
            (Seat::Owner, "??", None, Overview, None),
            (Seat::Owner, "s", None, Overview, None),
            (Seat::Owner, "js", Some(1), Overview, Some(Command::Stop(1))),
            (Seat::Owner, "jjs", Some(2), Overview, Some(Command::Stop(2))),
            (Seat::Owner, "jjjs", Some(0), Overview, None),
            (Seat::Owner, "S", None, Overview, Some(Command::StopAll)),
            (Seat::Owner, "\x1c", None, Overview, Some(Command::StopAllAtOnce)),
            (Seat::Owner, "q", None, Overview, None),
            (Seat::Watcher, "q", None, Overview, Some(Command::Leave)),
            (Seat::Watcher, "?q", None, Overview, None),
            (Seat::Watcher, "js", Some(1), Question(1), None),
            (Seat::Watcher, "jsn", Some(1), Overview, None),
            (Seat::Watcher, "jsy", Some(1), Overview, Some(Command::Stop(1))),
            (Seat::Watcher, "S", None, Overview, None),
        ] {
            let mut controls = Controls::new(seat);
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
        let mut controls = Controls::new(Seat::Owner);
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
