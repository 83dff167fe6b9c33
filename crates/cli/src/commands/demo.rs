//! `demo`: shows in a few seconds what this program does.
//!
//! The built-in agent really works on the current directory; only its model plays scripts, which are
//! part of this program. The demo changes no file, but records its runs.

use model::{Outcome, RunResult};
use runner::Waiting;
use store::RunDir;
use tools::{
    BackgroundArguments, CallContext, CallOptions, DelegateArguments, RunningCall, TaskArguments,
};

use super::tasks::{Answers, Ended, TaskRunner};
use crate::arguments::{AgentArguments, OnArguments};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

/// The tasks of the first call: name, script, prompt, and how each should end.
const TASKS: [(&str, &str, &str, Outcome); 5] = [
    ("count", "count", "Count the files by their kinds.", Outcome::Completed),
    ("search", "search", "Find what was left to do.", Outcome::Completed),
    ("read", "read", "What is this directory about?", Outcome::Completed),
    ("loop", "loop", "Look where you are.", Outcome::Loop),
    ("hang", "hang", "Which files are the largest?", Outcome::Timeout),
];

/// The timeout of the agent whose model hangs, in seconds.
const SHORT_TIMEOUT: f64 = 7.0;

/// The timeout of the others, which may have a large directory to search.
const LONG_TIMEOUT: f64 = 30.0;

pub(crate) fn demo(printer: &mut Printer) -> Result<Exit, CommandError> {
    let agent = AgentArguments {
        agent: Some("builtin".to_owned()),
        access: None,
        ask: false,
        worktree: false,
        approve: false,
        on: OnArguments::default(),
    };
    let mut task_runner = TaskRunner::open(&agent, printer)?;
    // The agent that hangs was active before. It should time out without an extension.
    task_runner.workspace.settings.extend_timeout_debounce = 0.0;
    task_runner.server.store().check_writable().map_err(|error| {
        CommandError::failure(format!("the demo cannot record its runs: {error}"))
            .hint("go to a directory that you can write to")
    })?;
    let directory = task_runner.workspace.surroundings.cwd.display().to_string();
    printer.answer(&format!(
        "Six agents work on {directory}.\nTheir models play scripts and need no key; the agents, their commands \
         and\ntheir results are real.\nOne agent will repeat itself, one will hang, and one \
         works in the background.\n"
    ))?;
    let background = start_in_background(&mut task_runner)?;
    let tasks = TASKS.map(|(name, script, prompt, outcome)| TaskArguments {
        timeout: Some(if outcome == Outcome::Timeout { SHORT_TIMEOUT } else { LONG_TIMEOUT }),
        ..task(name, script, prompt)
    });
    let first = run(&mut task_runner, tasks.to_vec(), printer)?;
    let expected = TASKS.map(|(.., outcome)| outcome);
    if first.is_interrupted || !ended_as(&first.call, &expected) {
        return unexpected(&first, &background, printer);
    }
    let hung = &first.call.tasks()[TASKS.len() - 1].shown.meta;
    printer.answer(&format!(
        "\nThe agent \"loop\" repeated the same call and was stopped. \"hang\" timed out, \
         and\nevery process that it started is gone.\nIts session {} is now resumed:\n",
        hung.session_id
    ))?;
    let resumed = TaskArguments {
        resume: Some(hung.session_id.to_string()),
        ..task("hang", "resume", "Go on.")
    };
    let second = run(&mut task_runner, vec![resumed], printer)?;
    if second.is_interrupted || !ended_as(&second.call, &[Outcome::Completed]) {
        return unexpected(&second, &background, printer);
    }
    let reported = await_end(&background)?;
    printer.answer(&format!(
        "\nThe background agent has finished: {}\n\nWhat to do next:\n\n  \
         pi-subagents sessions list       list what ran; `sessions show ID` shows one\n  \
         pi-subagents doctor              check agents and keys\n  \
         pi-subagents run \"Explain this\"  run a task on a real model\n  \
         pi-subagents setup pi            use sub-agents inside pi\n",
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
    task_runner: &mut TaskRunner,
    tasks: Vec<TaskArguments>,
    printer: &mut Printer,
) -> Result<Ended, CommandError> {
    let concurrency = Some(tasks.len());
    let call = DelegateArguments::of(tasks);
    let planned = task_runner.plan(call)?;
    task_runner.run_tasks(planned, concurrency, Answers::Everything.into(), printer)
}

fn start_in_background(task_runner: &mut TaskRunner) -> Result<RunDir, CommandError> {
    let task = task("report", "report", "How many directories are there?");
    let plan = |options: &CallOptions<'_>| {
        let arguments = BackgroundArguments { task };
        tools::plan_background(&task_runner.workspace, arguments, options)
    };
    let planned = task_runner.server.plan(&task_runner.workspace, &CallContext::default(), plan)?;
    let record = task_runner.server.start_background(planned)?;
    Ok(RunDir::open(&record.paths.run_dir)?)
}

fn await_end(dir: &RunDir) -> Result<RunResult, CommandError> {
    let mut waiting = Waiting::new(vec![dir.clone()]);
    loop {
        if let Some(ended) = waiting.wait(&[], None).pop() {
            return Ok(ended.result?);
        }
    }
}

fn ended_as(call: &RunningCall, expected: &[Outcome]) -> bool {
    let outcomes = call.results().map(|result| result.outcome);
    outcomes.eq(expected.iter().copied())
}

/// The user interrupted the demo, or an agent did not end as it should.
fn unexpected(ended: &Ended, background: &RunDir, printer: &Printer) -> Result<Exit, CommandError> {
    runner::stop_run(background, runner::StopForce::Gracefully).map_err(CommandError::failure)?;
    if ended.is_interrupted {
        return Ok(Exit::Interrupted);
    }
    printer.hint("`pi-subagents doctor` shows what is wrong");
    Ok(Exit::TaskFailed)
}
