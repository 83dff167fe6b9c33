//! The supervisor: one small process for every run, which owns the child and all it starts.
//!
//! One thread polls the child's pipes, the lifeline, the signals and a timer. There is no async
//! runtime, and nothing that waits for one thing only.

mod access;
mod admission;
mod child_streams;
mod confined_start;
mod conversation;
mod early_stop;
mod event_sink;
mod interpreter;
mod preparation;
mod questions;
mod requests;
mod review;
mod rules;
mod sanitizer;
mod screen;
mod stopper;
mod supervision;
mod workplace;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use model::{AgentKind, Event, Lifetime, Meta, Outcome, Secrets, StopCause, Verdict, paths};
use process::{Child, ChildSpec, SignalPipe};
use protocol::{Assignment, Opening, Protocol, Reader};
use store::{Journal, RunDir, StoreError};

use crate::lifeline::{Lifeline, ToParent};
use crate::recover::{PARENT_DIED, ended};
use crate::unstarted::spawn_failure;
use crate::worktree::{Worktree, keep_changes};
use access::Bounds;
use admission::{await_slot, take_slot};
use confined_start::{Confines, NotStarted, Started};
use conversation::Conversation;
use early_stop::EarlyStop;
use event_sink::EventSink;
use interpreter::Interpreter;
use preparation::{Unprepared, attend_command, make_worktree};
use questions::Questions;
use requests::Requests;
use review::Review;
use review::step::{SHELL, shell_arguments};
use screen::Screen;
use supervision::Supervision;
use workplace::Workplace;

pub(crate) use sanitizer::Sanitizer;

/// Why a run could not be supervised at all.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SuperviseError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
    #[error("this version does not know the protocol {0:?}; a newer version of pi-subagents does")]
    UnknownProtocol(String),
    #[error("the lifeline cannot be used: {0}")]
    Lifeline(std::io::Error),
}

