//! One step of a review: a process beside the agent or after it, with a time of its own.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use model::{Event, variables};
use process::{
    ChildSpec, Confinement, Containment, Exit, Keep, KillTarget, Marker, OWN_NAME, Pid, Signal,
    own_executable, spawn_confined,
};
use protocol::Opening;
use serde_json::json;

use super::{Demand, Review};
use crate::durations::COMPARISON_ANSWER;
use crate::supervisor::child_streams::{Input, Source};
use crate::supervisor::event_sink::EventSink;
use crate::supervisor::stopper::{StopStep, Stopper};

/// What runs the commands of users.
pub(crate) const SHELL: &str = "/bin/sh";

/// How the shell is told a command. It has one stream, so that what it prints stays in its order.
pub(crate) fn shell_arguments(command: &str) -> [String; 2] {
    ["-c".to_owned(), format!("exec 2>&1; {command}")]
}

pub(crate) struct Step {
    pub(crate) demand: Demand,
    pub(crate) pid: Pid,
    pub(crate) input: Input,
    pub(crate) stdout: Source,
    pub(crate) stderr: Source,
    pub(crate) output: Tail,
    pub(crate) began: Instant,
    timeout: Duration,
    /// Every process of the step.
    marked: KillTarget,
    stopper: Stopper,
    exit: Option<Exit>,
    /// Whether it was stopped because its time was up.
    is_late: bool,
}

/// How a step ended.
pub(crate) struct StepEnd {
    /// Why it has not succeeded, where its exit does not say.
    pub(crate) problem: Option<String>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) output: String,
}

impl Step {
    /// Starts the process of a demand, within the bounds of the agent and without its secrets.
    pub(crate) fn start(
        demand: Demand,
        review: &Review,
        sink: &EventSink,
        bounds: Confinement<'_>,
    ) -> Result<Step, String> {
        let workplace = review.workplace.as_ref().ok_or("there is no place for it")?;
        let mut environment = workplace.without_key();
        environment.insert(variables::CHECK.to_owned(), Some("1".to_owned()));
        let own = own_executable().map_err(|error| error.to_string())?;
        let own = own.to_string_lossy();
        let (program, name, args, input, timeout) = match demand {
            Demand::Answer => {
                let question = json!({"schema": review.schema, "answer": sink.facts.output});
                let args = vec!["fits".to_owned()];
                (&*own, Some(OWN_NAME), args, question.to_string(), COMPARISON_ANSWER)
            }
            Demand::Check => {
                let check = review.check.as_ref();
                let command = check.map_or("", |check| &check.command);
                let timeout = check.map_or(0, |check| check.timeout_ms);
                let args = shell_arguments(command).to_vec();
                (SHELL, None, args, String::new(), Duration::from_millis(timeout))
            }
        };
        let cwd = &workplace.cwd;
        let spec = ChildSpec { program, name, args: &args, cwd, environment: &environment };
        // The supervision takes it into the tree of the agent.
        let child = spawn_confined(spec, Containment::Descendants, bounds)
            .map_err(|error| error.to_string())?;
        let opening = Opening { bytes: input.into_bytes(), stays_open: false };
        let mut input = Input::new(child.stdin, opening);
        input.write();
        let run = sink.meta.run_id.as_str();
        Ok(Step {
            demand,
            pid: child.tree.child(),
            input,
            stdout: Source::new(child.stdout, |_| Keep::Ends),
            stderr: Source::new(child.stderr, |_| Keep::Ends),
            output: Tail::default(),
            began: Instant::now(),
            timeout,
            marked: KillTarget::Marked(Marker::new(&[
                (variables::RUN, run),
                (variables::CHECK, "1"),
            ])),
            stopper: Stopper::default(),
            exit: None,
            is_late: false,
        })
    }

    /// Stops it when its time is up, and then what it has left behind. True when nothing of it is left, as far as can
    /// be seen: what hides is stopped with the run.
    pub(crate) fn attend(&mut self, exit: Option<Exit>, now: Instant) -> bool {
        self.note_exit(exit);
        if self.exit.is_some() && self.marked.count() == 0 {
            return true;
        }
        let is_due = self.exit.is_some() || self.deadline().is_some_and(|deadline| now >= deadline);
        if self.stopper.is_idle() && is_due {
            self.is_late = self.exit.is_none();
            self.signal(Signal::Terminate);
            self.stopper.asked(now);
        }
        match self.stopper.check(now) {
            Some(StopStep::Kill) => {
                self.signal(Signal::Kill);
                false
            }
            Some(StopStep::GiveUp) => true,
            None => false,
        }
    }

