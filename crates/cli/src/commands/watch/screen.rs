//! Shows the runs that `watch` follows.

use std::time::Duration;

use model::{RunResult, Status};
use session::view::Phase;
use tools::{Appearance, ShownTask};
use tui::Command;

use super::following::Change;
use crate::error::CommandError;
use crate::live::answers_are_seen;
use crate::printer::{Mention, Printer};
use crate::screen::Screen;

pub(super) struct WatchScreen<'a> {
    pub(super) printer: &'a Printer,
    pub(super) appearance: Appearance,
    pub(super) screen: Screen<'a>,
    pub(super) runs: Vec<ShownTask>,
}

impl WatchScreen<'_> {
    pub(super) fn show(&mut self, change: &Change) -> Result<(), CommandError> {
        match change {
            Change::Appeared(meta) => {
                let mut task = ShownTask::queued((**meta).clone(), &self.appearance);
                task.phase = Phase::Running;
                self.runs.push(task);
                self.screen.change();
            }
            Change::Record { run, record } => {
                if let Some(task) = self.runs.get_mut(*run) {
                    let words = task.state.apply(record);
                    self.screen.show(*run, &task.meta.name, &record.event, words);
                }
            }
            Change::Ended { run, result } => {
                self.end(*run);
                self.sum_up(result)?;
            }
            Change::Lost { run, name, error } => {
                self.end(*run);
                self.screen.warn(format!("{name} cannot be watched any more: {error}"));
            }
        }
        Ok(())
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        self.screen.patience(&self.runs.iter().collect::<Vec<_>>())
    }

    pub(super) fn turn(&mut self) -> Result<Vec<Command>, CommandError> {
        self.screen.turn(&self.runs.iter().collect::<Vec<_>>())
    }

    fn end(&mut self, run: usize) {
        if let Some(task) = self.runs.get_mut(run) {
            task.phase = Phase::Ended;
            self.screen.print_held_back(run, &task.meta.name);
            self.screen.change();
        }
    }

    fn sum_up(&mut self, result: &RunResult) -> Result<(), CommandError> {
        for warning in &result.warnings {
            self.screen.warn(format!("{}: {warning}", result.name));
        }
        let (status, error) = (result.status, result.error.as_deref());
        let line = session::summary_line(&result.name, status, error, &result.session_id, None);
        let Some(live) = &mut self.screen.live else { return self.printer.answer(&line) };
        live.summary(line.clone(), status == Status::Completed);
        if !answers_are_seen() {
            live.mention(Mention::Answer(line));
        }
        Ok(())
    }
}
