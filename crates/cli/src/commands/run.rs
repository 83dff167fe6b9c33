//! `run`: one task, from its prompt to its answer.

use std::io::{self, Read};
use std::os::fd::AsFd;

use model::{Event, Lifetime, Outcome, Owner, OwnerKind, RunResult, Status, Usage};
use plan::{Agent, Request, Surroundings};
use process::{Notice, SignalPipe};
use runner::{Dispatcher, ProcessLauncher, Report, StopForce, Update};
use serde::Serialize;
use session::Progress;
use store::Store;

use crate::arguments::Run;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn run(arguments: Run, printer: &mut Printer) -> Result<Exit, CommandError> {
    let prompt = read_prompt(arguments.prompt)?;
    let surroundings = Surroundings::of_this_process()?;
    let (settings, warnings) = plan::load_settings(&surroundings);
    for warning in warnings {
        printer.warning(&warning);
    }
    let agent = Agent::choose(arguments.agent.as_deref(), &surroundings, &settings)?;
    let request = Request {
        name: arguments.name,
        prompt,
        cwd: arguments.cwd,
        timeout: Some(arguments.timeout),
        model: arguments.model,
        owner: Owner { kind: OwnerKind::Shell, id: None },
        lifetime: Lifetime::Foreground,
    };
    let plan = plan::plan(request, &agent, &surroundings, &settings)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let name = plan.meta.name.clone();

    let store = Store::in_project(surroundings.project_root());
    let launcher = ProcessLauncher::own().map_err(|error| {
        CommandError::failure(format!("this program cannot find itself: {error}"))
    })?;
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let printer = &*printer;
    let mut dispatcher = Dispatcher::new(store, Box::new(launcher), 1).adopting_orphans();
    dispatcher.submit(plan);
    let mut view = PlainView::new(printer, &name, arguments.json);
    let mut quit = None;
    let mut reports = Vec::new();
    while !dispatcher.is_idle() {
        for update in dispatcher.wait(&[signals.as_fd()], None) {
            match update {
                Update::Record { record, .. } => view.show(&record.event),
                Update::Ended { report, .. } => reports.push(*report),
                Update::Started { .. } | Update::Activity { .. } => {}
            }
        }
        for notice in signals.drain() {
            // Hanging up and terminating often come together and mean one thing; the same signal
            // again, or Ctrl-C, means more.
            let hastens = quit.is_some_and(|quit| quit == notice || notice == Notice::Interrupt);
            if hastens {
                dispatcher.stop(StopForce::AtOnce);
            } else if quit.is_none() {
                view.note("Stopping. Interrupt again to stop at once.");
                dispatcher.stop(StopForce::Gracefully);
            }
            quit.get_or_insert(notice);
        }
    }
    view.end(&reports)?;
    let is_completed = |report: &Report| report.result.status == Status::Completed;
    Ok(match (reports.iter().all(is_completed), quit) {
        (true, _) => Exit::Completed,
        (false, None) => Exit::TaskFailed,
        (false, Some(_)) => Exit::Interrupted,
    })
}

fn read_prompt(argument: String) -> Result<String, CommandError> {
    let prompt = if argument == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| {
            CommandError::usage(format!("the prompt cannot be read from standard input: {error}"))
        })?;
        String::from_utf8(bytes)
            .map_err(|_| CommandError::usage("the prompt on standard input is not valid UTF-8"))?
    } else {
        argument
    };
    if prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty")
            .hint("say what the agent should do, or give `-` and the prompt on standard input"));
    }
    Ok(prompt)
}

/// One line for each thing that happens.
struct PlainView<'a> {
    printer: &'a Printer,
    name: &'a str,
    is_json: bool,
    progress: Progress,
    /// The last thing that the agent said: held back, because the last of all is the answer.
    held_back: Option<String>,
}

impl<'a> PlainView<'a> {
    fn new(printer: &'a Printer, name: &'a str, is_json: bool) -> PlainView<'a> {
        PlainView { printer, name, is_json, progress: Progress::default(), held_back: None }
    }

    fn show(&mut self, event: &Event) {
        if self.is_json {
            return;
        }
        let Some(words) = self.progress.words(event) else {
            return;
        };
        match event {
            Event::RunEnded { .. } => {}
            Event::AssistantMessage { .. } => {
                if let Some(earlier) = self.held_back.replace(words) {
                    self.printer.progress(self.name, &earlier);
                }
            }
            // The last thing said stays the answer, whatever has to be cleaned up behind it.
            Event::Stopping { .. } => self.printer.progress(self.name, &words),
            _ => {
                if let Some(earlier) = self.held_back.take() {
                    self.printer.progress(self.name, &earlier);
                }
                self.printer.progress(self.name, &words);
            }
        }
    }

    fn note(&self, text: &str) {
        if !self.is_json {
            self.printer.note(text);
        }
    }

    fn end(&self, reports: &[Report]) -> Result<(), CommandError> {
        for report in reports {
            for warning in report.result.warnings.iter().chain(&report.warnings) {
                self.printer.warning(warning);
            }
        }
        if self.is_json {
            let tasks = reports.iter().map(TaskReport::from).collect();
            return self.printer.json(&Document { tasks });
        }
        for report in reports {
            let result = &report.result;
            let line = session::summary_line(
                &result.name,
                result.status,
                result.error.as_deref(),
                &result.session_id,
                None,
            );
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
        Outcome::SpawnFailure if !is_about_a_program(result) => None,
        Outcome::SpawnFailure => Some(
            "name the agent with --agent, PI_SUBAGENTS_AGENT or `subagents.agent` in the settings; \
             pi is installed with `npm install -g @earendil-works/pi-coding-agent`"
                .to_owned(),
        ),
        Outcome::Completed | Outcome::Cancelled => None,
        _ => Some(format!(
            "`pi-subagents sessions show {}` tells what it did before that",
            result.session_id
        )),
    }
}

fn is_about_a_program(result: &RunResult) -> bool {
    result.error.as_ref().is_some_and(|error| error.contains("the program "))
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
    model: Option<&'a str>,
    usage: Usage,
    duration_ms: u64,
    run_dir: Option<String>,
    warnings: Vec<&'a str>,
}

impl<'a> From<&'a Report> for TaskReport<'a> {
    fn from(report: &'a Report) -> TaskReport<'a> {
        let result = &report.result;
        TaskReport {
            name: &result.name,
            session_id: result.session_id.as_str(),
            run_id: result.run_id.as_str(),
            status: result.status,
            outcome: result.outcome,
            error: result.error.as_deref(),
            output: &result.output,
            model: result.model.as_deref(),
            usage: result.usage,
            duration_ms: result.duration_ms,
            run_dir: report.run_dir.as_ref().map(|path| path.display().to_string()),
            warnings: result.warnings.iter().chain(&report.warnings).map(String::as_str).collect(),
        }
    }
}
