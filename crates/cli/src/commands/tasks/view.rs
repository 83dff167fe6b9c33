//! What is shown of the tasks of a call while they run.

use model::Event;
use tools::{CallEvent, CallTask, RunningCall, ShownTask};

use super::{Answers, Results};
use crate::error::CommandError;
use crate::printer::Printer;
use crate::screen::Screen;

pub(super) struct View<'a> {
    pub(super) printer: &'a Printer,
    pub(super) results: Results,
    pub(super) screen: Screen<'a>,
}

impl View<'_> {
    pub(super) fn show(&mut self, call: &RunningCall, event: CallEvent) {
        self.screen.change();
        match event {
            CallEvent::TaskEvent { task: index, record, words, .. } if !self.is_silent() => {
                self.screen.show(index, &call.tasks()[index].shown, &record, words);
            }
            // The document comes at the end, which an answer may have to bring about.
            CallEvent::TaskEvent { task: index, record, words, .. }
                if matches!(record.event, Event::QuestionAsked { .. }) =>
            {
                self.screen.show(index, &call.tasks()[index].shown, &record, words);
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
        let has_table = self.screen.live.is_some();
        let tasks: Vec<&ShownTask> = call.tasks().iter().map(|task| &task.shown).collect();
        self.screen.close(&tasks)?;
        self.print_report(call, has_table)
    }

    fn show_end(&mut self, index: usize, task: &CallTask) {
        for warning in task.warnings() {
            self.screen.warn(warning);
        }
        if let Some(Err(error)) = self.results.files.as_ref().map(|files| files.write(index, task))
        {
            self.screen.warn(error.to_string());
        }
    }

    fn is_silent(&self) -> bool {
        self.results.answers == Answers::Json
    }
}
