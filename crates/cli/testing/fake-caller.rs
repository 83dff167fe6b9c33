//! A program that stays, as pi with its extension does: it starts background runs through a
//! dispatcher that may have foreground tasks, too.
//!
//! `fake-caller OWNER AGENT`, in a project with a preset `scout`. It does what its standard input
//! says, a line at a time, and answers each with a line:
//!
//! - `background TASK` starts a background run and answers with its id.
//! - `foreground AGENT` starts a task with this agent and answers with its run directory.
//! - `finish` waits for all foreground tasks and answers with their outcomes.
#![expect(clippy::print_stdout, reason = "this program answers")]

use std::error::Error;
use std::io::{BufRead, stdin};

use model::{Lifetime, Owner, OwnerKind, Plan};
use plan::{AgentChoice, PlanOptions, Surroundings};
use runner::{Change, Dispatcher, Launcher};
use tools::{
    BackgroundArguments, CallOptions, DelegateArguments, PlannedCall, TaskArguments, Workspace,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [owner, agent] = arguments.as_slice() else {
        return Err("fake-caller OWNER AGENT".into());
    };
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let options = |agent: &str| -> Result<CallOptions<'_>, Box<dyn Error>> {
        let agent = AgentChoice::new(Some(agent), &workspace.surroundings, &workspace.settings)?;
        let planning = PlanOptions::new(
            agent,
            Owner { kind: OwnerKind::Pi, id: Some(owner.clone()) },
            Lifetime::Foreground,
        );
        Ok(CallOptions { planning, book: None })
    };
    let beside = std::env::current_exe()?.with_file_name("pi-subagents");
    let launcher = || Launcher::new(beside.clone());
    let mut dispatcher = Dispatcher::new(tools::project_store(&workspace)).adopting_orphans();
    for line in stdin().lock().lines() {
        let line = line?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "background" => {
                let task = TaskArguments {
                    name: "scout".to_owned(),
                    preset: Some("scout".to_owned()),
                    prompt: rest.to_owned(),
                    ..TaskArguments::default()
                };
                let arguments = BackgroundArguments { task };
                let call = tools::plan_background(&workspace, arguments, &options(agent)?)?;
                let (dir, _) = dispatcher.start_background(&launcher(), *only(call)?)?;
                println!("{}", dir.run_id());
            }
            "foreground" => {
                let task = TaskArguments {
                    name: "task".to_owned(),
                    prompt: "do it".to_owned(),
                    ..TaskArguments::default()
                };
                let call = DelegateArguments::of(vec![task]);
                let call = tools::plan_delegation(&workspace, call, &options(rest)?)?;
                dispatcher.submit(launcher(), 1, [only(call)?]);
                let mut started = None;
                while started.is_none() {
                    started = dispatcher.wait(&[], None).into_iter().find_map(|update| {
                        let Change::Started { run_dir } = update.change else { return None };
                        Some(run_dir)
                    });
                }
                println!("{}", started.unwrap_or_default().display());
            }
            "finish" => {
                let mut outcomes = Vec::new();
                while !dispatcher.is_idle() {
                    for update in dispatcher.wait(&[], None) {
                        if let Change::Ended(report) = update.change {
                            outcomes.push(report.result.outcome.word());
                        }
                    }
                }
                println!("{}", outcomes.join(" "));
            }
            _ => return Err(format!("{word:?} is unknown").into()),
        }
    }
    Ok(())
}

fn only(call: PlannedCall) -> Result<Box<Plan>, Box<dyn Error>> {
    let task = call.tasks.into_iter().next();
    Ok(task.ok_or("nothing was planned")?.plan)
}
