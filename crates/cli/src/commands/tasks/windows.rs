//! A window for each task, on a terminal.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use model::Status;
use runner::{Change, Report, Update};
use session::view::Phase;
use tools::{Appearance, PlannedTask, ShownTask, now_ms};
use tui::Command;

use super::report::{Reporter, warnings};
use super::{Answers, View};
use crate::error::CommandError;
use crate::live::{Live, answers_are_seen};
use crate::printer::Mention;

pub(super) struct WindowView<'a> {
    live: Live<'a>,
    reporter: Reporter<'a>,
}

impl<'a> WindowView<'a> {
    pub(super) fn new(
        mut live: Live<'a>,
        appearance: &Appearance,
        tasks: &[PlannedTask],
        reporter: Reporter<'a>,
    ) -> WindowView<'a> {
        for task in tasks {
            live.add(ShownTask::queued(task.plan.meta.clone(), appearance));
        }
        WindowView { live, reporter }
    }

    fn show_end(&mut self, task: usize, report: &Report) {
        for warning in warnings(report) {
            self.live.mention(Mention::Warning(warning));
        }
        // A single task is summed up together with its answer.
        if self.reporter.answers == Answers::Summaries {
            let line = self.reporter.summary(task, &report.result);
            self.live.summary(line, report.result.status == Status::Completed);
        }
    }
}

impl View for WindowView<'_> {
    fn show(&mut self, update: &Update) {
        if let Some(shown) = self.live.task(update.task) {
            match &update.change {
                Change::Started { .. } => shown.phase = Phase::Running,
                Change::Record(record) => {
                    shown.state.apply(record);
                }
                Change::Activity(activity) => shown.state.observe(*activity, now_ms()),
                Change::Ended(_) => shown.phase = Phase::Ended,
            }
        }
        if let Change::Ended(report) = &update.change {
            self.show_end(update.task, report);
        }
    }

    fn note(&mut self, text: &str) {
        self.live.mention(Mention::Note(text.to_owned()));
    }

    fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.live.wakers()
    }

    fn patience(&self) -> Option<Duration> {
        self.live.patience()
    }

    fn turn(&mut self) -> Result<Vec<Command>, CommandError> {
        self.live.turn()
    }

    fn end(self: Box<Self>, reports: &[Report]) -> Result<(), CommandError> {
        let WindowView { live, reporter } = *self;
        live.close()?;
        if reporter.answers == Answers::Summaries && answers_are_seen() {
            reporter.note_usage(reports);
            return Ok(());
        }
        reporter.print(reports)
    }
}
