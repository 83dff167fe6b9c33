//! What agents ask the user of the program that started their runs.

use std::collections::BTreeSet;

use model::{OpenQuestion, Question, RunId};
use store::RunDir;

use super::CallEvent;

/// Names a question: its run, and its number there.
pub type QuestionId = (RunId, u64);

/// A question of an agent that waits for the caller's user.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AskedQuestion {
    /// Of the task.
    pub name: String,
    pub dir: RunDir,
    pub number: u64,
    pub question: Question,
}

impl AskedQuestion {
    /// What names it.
    pub fn id(&self) -> QuestionId {
        (self.dir.run_id().clone(), self.number)
    }
}

/// The questions of which the door was told.
#[derive(Debug, Default)]
pub(super) struct ToldQuestions {
    told: BTreeSet<QuestionId>,
}

impl ToldQuestions {
    /// Compares them with those that wait now. One that is answered at once never waits, and the door does not
    /// learn of it.
    pub(super) fn compare<'a>(
        &mut self,
        open: impl Iterator<Item = (&'a str, &'a RunDir, &'a OpenQuestion)>,
        events: &mut Vec<CallEvent>,
    ) {
        let mut open: Vec<_> = open.collect();
        if open.is_empty() && self.told.is_empty() {
            return;
        }
        let ids: BTreeSet<QuestionId> =
            open.iter().map(|(_, dir, open)| (dir.run_id().clone(), open.number)).collect();
        let settled = self.told.difference(&ids).cloned();
        events.extend(settled.map(CallEvent::QuestionSettled));
        open.retain(|(_, dir, open)| !self.told.contains(&(dir.run_id().clone(), open.number)));
        events.extend(open.into_iter().map(|(name, dir, open)| {
            let OpenQuestion { number, question, .. } = open.clone();
            let (name, dir) = (name.to_owned(), dir.clone());
            CallEvent::QuestionAsked(Box::new(AskedQuestion { name, dir, number, question }))
        }));
        self.told = ids;
    }
}
