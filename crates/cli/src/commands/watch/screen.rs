//! What is shown of runs that were started elsewhere: windows on a terminal, lines elsewhere.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use model::{RunResult, Status};
use session::view::Phase;
use tools::{Appearance, ShownTask};
use tui::Command;

use super::following::News;
use crate::commands::tasks::PlainTask;
use crate::error::CommandError;
use crate::live::{Live, answers_are_seen};
use crate::printer::{Mention, Printer};

pub(super) struct Screen<'a> {
    printer: &'a Printer,
    appearance: Appearance,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Windows(Box<Live<'a>>),
    Lines(Vec<PlainTask>),
}

impl<'a> Screen<'a> {
    pub(super) fn new(
        printer: &'a Printer,
        live: Option<Live<'a>>,
        appearance: Appearance,
    ) -> Screen<'a> {
        let windows = live.map(|live| Kind::Windows(Box::new(live)));
        Screen { printer, appearance, kind: windows.unwrap_or(Kind::Lines(Vec::new())) }
    }

    pub(super) fn show(&mut self, news: &News) -> Result<(), CommandError> {
        match (news, &mut self.kind) {
            (News::Appeared(meta), Kind::Windows(live)) => {
                let mut task = ShownTask::queued((**meta).clone(), &self.appearance);
                task.phase = Phase::Running;
                live.add(task);
            }
            (News::Appeared(meta), Kind::Lines(tasks)) => tasks.push(PlainTask::new(&meta.name)),
            (News::Record { run, record }, Kind::Windows(live)) => {
                if let Some(task) = live.task(*run) {
                    task.state.apply(record);
                }
            }
            (News::Record { run, record }, Kind::Lines(tasks)) => {
                if let Some(task) = tasks.get_mut(*run) {
                    task.show(&record.event, self.printer);
                }
            }
            (News::Ended { run, result }, _) => {
                self.end(*run);
                self.sum_up(result)?;
            }
            (News::Lost { run, error }, _) => {
                self.end(*run);
                self.warn(format!("nothing is known about a run any more: {error}"));
            }
        }
        Ok(())
    }

    pub(super) fn warn(&mut self, text: String) {
        match &mut self.kind {
            Kind::Windows(live) => live.mention(Mention::Warning(text)),
            Kind::Lines(_) => self.printer.warning(&text),
        }
    }

    pub(super) fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        match &self.kind {
            Kind::Windows(live) => live.wakers(),
            Kind::Lines(_) => Vec::new(),
        }
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Windows(live) => live.patience(),
            Kind::Lines(_) => None,
        }
    }

    pub(super) fn turn(&mut self) -> Result<Vec<Command>, CommandError> {
        match &mut self.kind {
            Kind::Windows(live) => live.turn(),
            Kind::Lines(_) => Ok(Vec::new()),
        }
    }

    pub(super) fn close(self) -> Result<(), CommandError> {
        match self.kind {
            Kind::Windows(live) => live.close(),
            Kind::Lines(_) => Ok(()),
        }
    }

    fn end(&mut self, run: usize) {
        match &mut self.kind {
            Kind::Windows(live) => {
                if let Some(task) = live.task(run) {
                    task.phase = Phase::Ended;
                }
            }
            Kind::Lines(tasks) => {
                if let Some(task) = tasks.get_mut(run) {
                    task.end(self.printer);
                }
            }
        }
    }

    fn sum_up(&mut self, result: &RunResult) -> Result<(), CommandError> {
        for warning in &result.warnings {
            self.warn(format!("{}: {warning}", result.name));
        }
        let (status, error) = (result.status, result.error.as_deref());
        let line = session::summary_line(&result.name, status, error, &result.session_id, None);
        match &mut self.kind {
            Kind::Windows(live) => {
                live.summary(line.clone(), status == Status::Completed);
                if !answers_are_seen() {
                    live.mention(Mention::Answer(line));
                }
                Ok(())
            }
            Kind::Lines(_) => self.printer.answer(&line),
        }
    }
}