/// Carries out the run whose directory is given, and returns when nothing of it is left.
///
/// This process must have one thread and no children. With a lifeline, events and the result of a
/// foreground run go back over it, and the run ends when it ends. With a screen, the other end of
/// which is a viewer, the transcript is shown there as it is written.
pub fn supervise(
    run_dir: &Path,
    lifeline: Option<UnixStream>,
    screen: Option<UnixStream>,
) -> Result<(), SuperviseError> {
    process::name_process();
    // Before the secrets arrive.
    process::hide_memory();
    let mut lifeline = lifeline.map(Lifeline::new).transpose().map_err(SuperviseError::Lifeline)?;
    // A run without a screen is better than none.
    let screen = screen.and_then(|socket| Screen::new(socket).ok());
    let prepared = prepare(run_dir);
    if let (Err(error), Some(lifeline)) = (&prepared, &mut lifeline) {
        lifeline.send(&ToParent::Refused(error.to_string()));
        lifeline.flush();
    }
    let Prepared { dir, meta, protocol, prompt, journal, mut signals } = prepared?;
    // Before the starter of the run lets go of it.
    let slot = take_slot(&meta, &dir);
    let secrets = match &mut lifeline {
        Some(lifeline) => {
            lifeline.send(&ToParent::Ready);
            lifeline.await_start()
        }
        None => Some(Secrets::default()),
    };
    // A background run does not depend on its starter from here on.
    let lifeline = lifeline.filter(|_| meta.lifetime == Lifetime::Foreground);

    let containment = process::become_subreaper();
    let mut sink = EventSink::new(meta, journal, lifeline, screen);
    let mut meta = sink.meta.clone();
    let Some(secrets) = secrets else {
        sink.record(Event::Stopping { cause: StopCause::ParentDied, seen: None });
        sink.end(ended(Outcome::Interrupted, PARENT_DIED));
        return Ok(());
    };
    let mut stop = EarlyStop::new(&mut signals, &mut sink, &dir);
    let mut slot = match slot.map_or_else(|| await_slot(&mut stop, &dir, None), Ok) {
        Ok(slot) => Some(slot),
        Err(unprepared) => {
            end_unprepared(sink, unprepared, None);
            return Ok(());
        }
    };
    let worktree = match make_worktree(&mut stop) {
        Ok(worktree) => worktree,
        Err(unprepared) => {
            end_unprepared(sink, unprepared, None);
            return Ok(());
        }
    };
    if let Some(worktree) = &worktree {
        meta.cwd.clone_from(&worktree.directory);
    }
    let meta = meta;
    // A core dump of the agent would hold its key. It can raise the limit again, for programs that it
    // tests; without a key, nothing changes. Our own agent hides its memory itself.
    if secrets.reveal().next().is_some() && meta.agent != Some(AgentKind::Builtin) {
        process::forgo_core_dumps();
    }
    let bounds = match Bounds::prepare(&meta, &dir) {
        Ok(bounds) => bounds,
        Err(error) => {
            worktree.into_iter().for_each(Worktree::discard);
            let (outcome, error) = spawn_failure(&error.to_string());
            sink.end(ended(outcome, error));
            return Ok(());
        }
    };
    let workplace = Workplace::new(&meta, worktree.as_ref(), bounds.as_ref());
    let mut confines = Confines { meta: &meta, dir: &dir, containment, bounds, cgroup: None };
    let sanitizer = Sanitizer::new(&secrets);
    if let Some(command) = meta.worktree.as_ref().and_then(|plan| plan.prepare.as_ref()) {
        let command_words = Event::PreparationStarted { command: command.command.clone() };
        sink.record(sanitizer.event(command_words));
        let args = shell_arguments(&command.command);
        let environment = workplace.without_key();
        let (cwd, environment) = (&workplace.cwd, &environment);
        let spec = ChildSpec { program: SHELL, name: None, args: &args, cwd, environment };
        let prepared = match confines.start(spec) {
            Ok(Started { child, .. }) => {
                let mut stop = EarlyStop::new(&mut signals, &mut sink, &dir);
                attend_command(child, command, &sanitizer, &mut stop)
            }
            Err(not_started) => {
                end_unstarted(sink, not_started, confines.bounds, worktree);
                return Ok(());
            }
        };
        if let Err(unprepared) = prepared {
            release(&mut sink, confines.bounds);
            end_unprepared(sink, unprepared, worktree);
            return Ok(());
        }
    }
    let started = start_agent(&meta, &workplace, &secrets, &mut confines);
    let Started { child, process } = match started {
        Ok(started) => started,
        Err(not_started) => {
            end_unstarted(sink, not_started, confines.bounds, worktree);
            return Ok(());
        }
    };
    sink.started(pid_of(&child), process);
    let conversation = Conversation::new(protocol.ear().err(), protocol.shows_messages())
        .relayed(protocol.is_relayed());
    let questions = Questions::new(meta.access, &meta.limits).relayed(protocol.is_relayed());
    let (opening, reader) = first_words(protocol, &meta, prompt.clone());
    let interpreter =
        Interpreter::new(sink, reader, conversation, questions, sanitizer, Instant::now());
    let requests = Requests::of(dir.clone(), meta.lifetime);
    let keep = protocol.keep();
    // Another supervisor, whose events the child passes on, has done it.
    let review = if protocol.is_relayed() {
        Review::default()
    } else {
        Review::new(meta.schema.clone(), meta.check.clone(), workplace)
    };
    let bounds = confines.bounds.take();
    let mut supervision =
        Supervision::new(child, opening, keep, interpreter, signals, requests, bounds, review);
    supervision.run();
    loop {
        for fallback in meta.fallback_starts.clone() {
            let Some(failure) = supervision.failure_of_model() else { break };
            let model = fallback.model.clone();
            let meta = meta.with_fallback(fallback);
            let worktree = worktree.as_ref();
            let started = start_again(&mut supervision, &meta, worktree, &secrets, &mut confines);
            let Some(started) = started else { break };
            let (opening, reader) = first_words(protocol, &meta, prompt.clone());
            supervision.restart(model, failure, started, opening, reader);
            supervision.run();
        }
        let Some(parked) = supervision.quota() else { break };
        // Another agent may run meanwhile.
        drop(slot.take());
        slot = supervision.park(parked, &dir);
        if slot.is_none() {
            break;
        }
        let worktree = worktree.as_ref();
        let started = start_again(&mut supervision, &meta, worktree, &secrets, &mut confines);
        let Some(started) = started else { break };
        let prompt = supervision.prompt_to_go_on(&meta, protocol, &dir);
        let (opening, reader) = first_words(protocol, &meta, prompt);
        supervision.go_on(started, opening, reader);
        supervision.run();
    }
    supervision.finish();
    Ok(())
}

fn pid_of(child: &Child) -> u32 {
    child.tree.child().as_raw_nonzero().get().unsigned_abs()
}

