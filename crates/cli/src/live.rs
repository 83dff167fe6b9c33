//! The live view: a window for each task, below the lines that stay on the screen.

use std::io::{self, IsTerminal};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use session::view::{Phase, TaskView};
use tools::{ShownTask, now_ms};
use tui::{Command, Controls, Keys, Ownership, Pace, Painter, Scene, Size, layout, styled};

use crate::error::CommandError;
use crate::printer::{Mention, Printer};
use crate::terminal::{self, Happened, Terminal};

/// Draws tasks until it is dropped. Only the mentions stay on the screen.
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
}

impl<'a> Live<'a> {
    /// `None` if there is no terminal to draw on.
    pub(crate) fn open(printer: &'a Printer, ownership: Ownership) -> Option<Live<'a>> {
        let terminal = printer.can_draw.then(Terminal::open)??;
        let size = terminal::size()?;
        Some(Live {
            printer,
            stdin: io::stdin(),
            terminal,
            size,
            controls: Controls::new(ownership),
            keys: Keys::default(),
            pace: Pace::default(),
            painter: Painter::default(),
            mentions: Vec::new(),
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

    /// Prints the summary line of a task above the view. If standard output is a terminal, too, this
    /// is the answer, and is not printed again at the end.
    pub(crate) fn summary(&mut self, line: String, is_success: bool) {
        let mention = if answers_are_seen() {
            Mention::Answer(line)
        } else {
            Mention::Summary { line, is_success }
        };
        self.mention(mention);
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

    /// Ends the view: prints the last mentions, and restores the terminal.
    pub(crate) fn close(mut self) -> Result<(), CommandError> {
        self.print_mentions()
    }

    fn handle_input(&mut self, tasks: &[&ShownTask]) -> Vec<Command> {
        let (printer, painter) = (self.printer, &mut self.painter);
        let happened = self.terminal.happened(|| {
            printer.frame(&painter.erase());
        });
        let mut commands = Vec::new();
        for happened in happened {
            self.pace.change();
            match happened {
                Happened::Typed(bytes) => {
                    let views = views(tasks, now_ms());
                    for key in self.keys.read(&bytes) {
                        commands.extend(self.controls.press(key, &views));
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
        let scene = Scene { tasks: &views, elapsed_ms, has_keys: self.terminal.has_keys };
        let layout = layout(&scene, self.size, &self.controls);
        self.controls.drawn(&layout);
        let has_colours = self.printer.has_colours;
        let rows = layout.lines.iter().map(|line| styled(line, has_colours)).collect();
        let frame = self.painter.paint(rows);
        if !self.printer.frame(&frame) {
            self.painter.lose();
        }
        Ok(())
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
