//! Runs a child that does nothing, many times, in one process, for `cargo xtask bench`.
//!
//! `bench-runs single COUNT [ACCESS]` alternates between starting the child bare and running it as a task;
//! `bench-runs many COUNT CONCURRENCY` runs it as many tasks and watches what grows. Both print a
//! JSON document, and keep their runs in the current directory. `bench-runs finished COUNT` puts so
//! many finished background runs there, `bench-runs admission COUNT` asks so often whether an agent may start, with nothing else
//! on this machine and beside fifteen agents, and `bench-runs read` reads the two small files of each.
#![expect(clippy::print_stdout, reason = "this program prints its measurements")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use governor::{Answer, Applicant};
use model::{Access, FORMAT, Lifetime, Outcome, Owner, OwnerKind, Plan, RunResult, Status, Usage};
use plan::{Agent, AgentChoice, PlanOptions, Surroundings, Task, Workspace};
use runner::{Change, Dispatcher, Launcher};
use serde_json::{Value, json};
use store::{Journal, Store};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let measured = match words.as_slice() {
        ["single", count] => single(count.parse()?, Access::Full)?,
        ["single", count, access] => {
            single(count.parse()?, Access::parse(access).ok_or("unknown access")?)?
        }
        ["many", count, concurrency] => many(count.parse()?, concurrency.parse()?)?,
        ["finished", count] => finished(count.parse()?)?,
        ["read"] => read()?,
        ["admission", count] => admission(count.parse()?)?,
        _ => {
            return Err(
                "bench-runs single COUNT [ACCESS] | many COUNT CONCURRENCY | finished COUNT | \
                 admission COUNT | read"
                    .into(),
            );
        }
    };
    println!("{measured}");
    Ok(())
}

/// The wall clock of one child, bare and as a task, in microseconds.
fn single(count: usize, access: Access) -> Result<Value, Box<dyn Error>> {
    let (mut dispatcher, program) = dispatcher()?;
    let (mut bare, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let start = Instant::now();
        start_bare()?;
        bare.push(start.elapsed().as_micros());
        let start = Instant::now();
        dispatcher.submit(Launcher::new(program.clone()), 1, [trivial_plan(access)?]);
        while !dispatcher.is_idle() {
            dispatcher.wait(&[], None);
        }
        runs.push(start.elapsed().as_micros());
    }
    Ok(json!({
        "bareMicroseconds": bare,
        "runMicroseconds": runs,
        "hasCgroup": process::Cgroup::parent().is_ok(),
        "hasLandlock": process::landlock_version().is_ok(),
    }))
}

/// Many runs, and what this process needs for them at the beginning and at the end.
fn many(count: usize, concurrency: usize) -> Result<Value, Box<dyn Error>> {
    let (mut dispatcher, program) = dispatcher()?;
    let start = Instant::now();
    let (mut submitted, mut ended) = (0, 0);
    let mut samples = Vec::new();
    while ended < count {
        while submitted < count && submitted < ended + concurrency {
            dispatcher.submit(Launcher::new(program.clone()), 1, [trivial_plan(Access::Full)?]);
            submitted += 1;
        }
        for update in dispatcher.wait(&[], None) {
            if let Change::Ended(_) = update.change {
                ended += 1;
                if ended % 500 == 0 {
                    samples.push(sample(ended)?);
                }
            }
        }
    }
    samples.push(sample(ended)?);
    Ok(json!({"seconds": start.elapsed().as_secs_f64(), "samples": samples}))
}

