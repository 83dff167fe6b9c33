//! The loop around one child.

mod fallback;
mod parking;
mod reviewing;
mod waking;

use std::mem;
use std::time::{Duration, Instant};

use governor::Eviction;
use model::{Event, Leftovers, Outcome, Resources, StopCause, StopReason, Verdict};
use process::{Child, Exit, Keep, Notice, Signal, SignalPipe, Tree};
use protocol::Opening;
use store::{StopForce, TemporaryDir};

use super::access::Bounds;
use super::agent_starter::AgentStarter;
use super::child_streams::{Input, Source};
use super::conversation::refused;
use super::event_sink::EventSink;
use super::interpreter::Interpreter;
use super::questions::Questions;
use super::requests::Requests;
use super::review::Review;
use super::review::step::Step;
use super::rules::{Ruling, Situation, Stop};
use super::screen::ScreenRequest;
use super::stopper::{StopStep, Stopper};
use crate::leftovers::survivors;
use crate::lifeline::ToSupervisor;
use crate::worktree::keep_changes;

/// How often the memory of the tree is looked at, at most.
const MEMORY_INTERVAL: Duration = Duration::from_secs(1);

/// What is said of an answer that did not come to its end.
const CUT_OFF: &str = "The answer was cut off at the model's limit of length";

pub(crate) struct Supervision {
    tree: Tree,
    input: Input,
    stdout: Source,
    stderr: Source,
    keep: fn(&[u8]) -> Keep,
    interpreter: Interpreter,
    signals: SignalPipe,
    requests: Requests,
    /// Also what bounds the processes of the run.
    starter: AgentStarter,
    review: Review,
    /// The step of the review that is being taken.
    step: Option<Step>,
    stopper: Stopper,
    exit: Option<Exit>,
    exited_at: Option<Instant>,
    is_gone: bool,
    /// What did not go away.
    leftovers: Option<Leftovers>,
    /// The signal that has asked this process to end.
    quit: Option<Notice>,
    /// Whether the user has pressed Ctrl-C in the pane.
    is_interrupted: bool,
    /// Looks whether this run must make room for others.
    eviction: Option<Eviction>,
    /// When to look at the memory of the tree again.
    look_at_memory_at: Instant,
    /// When the last quota was to be over, as the provider has said. In milliseconds since 1970.
    quota_named: Option<u64>,
}

impl Supervision {
    pub(crate) fn new(
        child: Child,
        opening: Opening,
        interpreter: Interpreter,
        signals: SignalPipe,
        requests: Requests,
        starter: AgentStarter,
        review: Review,
    ) -> Supervision {
        let keep = starter.protocol.keep();
        let eviction = Eviction::new(interpreter.sink.meta.admission.as_deref());
        Supervision {
            tree: child.tree,
            input: Input::new(child.stdin, opening),
            stdout: Source::new(child.stdout, keep),
            stderr: Source::new(child.stderr, |_| Keep::Ends),
            keep,
            interpreter,
            signals,
            requests,
            starter,
            review,
            step: None,
            stopper: Stopper::default(),
            exit: None,
            exited_at: None,
            is_gone: false,
            leftovers: None,
            quit: None,
            is_interrupted: false,
            eviction,
            look_at_memory_at: Instant::now() + MEMORY_INTERVAL,
            quota_named: None,
        }
    }

    /// Watches over the child until nothing of its tree is left.
    pub(crate) fn run(&mut self) {
        self.input.write();
        let bounds = self.starter.confines.bounds.as_mut();
        let warnings = bounds.map(|bounds| mem::take(&mut bounds.warnings));
        self.warn(warnings.unwrap_or_default());
        loop {
            while !self.is_gone {
                self.interpreter.sink.flush();
                let wakers = self.wait();
                self.handle(&wakers);
                self.check_time();
            }
            let now = Instant::now();
            self.end_step(now);
            if self.step.is_none() && !self.review_after_exit(now) {
                break;
            }
        }
        self.stderr.finish(|line| self.interpreter.read_stderr(line));
    }

    pub(crate) fn warn(&mut self, warnings: Vec<String>) {
        for message in warnings {
            self.interpreter.sink.record(Event::Warning { message });
        }
    }

    fn handle_signals(&mut self) {
        for notice in self.signals.drain() {
            match notice {
                Notice::ChildEnded => self.reap(),
                // A program that has left a request may say so in this way.
                Notice::Continued => self.handle_requests(),
                // Hanging up and terminating often come together, and to the parent as well, and
                // mean one thing. Only the same signal again means more.
                quit if self.quit == Some(quit) => self.stopper.hasten(Instant::now()),
                quit => {
                    self.quit.get_or_insert(quit);
                    // If this process was stopped while its parent died, the kernel hangs up on it, as
                    // on every stopped process that is orphaned. That is no request, and the end of
                    // the lifeline says what it is.
                    self.handle_lifeline();
                    self.request_stop(StopCause::Cancelled);
                }
            }
        }
    }

    fn reap(&mut self) {
        let reaped = self.tree.reap();
        if self.exit.is_none() && reaped.child.is_some() {
            self.exit = reaped.child;
            self.exited_at = Some(Instant::now());
            // The rest will not be read.
            self.input.close();
        }
        self.is_gone = reaped.gone;
    }

