//! What is shown of the tasks of a call while they run.

use model::{Event, Status};
use tools::{CallTask, RunningCall, ShownTask};

use super::Answers;
use super::report::Reporter;
use crate::error::CommandError;
use crate::live::answers_are_seen;
use crate::screen::Screen;

pub(super) struct View<'a> {
    pub(super) screen: Screen<'a>,
    reporter: Reporter<'a>,
}

impl<'a> View<'a> {
    pub(super) fn new(screen: Screen<'a>, reporter: Reporter<'a>) -> View<'a> {
        View { screen, reporter }
    }

    pub(super) fn show(
        &mut self,
        (index, task): (usize, &CallTask),
        event: &Event,
        words: Option<String>,
    ) {
        if self.is_silent() {
            return;
        }
        if let (Event::Stderr { text }, None) = (event, &self.screen.live) {
            self.reporter.has_printed(index, text);
        }
        self.screen.show(index, &task.shown.meta.name, event, words);
    }

    pub(super) fn show_end(&mut self, (index, task): (usize, &CallTask)) {
        for warning in task.warnings() {
            self.screen.warn(warning);
        }
        self.screen.change();
        // The last text of a single task is the answer, and is printed together with its summary.
        if self.reporter.answers != Answers::Summaries {
            return;
        }
        self.screen.print_held_back(index, &task.shown.meta.name);
        if let (Some(live), Some(report)) = (&mut self.screen.live, &task.report) {
            let line = self.reporter.summary(index, task);
            live.summary(line, report.result.status == Status::Completed);
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        if !self.is_silent() {
            self.screen.note(text);
        }
    }

    /// All tasks have ended.
    pub(super) fn close(self, call: &RunningCall) -> Result<(), CommandError> {
        let has_summaries = self.screen.live.is_some() && answers_are_seen();
        self.screen.close()?;
        if has_summaries && self.reporter.answers == Answers::Summaries {
            self.reporter.note_usage(call);
            return Ok(());
        }
        self.reporter.print(call)
    }

    fn is_silent(&self) -> bool {
        self.reporter.answers == Answers::Json
    }
}

pub(super) fn shown(call: &RunningCall) -> impl Iterator<Item = &ShownTask> + Clone {
    call.tasks().iter().map(|task| &task.shown)
}
