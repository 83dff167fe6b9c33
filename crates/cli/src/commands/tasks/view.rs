//! What is shown of the tasks of a call while they run.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use model::{Event, WaitReason, Waiting};
use session::view::Phase;
use tools::{CallEvent, CallTask, RunningCall, ShownTask};

use super::{Answers, Results};
use crate::error::CommandError;
use crate::printer::Printer;
use crate::screen::Screen;

pub(super) struct View<'a> {
    pub(super) printer: &'a Printer,
    pub(super) results: Results,
    pub(super) screen: Screen<'a>,
    /// Why each task waited when that was last said.
    pub(super) told: BTreeMap<usize, Discriminant<WaitReason>>,
}

/// A task says that it waits for its turn after so long. While another program is just deciding, it waits for a moment.
const TURN: Duration = Duration::from_secs(1);

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

    /// Says which tasks wait and why, where there are no windows: once for each reason, whatever its numbers become.
    pub(super) fn show_waiting(&mut self, tasks: &[&ShownTask]) {
        if self.screen.live.is_some() || self.is_silent() {
            return;
        }
        for (index, task) in tasks.iter().enumerate() {
            let waiting = task.state.facts.waiting.as_deref();
            let Some(waiting) = waiting.filter(|_| task.phase == Phase::Queued) else { continue };
            let kind = discriminant(&waiting.reason);
            if !is_brief(waiting) && self.told.insert(index, kind) != Some(kind) {
                self.printer.progress(&task.meta.name, &waiting.words());
            }
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

fn is_brief(waiting: &Waiting) -> bool {
    let waited = runner::now_ms().saturating_sub(waiting.since);
    waiting.reason == WaitReason::Turn && u128::from(waited) < TURN.as_millis()
}
