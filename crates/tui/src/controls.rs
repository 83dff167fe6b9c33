//! What the keys do.

use std::borrow::Cow;

use model::QuestionKind;
use session::view::{Standing, TaskView};

use crate::keys::Key;
use crate::reader::{Read, Reader};
use crate::table::Measured;

/// Whether the program that shows the tasks also runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The tasks end with the view.
    Owner,
    /// The tasks go on without the view.
    Watcher,
    /// The tasks ended long ago.
    Reader,
}

/// What the program that shows the view has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The task with this index.
    Stop(usize),
    /// Tell the agent of the task with this index something.
    Tell(usize, String),
    /// Answer a question of the agent of a task.
    Answer {
        /// The index of the task.
        task: usize,
        /// The number of the question.
        question: u64,
        /// What the user says.
        text: String,
    },
    /// Gracefully.
    StopAll,
    /// Without waiting for their end.
    StopAllAtOnce,
    /// Close the view; the tasks go on.
    Leave,
    /// Copy the answer of the task with this index.
    Copy(usize),
}

/// Which part of the tasks is shown.
#[derive(Debug)]
pub struct Controls {
    pub(crate) ownership: Ownership,
    pub(crate) selected: Option<usize>,
    pub(crate) mode: Mode,
    /// The message that is being typed.
    pub(crate) draft: String,
    /// An answer to the last key that is not visible otherwise.
    pub(crate) message: Option<Cow<'static, str>>,
    pub(crate) measured: Measured,
    pub(crate) reader: Reader,
    /// The question on the screen. What is not shown cannot be answered.
    pub(crate) asked: Option<Asked>,
}

/// A question on the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) task: usize,
    pub(crate) number: u64,
    /// Whether all of it is shown; if not, it can only be denied.
    pub(crate) is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All tasks.
    Overview,
    /// Everything of the selected task.
    Opened,
    /// The list of keys.
    Help,
    /// Whether to stop this task.
    Question(usize),
    /// What to tell this task, and whether it was opened.
    Draft { task: usize, is_opened: bool },
    /// The words with which to answer a question, and whether its task was opened.
    Answer { task: usize, question: u64, is_opened: bool },
}

const SELECT_FIRST: &str = "Select an agent first: ↑ ↓";

impl Controls {
    /// Shows all tasks, with none selected.
    pub fn new(ownership: Ownership) -> Controls {
        Controls {
            ownership,
            selected: None,
            mode: Mode::Overview,
            draft: String::new(),
            message: None,
            measured: Measured::default(),
            reader: Reader::default(),
            asked: None,
        }
    }

    /// Shows everything of the task with this index, from its start.
    pub fn reading(task: usize) -> Controls {
        Controls {
            selected: Some(task),
            mode: Mode::Opened,
            reader: Reader::from_start(),
            ..Controls::new(Ownership::Reader)
        }
    }

    /// The index of the task of which everything is shown.
    pub fn opened(&self) -> Option<usize> {
        let is_opened = matches!(
            self.mode,
            Mode::Opened
                | Mode::Draft { is_opened: true, .. }
                | Mode::Answer { is_opened: true, .. }
        );
        self.selected.filter(|_| is_opened)
    }

    /// Tells the user something until the next key.
    pub fn tell(&mut self, message: impl Into<Cow<'static, str>>) {
        self.message = Some(message.into());
    }

