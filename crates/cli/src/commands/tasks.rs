//! Running the tasks of one call, and showing what becomes of them.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use model::{AgentKind, Event, Lifetime, Outcome, Owner, OwnerKind, RunResult, Status, Usage};
use plan::{AgentChoice, Surroundings};
use process::{Notice, SignalPipe};
use runner::{Dispatcher, Report, StopForce, TaskId, Update};
use serde::Serialize;
use session::Progress;
use tools::{CallError, CallOptions, DelegateArguments, LauncherError, PlannedTask, Workspace};

use crate::arguments::AgentArguments;
use crate::error::{CommandError, Exit};
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
        let call = tools::plan_delegation(&self.workspace, call, &self.options)?;
        for warning in &call.warnings {
            printer.warning(warning);
        }
        let launcher = tools::foreground_launcher(&self.workspace.surroundings)?;
        let mut signals = SignalPipe::for_quitting()
            .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
        printer.listen_to(&signals);
        let printer = &*printer;
        let store = self.workspace.store.clone();
        let mut dispatcher = Dispatcher::new(store).adopting_orphans();
        let mut view = PlainView::new(printer, answers);
        for task in &call.tasks {
            view.expect(task);
        }
        let plans = call.tasks.into_iter().map(|task| task.plan).collect();
        let lane = dispatcher.submit(launcher, concurrency, plans).lane;
        let mut quit = None;
        let mut reports = BTreeMap::new();
        while !dispatcher.is_idle() {
            for update in dispatcher.wait(&[signals.as_fd()], None) {
                match update {
                    Update::Record { task, record } => view.show(task, &record.event),
                    Update::Ended { task, report } => {
                        view.ended(task, &report);
                        reports.insert(task, *report);
                    }
                    Update::Started { .. } | Update::Activity { .. } => {}
                }
            }
            for notice in signals.drain() {
                printer.hurry();
                // Hanging up and terminating often come together and mean one thing; the same
                // signal again, or Ctrl-C, means more.
                let hastens =
                    quit.is_some_and(|quit| quit == notice || notice == Notice::Interrupt);
                if hastens {
                    dispatcher.stop(lane, StopForce::AtOnce);
                } else if quit.is_none() {
                    view.note("Stopping. Interrupt again to stop at once.");
                    dispatcher.stop(lane, StopForce::Gracefully);
                }
                quit.get_or_insert(notice);
            }
        }
        let reports: Vec<Report> = reports.into_values().collect();
        view.end(&reports)?;
        Ok(Ended { reports, is_interrupted: quit.is_some() })
    }
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> CommandError {
        let hint = match &error {
            CallError::ResumeNotFound(_) => {
                Some("`pi-subagents sessions list` lists the sessions of this project")
            }
            _ => None,
        };
        let refused = CommandError::usage(error.to_string());
        match hint {
            Some(hint) => refused.hint(hint),
            None => refused,
        }
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

/// One line for each thing that happens, with the task's name in front.
struct PlainView<'a> {
    printer: &'a Printer,
    answers: Answers,
    tasks: Vec<ShownTask>,
}

struct ShownTask {
    name: String,
    /// The profile or preset in a few words.
    definition: Option<String>,
    is_preset: bool,
    agent: Option<AgentKind>,
    progress: Progress,
    /// The last thing that the agent said: held back, because the last of all is the answer.
    held_back: Option<String>,
}

