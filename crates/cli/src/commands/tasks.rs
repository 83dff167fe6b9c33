//! Running the tasks of one call, and showing what becomes of them.

mod output_files;
mod report;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use model::{AgentKind, Isolation, Meta, Owner, OwnerKind, RunResult, Status};
use process::{Notice, SignalPipe};
use tools::{
    CallContext, CallEvent, CallKind, CallOptions, CallServer, Caller, DelegateArguments,
    FinishedCall, OpenCallId, PlannedCall, RunNames, RunningCall, StopForce, TaskArguments,
    Workspace,
};
use tui::{Command, Controls, Ownership};

pub(super) use self::output_files::OutputFiles;
use self::view::View;
use super::{surroundings, typed_paths};
use crate::arguments::{AgentArguments, OnArguments};
use crate::error::{CommandError, Exit};
use crate::live::Live;
use crate::notification::NotifyArguments;
use crate::printer::Printer;
use crate::screen::Screen;
use crate::tellings::{Telling, Tellings};

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
    /// A line about each task, and then what each said.
    Everything,
}

impl Answers {
    /// Whether each task has a line of its own as soon as it has ended.
    fn has_summaries(self) -> bool {
        matches!(self, Answers::Summaries | Answers::Everything)
    }
}

/// How the user gets the results.
pub(super) struct Results {
    pub(super) answers: Answers,
    /// The files that they are also written to.
    pub(super) files: Option<OutputFiles>,
    /// Of questions; the end is told by the caller.
    pub(super) notify: NotifyArguments,
}

impl From<Answers> for Results {
    fn from(answers: Answers) -> Results {
        Results { answers, files: None, notify: NotifyArguments::default() }
    }
}

/// Plans the tasks of one command and runs them, as the other callers of the tools do.
pub(super) struct TaskRunner {
    pub(super) workspace: Workspace,
    pub(super) server: CallServer,
    /// Whether the command line says that workers carry out the tasks.
    is_elsewhere: bool,
}

/// A call whose tasks have ended.
pub(super) struct Ended {
    pub(super) call: RunningCall,
    /// Whether the user has stopped all tasks.
    pub(super) is_interrupted: bool,
}

impl TaskRunner {
    pub(super) fn open(
        arguments: &AgentArguments,
        printer: &Printer,
    ) -> Result<TaskRunner, CommandError> {
        let mut task_runner = TaskRunner::new(arguments, printer.columns())?;
        task_runner.print_warnings(printer);
        Ok(task_runner)
    }

    /// One whose warnings are not shown, for tasks that are carried out there.
    pub(super) fn without_warnings(on: OnArguments) -> Result<TaskRunner, CommandError> {
        TaskRunner::new(
            &AgentArguments {
                agent: None,
                access: None,
                ask: false,
                worktree: false,
                approve: false,
                on,
            },
            None,
        )
    }

    fn new(arguments: &AgentArguments, columns: Option<usize>) -> Result<TaskRunner, CommandError> {
        let mut server = CallServer::new(Caller {
            approval: arguments.approve.then_some(true),
            agent: arguments.agent.clone(),
            access: arguments.access,
            ask: arguments.ask,
            isolation: arguments.worktree.then_some(Isolation::Worktree),
            on: arguments.on.on.clone(),
            fleet: arguments.on.fleet.clone(),
            columns,
            has_windows: columns.is_some(),
            ..Caller::new(surroundings()?, SHELL)
        });
        let workspace = server.load_workspace();
        Ok(TaskRunner { workspace, server, is_elsewhere: arguments.on.on.is_some() })
    }

    /// Lets the agent of a task find its script wherever it works. A worker finds it among the files of the task.
    pub(super) fn find_scripts(&self, task: &mut TaskArguments) {
        let Workspace { profiles, presets, .. } = &self.workspace;
        let profile = task.profile.as_deref().and_then(|name| profiles.get(name).ok());
        let preset = task.preset.as_deref().and_then(|name| presets.get(name).ok());
        let is_sent = profile.or(preset).is_some_and(|definition| definition.on.is_some());
        if !self.is_elsewhere && task.on.is_none() && !is_sent {
            typed_paths::scripts(task);
        }
    }

    /// Runs one task to its end, and shows nothing of it. A signal stops it.
    pub(super) fn ask(&mut self, task: TaskArguments) -> Result<RunResult, CommandError> {
        let planned = self.plan(DelegateArguments::of(vec![task]))?;
        let context = CallContext::default();
        let call = self.server.submit(&self.workspace, CallKind::Delegate, planned, &context)?;
        let mut signals = SignalPipe::for_quitting()
            .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
        let mut is_over = false;
        while !is_over {
            let events = self.server.wait(&[signals.as_fd()], None);
            is_over = events.iter().any(|event| matches!(event, CallEvent::Over(_)));
            if signals.drain().next().is_some() {
                self.server.cancel(call, StopForce::Gracefully);
            }
        }
        let result = match self.server.finish(call) {
            Some(FinishedCall::Tasks(call)) => call.results().next().cloned(),
            _ => None,
        };
        result.ok_or_else(|| CommandError::failure("the task of this call is lost"))
    }

