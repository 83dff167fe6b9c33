//! A run that a call stops or speaks to. That takes as long as its agent or its supervisor needs, so that
//! it is done beside the calls.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use model::Message;
use runner::{StopError, StopForce, Stopped, TellError, TellUntil, Told, stop_run, tell_run};
use store::RunDir;

use super::{Tool, ToolAnswer, ToolError};
use crate::{BackgroundRecord, BackgroundRun, control_answer, message_answer};

/// A run that is being stopped or told something.
#[derive(Debug)]
pub(super) struct ControlledRun {
    /// What is done, for a report.
    pub(super) words: &'static str,
    /// Comes to its end when the outcome is there.
    done: PipeReader,
    outcome: Receiver<Controlled>,
    controlled: Option<Controlled>,
}

/// What came of it.
#[derive(Debug)]
enum Controlled {
    Stopped(Box<(BackgroundRecord, Result<Stopped, StopError>)>),
    Told(RunDir, Result<Told, TellError>),
    /// The thread has died.
    Lost,
}

impl ControlledRun {
    pub(super) fn stop(run: BackgroundRun) -> io::Result<ControlledRun> {
        // The run gets to know it even if this program cannot wait for its end.
        let _ = run.dir.request_stop(StopForce::Gracefully);
        // The call may be cancelled. The run is stopped nevertheless.
        ControlledRun::start("stopping", move || {
            let stopped = stop_run(&run.dir, StopForce::Gracefully);
            Controlled::Stopped(Box::new((run.record, stopped)))
        })
    }

    pub(super) fn tell(dir: RunDir, message: Message) -> io::Result<ControlledRun> {
        ControlledRun::start("telling", move || {
            let told = tell_run(&dir, &message, TellUntil::Accepted);
            Controlled::Told(dir, told)
        })
    }

    fn start(
        words: &'static str,
        work: impl FnOnce() -> Controlled + Send + 'static,
    ) -> io::Result<ControlledRun> {
        let (done, working) = io::pipe()?;
        let (sender, outcome) = channel();
        std::thread::Builder::new().spawn(move || {
            let _ = sender.send(work());
            drop(working);
        })?;
        Ok(ControlledRun { words, done, outcome, controlled: None })
    }

    pub(super) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.controlled.is_none().then(|| self.done.as_fd())
    }

    /// Takes the outcome, if it is there.
    pub(super) fn look(&mut self) {
        if self.controlled.is_none() {
            self.controlled = match self.outcome.try_recv() {
                Ok(controlled) => Some(controlled),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => Some(Controlled::Lost),
            };
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.controlled.is_some()
    }

    /// What is said about it.
    pub(super) fn answer(self) -> Result<ToolAnswer, ToolError> {
        let retrieved = match self.controlled {
            Some(Controlled::Stopped(stopped)) => {
                let (record, stopped) = *stopped;
                control_answer(record, stopped?)
            }
            Some(Controlled::Told(dir, told)) => message_answer(&dir, told?)?,
            Some(Controlled::Lost) | None => return Err(ToolError::Stop(StopError::NoAnswer)),
        };
        Ok(ToolAnswer { tool: Tool::Control, retrieved, max_lines: None })
    }
}