impl<'a> PlainView<'a> {
    fn new(printer: &'a Printer, answers: Answers) -> PlainView<'a> {
        PlainView { printer, answers, tasks: Vec::new() }
    }

    /// The next task in the order of submission.
    fn expect(&mut self, task: &PlannedTask) {
        self.tasks.push(ShownTask {
            name: task.plan.meta.name.clone(),
            definition: task.definition.clone(),
            is_preset: task.plan.meta.preset.is_some(),
            agent: task.plan.meta.agent,
            progress: Progress::default(),
            held_back: None,
        });
    }

    fn show(&mut self, task: TaskId, event: &Event) {
        let Some(task) = self.tasks.get_mut(task).filter(|_| self.answers != Answers::Json) else {
            return;
        };
        let Some(words) = task.progress.words(event) else {
            return;
        };
        match event {
            Event::RunEnded { .. } => {}
            Event::AssistantMessage { .. } => {
                if let Some(earlier) = task.held_back.replace(words) {
                    self.printer.progress(&task.name, &earlier);
                }
            }
            // The last thing said stays the answer, whatever has to be cleaned up behind it.
            Event::Stopping { .. } => self.printer.progress(&task.name, &words),
            _ => {
                if let Some(earlier) = task.held_back.take() {
                    self.printer.progress(&task.name, &earlier);
                }
                self.printer.progress(&task.name, &words);
            }
        }
    }

    fn ended(&mut self, task: TaskId, report: &Report) {
        let warnings = report.result.warnings.iter().chain(&report.warnings);
        for warning in warnings {
            self.printer.warning(&format!("{}: {warning}", report.result.name));
        }
        let Some(task) = self.tasks.get_mut(task).filter(|_| self.answers == Answers::Summaries)
        else {
            return;
        };
        // Nobody prints it as the answer.
        if let Some(words) = task.held_back.take() {
            self.printer.progress(&task.name, &words);
        }
    }

    fn note(&self, text: &str) {
        if self.answers != Answers::Json {
            self.printer.note(text);
        }
    }

    /// What all tasks together have used, if it is known.
    fn note_usage(&self, reports: &[Report]) {
        let mut sum = Usage::default();
        for report in reports {
            sum += report.result.usage;
        }
        let words = session::usage_words(&sum);
        if !words.is_empty() {
            self.note(&format!("Used {}", words.join(", ")));
        }
    }

    fn end(&self, reports: &[Report]) -> Result<(), CommandError> {
        if self.answers == Answers::Json {
            let tasks = reports.iter().zip(&self.tasks);
            let tasks = tasks.map(|(report, task)| TaskReport::new(report, task)).collect();
            return self.printer.json(&Document { tasks });
        }
        self.note_usage(reports);
        for (report, task) in reports.iter().zip(&self.tasks) {
            let result = &report.result;
            let line = session::summary_line(
                &result.name,
                result.status,
                result.error.as_deref(),
                &result.session_id,
                task.definition.as_deref(),
            );
            if self.answers == Answers::Summaries {
                self.printer.answer(&line)?;
                continue;
            }
            self.printer.summary(&line, result.status == Status::Completed);
            if let Some(hint) = hint(result) {
                self.printer.hint(&hint);
            }
            if !result.output.trim().is_empty() {
                self.printer.answer(&result.output)?;
            }
        }
        Ok(())
    }
}

/// What to do next about an outcome, where there is something to do.
fn hint(result: &RunResult) -> Option<String> {
    match result.outcome {
        Outcome::SpawnFailure => spawn_hint(result.error.as_deref().unwrap_or_default()),
        Outcome::Completed | Outcome::Cancelled => None,
        // It did nothing before that.
        _ if result.output.is_empty() && result.usage == Usage::default() => None,
        _ => Some(format!(
            "`pi-subagents sessions show {}` tells what it did before that",
            result.session_id
        )),
    }
}

pub(super) fn spawn_hint(error: &str) -> Option<String> {
    if error.contains("the program \"pi\" was not found") {
        Some(
            "use `--agent builtin`, which is always there, or install pi with \
             `npm install -g @earendil-works/pi-coding-agent`"
                .to_owned(),
        )
    } else if error.contains("the program ") {
        Some("see --agent, PI_SUBAGENTS_AGENT and `subagents.agent` in the settings".to_owned())
    } else if error.starts_with("cwd must") {
        Some("give the whole path, such as --cwd \"$PWD/src\"".to_owned())
    } else if error.starts_with("Unknown profile") {
        Some(
            "`pi-subagents profile list` lists the profiles and what is wrong with them".to_owned(),
        )
    } else if error.starts_with("Unknown preset") {
        Some("`pi-subagents preset list` lists the presets and what is wrong with them".to_owned())
    } else if error.starts_with("No model resolved") {
        Some("name one with --model, or in the preset's file with `model: provider/id`".to_owned())
    } else {
        None
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    tasks: Vec<TaskReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskReport<'a> {
    name: &'a str,
    session_id: &'a str,
    run_id: &'a str,
    status: Status,
    outcome: Outcome,
    error: Option<&'a str>,
    output: &'a str,
    agent: Option<AgentKind>,
    model: Option<&'a str>,
    usage: Usage,
    duration_ms: u64,
    run_dir: Option<String>,
    profile: Option<&'a str>,
    preset: Option<&'a str>,
    warnings: Vec<&'a str>,
}

impl<'a> TaskReport<'a> {
    fn new(report: &'a Report, task: &'a ShownTask) -> TaskReport<'a> {
        let result = &report.result;
        TaskReport {
            name: &result.name,
            session_id: result.session_id.as_str(),
            run_id: result.run_id.as_str(),
            status: result.status,
            outcome: result.outcome,
            error: result.error.as_deref(),
            output: &result.output,
            agent: task.agent,
            model: result.model.as_deref(),
            usage: result.usage,
            duration_ms: result.duration_ms,
            run_dir: report.run_dir.as_ref().map(|path| path.display().to_string()),
            profile: task.definition.as_deref().filter(|_| !task.is_preset),
            preset: task.definition.as_deref().filter(|_| task.is_preset),
            warnings: result.warnings.iter().chain(&report.warnings).map(String::as_str).collect(),
        }
    }
}