    /// Looks at the memory of the tree now and then. It is no reason to wake up: an agent that does something says so.
    fn look_at_memory(&mut self, now: Instant) {
        if now >= self.look_at_memory_at && !self.is_gone {
            self.tree.look_at_memory();
            self.look_at_memory_at = now + MEMORY_INTERVAL;
        }
    }

    fn handle_lifeline(&mut self) {
        let (requests, parent_is_gone) = self.interpreter.sink.parent_requests();
        for request in requests {
            match request {
                ToSupervisor::Start { .. } => {}
                ToSupervisor::Stop => self.request_stop(StopCause::Cancelled),
                ToSupervisor::Kill => self.kill(),
                ToSupervisor::NearlySpent => {
                    self.interpreter.urge_to_end();
                    self.converse(Instant::now());
                }
                ToSupervisor::Spent(seen) => {
                    let has_said_something = self.interpreter.sink.facts.assistant_messages > 0;
                    if let Some(stop) = self.interpreter.rules.spend_call(seen, has_said_something)
                    {
                        self.request_stop(stop);
                    }
                }
            }
        }
        if parent_is_gone {
            self.request_stop(StopCause::ParentDied);
        }
    }

    /// Ctrl-C in the pane, or its end, stops the run; a second Ctrl-C kills it.
    fn handle_screen(&mut self) {
        for request in self.interpreter.sink.screen_requests() {
            match request {
                ScreenRequest::Interrupt if self.is_interrupted => self.kill(),
                ScreenRequest::Interrupt => {
                    self.is_interrupted = true;
                    self.request_stop(StopCause::Cancelled);
                }
                ScreenRequest::Closed => self.request_stop(StopCause::Cancelled),
            }
        }
    }

    fn handle_requests(&mut self) {
        match self.requests.look(Instant::now()) {
            Some(StopForce::Gracefully) => self.request_stop(StopCause::Cancelled),
            Some(StopForce::AtOnce) => self.kill(),
            None if self.requests.is_removed => self.request_stop(StopCause::DirectoryRemoved),
            None => {}
        }
        self.take_messages();
        self.take_answers();
        self.converse(Instant::now());
    }

    /// Takes the answers of users to what the agent asks.
    fn take_answers(&mut self) {
        for number in self.interpreter.questions.waiting() {
            let Some(left) = self.requests.answer(number) else { continue };
            let settled =
                self.interpreter.questions.answer(number, left.map_err(|error| error.to_string()));
            self.interpreter.settle(settled);
        }
    }

    /// An answer that is there before its question is known to other programs is no user's.
    fn refuse_early_answers(&mut self) {
        for number in self.interpreter.questions.take_new() {
            if self.requests.answer(number).is_some() {
                let settled = self.interpreter.questions.refuse_early_answer(number);
                self.interpreter.settle(settled);
            }
        }
    }

    fn take_messages(&mut self) {
        while let Some((number, message)) = self.requests.next_message() {
            match message {
                Ok(message) => self.interpreter.accept(number, message),
                Err(error) => self.interpreter.record([refused(number, error.to_string())]),
            }
        }
    }

    /// Tells the agent what there is to say, and ends its input when there is nothing more.
    fn converse(&mut self, now: Instant) {
        // While its work is reviewed, the agent is told nothing: it would change what is looked at.
        if self.step.is_none() {
            self.interpreter.speak();
            let is_asking = self.interpreter.questions.is_waiting();
            if self.interpreter.conversation.is_done() && !is_asking {
                // From here on messages are refused. One that is there already was in time.
                self.take_messages();
                self.interpreter.speak();
                if self.interpreter.conversation.is_done() && !self.review_next() {
                    self.stop_conversation();
                    self.interpreter.rules.dismiss(now);
                }
            }
        }
        self.input.push(&mem::take(&mut self.interpreter.replies));
        if self.interpreter.conversation.is_over() || self.interpreter.rules.has_settled() {
            self.input.close_when_written();
        }
    }

    fn stop_conversation(&mut self) {
        let events = self.interpreter.conversation.stop();
        self.interpreter.record(events);
    }

    fn stop_questions(&mut self) {
        let settled = self.interpreter.questions.stop();
        self.interpreter.settle(settled);
    }

    /// Makes room if memory has run out and no agent takes more of it. There is no time for it to end by itself.
    fn make_room(&mut self, now: Instant) {
        let Some(eviction) = &mut self.eviction else { return };
        if let Some(seen) = eviction.look(&self.interpreter.sink.meta.run_id, now) {
            self.request_stop(Stop::seen(StopCause::Evicted, seen));
            self.stopper.hasten(now);
        }
    }

    fn kill(&mut self) {
        self.request_stop(StopCause::Cancelled);
        self.stopper.hasten(Instant::now());
    }

    fn request_stop(&mut self, stop: impl Into<Stop>) {
        self.interpreter.rules.request(stop);
        self.apply_rules(Instant::now());
    }

