//! Running the tasks of one call, and showing what becomes of them.

mod plain;
mod report;
mod windows;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use model::{Lifetime, Owner, OwnerKind, Status};
use plan::{AgentChoice, Surroundings};
use process::{Notice, SignalPipe};
use runner::{Change, Dispatcher, LaneId, Report, StopForce, TaskId, Update};
use tools::{Appearance, CallError, CallOptions, DelegateArguments, LauncherError, Workspace};
use tui::{Command, Ownership};

pub(super) use self::plain::PlainTask;
use self::plain::PlainView;
use self::report::Reporter;
use self::windows::WindowView;
use super::sessions::not_found_hint;
use crate::arguments::AgentArguments;
use crate::error::{CommandError, Exit};
use crate::live::Live;
use crate::printer::Printer;

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
    pub(super) options: CallOptions<'static>,
}

/// What became of the tasks of a call.
pub(super) struct Ended {
    /// In the order of the tasks.
    pub(super) reports: Vec<Report>,
    /// Whether somebody wanted them to stop.
    pub(super) is_interrupted: bool,
}

impl Door {
    pub(super) fn open(
        arguments: &AgentArguments,
        printer: &Printer,
    ) -> Result<Door, CommandError> {
        let surroundings = Surroundings::of_this_process()?;
        let workspace = Workspace::load(surroundings, arguments.approve.then_some(true));
        for warning in &workspace.warnings {
            printer.warning(warning);
        }
        let flag = arguments.agent.as_deref();
        let agent = AgentChoice::new(flag, &workspace.surroundings, &workspace.settings)?;
        let owner = Owner { kind: OwnerKind::Shell, id: None };
        let options = CallOptions {
            agent,
            owner,
            lifetime: Lifetime::Foreground,
            all_tools: None,
            models: None,
            book: None,
        };
        Ok(Door { workspace, options })
    }

    fn refused(&self, error: CallError) -> CommandError {
        match &error {
            CallError::ResumeNotFound(id) => {
                let hint = not_found_hint(&tools::project_store(&self.workspace), id);
                CommandError::from(error).hint(hint)
            }
            _ => error.into(),
        }
    }

    /// Runs the tasks of a call to their end, and says whether all went well.
    pub(super) fn run(
        &self,
        call: DelegateArguments,
        concurrency: usize,
        answers: Answers,
        printer: &mut Printer,
    ) -> Result<Exit, CommandError> {
        let Ended { reports, is_interrupted } =
            self.run_tasks(call, concurrency, answers, printer)?;
        let is_completed = |report: &Report| report.result.status == Status::Completed;
        Ok(match (reports.iter().all(is_completed), is_interrupted) {
            (true, _) => Exit::Completed,
            (false, false) => Exit::TaskFailed,
            (false, true) => Exit::Interrupted,
        })
    }

    /// Runs the tasks of a call to their end.
    pub(super) fn run_tasks(
        &self,
        call: DelegateArguments,
        concurrency: usize,
        answers: Answers,
        printer: &mut Printer,
    ) -> Result<Ended, CommandError> {
        let call = tools::plan_delegation(&self.workspace, call, &self.options)
            .map_err(|error| self.refused(error))?;
        for warning in &call.warnings {
            printer.warning(warning);
        }
        let launcher = tools::foreground_launcher(&self.workspace.surroundings)?;
        let mut signals = SignalPipe::for_quitting()
            .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
        printer.listen_to(&signals);
        let printer = &*printer;
        let store = tools::project_store(&self.workspace);
        let mut dispatcher = Dispatcher::new(store).adopting_orphans();
        let reporter = Reporter::new(printer, answers, &call.tasks);
        let live =
            (answers != Answers::Json).then(|| Live::open(printer, Ownership::Owner)).flatten();
        let mut view: Box<dyn View + '_> = match live {
            Some(live) => {
                let appearance = Appearance::new(&self.workspace, Some(live.columns()));
                Box::new(WindowView::new(live, &appearance, &call.tasks, reporter))
            }
            None => Box::new(PlainView::new(printer, &call.tasks, reporter)),
        };
        let plans = call.tasks.into_iter().map(|task| task.plan).collect();
        let lane = dispatcher.submit(launcher, concurrency, plans).lane;
        let mut stopping = Stopping { lane, quit: None, tasks: BTreeSet::new() };
        let mut reports = BTreeMap::new();
        while !dispatcher.is_idle() {
            let mut wakers = vec![signals.as_fd()];
            wakers.extend(view.wakers());
            for update in dispatcher.wait(&wakers, view.patience()) {
                view.show(&update);
                if let Change::Ended(report) = update.change {
                    reports.insert(update.task, *report);
                }
            }
            for notice in signals.drain() {
                printer.hurry();
                stopping.hear(notice, &mut dispatcher, view.as_mut());
            }
            for command in view.turn()? {
                stopping.obey(command, &mut dispatcher, view.as_mut());
            }
        }
        let quit = stopping.quit;
        let reports: Vec<Report> = reports.into_values().collect();
        view.end(&reports)?;
        Ok(Ended { reports, is_interrupted: quit.is_some() })
    }
}

/// Shows what becomes of the tasks of a call, in the order in which they were submitted.
trait View {
    /// Something happened.
    fn show(&mut self, update: &Update);

    /// People should know this.
    fn note(&mut self, text: &str);

    /// What becomes readable when the user wants something.
    fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// How long until [`View::turn`] is to be called, whatever happens.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Draws what is to be drawn, and tells what the user wants.
    fn turn(&mut self) -> Result<Vec<Command>, CommandError> {
        Ok(Vec::new())
    }

    /// All tasks have ended.
    fn end(self: Box<Self>, reports: &[Report]) -> Result<(), CommandError>;
}

/// What the user wants to be stopped.
struct Stopping {
    lane: LaneId,
    /// The first signal that asked for everything.
    quit: Option<Notice>,
    /// The tasks that were asked for one by one.
    tasks: BTreeSet<TaskId>,
}

impl Stopping {
    fn hear(&mut self, notice: Notice, dispatcher: &mut Dispatcher, view: &mut dyn View) {
        // Hanging up and terminating often come together and mean one thing; the same signal
        // again, or Ctrl-C, means more.
        let hastens = self.quit.is_some_and(|quit| quit == notice || notice == Notice::Interrupt);
        if hastens {
            dispatcher.stop(self.lane, StopForce::AtOnce);
        } else if self.quit.is_none() {
            view.note("Stopping. Interrupt again to stop at once.");
            dispatcher.stop(self.lane, StopForce::Gracefully);
        }
        self.quit.get_or_insert(notice);
    }

    fn obey(&mut self, command: Command, dispatcher: &mut Dispatcher, view: &mut dyn View) {
        match command {
            Command::Stop(task) => {
                let is_first = self.tasks.insert(task);
                let force = if is_first { StopForce::Gracefully } else { StopForce::AtOnce };
                dispatcher.stop_task(task, force);
            }
            // The key means the same as Ctrl-C.
            Command::StopAll => self.hear(Notice::Interrupt, dispatcher, view),
            Command::StopAllAtOnce => {
                self.quit.get_or_insert(Notice::Interrupt);
                dispatcher.stop(self.lane, StopForce::AtOnce);
            }
            Command::Leave => {}
        }
    }
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> CommandError {
        CommandError::usage(error.to_string())
    }
}

impl From<LauncherError> for CommandError {
    fn from(error: LauncherError) -> CommandError {
        let refused = CommandError::usage(error.to_string());
        match error.hint() {
            Some(hint) => refused.hint(hint),
            None => refused,
        }
    }
}
