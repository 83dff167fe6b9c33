//! What is shown of the tasks of a call while they run.

use std::collections::BTreeMap;

use model::{Event, Status};
use tools::{CallEvent, CallTask, RunningCall};

use super::Answers;
use crate::error::CommandError;
use crate::live::answers_are_seen;
use crate::printer::Printer;
use crate::screen::Screen;

pub(super) struct View<'a> {
    pub(super) printer: &'a Printer,
    pub(super) answers: Answers,
    pub(super) screen: Screen<'a>,
    /// The last lines of standard error that were printed of a task.
    pub(super) printed: BTreeMap<usize, Vec<String>>,
}

impl View<'_> {
    pub(super) fn show(&mut self, call: &RunningCall, event: CallEvent) {
        self.screen.change();
        match event {
            CallEvent::TaskEvent { task: index, record, words, .. } if !self.is_silent() => {
                if let (Event::Stderr { text }, None) = (&record.event, &self.screen.live) {
                    self.remember_printed(index, text);
                }
                let name = &call.tasks()[index].shown.meta.name;
                self.screen.show(index, name, &record.event, words);
            }
            CallEvent::TaskEnded { task: index, .. } => {
                self.show_end(index, &call.tasks()[index]);
            }
            _ => {}
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        if !self.is_silent() {
            self.screen.note(text);
        }
    }

    /// Prints how all tasks ended.
    pub(super) fn close(mut self, call: &RunningCall) -> Result<(), CommandError> {
        let has_summaries = self.screen.live.is_some() && answers_are_seen();
        self.screen.close()?;
        if has_summaries && self.answers == Answers::Summaries {
            self.note_usage(call);
            return Ok(());
        }
        self.print_report(call)
    }

    fn show_end(&mut self, index: usize, task: &CallTask) {
        for warning in task.warnings() {
            self.screen.warn(warning);
        }
        // The last text of a single task is the answer, and is printed together with its summary.
        if self.answers != Answers::Summaries {
            return;
        }
        self.screen.print_held_back(index, &task.shown.meta.name);
        let summary = self.summary(index, task);
        if let (Some(live), Some(report)) = (&mut self.screen.live, &task.report) {
            live.summary(summary, report.result.status == Status::Completed);
        }
    }

    /// Remembers of a task's standard error as much as an error can end with.
    fn remember_printed(&mut self, task: usize, line: &str) {
        const LINES: usize = 4;
        const CHARS: usize = 500;
        let printed = self.printed.entry(task).or_default();
        if printed.len() == LINES {
            printed.remove(0);
        }
        printed.push(session::cut_chars(line.trim(), CHARS).to_owned());
    }

    fn is_silent(&self) -> bool {
        self.answers == Answers::Json
    }
}
