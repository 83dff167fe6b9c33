//! Shows the runs that `watch` follows.

use std::time::Duration;

use model::RunResult;
use session::view::Phase;
use tools::{Appearance, ShownTask};
use tui::Command;

use super::following::{Change, Following};
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
    pub(super) fn show(
        &mut self,
        change: &Change,
        following: &Following,
    ) -> Result<(), CommandError> {
        match change {
            Change::Appeared(meta) => {
                let mut task = ShownTask::queued((**meta).clone(), &self.appearance);
                task.phase = Phase::Running;
                task.dir = following.dir(self.runs.len()).cloned();
                self.runs.push(task);
                self.screen.change();
            }
            Change::Record { run, record } => {
                if let Some(task) = self.runs.get_mut(*run) {
                    let words = task.state.apply(record);
                    self.screen.show(*run, task, record, words);
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

    /// The name of a run.
    pub(super) fn name(&self, run: usize) -> String {
        self.runs.get(run).map(|run| run.meta.name.clone()).unwrap_or_default()
    }

    /// What all runs are called together, if there were any.
    pub(super) fn title(&self) -> Option<String> {
        match self.runs.as_slice() {
            [] => None,
            [run] => Some(run.meta.name.clone()),
            runs => Some(format!("{} runs", runs.len())),
        }
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
        let (id, changes) = (&result.session_id, result.changes.as_deref());
        let line = session::summary_line(&result.name, status, error, id, None, changes);
        match &mut self.screen.live {
            None => return self.printer.answer(&line),
            Some(live) if !answers_are_seen() => live.mention(Mention::Answer(line)),
            // It will be in the table.
            Some(_) => {}
        }
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<(), CommandError> {
        self.screen.close(&self.runs.iter().collect::<Vec<_>>())
    }
}
