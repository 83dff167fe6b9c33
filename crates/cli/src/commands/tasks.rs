//! Running the tasks of one call, and showing what becomes of them.

mod report;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use model::{Owner, OwnerKind, Status};
use plan::Surroundings;
use process::{Notice, SignalPipe};
use tools::{
    CallContext, CallEvent, CallKind, CallOptions, CallServer, Caller, DelegateArguments,
    FinishedCall, OpenCallId, RunningCall, StartError, StopForce, ToolError, Workspace,
};
use tui::{Command, Ownership};

use self::view::View;
use super::sessions::not_found_hint;
use crate::arguments::AgentArguments;
use crate::error::{CommandError, Exit};
use crate::live::Live;
use crate::printer::Printer;
use crate::screen::Screen;

/// The owner of runs that are started on the command line.
pub(super) const SHELL: Owner = Owner { kind: OwnerKind::Shell, id: None };

/// How the results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// One JSON document.
    Json,
    /// The text that the agent said last.
    Text,
    /// A line about each task.
    Summaries,
}

/// The command line as a door to the tools.
pub(super) struct Door {
    pub(super) workspace: Workspace,
    pub(super) server: CallServer,
}

/// A call whose tasks have ended.
pub(super) struct Ended {
    pub(super) call: RunningCall,
    /// Whether the user has stopped all tasks.
    pub(super) is_interrupted: bool,
}

impl Door {
    pub(super) fn open(
        arguments: &AgentArguments,
        printer: &Printer,
    ) -> Result<Door, CommandError> {
        let mut server = CallServer::new(Caller {
            approval: arguments.approve.then_some(true),
            agent: arguments.agent.clone(),
            columns: printer.columns(),
            ..Caller::new(Surroundings::of_this_process()?, SHELL)
        });
        let workspace = server.load_workspace();
        let mut door = Door { workspace, server };
        door.print_warnings(printer);
        Ok(door)
    }

    pub(super) fn print_warnings(&mut self, printer: &Printer) {
        for event in self.server.take_events() {
            if let CallEvent::Warning(warning) = event {
                printer.warning(&warning);
            }
        }
    }

    /// Runs the tasks of a call to their end, and says whether all went well.
    pub(super) fn run(
        &mut self,
        call: DelegateArguments,
        concurrency: Option<usize>,
        answers: Answers,
        printer: &mut Printer,
    ) -> Result<Exit, CommandError> {
        let Ended { call, is_interrupted } = self.run_tasks(call, concurrency, answers, printer)?;
        let is_completed = call.results().all(|result| result.status == Status::Completed);
        Ok(match (is_completed, is_interrupted) {
            (true, _) => Exit::Completed,
            (false, false) => Exit::TaskFailed,
            (false, true) => Exit::Interrupted,
        })
    }

    /// Runs the tasks of a call to their end.
    pub(super) fn run_tasks(
        &mut self,
        call: DelegateArguments,
        concurrency: Option<usize>,
        answers: Answers,
        printer: &mut Printer,
    ) -> Result<Ended, CommandError> {
        let call = self.submit(call, concurrency);
        self.print_warnings(printer);
        let call = call?;
        let mut signals = SignalPipe::for_quitting()
            .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
        printer.listen_to(&signals);
        let printer = &*printer;
        let live =
            (answers != Answers::Json).then(|| Live::open(printer, Ownership::Owner)).flatten();
        let screen = Screen::new(printer, live);
        let mut view = View { printer, answers, screen, printed: BTreeMap::new() };
        let mut stopping = Stopping { call, quit: None, tasks: BTreeSet::new() };
        let mut is_over = false;
        while !is_over {
            let mut wakers = vec![signals.as_fd()];
            wakers.extend(view.screen.wakers());
            let patience = view.screen.patience(&self.server.shown(call));
            for event in self.server.wait(&wakers, patience) {
                is_over |= matches!(event, CallEvent::Over(_));
                if let Some(tasks) = self.server.running(call) {
                    view.show(tasks, event);
                }
            }
            for notice in signals.drain() {
                printer.hurry();
                stopping.handle(notice, &mut self.server, &mut view);
            }
            for command in view.screen.turn(&self.server.shown(call))? {
                stopping.carry_out(command, &mut self.server, &mut view);
            }
        }
        let Some(FinishedCall::Tasks(call)) = self.server.finish(call) else {
            return Err(CommandError::failure("the tasks of this call are lost"));
        };
        view.close(&call)?;
        Ok(Ended { call, is_interrupted: stopping.quit.is_some() })
    }

    fn submit(
        &mut self,
        call: DelegateArguments,
        concurrency: Option<usize>,
    ) -> Result<OpenCallId, CommandError> {
        let context = CallContext { concurrency, ..CallContext::default() };
        let plan =
            |options: &CallOptions<'_>| tools::plan_delegation(&self.workspace, call, options);
        let planned = self.server.plan(&self.workspace, &context, plan)?;
        Ok(self.server.submit(&self.workspace, CallKind::Delegate, planned, &context)?)
    }
}

/// What the user has stopped.
struct Stopping {
    call: OpenCallId,
    /// The first signal that stopped all tasks.
    quit: Option<Notice>,
    /// The tasks that were stopped one by one.
    tasks: BTreeSet<usize>,
}

impl Stopping {
    fn handle(&mut self, notice: Notice, server: &mut CallServer, view: &mut View<'_>) {
        // A terminal that hangs up often sends two signals, which mean one thing. The same signal
        // again, or Ctrl-C, means more.
        let hastens = self.quit.is_some_and(|quit| quit == notice || notice == Notice::Interrupt);
        if hastens {
            server.cancel(self.call, StopForce::AtOnce);
        } else if self.quit.is_none() {
            view.note("Stopping. Interrupt again to stop at once.");
            server.cancel(self.call, StopForce::Gracefully);
        }
        self.quit.get_or_insert(notice);
    }

    fn carry_out(&mut self, command: Command, server: &mut CallServer, view: &mut View<'_>) {
        match command {
            Command::Stop(task) => {
                let is_first = self.tasks.insert(task);
                let force = if is_first { StopForce::Gracefully } else { StopForce::AtOnce };
                server.cancel_task(self.call, task, force);
            }
            // The key means the same as Ctrl-C.
            Command::StopAll => self.handle(Notice::Interrupt, server, view),
            Command::StopAllAtOnce => {
                self.quit.get_or_insert(Notice::Interrupt);
                server.cancel(self.call, StopForce::AtOnce);
            }
            Command::Leave => {}
        }
    }
}

impl From<ToolError> for CommandError {
    fn from(error: ToolError) -> CommandError {
        match error {
            ToolError::Launcher(error) => {
                let refused = CommandError::usage(&error);
                match error.hint() {
                    Some(hint) => refused.hint(hint),
                    None => refused,
                }
            }
            ToolError::UnknownSession { problem, similar } => {
                CommandError::usage(problem).hint(not_found_hint(&similar))
            }
            ToolError::Start(StartError::Background(error)) => error.into(),
            ToolError::Start(_) | ToolError::Store(_) => CommandError::failure(error),
            _ => CommandError::usage(error),
        }
    }
}
