//! Shows the runs that `watch` follows: windows on a terminal, lines elsewhere.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use model::{RunResult, Status};
use session::view::Phase;
use tools::{Appearance, ShownTask};
use tui::Command;

use super::following::Change;
use crate::commands::tasks::PlainTask;
use crate::error::CommandError;
use crate::live::{Live, answers_are_seen};
use crate::printer::{Mention, Printer};

pub(super) struct Screen<'a> {
    printer: &'a Printer,
    appearance: Appearance,
    /// The windows of all runs, on a terminal.
    live: Option<Live<'a>>,
    /// All runs, elsewhere.
    lines: Vec<PlainTask>,
}

impl<'a> Screen<'a> {
    pub(super) fn new(
        printer: &'a Printer,
        live: Option<Live<'a>>,
        appearance: Appearance,
    ) -> Screen<'a> {
        Screen { printer, appearance, live, lines: Vec::new() }
    }

    pub(super) fn show(&mut self, change: &Change) -> Result<(), CommandError> {
        match change {
            Change::Appeared(meta) => match &mut self.live {
                Some(live) => {
                    let mut task = ShownTask::queued((**meta).clone(), &self.appearance);
                    task.phase = Phase::Running;
                    live.add(task);
                }
                None => self.lines.push(PlainTask::new(&meta.name)),
            },
            Change::Record { run, record } => {
                if let Some(window) = self.window(*run) {
                    window.state.apply(record);
                }
                if let Some(task) = self.lines.get_mut(*run) {
                    task.show(&record.event, self.printer);
                }
            }
            Change::Ended { run, result } => {
                self.end(*run);
                self.sum_up(result)?;
            }
            Change::Lost { run, name, error } => {
                self.end(*run);
                self.warn(format!("{name} cannot be watched any more: {error}"));
            }
        }
        Ok(())
    }

    pub(super) fn warn(&mut self, text: String) {
        match &mut self.live {
            Some(live) => live.mention(Mention::Warning(text)),
            None => self.printer.warning(&text),
        }
    }

    pub(super) fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.live.as_ref().map(Live::wakers).unwrap_or_default()
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        self.live.as_ref()?.patience()
    }

    pub(super) fn turn(&mut self) -> Result<Vec<Command>, CommandError> {
        self.live.as_mut().map_or_else(|| Ok(Vec::new()), Live::turn)
    }

    pub(super) fn close(self) -> Result<(), CommandError> {
        self.live.map_or(Ok(()), Live::close)
    }

    fn window(&mut self, run: usize) -> Option<&mut ShownTask> {
        self.live.as_mut()?.task(run)
    }

    fn end(&mut self, run: usize) {
        if let Some(window) = self.window(run) {
            window.phase = Phase::Ended;
        }
        if let Some(task) = self.lines.get_mut(run) {
            task.end(self.printer);
        }
    }

    fn sum_up(&mut self, result: &RunResult) -> Result<(), CommandError> {
        for warning in &result.warnings {
            self.warn(format!("{}: {warning}", result.name));
        }
        let (status, error) = (result.status, result.error.as_deref());
        let line = session::summary_line(&result.name, status, error, &result.session_id, None);
        let Some(live) = &mut self.live else {
            return self.printer.answer(&line);
        };
        live.summary(line.clone(), status == Status::Completed);
        if !answers_are_seen() {
            live.mention(Mention::Answer(line));
        }
        Ok(())
    }
}
