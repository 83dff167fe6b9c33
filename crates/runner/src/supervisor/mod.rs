//! The supervisor: one small process for every run, which owns the child and all it starts.
//!
//! One thread polls the child's pipes, the lifeline, the signals and a timer. There is no async
//! runtime, and nothing that waits for one thing only.

mod access;
mod admission;
mod agent_starter;
mod child_streams;
mod confined_start;
mod conversation;
mod early_end;
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

use governor::Slot;
use model::{AgentKind, Event, Lifetime, Meta, Outcome, Secrets, StopCause};
use process::SignalPipe;
use protocol::Protocol;
use store::{Journal, RunDir, StoreError};

use crate::lifeline::{Lifeline, ToParent};
use crate::recover::{PARENT_DIED, ended};
use access::Bounds;
use admission::{await_slot, take_slot};
use agent_starter::AgentStarter;
use confined_start::{Confines, Started};
use conversation::Conversation;
use early_end::{EarlyEnd, Unprepared, end_early};
use early_stop::EarlyStop;
use event_sink::EventSink;
use interpreter::Interpreter;
use preparation::{make_worktree, run_preparation};
use questions::Questions;
use requests::Requests;
use review::Review;
use screen::Screen;
use supervision::Supervision;

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
    let opened = open_run(run_dir);
    if let (Err(error), Some(lifeline)) = (&opened, &mut lifeline) {
        lifeline.send(&ToParent::Refused(error.to_string()));
        lifeline.flush();
    }
    let OpenedRun { dir, meta, protocol, prompt, journal, mut signals } = opened?;
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
    let Some(secrets) = secrets else {
        sink.record(Event::Stopping { cause: StopCause::ParentDied, seen: None });
        sink.end(ended(Outcome::Interrupted, PARENT_DIED));
        return Ok(());
    };
    let sanitizer = Sanitizer::new(&secrets);
    let confines = Confines { dir: dir.clone(), containment, bounds: None, cgroup: None };
    let (meta, worktree) = (sink.meta.clone(), None);
    let mut starter = AgentStarter { meta, protocol, prompt, worktree, secrets, confines };
    let mut stop = EarlyStop::new(&mut signals, &mut sink, &dir);
    match begin(&mut starter, slot, &sanitizer, &mut stop) {
        Ok((slot, started)) => {
            let supervision = watch_over(starter, started, sink, signals, sanitizer);
            supervise_until_done(supervision, slot, &dir);
        }
        Err(early_end) => end_early(sink, early_end, starter.confines.bounds, starter.worktree),
    }
    Ok(())
}

/// Waits for the slot of a run, makes everything ready for its agent, and starts it.
fn begin(
    starter: &mut AgentStarter,
    slot: Option<Slot>,
    sanitizer: &Sanitizer,
    stop: &mut EarlyStop<'_>,
) -> Result<(Slot, Started), EarlyEnd> {
    let dir = starter.confines.dir.clone();
    let slot = slot.map_or_else(|| await_slot(stop, &dir, None), Ok)?;
    if let Some(worktree) = make_worktree(stop)? {
        starter.enter(worktree);
    }
    let meta = starter.meta.clone();
    // A core dump of the agent would hold its key. It can raise the limit again, for programs that it
    // tests; without a key, nothing changes. Our own agent hides its memory itself.
    if starter.secrets.reveal().next().is_some() && meta.agent != Some(AgentKind::Builtin) {
        process::forgo_core_dumps();
    }
    let bounds = Bounds::prepare(&meta, &dir);
    starter.confines.bounds = bounds.map_err(|error| EarlyEnd::NoBounds(error.to_string()))?;
    run_preparation(starter, sanitizer, stop)?;
    // A request to stop that came while git worked is heard once only.
    if stop.cause.is_some() {
        return Err(Unprepared::new(stop, String::new()).into());
    }
    Ok((slot, starter.start(&meta)?))
}

/// Takes the agent that was started under supervision.
fn watch_over(
    starter: AgentStarter,
    started: Started,
    mut sink: EventSink,
    signals: SignalPipe,
    sanitizer: Sanitizer,
) -> Supervision {
    let pid = started.pid();
    let Started { child, process } = started;
    sink.started(pid, process);
    let AgentStarter { meta, protocol, prompt, .. } = &starter;
    let conversation =
        Conversation::new(protocol.message_support().err(), protocol.shows_messages())
            .relayed(protocol.is_relayed());
    let questions = Questions::new(meta.access, &meta.limits).relayed(protocol.is_relayed());
    let (opening, reader) = starter.first_words(meta, prompt.clone());
    let interpreter =
        Interpreter::new(sink, reader, conversation, questions, sanitizer, Instant::now());
    let requests = Requests::of(starter.confines.dir.clone(), meta.lifetime);
    let review = if protocol.is_relayed() {
        Review::default()
    } else {
        Review::new(meta.schema.clone(), meta.check.clone(), starter.workplace(meta))
    };
    Supervision::new(child, opening, interpreter, signals, requests, starter, review)
}

/// Supervises the agent, those with other models in its place, and those that go on when its provider gives something again.
fn supervise_until_done(mut supervision: Supervision, slot: Slot, dir: &RunDir) {
    let mut slot = Some(slot);
    supervision.run();
    loop {
        for fallback in supervision.fallbacks() {
            if !supervision.fall_back(fallback) {
                break;
            }
            supervision.run();
        }
        let Some(parked) = supervision.quota() else { break };
        // Another agent may run meanwhile.
        drop(slot.take());
        slot = supervision.park(parked, dir);
        if slot.is_none() || !supervision.go_on(dir) {
            break;
        }
        supervision.run();
    }
    supervision.finish();
}

/// A run whose record this process writes from here on.
struct OpenedRun {
    dir: RunDir,
    meta: Meta,
    protocol: Protocol,
    prompt: String,
    journal: Journal,
    signals: SignalPipe,
}

fn open_run(run_dir: &Path) -> Result<OpenedRun, SuperviseError> {
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
    Ok(OpenedRun { dir, meta, protocol, prompt, journal, signals })
}