/// Starts the agent itself, in its directory and with its secrets.
fn start_agent(
    meta: &Meta,
    workplace: &Workplace,
    secrets: &Secrets,
    confines: &mut Confines<'_>,
) -> Result<Started, NotStarted> {
    let (program, args) = meta
        .command
        .split_first()
        .map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
    let mut environment = workplace.environment.clone();
    for (name, value) in secrets.reveal() {
        environment.insert(name.to_owned(), Some(value.to_owned()));
    }
    // Our own agent and the relay are this very program, also after its file has been replaced.
    let is_relay = program == paths::OWN_PROGRAM
        && Protocol::of(meta.protocol.as_deref()) == Some(Protocol::Events);
    let own = match meta.agent {
        Some(AgentKind::Builtin) => process::own_executable().ok(),
        _ if is_relay => process::own_executable().ok(),
        _ => None,
    };
    let own = own.as_deref().map(Path::to_string_lossy);
    confines.start(ChildSpec {
        program: own.as_deref().unwrap_or(program),
        name: own.is_some().then_some(program),
        args,
        cwd: &workplace.cwd,
        environment: &environment,
    })
}

/// Starts an agent in the place of one that is gone.
fn start_again(
    supervision: &mut Supervision,
    meta: &Meta,
    worktree: Option<&Worktree>,
    secrets: &Secrets,
    confines: &mut Confines<'_>,
) -> Option<Started> {
    (confines.bounds, confines.cgroup) = supervision.release();
    let workplace = Workplace::new(meta, worktree, confines.bounds.as_ref());
    let started = start_agent(meta, &workplace, secrets, confines);
    supervision.bounds = confines.bounds.take();
    match started {
        Ok(started) => Some(started),
        Err(NotStarted { reason, .. }) => {
            supervision.warn(vec![format!("The agent could not be started again: {reason}")]);
            None
        }
    }
}

/// What an agent is told first, and what reads its answer.
fn first_words(protocol: Protocol, meta: &Meta, prompt: String) -> (Opening, Reader) {
    let assignment = Assignment::new(meta, prompt);
    (protocol.opening(&assignment), protocol.reader(assignment))
}

/// Gives up the bounds of a run that has no agent, and says what is wrong with them: what prepares a worktree can have
/// changed what git reads.
fn release(sink: &mut EventSink, bounds: Option<Bounds>) {
    let Some(mut bounds) = bounds else { return };
    let warnings = std::mem::take(&mut bounds.warnings).into_iter().chain(bounds.release());
    warnings.for_each(|message| sink.record(Event::Warning { message }));
}

/// Ends a run for which a process could not be started.
fn end_unstarted(
    mut sink: EventSink,
    not_started: NotStarted,
    bounds: Option<Bounds>,
    worktree: Option<Worktree>,
) {
    release(&mut sink, bounds);
    worktree.into_iter().for_each(Worktree::discard);
    let NotStarted { reason, is_shortage } = not_started;
    // The parent may have other runs, after which there is room.
    if is_shortage && sink.lifeline().is_some() {
        sink.hand_back(reason);
    } else {
        let (outcome, error) = spawn_failure(&reason);
        sink.end(ended(outcome, error));
    }
}

/// Ends a run whose worktree could not be made or prepared.
fn end_unprepared(mut sink: EventSink, unprepared: Unprepared, worktree: Option<Worktree>) {
    let Unprepared { cause, verdict: Verdict { outcome, error }, leftovers } = unprepared;
    if let Some(cause) = cause {
        sink.record(Event::Stopping { cause, seen: None });
    }
    if leftovers.is_none() {
        worktree.into_iter().for_each(Worktree::discard);
    } else if let Some(kept) = keep_changes(&sink.meta, false) {
        // What could not be stopped may still write there.
        sink.record(kept);
    }
    sink.end(Event::RunEnded { outcome, error, exit_code: None, signal: None, leftovers });
}

struct Prepared {
    dir: RunDir,
    meta: Meta,
    protocol: Protocol,
    prompt: String,
    journal: Journal,
    signals: SignalPipe,
}

fn prepare(run_dir: &Path) -> Result<Prepared, SuperviseError> {
    let dir = RunDir::open(run_dir)?;
    let meta = dir.meta()?;
    let word = meta.protocol.as_deref();
    let protocol = Protocol::of(word)
        .ok_or_else(|| SuperviseError::UnknownProtocol(word.unwrap_or_default().to_owned()))?;
    let prompt = dir.prompt()?;
    let mut journal = Journal::begin(&dir, &meta.limits)?;
    // Only its supervisor can tell how a background run ended, so it must reach its directory, and
    // be reached there, also after the project was moved.
    let dir = if meta.lifetime == Lifetime::Background { journal.enter() } else { dir };
    let signals = SignalPipe::for_supervising().map_err(SuperviseError::Signals)?;
    Ok(Prepared { dir, meta, protocol, prompt, journal, signals })
}