/// Finished background runs, as their supervisors leave them.
fn finished(count: usize) -> Result<Value, Box<dyn Error>> {
    let store = Store::in_project(&std::env::current_dir()?);
    for _ in 0..count {
        let mut plan = trivial_plan(Access::Full)?;
        plan.meta_mut().lifetime = Lifetime::Background;
        plan.meta_mut().preset = Some("scout".to_owned());
        plan.meta_mut().model = Some("anthropic/claude-haiku-4-5".to_owned());
        plan.meta_mut().task =
            Some("Where are errors handled, and what is told about them?".to_owned());
        let new_run = store.create(&plan)?;
        let journal = Journal::begin(&new_run.dir, &new_run.meta.limits)?;
        journal.finish(&RunResult {
            format: FORMAT,
            run_id: new_run.meta.run_id.clone(),
            session_id: new_run.meta.session_id.clone(),
            name: new_run.meta.name.clone(),
            status: Status::Completed,
            outcome: Outcome::Completed,
            error: None,
            output: "They are handled at the edge, and say what to do next.".to_owned(),
            exit_code: Some(0),
            signal: None,
            model: new_run.meta.model.clone(),
            stop_reason: Some(model::StopReason::Stop),
            usage: Usage::default(),
            budget: Default::default(),
            tool_calls: 3,
            started_at: Some(1),
            ended_at: 2,
            duration_ms: 1,
            warnings: Vec::new(),
            leftovers: None,
            value: None,
            check: None,
            changes: None,
            resources: None,
        })?;
        new_run.dir.mark_notified()?;
    }
    Ok(json!({"finished": count}))
}

/// Reads the two small files of every run, and nothing else.
fn read() -> Result<Value, Box<dyn Error>> {
    let mut bytes = 0;
    for entry in fs::read_dir(".pi/subagents/runs")? {
        let path = entry?.path();
        if path.is_dir() {
            bytes += fs::read(path.join("meta.json"))?.len();
            bytes += fs::read(path.join("result.json"))?.len();
        }
    }
    Ok(json!({"bytes": bytes}))
}

/// The wall clock of asking for a slot that is free and giving it back, in microseconds.
fn admission(count: usize) -> Result<Value, Box<dyn Error>> {
    let plan = trivial_plan(Access::Full)?;
    let ask = |plan: &Plan| match Applicant::new(plan.meta.admission.as_deref()).ask(&plan.meta, 1)
    {
        Answer::Start(slot) => Ok(slot),
        Answer::Wait(waiting) => Err(waiting.words()),
    };
    let measured = || -> Result<Vec<f64>, String> {
        let one = |_| {
            let start = Instant::now();
            drop(ask(&plan)?);
            Ok(start.elapsed().as_secs_f64() * 1e6)
        };
        (0..count).map(one).collect()
    };
    let alone = measured()?;
    let mut others = Vec::new();
    for _ in 0..15 {
        others.push(ask(&*trivial_plan(Access::Full)?)?);
    }
    let beside = measured()?;
    drop(others);
    Ok(json!({"alone": alone, "beside15": beside}))
}

fn sample(ended: usize) -> Result<Value, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let resident = status.lines().find_map(|line| {
        line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<u64>().ok()
    });
    let own = std::process::id();
    let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children"))?;
    Ok(json!({
        "ended": ended,
        "residentKib": resident,
        "descriptors": fs::read_dir("/proc/self/fd")?.count(),
        "children": children.split_whitespace().count(),
    }))
}

fn dispatcher() -> Result<(Dispatcher, PathBuf), Box<dyn Error>> {
    let beside = std::env::current_exe()?.with_file_name("pi-subagents");
    let store = Store::in_project(&std::env::current_dir()?);
    Ok((Dispatcher::new(store).adopting_orphans(), beside))
}

fn trivial_plan(access: Access) -> Result<Box<Plan>, Box<dyn Error>> {
    let cwd = std::env::current_dir()?;
    // There is none. Inside of the workspace it could not be kept.
    let agent_dir = cwd.with_file_name("no-agent");
    let surroundings = Surroundings {
        search_path: vec!["/usr/bin".into(), "/bin".into()],
        ..Surroundings::new(cwd, agent_dir)
    };
    let task = Task {
        name: "nothing".to_owned(),
        prompt: "nothing".to_owned(),
        timeout: Some(60.0),
        ..Task::default()
    };
    let options = PlanOptions {
        access: Some(access),
        ..PlanOptions::new(
            AgentChoice::by_default(Agent::Program(vec!["true".to_owned()])),
            Owner { kind: OwnerKind::Shell, id: None },
            Lifetime::Foreground,
        )
    };
    let workspace = Workspace::load(surroundings, None);
    let planned = plan::plan_tasks(&workspace, &options, [(task, None)])?;
    Ok(planned.tasks.into_iter().next().ok_or("nothing was planned")?.plan)
}

#[expect(clippy::disallowed_methods, reason = "the bare child is what we are measured against")]
fn start_bare() -> Result<(), Box<dyn Error>> {
    Command::new("true").status()?;
    Ok(())
}
