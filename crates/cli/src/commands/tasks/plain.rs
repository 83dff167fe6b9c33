//! One line for each thing that happens, with the task's name in front.

use model::Event;
use runner::{Change, Report, Update};
use session::Progress;
use tools::PlannedTask;

use super::report::{Reporter, warnings};
use super::{Answers, View};
use crate::error::CommandError;
use crate::printer::Printer;

pub(super) struct PlainView<'a> {
    printer: &'a Printer,
    reporter: Reporter<'a>,
    tasks: Vec<PlainTask>,
}

/// Tells about one task.
pub(in crate::commands) struct PlainTask {
    name: String,
    progress: Progress,
    /// The last thing that the agent said: held back, because the last of all may be the answer.
    held_back: Option<String>,
}

impl<'a> PlainView<'a> {
    pub(super) fn new(
        printer: &'a Printer,
        tasks: &[PlannedTask],
        reporter: Reporter<'a>,
    ) -> PlainView<'a> {
        let tasks = tasks.iter().map(|task| PlainTask::new(&task.plan.meta.name)).collect();
        PlainView { printer, reporter, tasks }
    }

    fn is_silent(&self) -> bool {
        self.reporter.answers == Answers::Json
    }
}

impl View for PlainView<'_> {
    fn show(&mut self, update: &Update) {
        let is_silent = self.is_silent();
        let task = update.task;
        match &update.change {
            Change::Record(record) => {
                if let Event::Stderr { text } = &record.event {
                    self.reporter.has_shown(task, text);
                }
                if let Some(task) = self.tasks.get_mut(task).filter(|_| !is_silent) {
                    task.show(&record.event, self.printer);
                }
            }
            Change::Ended(report) => {
                warnings(report).for_each(|warning| self.printer.warning(&warning));
                let is_told = self.reporter.answers == Answers::Summaries;
                // Nobody prints it as the answer.
                if let Some(task) = self.tasks.get_mut(task).filter(|_| is_told) {
                    task.end(self.printer);
                }
            }
            Change::Started { .. } | Change::Activity(_) => {}
        }
    }

    fn note(&mut self, text: &str) {
        if !self.is_silent() {
            self.printer.note(text);
        }
    }

    fn end(self: Box<Self>, reports: &[Report]) -> Result<(), CommandError> {
        self.reporter.print(reports)
    }
}

impl PlainTask {
    pub(in crate::commands) fn new(name: &str) -> PlainTask {
        PlainTask { name: name.to_owned(), progress: Progress::default(), held_back: None }
    }

    pub(in crate::commands) fn show(&mut self, event: &Event, printer: &Printer) {
        let Some(words) = self.progress.words(event) else {
            return;
        };
        match event {
            Event::RunEnded { .. } => {}
            Event::AssistantMessage { .. } => {
                if let Some(earlier) = self.held_back.replace(words) {
                    printer.progress(&self.name, &earlier);
                }
            }
            // The last thing said stays the answer, whatever has to be cleaned up behind it.
            Event::Stopping { .. } => printer.progress(&self.name, &words),
            _ => {
                // What the provider said is in the words about trying again, too.
                if let (Some(earlier), Event::RetryScheduled { error, .. }) =
                    (&self.held_back, event)
                    && earlier.ends_with(error.as_str())
                {
                    self.held_back = None;
                }
                self.end(printer);
                printer.progress(&self.name, &words);
            }
        }
    }

    /// Tells what was held back.
    pub(in crate::commands) fn end(&mut self, printer: &Printer) {
        if let Some(words) = self.held_back.take() {
            printer.progress(&self.name, &words);
        }
    }
}