    /// The one place that decides whether the run is stopped.
    fn apply_rules(&mut self, now: Instant) {
        let is_reviewing = self.step.is_some();
        let Interpreter { sink, rules, questions, .. } = &mut self.interpreter;
        let situation = situation(sink, questions, self.exited_at, is_reviewing);
        match rules.check(&situation, now) {
            Some(Ruling::Stop(stop)) => {
                sink.record(stop.into());
                self.terminate();
            }
            Some(Ruling::Record(event)) => sink.record(event),
            None => {}
        }
    }

    fn check_time(&mut self) {
        let now = Instant::now();
        if !self.stopper.is_idle() {
            // Without a subreaper the end of a grandchild brings no signal.
            self.reap();
        }
        if self.is_gone {
            return;
        }
        if self.requests.is_due(now) {
            self.handle_requests();
        }
        let unread = self.interpreter.conversation.check(now);
        if !unread.is_empty() {
            self.interpreter.record(unread);
            self.converse(now);
        }
        let unanswered = self.interpreter.questions.check(now);
        if !unanswered.is_empty() {
            self.interpreter.settle(unanswered);
            self.converse(now);
        }
        self.attend_step(now);
        self.look_at_memory(now);
        self.make_room(now);
        self.apply_rules(now);
        match self.stopper.check(now) {
            Some(StopStep::Kill) => self.tree.signal(Signal::Kill),
            Some(StopStep::GiveUp) => {
                let (warning, leftovers) = survivors(&self.tree.members());
                self.interpreter.sink.record(warning);
                self.leftovers = Some(leftovers);
                self.is_gone = true;
            }
            None => {}
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let Interpreter { sink, rules, conversation, questions, .. } = &self.interpreter;
        let situation = situation(sink, questions, self.exited_at, self.step.is_some());
        let step = self.step.as_ref().filter(|_| self.stopper.is_idle());
        let deadlines = [
            rules.next_deadline(&situation),
            conversation.next_deadline(),
            questions.next_deadline(),
            step.and_then(Step::next_deadline),
            self.stopper.next(),
            self.eviction.as_ref().and_then(Eviction::next_look),
            self.requests.look_at,
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Begins to stop the tree, unless that has begun already.
    fn terminate(&mut self) {
        if self.stopper.is_idle() {
            self.stop_conversation();
            self.stop_questions();
            self.tree.signal(Signal::Terminate);
            self.stopper.asked(Instant::now());
        }
    }

    /// Looks at the work of an agent that has exited, and cannot be told any more. Returns whether a step was started.
    fn review_after_exit(&mut self, now: Instant) -> bool {
        self.stdout.finish(|line| self.interpreter.read_stdout(line, now));
        self.interpreter.finish_stdout();
        // What could not be stopped could still change what is looked at.
        self.leftovers.is_none() && self.review_next()
    }

    /// Nothing of the tree is left: ends the run.
    pub(crate) fn finish(mut self) {
        let used = self.tree.resources();
        self.interpreter.sink.resources = Some(Resources {
            processor_ms: u64::try_from(used.processor_time.as_millis()).unwrap_or(u64::MAX),
            peak_memory: used.peak_memory,
        });
        governor::remember(&self.interpreter.sink.meta, used.peak_memory);
        self.tree.remove_cgroup();
        self.stop_questions();
        let unread = self.interpreter.conversation.end();
        self.interpreter.record(unread);
        self.take_messages();
        let warnings = self.starter.confines.bounds.take().map(Bounds::release);
        self.warn(warnings.unwrap_or_default());
        // A relay that was killed has left it. If it cannot be removed, `doctor` finds it.
        let _ = TemporaryDir::left_by(&self.interpreter.sink.meta).map(TemporaryDir::remove);
        // After the last process of the agent, and before the result that tells of it.
        let kept = keep_changes(&self.interpreter.sink.meta, self.leftovers.is_none());
        self.interpreter.record(kept);
        let verdict = self.verdict(self.review.demands());
        let (exit_code, signal) = self.exit.map_or((None, None), Exit::code_and_signal);
        let sink = &mut self.interpreter.sink;
        // It said all that it could, which may not be all that it wanted to say.
        let is_cut_off = sink.facts.stop_reason == Some(StopReason::Length);
        if verdict.outcome == Outcome::Completed && is_cut_off {
            sink.record(Event::Warning { message: CUT_OFF.to_owned() });
        }
        let unkept = sink.meta.limits.budget.unkept_words(&sink.facts.usage);
        if let Some(message) = unkept.filter(|_| !self.starter.protocol.is_relayed()) {
            sink.record(Event::Warning { message });
        }
        let Verdict { outcome, error } = verdict;
        let leftovers = self.leftovers;
        self.interpreter.end(Event::RunEnded { outcome, error, exit_code, signal, leftovers });
    }
}

fn situation<'a>(
    sink: &'a EventSink,
    questions: &Questions,
    exited_at: Option<Instant>,
    is_reviewing: bool,
) -> Situation<'a> {
    let (is_unread, is_asking) = (sink.is_congested(), questions.is_waiting());
    Situation { facts: &sink.facts, exited_at, is_unread, is_reviewing, is_asking }
}
