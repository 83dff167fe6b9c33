//! Runs a child that does nothing, many times, in one process, for `cargo xtask bench`.
//!
//! `bench-runs single COUNT` alternates between starting the child bare and running it as a task;
//! `bench-runs many COUNT CONCURRENCY` runs it as many tasks and watches what grows. Both print a
//! JSON document, and keep their runs in the current directory.
#![expect(clippy::print_stdout, reason = "this program prints its measurements")]

use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::Instant;

use model::{Lifetime, Owner, OwnerKind, Plan};
use plan::{Agent, Request, Settings, Surroundings};
use runner::{Dispatcher, ProcessLauncher, Update};
use serde_json::{Value, json};
use store::Store;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let measured = match words.as_slice() {
        ["single", count] => single(count.parse()?)?,
        ["many", count, concurrency] => many(count.parse()?, concurrency.parse()?)?,
        _ => return Err("bench-runs single COUNT | many COUNT CONCURRENCY".into()),
    };
    println!("{measured}");
    Ok(())
}

/// The wall clock of one child, bare and as a task, in microseconds.
fn single(count: usize) -> Result<Value, Box<dyn Error>> {
    let mut dispatcher = dispatcher(1)?;
    let (mut bare, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let start = Instant::now();
        start_bare()?;
        bare.push(start.elapsed().as_micros());
        let start = Instant::now();
        dispatcher.submit(trivial_plan()?);
        while !dispatcher.is_idle() {
            dispatcher.wait(&[], None);
        }
        runs.push(start.elapsed().as_micros());
    }
    Ok(json!({"bareMicroseconds": bare, "runMicroseconds": runs}))
}

/// Many runs, and what this process needs for them at the beginning and at the end.
fn many(count: usize, concurrency: usize) -> Result<Value, Box<dyn Error>> {
    let mut dispatcher = dispatcher(concurrency)?;
    let start = Instant::now();
    let (mut submitted, mut ended) = (0, 0);
    let mut samples = Vec::new();
    while ended < count {
        while submitted < count && submitted < ended + 2 * concurrency {
            dispatcher.submit(trivial_plan()?);
            submitted += 1;
        }
        for update in dispatcher.wait(&[], None) {
            if let Update::Ended { .. } = update {
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

fn dispatcher(concurrency: usize) -> Result<Dispatcher, Box<dyn Error>> {
    let beside = std::env::current_exe()?.with_file_name("pi-subagents");
    let store = Store::in_project(&std::env::current_dir()?);
    let launcher = ProcessLauncher::new(beside);
    Ok(Dispatcher::new(store, Box::new(launcher), concurrency).adopting_orphans())
}

fn trivial_plan() -> Result<Plan, Box<dyn Error>> {
    let cwd = std::env::current_dir()?;
    let surroundings = Surroundings {
        agent_dir: cwd.clone(),
        cwd,
        home: None,
        agent: None,
        search_path: vec!["/usr/bin".into(), "/bin".into()],
    };
    let request = Request {
        name: "nothing".to_owned(),
        prompt: "nothing".to_owned(),
        task: None,
        requested_model: None,
        named: None,
        definition: None,
        session_id: None,
        refusal: None,
        cwd: None,
        timeout: Some(60.0),
        model: None,
        owner: Owner { kind: OwnerKind::Shell, id: None },
        lifetime: Lifetime::Foreground,
    };
    let agent = Agent::Program(vec!["true".to_owned()]);
    Ok(plan::plan(request, &agent, &surroundings, &Settings::default())?)
}

#[expect(clippy::disallowed_methods, reason = "the bare child is what we are measured against")]
fn start_bare() -> Result<(), Box<dyn Error>> {
    Command::new("true").status()?;
    Ok(())
}
