//! The live view: a window for each task, below the lines that stay on the screen.

use std::io::{self, IsTerminal};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::Record;
use session::Conversation;
use session::view::{Phase, TaskView};
use tools::{ShownTask, now_ms};
use tui::{Command, Controls, Keys, Pace, Painter, Scene, Size, ending, layout, styled};

use crate::error::CommandError;
use crate::printer::{Mention, Printer};
use crate::terminal::{self, Happened, Terminal};

/// Draws tasks until it is dropped. Only the mentions, and the table at the end, stay on the screen.
pub(crate) struct Live<'a> {
    printer: &'a Printer,
    stdin: io::Stdin,
    terminal: Terminal,
    size: Size,
    controls: Controls,
    keys: Keys,
    pace: Pace,
    painter: Painter,
    /// Printed above the view before the next frame.
    mentions: Vec<Mention>,
    /// Everything of the task of which everything is shown.
    opened: Option<Opened>,
}

struct Opened {
    task: usize,
    /// `None` if the task has not been started.
    conversation: Option<Conversation>,
}

impl<'a> Live<'a> {
    /// `None` if there is no terminal to draw on.
    pub(crate) fn open(printer: &'a Printer, controls: Controls) -> Option<Live<'a>> {
        let terminal = printer.can_draw.then(Terminal::open)??;
        let size = terminal::size()?;
        Some(Live {
            printer,
            stdin: io::stdin(),
            terminal,
            size,
            controls,
            keys: Keys::default(),
            pace: Pace::default(),
            painter: Painter::default(),
            mentions: Vec::new(),
            opened: None,
        })
    }

    /// A task has changed, so that a frame is due soon.
    pub(crate) fn change(&mut self) {
        self.pace.change();
    }

    pub(crate) fn mention(&mut self, mention: Mention) {
        self.pace.change();
        self.mentions.push(mention);
    }

    /// Takes an event of a task, which may be the one that is opened.
    pub(crate) fn record(&mut self, task: usize, record: &Record, shown: &ShownTask) {
        self.pace.change();
        let opened = self.opened.as_mut().filter(|opened| opened.task == task);
        if let Some(conversation) = opened.and_then(|opened| opened.conversation.as_mut()) {
            conversation.apply(record, &shown.state.context().preview);
        }
    }

    /// The tasks may have changed in any way.
    pub(crate) fn reload(&mut self) {
        self.pace.change();
        self.opened = None;
    }

    /// Descriptors that become readable when the terminal has something to handle.
    pub(crate) fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.terminal.wakers(&self.stdin)
    }

    pub(crate) fn patience(&self, tasks: &[&ShownTask]) -> Option<Duration> {
        if self.terminal.is_away {
            return None;
        }
        self.pace.wait(Instant::now(), has_clocks(tasks))
    }

    /// Handles keys and signals, and draws a frame if one is due.
    pub(crate) fn turn(&mut self, tasks: &[&ShownTask]) -> Result<Vec<Command>, CommandError> {
        let commands = self.handle_input(tasks);
        if !self.terminal.is_away && self.pace.draw(Instant::now(), has_clocks(tasks)) {
            self.draw(tasks)?;
        }
        Ok(commands)
    }

    /// Ends the view: prints the last mentions and a table of the tasks that have ended, and restores
    /// the terminal.
    pub(crate) fn close(mut self, tasks: &[&ShownTask]) -> Result<(), CommandError> {
        self.print_mentions()?;
        self.printer.frame(&self.painter.erase());
        let views = views(tasks, now_ms());
        let started = views.iter().filter_map(|task| task.state.facts.started_at).min();
        let ended = views.iter().filter_map(|task| task.state.facts.ended_at).max();
        let elapsed_ms =
            ended.zip(started).map_or(0, |(ended, started)| ended.saturating_sub(started));
        self.printer.lines(&ending(&views, elapsed_ms, self.size.columns));
        Ok(())
    }

