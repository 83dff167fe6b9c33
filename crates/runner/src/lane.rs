//! The queue of one call.

use std::collections::VecDeque;
use std::rc::Rc;

use governor::{Answer, Applicant, Slot};
use model::{Plan, Waiting};
use store::StopForce;

use crate::launcher::Launcher;
use crate::spending::Spending;
use crate::update::TaskId;

/// The tasks of one call: they are started in the same way, at most so many of them run at a time,
/// and they are stopped together.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) launcher: Rc<Launcher>,
    pub(crate) concurrency: usize,
    pub(crate) queue: VecDeque<(TaskId, Box<Plan>)>,
    pub(crate) stopping: Option<StopForce>,
    pub(crate) spending: Spending,
    pub(crate) applicant: Applicant,
    /// What was told last, and of how many tasks.
    pub(crate) told: Option<(Waiting, usize)>,
}

impl Lane {
    /// Asks whether the next task may start, if there is one and room for it. What does not start an agent needs no slot.
    pub(crate) fn ask(&mut self, room: usize) -> Option<Answer> {
        let next = self.queue.front().filter(|_| room > 0);
        let Some((_, plan)) = next else {
            self.applicant.leave();
            return None;
        };
        let is_spent = self.spending.spent_words().is_some();
        if self.stopping.is_some() || plan.refusal.is_some() || is_spent {
            self.applicant.leave();
            return Some(Answer::Start(Slot::ungoverned()));
        }
        Some(self.applicant.ask(&plan.meta, self.queue.len()))
    }
}

/// A task that leaves the queue.
pub(crate) struct Queued {
    pub(crate) slot: Slot,
    pub(crate) task: TaskId,
    pub(crate) plan: Box<Plan>,
    pub(crate) launcher: Rc<Launcher>,
    pub(crate) stopping: Option<StopForce>,
    /// The words for the budget of its lane, if that is spent.
    pub(crate) spent: Option<String>,
}
