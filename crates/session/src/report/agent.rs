//! A row of the page: one run of a session.

use model::{AgentKind, Status, Usage};

use super::timeline::{Timeline, latest};
use crate::Facts;
use crate::export::{ExportedRun, ExportedSession};

/// One run, with what is known of its times.
pub(super) struct Agent<'a> {
    /// Counts from one, in the order of the page.
    pub(super) number: usize,
    pub(super) run: &'a ExportedRun,
    /// Which run of its session it is, and of how many.
    pub(super) of_session: (usize, usize),
    pub(super) timeline: Timeline,
    /// From its result, or while it runs, from its events.
    pub(super) usage: Usage,
    pub(super) tool_calls: u64,
}

impl<'a> Agent<'a> {
    /// All runs, oldest first.
    pub(super) fn all(sessions: &'a [ExportedSession]) -> Vec<Agent<'a>> {
        let runs = sessions.iter().flat_map(|session| {
            let count = session.runs.len();
            session.runs.iter().enumerate().map(move |(index, run)| (run, (index + 1, count)))
        });
        let mut runs: Vec<(&ExportedRun, (usize, usize))> = runs.collect();
        runs.sort_by_key(|(run, _)| (run.meta.created_at, &run.meta.run_id));
        let latest = runs.iter().map(|(run, _)| latest(run)).max().unwrap_or_default();
        let agents = runs.into_iter().zip(1..).map(|((run, of_session), number)| {
            let (usage, tool_calls) = match &run.result {
                Some(result) => (result.usage, result.tool_calls),
                None => {
                    let mut facts = Facts::default();
                    run.records.iter().for_each(|record| facts.apply(record));
                    (facts.usage, facts.tool_calls)
                }
            };
            let timeline = Timeline::new(run, latest);
            Agent { number, run, of_session, timeline, usage, tool_calls }
        });
        agents.collect()
    }

    /// From when it was asked for to its end.
    pub(super) fn time(&self) -> (u64, u64) {
        (self.timeline.from, self.timeline.to)
    }

    /// How long it worked, in milliseconds.
    pub(super) fn worked(&self) -> u64 {
        let measured = self.run.result.as_ref().map(|result| result.duration_ms);
        measured.unwrap_or_else(|| self.timeline.to.saturating_sub(self.timeline.started))
    }

    /// Its agent and its model, as far as they are known.
    pub(super) fn model(&self) -> (&'a str, &str) {
        let kind = self.run.meta.agent.as_ref().map(AgentKind::word);
        let answered = self.run.result.as_ref().and_then(|result| result.model.as_deref());
        let model = answered.or(self.run.meta.model.as_deref());
        (kind.unwrap_or_default(), model.unwrap_or_default())
    }

    /// The sign of its status, and the class that colours it.
    pub(super) fn sign(&self) -> (&'static str, &'static str) {
        match self.run.status() {
            Status::Completed => ("✓", "completed"),
            Status::Error => ("✗", "error"),
            Status::Running => ("●", "running"),
        }
    }
}
