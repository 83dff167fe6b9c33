//! `demo`: what this program is for, shown in a few seconds.
//!
//! The built-in agent works for real on the current directory; only its model plays scripts that
//! this program carries. Nothing is changed but that the runs are recorded, as all are.

use model::{Lifetime, Outcome, RunResult};
use runner::{Dispatcher, Launcher, Report, Waiting};
use store::RunDir;
use tools::{CallOptions, DelegateArguments, TaskArguments};

use super::tasks::{Answers, Door, Ended};
use crate::arguments::AgentArguments;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

/// The tasks of the first call: name, script, prompt, and how each should end.
const TASKS: [(&str, &str, &str, Outcome); 5] = [
    ("count", "count", "Count the files by their kinds.", Outcome::Completed),
    ("search", "search", "Find what somebody wanted to come back to.", Outcome::Completed),
    ("read", "read", "What is this directory about?", Outcome::Completed),
    ("loop", "loop", "Look where you are.", Outcome::Loop),
    ("hang", "hang", "Which files are the largest?", Outcome::Timeout),
];

/// How long the agent whose model hangs may take, in seconds.
const TIMEOUT: f64 = 7.0;

/// How long the others may take, wherever they have to look.
const PATIENCE: f64 = 30.0;

pub(crate) fn demo(printer: &mut Printer) -> Result<Exit, CommandError> {
    let agent = AgentArguments { agent: Some("builtin".to_owned()), approve: false };
    let mut door = Door::open(&agent, printer)?;
    // The agent that hangs was active before: nobody wants to see it waited for.
    door.workspace.settings.extend_timeout_debounce = 0.0;
    tools::project_store(&door.workspace).check_writable().map_err(|error| {
        CommandError::failure(format!("the demonstration must be recorded: {error}"))
            .hint("go to a directory that you can write to")
    })?;
    let directory = door.workspace.surroundings.cwd.display().to_string();
    printer.answer(&format!(
        "Six agents work on {directory}.\nTheir models play scripts, so that no key is needed; the \
         agents, their commands and what becomes of them are real.\nOne of them will repeat itself, \
         one will hang, and one works in the background.\n"
    ))?;
    let background = start_in_background(&door)?;
    let tasks = TASKS.map(|(name, script, prompt, outcome)| TaskArguments {
        timeout: Some(if outcome == Outcome::Timeout { TIMEOUT } else { PATIENCE }),
        ..task(name, script, prompt)
    });
    let first = run(&door, tasks.to_vec(), printer)?;
    let expected = TASKS.map(|(.., outcome)| outcome);
    if first.is_interrupted || !ended_as(&first.reports, &expected) {
        return unexpected(&first, &background, printer);
    }
    let hung = &first.reports[TASKS.len() - 1].result;
    printer.answer(&format!(
        "\nThe agent \"loop\" repeated the same call and was stopped. \"hang\" ran out of time, and \
         every process that it had started is gone.\nIts session {} goes on where it was:\n",
        hung.session_id
    ))?;
    let resumed = TaskArguments {
        resume: Some(hung.session_id.to_string()),
        ..task("hang", "resume", "Go on.")
    };
    let second = run(&door, vec![resumed], printer)?;
    if second.is_interrupted || !ended_as(&second.reports, &[Outcome::Completed]) {
        return unexpected(&second, &background, printer);
    }
    let reported = await_end(&background)?;
    printer.answer(&format!(
        "\nThe agent in the background has ended by itself: {}\n\nWhat to do next:\n\n  \
         pi-subagents sessions list            what was run here, and `sessions show ID`\n  \
         pi-subagents doctor                   which agents and keys there are\n  \
         pi-subagents run \"Explain this\"       a task for a real model\n  \
         pi-subagents setup pi                 the same inside of pi\n",
        reported.output.trim()
    ))?;
    Ok(if reported.outcome == Outcome::Completed { Exit::Completed } else { Exit::TaskFailed })
}

fn task(name: &str, script: &str, prompt: &str) -> TaskArguments {
    TaskArguments {
        name: name.to_owned(),
        prompt: prompt.to_owned(),
        model: Some(format!("script/demo:{script}")),
        ..TaskArguments::default()
    }
}

fn run(
    door: &Door,
    tasks: Vec<TaskArguments>,
    printer: &mut Printer,
) -> Result<Ended, CommandError> {
    let concurrency = tasks.len();
    let call = DelegateArguments { tasks, profile: None };
    door.run_tasks(call, concurrency, Answers::Summaries, printer)
}

fn start_in_background(door: &Door) -> Result<RunDir, CommandError> {
    let task = task("report", "report", "How many directories are there?");
    let call = DelegateArguments { tasks: vec![task], profile: None };
    let options = CallOptions { lifetime: Lifetime::Background, ..door.options.clone() };
    let call = tools::plan_delegation(&door.workspace, call, &options)?;
    let launcher = Launcher::own().map_err(|error| {
        CommandError::failure(format!("this program cannot find itself: {error}"))
    })?;
    let plan = call.tasks.into_iter().next().map(|task| task.plan);
    let plan = plan.ok_or_else(|| CommandError::failure("nothing was planned"))?;
    let (dir, _) =
        Dispatcher::new(tools::project_store(&door.workspace)).start_background(&launcher, plan)?;
    Ok(dir)
}

fn await_end(dir: &RunDir) -> Result<RunResult, CommandError> {
    let mut waiting = Waiting::new(vec![dir.clone()]);
    loop {
        if let Some(ended) = waiting.wait(&[], None).pop() {
            return Ok(ended.result?);
        }
    }
}

fn ended_as(reports: &[Report], expected: &[Outcome]) -> bool {
    let outcomes = reports.iter().map(|report| report.result.outcome);
    outcomes.eq(expected.iter().copied())
}

/// Somebody interrupted it, or something is wrong here.
fn unexpected(ended: &Ended, background: &RunDir, printer: &Printer) -> Result<Exit, CommandError> {
    runner::stop_run(background, runner::StopForce::Gracefully)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    if ended.is_interrupted {
        return Ok(Exit::Interrupted);
    }
    printer.hint("`pi-subagents doctor` tells what is wrong here");
    Ok(Exit::TaskFailed)
}
