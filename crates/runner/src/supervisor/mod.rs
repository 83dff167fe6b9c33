//! The supervisor: one small process for every run, which owns the child and all it starts.
//!
//! One thread polls the child's pipes, the lifeline, the signals and a timer. There is no async
//! runtime, and nothing that waits for one thing only.

mod child_streams;
mod event_sink;
mod interpreter;
mod requests;
mod rules;
mod sanitizer;
mod screen;
mod stopper;
mod supervision;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use model::{AgentKind, Event, Lifetime, Meta, Outcome, Secrets, StopCause, variables};
use process::{ChildSpec, SignalPipe};
use protocol::Protocol;
use store::{Journal, RunDir, StoreError};

use crate::lifeline::{Lifeline, ToParent};
use crate::recover::{PARENT_DIED, ended};
use event_sink::EventSink;
use interpreter::Interpreter;
use requests::Requests;
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
    let mut lifeline = lifeline.map(Lifeline::new).transpose().map_err(SuperviseError::Lifeline)?;
    // A run without a screen is better than none.
    let screen = screen.and_then(|socket| Screen::new(socket).ok());
    let prepared = prepare(run_dir);
    if let (Err(error), Some(lifeline)) = (&prepared, &mut lifeline) {
        lifeline.send(&ToParent::Refused(error.to_string()));
        lifeline.flush();
    }
    let Prepared { dir, meta, protocol, prompt, journal, signals } = prepared?;
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
    let meta = sink.meta.clone();
    let Some(secrets) = secrets else {
        sink.record(Event::Stopping { cause: StopCause::ParentDied });
        sink.end(ended(Outcome::Interrupted, PARENT_DIED));
        return Ok(());
    };
    let (program, args) = meta
        .command
        .split_first()
        .map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
    let mut environment = meta.environment.clone();
    environment.insert(variables::SUPERVISES.to_owned(), None);
    for (name, value) in secrets.reveal() {
        environment.insert(name.to_owned(), Some(value.to_owned()));
    }
    // Our own agent is this very program, also after its file has been replaced.
    let own = match meta.agent {
        Some(AgentKind::Builtin) => process::own_executable().ok(),
        _ => None,
    };
    let own = own.as_deref().map(Path::to_string_lossy);
    let spec = ChildSpec {
        program: own.as_deref().unwrap_or(program),
        name: own.is_some().then_some(program),
        args,
        cwd: &meta.cwd,
        environment: &environment,
    };
    match process::spawn_contained(spec, containment) {
        Ok(child) => {
            sink.started(child.tree.child().as_raw_nonzero().get().unsigned_abs());
            let interpreter = Interpreter::new(sink, protocol.reader(), &secrets, Instant::now());
            let requests = Requests::of(dir, meta.lifetime);
            Supervision::new(child, protocol, prompt, interpreter, signals, requests).run();
        }
        Err(error) => {
            let error = format!("Failed to spawn sub-agent process: {error}");
            sink.end(ended(Outcome::SpawnFailure, error));
        }
    }
    Ok(())
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