    /// The session that a word means, to continue it, and the name of its task.
    pub(super) fn resumed(&self, word: &str) -> Result<(String, String), CommandError> {
        let names = RunNames::load(self.server.store())?;
        let (session, name) = names.session(word)?;
        Ok((session.to_string(), name.to_owned()))
    }

    pub(super) fn print_warnings(&mut self, printer: &Printer) {
        for event in self.server.take_events() {
            if let CallEvent::Warning(warning) = event {
                printer.warning(&warning);
            }
        }
    }

    /// Plans the tasks of a call.
    pub(super) fn plan(&self, call: DelegateArguments) -> Result<PlannedCall, CommandError> {
        let plan =
            |options: &CallOptions<'_>| tools::plan_delegation(&self.workspace, call, options);
        Ok(self.server.plan(&self.workspace, &CallContext::default(), plan)?)
    }

    /// Refuses a call whose only task is wrong. Nothing is started and nothing is kept, so that a typing
    /// error leaves no session.
    pub(super) fn refuse_mistake(
        &self,
        planned: &PlannedCall,
        printer: &Printer,
    ) -> Result<(), CommandError> {
        let [task] = planned.tasks.as_slice() else { return Ok(()) };
        if let Some(refusal) = &task.refusal {
            // A file that could not be loaded can be the reason.
            planned.warnings.iter().for_each(|warning| printer.warning(warning));
            let refused = CommandError::usage(refusal);
            let hint = super::init::hint_for(refusal);
            return Err(match hint.or_else(|| refusal.hint().map(str::to_owned)) {
                Some(hint) => refused.hint(hint),
                None => refused,
            });
        }
        let Meta { agent, model, fallback_models, provider, cwd, .. } = &*task.plan.meta;
        if *agent != Some(AgentKind::Builtin) {
            return Ok(());
        }
        let agent_dir = &self.workspace.surroundings.agent_dir;
        let first = model.iter().map(|model| (provider.as_deref(), model));
        for (provider, model) in first.chain(fallback_models.iter().map(|model| (None, model))) {
            agent::config::check_model(provider, model, agent_dir, cwd)
                .map_err(CommandError::usage)?;
        }
        Ok(())
    }

    /// Runs the tasks of a call to their end, and says whether all went well.
    pub(super) fn run(
        &mut self,
        planned: PlannedCall,
        concurrency: Option<usize>,
        results: Results,
        printer: &mut Printer,
    ) -> Result<Exit, CommandError> {
        let Ended { call, is_interrupted } =
            self.run_tasks(planned, concurrency, results, printer)?;
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
        planned: PlannedCall,
        concurrency: Option<usize>,
        results: Results,
        printer: &mut Printer,
    ) -> Result<Ended, CommandError> {
        let context = CallContext { concurrency, ..CallContext::default() };
        let call = self.server.submit(&self.workspace, CallKind::Delegate, planned, &context);
        self.print_warnings(printer);
        let call = call?;
        let mut signals = SignalPipe::for_quitting()
            .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
        printer.listen_to(&signals);
        let printer = &*printer;
        let live = (results.answers != Answers::Json)
            .then(|| Live::open(printer, Controls::new(Ownership::Owner)))
            .flatten();
        let screen = Screen::new(printer, live, results.notify);
        let mut view = View { printer, results, screen, told: BTreeMap::new() };
        let mut stopping = Stopping { call, quit: None, tasks: BTreeSet::new() };
        let mut tellings = Tellings::default();
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
            view.show_waiting(&self.server.shown(call));
            for notice in signals.drain() {
                printer.hurry();
                stopping.handle(notice, &mut self.server, &mut view);
            }
            for command in view.screen.turn(&self.server.shown(call))? {
                let (task, request) = match command {
                    Command::Tell(task, text) => (task, Telling::Message(text)),
                    Command::Answer { task, question, text } => {
                        (task, Telling::Answer(question, text))
                    }
                    command => {
                        stopping.carry_out(&command, &mut self.server, &mut view);
                        continue;
                    }
                };
                if let Some(shown) = self.server.shown(call).get(task) {
                    let name = &shown.meta.name;
                    tellings.add(name, shown.dir.as_ref(), request, &mut view.screen);
                }
            }
            tellings.report_failures(&mut view.screen);
        }
        let Some(FinishedCall::Tasks(call)) = self.server.finish(call) else {
            return Err(CommandError::failure("the tasks of this call are lost"));
        };
        view.close(&call)?;
        Ok(Ended { call: *call, is_interrupted: stopping.quit.is_some() })
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

    fn carry_out(&mut self, command: &Command, server: &mut CallServer, view: &mut View<'_>) {
        match *command {
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
            Command::Tell(..) | Command::Answer { .. } | Command::Leave | Command::Copy(_) => {}
        }
    }
}