    pub(crate) fn note_exit(&mut self, exit: Option<Exit>) {
        self.exit = exit;
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.stopper.next().or_else(|| self.deadline())
    }

    /// It is over. `is_stopped` says that it was stopped with the run.
    pub(crate) fn end(self, is_stopped: bool) -> StepEnd {
        let late_after = self.is_late.then_some(self.timeout);
        StepEnd::new(self.exit, is_stopped, late_after, self.output.text())
    }

    fn deadline(&self) -> Option<Instant> {
        self.began.checked_add(self.timeout)
    }

    fn signal(&self, signal: Signal) {
        self.marked.signal(signal);
        // For systems on which marks cannot be seen. Until it is reaped, the id is its own.
        if self.exit.is_none() {
            KillTarget::Group(self.pid).signal(signal);
        }
    }
}

impl StepEnd {
    /// A step is over. It was stopped with the run if `is_stopped` says so, or after this time of its own, or ended by itself.
    pub(crate) fn new(
        exit: Option<Exit>,
        is_stopped: bool,
        late_after: Option<Duration>,
        output: String,
    ) -> StepEnd {
        let problem = match late_after {
            _ if is_stopped => Some("stopped before it had ended".to_owned()),
            Some(timeout) => {
                Some(format!("stopped after {} s, its timeout", timeout.as_secs_f64()))
            }
            None => None,
        };
        let (exit_code, signal) = exit.map_or((None, None), Exit::code_and_signal);
        StepEnd { problem, exit_code, signal, output }
    }

    /// A step whose process could not be started.
    pub(crate) fn not_started(reason: &str) -> StepEnd {
        let problem = Some(format!("it could not be started: {reason}"));
        StepEnd { problem, exit_code: None, signal: None, output: String::new() }
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.problem.is_none() && self.exit_code == Some(0)
    }
}

/// The last lines of an output.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    pub(crate) fn push(&mut self, mut line: String) {
        let surplus = line.len().saturating_sub(Event::COMMAND_OUTPUT_BYTES);
        line.drain(..line.ceil_char_boundary(surplus));
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.bytes > Event::COMMAND_OUTPUT_BYTES
            && self.lines.len() > 1
            && let Some(first) = self.lines.pop_front()
        {
            self.bytes -= first.len() + 1;
        }
    }

    pub(crate) fn text(self) -> String {
        Vec::from(self.lines).join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_step_says_what_has_stopped_it() {
        let (code, killed) = (Some(Exit::Code(0)), Some(Exit::Signal(15)));
        let late = Some(Duration::from_millis(1500));
        let (stopped, slow) = ("stopped before it had ended", "stopped after 1.5 s, its timeout");
        for (exit, is_stopped, late_after, problem, has_succeeded) in [
            (code, false, None, None, true),
            (code, true, None, Some(stopped), false),
            (killed, true, late, Some(stopped), false),
            (killed, false, late, Some(slow), false),
            (killed, false, None, None, false),
            (None, false, None, None, false),
        ] {
            let end = StepEnd::new(exit, is_stopped, late_after, "output".to_owned());
            assert_eq!((end.problem.as_deref(), end.has_succeeded()), (problem, has_succeeded));
            let of_exit = exit.map_or((None, None), Exit::code_and_signal);
            assert_eq!(((end.exit_code, end.signal), end.output.as_str()), (of_exit, "output"));
        }
    }

    #[test]
    fn a_tail_keeps_the_end_and_does_not_grow() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.push(number.to_string());
        }
        let text = tail.text();
        assert!(text.ends_with("99998\n99999") && text.len() <= Event::COMMAND_OUTPUT_BYTES);
        let mut tail = Tail::default();
        tail.push(format!("{}ż", "a".repeat(1_000_000)));
        tail.push("end".to_owned());
        assert!(tail.bytes <= Event::COMMAND_OUTPUT_BYTES + 4);
        assert!(tail.text().ends_with("end"));
    }
}