    fn handle_input(&mut self, tasks: &[&ShownTask]) -> Vec<Command> {
        let (printer, painter) = (self.printer, &mut self.painter);
        let happened = self.terminal.happened(|| {
            printer.frame(&painter.erase());
        });
        let mut commands = Vec::new();
        let mut copied = None;
        for happened in happened {
            self.pace.change();
            match happened {
                Happened::Typed(bytes) => {
                    let views = views(tasks, now_ms());
                    for key in self.keys.read(&bytes) {
                        match self.controls.press(key, &views) {
                            Some(Command::Copy(task)) => copied = views.get(task).copied(),
                            command => commands.extend(command),
                        }
                    }
                    if let Some(task) = copied.take() {
                        copy(self.printer, &mut self.controls, &task);
                    }
                }
                Happened::Resized => {
                    self.size = terminal::size().unwrap_or(self.size);
                    self.painter.lose();
                }
                Happened::Returned => {
                    self.size = terminal::size().unwrap_or(self.size);
                    // What other programs printed meanwhile stays: the view starts below it.
                    self.painter = Painter::default();
                }
            }
        }
        commands
    }

    fn draw(&mut self, tasks: &[&ShownTask]) -> Result<(), CommandError> {
        self.print_mentions()?;
        let now = now_ms();
        let views = views(tasks, now);
        // Counted from the first start: `watch` itself may have started later.
        let started = views.iter().filter_map(|task| task.state.facts.started_at).min();
        let elapsed_ms = started.map_or(0, |started| now.saturating_sub(started));
        self.load_opened(tasks);
        let opened = self.opened.as_ref().and_then(|opened| opened.conversation.as_ref());
        let has_keys = self.terminal.has_keys;
        let scene = Scene { tasks: &views, elapsed_ms, has_keys, opened };
        let lines = layout(&scene, self.size, &mut self.controls);
        let rows = lines.iter().map(|line| styled(line, self.printer.palette)).collect();
        let frame = self.painter.paint(rows);
        if !self.printer.frame(&frame) {
            self.painter.lose();
        }
        Ok(())
    }

    /// Reads everything of the task that was opened since the last frame. From then on its events are
    /// taken as they come.
    fn load_opened(&mut self, tasks: &[&ShownTask]) {
        let Some(task) = self.controls.opened() else {
            self.opened = None;
            return;
        };
        let is_loaded = |opened: &Opened| opened.task == task && opened.conversation.is_some();
        if !self.opened.as_ref().is_some_and(is_loaded) {
            let conversation = tasks.get(task).and_then(|task| task.conversation());
            self.opened = Some(Opened { task, conversation });
        }
    }

    fn print_mentions(&mut self) -> Result<(), CommandError> {
        let mentions = std::mem::take(&mut self.mentions);
        if mentions.is_empty() {
            return Ok(());
        }
        self.printer.frame(&self.painter.erase());
        mentions.iter().try_for_each(|mention| self.printer.mention(mention))
    }
}

/// Copies the answer of a task, and says so.
fn copy(printer: &Printer, controls: &mut Controls, task: &TaskView<'_>) {
    let answer = &task.state.facts.output;
    match tui::copy(answer) {
        _ if answer.is_empty() => controls.tell("It has not said anything yet"),
        Some(bytes) => {
            printer.frame(&bytes);
            controls.tell(format!("Copied {} characters", answer.chars().count()));
        }
        None => controls.tell(format!(
            "The answer is too long to copy; `pi-subagents sessions output {}` prints it",
            task.session
        )),
    }
}

fn has_clocks(tasks: &[&ShownTask]) -> bool {
    tasks.iter().any(|task| task.phase == Phase::Running)
}

fn views<'a>(tasks: &[&'a ShownTask], now: u64) -> Vec<TaskView<'a>> {
    tasks.iter().map(|task| task.view(now)).collect()
}

/// Whether standard output is a terminal, too.
pub(crate) fn answers_are_seen() -> bool {
    io::stdout().is_terminal()
}