    /// Acts on a key.
    pub fn press(&mut self, key: Key, tasks: &[TaskView<'_>]) -> Option<Command> {
        self.message = None;
        if let Mode::Question(task) = self.mode {
            self.mode = Mode::Overview;
            return matches!(key, Key::Character('y' | 'Y')).then_some(Command::Stop(task));
        }
        if let Mode::Draft { task, is_opened } = self.mode {
            let text = self.write(is_opened, key)?;
            return (!text.trim().is_empty()).then_some(Command::Tell(task, text));
        }
        if let Mode::Answer { task, question, is_opened } = self.mode {
            let text = self.write(is_opened, key)?;
            return Some(Command::Answer { task, question, text });
        }
        match self.answer(key, tasks) {
            Some(Answering::Given(command)) => return Some(command),
            Some(Answering::Typing) => return None,
            None => {}
        }
        if self.mode == Mode::Opened {
            match self.reader.press(key) {
                Read::Done => return None,
                Read::NotFound => {
                    self.tell("Not found");
                    return None;
                }
                Read::Ignored => {}
            }
        }
        match key {
            Key::Up | Key::BackTab | Key::Character('k') => self.select(tasks, Direction::Up),
            Key::Down | Key::Tab | Key::Character('j') => self.select(tasks, Direction::Down),
            Key::Enter | Key::Right | Key::Control('o') => self.open(tasks),
            Key::Character('c') if self.mode == Mode::Opened => {
                return self.selected.map(Command::Copy);
            }
            Key::Character('?') => {
                self.mode = if self.mode == Mode::Help { Mode::Overview } else { Mode::Help };
            }
            Key::Character('s') if self.ownership != Ownership::Reader => return self.stop(tasks),
            Key::Character('m') if self.ownership != Ownership::Reader => self.begin_draft(tasks),
            Key::Character('S') if self.ownership == Ownership::Owner => {
                return Some(Command::StopAll);
            }
            Key::Character('S') if self.ownership == Ownership::Watcher => {
                self.tell("Select a run, and press s to stop it");
            }
            Key::Control('\\') if self.ownership == Ownership::Owner => {
                return Some(Command::StopAllAtOnce);
            }
            Key::Control('\\') => return Some(Command::Leave),
            Key::Escape | Key::Character('q') => return self.leave(key),
            Key::PageUp | Key::PageDown | Key::Home | Key::End => {
                self.tell("Enter opens the selected agent");
            }
            _ => self.tell("? lists the keys"),
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
        if self.mode == Mode::Opened {
            self.reader = self.new_reader();
        } else {
            self.mode = Mode::Overview;
        }
    }

    fn open(&mut self, tasks: &[TaskView<'_>]) {
        if self.mode == Mode::Opened {
            self.mode = Mode::Overview;
        } else if !tasks.is_empty() {
            self.selected = self.selected.or_else(|| first_running(tasks)).or(Some(0));
            self.mode = Mode::Opened;
            self.reader = self.new_reader();
        }
    }

    /// What runs is watched at its end, and what has ended is read from its start.
    fn new_reader(&self) -> Reader {
        match self.ownership {
            Ownership::Owner | Ownership::Watcher => Reader::default(),
            Ownership::Reader => Reader::from_start(),
        }
    }

    /// The task that a key is meant for, if it has not ended.
    fn meant(&mut self, tasks: &[TaskView<'_>]) -> Option<usize> {
        let only = (tasks.len() == 1).then_some(0);
        let Some(task) = self.selected.or(only) else {
            self.tell(SELECT_FIRST);
            return None;
        };
        let has_ended = tasks
            .get(task)
            .is_none_or(|task| matches!(task.standing(), Standing::Done | Standing::Failed));
        if has_ended {
            self.tell("It has ended");
            return None;
        }
        Some(task)
    }

    fn begin_draft(&mut self, tasks: &[TaskView<'_>]) {
        if let Some(task) = self.meant(tasks) {
            self.mode = Mode::Draft { task, is_opened: self.mode == Mode::Opened };
            self.draft.clear();
        }
    }

    /// Answers the question on the screen, if the key does.
    fn answer(&mut self, key: Key, tasks: &[TaskView<'_>]) -> Option<Answering> {
        let can_answer = matches!(self.mode, Mode::Overview | Mode::Opened)
            && self.ownership != Ownership::Reader
            && self.reader.typed().is_none();
        let Asked { task, number, is_whole } = self.asked.filter(|_| can_answer)?;
        let mut open = tasks.get(task)?.state.facts.open_questions.iter();
        let asked = &open.find(|open| open.number == number)?.question;
        let Key::Character(character) = key else { return None };
        if !is_whole && character != 'n' {
            return None;
        }
        let text = match (asked.kind, character) {
            (QuestionKind::Permission | QuestionKind::Confirmation, 'y') => "yes".to_owned(),
            (QuestionKind::Permission, 'a') => "always".to_owned(),
            (QuestionKind::Text, 'y') => {
                let is_opened = self.mode == Mode::Opened;
                self.mode = Mode::Answer { task, question: number, is_opened };
                self.draft.clear();
                return Some(Answering::Typing);
            }
            (QuestionKind::Text, 'n') => String::new(),
            (_, 'n') => "no".to_owned(),
            (QuestionKind::Choice, '1'..='9') => {
                let index = character.to_digit(10)? as usize - 1;
                asked.options.get(index)?.clone()
            }
            _ => return None,
        };
        self.asked = None;
        Some(Answering::Given(Command::Answer { task, question: number, text }))
    }

    /// Types a message, and returns it when it is sent.
    fn write(&mut self, is_opened: bool, key: Key) -> Option<String> {
        match key {
            Key::Character(character) => self.draft.push(character),
            Key::Backspace => drop(self.draft.pop()),
            Key::Enter | Key::Escape => {
                self.mode = if is_opened { Mode::Opened } else { Mode::Overview };
                let text = std::mem::take(&mut self.draft);
                return (key == Key::Enter).then_some(text);
            }
            _ => {}
        }
        None
    }

    fn stop(&mut self, tasks: &[TaskView<'_>]) -> Option<Command> {
        let task = self.meant(tasks)?;
        if self.ownership == Ownership::Watcher {
            self.mode = Mode::Question(task);
            return None;
        }
        Some(Command::Stop(task))
    }

    fn leave(&mut self, key: Key) -> Option<Command> {
        let is_q = key == Key::Character('q');
        match (self.mode, self.ownership) {
            (Mode::Opened, Ownership::Reader) if is_q => return Some(Command::Leave),
            (Mode::Overview, Ownership::Watcher | Ownership::Reader) if is_q => {
                return Some(Command::Leave);
            }
            (Mode::Overview, Ownership::Owner) if is_q => self.tell("Ctrl-C stops all agents"),
            (Mode::Overview, _) => self.selected = None,
            _ => self.mode = Mode::Overview,
        }
        None
    }
}

/// What a key has done about a question.
enum Answering {
    Given(Command),
    /// The user types the answer.
    Typing,
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
        use Mode::{Help, Opened, Overview, Question};
        let tell = |text: &str| Some(Command::Tell(1, text.to_owned()));
        for (ownership, text, selected, mode, command) in [
            (Ownership::Owner, "j", Some(1), Overview, None),
            (Ownership::Owner, "jj", Some(2), Overview, None),
            (Ownership::Owner, "jjj", Some(0), Overview, None),
            (Ownership::Owner, "\x1b[A", Some(2), Overview, None),
            (Ownership::Owner, "\t\tk", Some(1), Overview, None),
            (Ownership::Owner, "j\x1b", None, Overview, None),
            (Ownership::Owner, "\x0f", Some(1), Opened, None),
            (Ownership::Owner, "\r\x0f", Some(1), Overview, None),
            (Ownership::Owner, "\rjk\r", Some(1), Opened, None),
            (Ownership::Owner, "\rc", Some(1), Opened, Some(Command::Copy(1))),
            (Ownership::Owner, "\r/sq\r", Some(1), Opened, None),
            (Ownership::Reader, "s", None, Overview, None),
            (Ownership::Reader, "\rq", Some(1), Opened, Some(Command::Leave)),
            (Ownership::Owner, "\rq", Some(1), Overview, None),
            (Ownership::Owner, "\r\t", Some(2), Opened, None),
            (Ownership::Owner, "?", None, Help, None),
            (Ownership::Owner, "??", None, Overview, None),
            (Ownership::Owner, "s", None, Overview, None),
            (Ownership::Owner, "js", Some(1), Overview, Some(Command::Stop(1))),
            (Ownership::Owner, "jjs", Some(2), Overview, Some(Command::Stop(2))),
            (Ownership::Owner, "jjjs", Some(0), Overview, None),
            (Ownership::Owner, "S", None, Overview, Some(Command::StopAll)),
            (Ownership::Owner, "\x1c", None, Overview, Some(Command::StopAllAtOnce)),
            (Ownership::Owner, "q", None, Overview, None),
            (Ownership::Owner, "m", None, Overview, None),
            (Ownership::Owner, "jmhi?q\x7f\r", Some(1), Overview, tell("hi?")),
            (Ownership::Owner, "jm \r", Some(1), Overview, None),
            (Ownership::Owner, "jmhi\x1b", Some(1), Overview, None),
            (Ownership::Owner, "\rmhi\r", Some(1), Opened, tell("hi")),
            (Ownership::Owner, "jjjm", Some(0), Overview, None),
            (Ownership::Reader, "jm", Some(1), Overview, None),
            (Ownership::Watcher, "jmhi\r", Some(1), Overview, tell("hi")),
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
}
