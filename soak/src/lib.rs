//! `cargo xtask soak`: random tasks through all doors at once, while random faults fall, and a proof at
//! the end that every task ended once and that nothing is left.
//!
//! A seed is a `Plan`: the same tasks through the same doors, and the same faults, at the same
//! times. What the kernel makes of it, which process it runs first and which of several is there to be
//! hit, is another thing each time; so a seed repeats the weather and not every drop of rain.

#![cfg(target_os = "linux")]
#![expect(
    clippy::print_stdout,
    reason = "a program for developers, whose whole result is what it prints"
)]

mod audit;
mod calm;
mod faults;
mod ledger;
mod options;
mod place;
mod plan;
mod protocol;
mod random;
mod reading;
mod server;
mod shell;
mod task;
mod victims;

use std::sync::mpsc::channel;
use std::time::Duration;
use std::{env, thread};

use xtask::{Invocation, namespace, target_directory};

use audit::Tally;
use faults::Faults;
use ledger::Ledger;
use options::Options;
use place::Place;
use plan::{Door, Plan};
use server::Server;
use shell::Shell;

/// How long anything may take that has to come to an end. Far longer than it takes, also on a busy
/// machine and with everything that we do to it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the command: builds the programs, and soaks in a namespace with mounts of its own, where there
/// can be a full disk.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    if options.is_inside {
        return soak(&options, true);
    }
    let build = Invocation::new("cargo build --package pi-subagents --features test-fakes --bins");
    build.run().map_err(|what| format!("`{build}` {what}"))?;
    let wrapper = match namespace::find_wrapper() {
        Ok(wrapper) => wrapper,
        Err(reason) if env::var("CI").is_ok_and(|value| value == "true") => return Err(reason),
        Err(reason) => {
            println!("The full disk is NOT tried, because this machine permits no mounts:");
            println!("{reason}");
            return soak(&options, false);
        }
    };
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let inside = Invocation::new(wrapper).word(program.display().to_string());
    let inside = inside.words(&format!("--inside {options}"));
    inside.run().map_err(|what| format!("the soak {what}; it was `cargo xtask soak {options}`"))
}

fn soak(options: &Options, has_mounts: bool) -> Result<(), String> {
    println!("soak: {options}");
    let programs = target_directory().join("debug");
    let plan = Plan::new(options.seed, options.length);
    let mut place = Place::new(&programs, has_mounts.then_some(options.length))?;
    let ledger = Ledger::new();
    let survivors = weather(&place, &ledger, &plan, options.length);
    calm::calm_down(&place, &ledger, survivors);
    let tally = audit::audit(&place, &ledger);
    if ledger.pages().violations.is_empty() {
        println!("{}", last_line(options, tally, ledger.pages().faults));
        return Ok(());
    }
    let kept = place.keep();
    let error = report(options, &ledger, &kept);
    // The world would be removed with everything that there is to see.
    std::mem::forget(place);
    Err(error)
}

/// Everything at once, until the time is over. Returns the servers that are alive then.
fn weather<'a>(
    place: &'a Place,
    ledger: &'a Ledger,
    plan: &Plan,
    length: Duration,
) -> Vec<Server<'a>> {
    let (stop, end) = channel();
    thread::scope(|scope| {
        let faults = scope.spawn(move || Faults::fall(place, ledger, &plan.faults, &end));
        let lanes: Vec<_> = plan
            .lanes
            .iter()
            .enumerate()
            .map(|(number, lane)| {
                scope.spawn(move || match lane.door {
                    Door::Shell => {
                        Shell::new(place, ledger).act(&lane.actions, length);
                        None
                    }
                    Door::Bridge | Door::Mcp => {
                        let session = format!("{}-{number}", lane.door.word());
                        server::act(place, ledger, lane, &session, length)
                    }
                })
            })
            .collect();
        thread::sleep(length);
        drop(stop);
        let mut survivors = Vec::new();
        for lane in lanes {
            match lane.join() {
                Ok(server) => survivors.extend(server),
                Err(_) => ledger.complain(&[], "a lane of the soak itself has panicked"),
            }
        }
        if faults.join().is_err() {
            ledger.complain(&[], "the faults of the soak itself have panicked");
        }
        survivors
    })
}

fn last_line(options: &Options, tally: Tally, faults: usize) -> String {
    let Tally { tasks, completed, failed, refused, deleted, never_begun } = tally;
    format!(
        "soak: seed {}, {} s, {tasks} tasks ({completed} completed, {failed} failed as they should, \
         {refused} refused, {deleted} deleted, {never_begun} never begun), {faults} faults, nothing left",
        options.seed,
        options.length.as_secs(),
    )
}

/// What is wrong, each with what happened around it.
fn report(options: &Options, ledger: &Ledger, kept: &std::path::Path) -> String {
    const MOST: usize = 10;
    let pages = ledger.pages();
    let timeline: Vec<String> = pages
        .timeline
        .iter()
        .map(|(at, line)| format!("{:>8.3} s  {line}\n", at.as_secs_f64()))
        .collect();
    // Without it, there is still what is printed.
    let _ = std::fs::write(kept.join("timeline.txt"), timeline.concat());
    for violation in pages.violations.iter().take(MOST) {
        println!("\n{}: {}", violation.about.join(" "), violation.what);
        for line in pages.timeline_about(&violation.about) {
            println!("    {line}");
        }
    }
    let count = pages.violations.len();
    format!(
        "soak: seed {}, {} s: {count} violations, the first {} above\n\
         The world is kept in {}, with everything that happened in timeline.txt.\n\
         To repeat the plan:\n    cargo xtask soak {options}",
        options.seed,
        options.length.as_secs(),
        count.min(MOST),
        kept.display(),
    )
}
