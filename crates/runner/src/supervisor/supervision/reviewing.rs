//! The review of an agent's work, step by step, in the loop around the agent.

use std::time::Instant;

use model::{CheckResult, Event, Outcome, Verdict};
use process::{Confinement, Exit};
use session::{Demands, Ending, decide};

use super::Supervision;
use crate::supervisor::access::Bounds;
use crate::supervisor::review::step::{Step, StepEnd};
use crate::supervisor::review::{Demand, failed_words, unfit_words};
use crate::supervisor::stopper::Stopper;

impl Supervision {
    /// How the run has ended, or would end if the agent were dismissed now.
    pub(super) fn verdict(&self, demands: Demands) -> Verdict {
        let sink = &self.interpreter.sink;
        let is_waiting = self.exit.is_none() && self.interpreter.conversation.is_idle();
        let is_dismissed = self.input.is_dismissed() && self.interpreter.rules.has_settled();
        let (exit_code, signal) = self.exit.map_or((None, None), Exit::code_and_signal);
        decide(Ending {
            facts: &sink.facts,
            limits: &sink.meta.limits,
            agent_working: self.interpreter.rules.agent_is_working(),
            told: self.interpreter.verdict.as_ref(),
            demands,
            is_dismissed: is_dismissed || is_waiting,
            exit_code,
            signal,
        })
    }

    /// Begins to look at what was not looked at yet, if the agent has finished well. Returns whether there is anything
    /// to wait for.
    pub(super) fn review_next(&mut self) -> bool {
        while self.verdict(Demands::default()).outcome == Outcome::Completed
            && let Some(demand) = self.review.next(self.interpreter.sink.facts.assistant_messages)
        {
            if demand == Demand::Check {
                let command = self.review.check.as_ref().map(|check| check.command.clone());
                let command = command.unwrap_or_default();
                self.interpreter.record([Event::CheckStarted { command }]);
            }
            match self.start_step(demand) {
                Ok(step) => {
                    self.step = Some(step);
                    self.is_gone = false;
                    self.stopper = Stopper::default();
                    return true;
                }
                // The agent could not change that.
                Err(reason) => {
                    let end = StepEnd::not_started(&reason);
                    self.take_note(demand, end, false);
                }
            }
        }
        false
    }

    fn start_step(&mut self, demand: Demand) -> Result<Step, String> {
        let bounds = self.starter.confines.bounds.as_ref();
        let confinement = Confinement {
            cgroup: self.tree.cgroup(),
            ..bounds.map(Bounds::confinement).unwrap_or_default()
        };
        let sink = &self.interpreter.sink;
        let step = Step::start(demand, &self.review, sink, confinement)?;
        self.tree.add_command(step.pid);
        Ok(step)
    }

    pub(super) fn read_step(&mut self) {
        let (Some(step), interpreter) = (&mut self.step, &mut self.interpreter) else { return };
        let Step { demand, stdout, stderr, output, .. } = step;
        let mut take = |line: process::Line<'_>| {
            output.push(match demand {
                Demand::Check => interpreter.read_check(line),
                Demand::Answer => String::from_utf8_lossy(line.head()).into_owned(),
            });
        };
        stdout.read(&mut take);
        stderr.read(&mut take);
    }

    /// Stops the step when its time is up, and ends it when nothing of it is left. What stops the run stops it, too.
    pub(super) fn attend_step(&mut self, now: Instant) {
        if self.stopper.is_idle()
            && let Some(step) = &mut self.step
            && step.attend(self.tree.command_exit(step.pid), now)
        {
            self.end_step(now);
        }
    }

    /// Takes note of what the step has found, tells the agent if it can be told, and goes on.
    pub(super) fn end_step(&mut self, now: Instant) {
        for _ in 0..READS {
            self.read_step();
        }
        let Some(mut step) = self.step.take() else { return };
        let is_stopped = !self.stopper.is_idle();
        step.note_exit(self.tree.command_exit(step.pid));
        let (demand, began) = (step.demand, step.began);
        self.interpreter.rules.grant(now.saturating_duration_since(began));
        let can_be_told =
            !is_stopped && self.exit.is_none() && self.interpreter.conversation.is_idle();
        self.take_note(demand, step.end(is_stopped), can_be_told);
        if is_stopped {
            return;
        }
        self.converse(now);
        // What the step has left behind goes with what the agent has left, and the agent may have been stopped before.
        let was_stopped = self.interpreter.sink.facts.stopping.is_some();
        if self.step.is_none() && self.exit.is_some() && !self.is_gone && was_stopped {
            self.terminate();
        }
    }

    fn take_note(&mut self, demand: Demand, end: StepEnd, can_be_told: bool) {
        let is_met = end.has_succeeded();
        let StepEnd { problem, exit_code, signal, output } = end;
        let words = match demand {
            Demand::Answer => {
                let problem = match (problem, exit_code) {
                    _ if is_met => None,
                    (Some(problem), _) => Some(format!("the comparison failed: {problem}")),
                    (None, Some(1)) => Some(output),
                    // A schema can be too much for a stack.
                    (None, _) => Some("the comparison failed: the schema asks for too much".into()),
                };
                let words = unfit_words(problem.as_deref().unwrap_or_default());
                self.interpreter.record([Event::AnswerChecked { problem }]);
                words
            }
            Demand::Check => {
                let passed = is_met;
                let event = Event::CheckEnded { passed, problem, exit_code, signal, output };
                self.interpreter.record([event]);
                // As it was recorded: cleaned, without secrets, and cut.
                let recorded = self.interpreter.sink.facts.check.as_deref();
                failed_words(recorded.unwrap_or(&CheckResult::default()))
            }
        };
        if self.review.found(demand, is_met, can_be_told) {
            self.interpreter.conversation.say(words);
        }
    }
}

/// A pipe that no process fills any more is empty after so many readings.
const READS: usize = 64;
