//! `cargo xtask soak`: submits random tasks through all doors at once, injects random faults, and proves at the
//! end that every task ended once and that nothing is left.
//!
//! A seed is a `Plan`: the same tasks through the same doors, and the same faults, at the same
//! times. It does not decide which process the kernel runs first, nor which processes exist when a fault is
//! injected; so a seed repeats the plan, but not everything that happens.

#![cfg(target_os = "linux")]
#![expect(
    clippy::print_stdout,
    reason = "a program for developers, whose whole result is what it prints"
)]

mod agent;
mod audit;
mod batches;
mod cluster;
mod faults;
mod fleet;
mod log;
mod options;
mod panes;
mod plan;
mod protocol;
mod random;
mod reading;
mod replies;
mod server;
mod shell;
mod speeches;
mod targets;
mod task;
mod testbed;
mod wind_down;

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use std::{env, thread};

use test_support::NatsServers;
use xtask::{Invocation, namespace, python_packages, repository_root, target_directory};

use audit::{Tally, Untouched};
use cluster::Order;
use faults::Faults;
use log::Log;
use options::Options;
use plan::{Door, Plan, Project};
use server::Server;
use shell::Shell;
use testbed::Testbed;

/// How long anything may take that must end. Far longer than it takes, even on a busy machine and with faults.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the command: builds the programs, and runs the soak in a mount namespace, where it can fill a disk.
pub fn run(arguments: &[String]) -> Result<(), String> {
    if let [word, rest @ ..] = arguments
        && word == "fleet"
    {
        return fleet::run(rest);
    }
    let options = Options::parse(arguments)?;
    if options.is_inside {
        return soak(&options, true);
    }
    let build = Invocation::new("cargo build --package pi-subagents --features test-fakes --bins");
    build.run().map_err(|what| format!("`{build}` {what}"))?;
    let is_ci = env::var("CI").is_ok_and(|value| value == "true");
    if let Err((install, what)) = python_packages::install_nats_server() {
        let reason = format!("`{install}` {what}");
        if is_ci {
            return Err(reason);
        }
        println!("The fleet is NOT tried, because its server cannot be installed: {reason}");
    }
    let wrapper = match namespace::find_wrapper() {
        Ok(wrapper) => wrapper,
        Err(reason) if is_ci => return Err(reason),
        Err(reason) => {
            println!("The full disk is NOT tried, because this machine does not permit mounts:");
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
    let nats_server = repository_root().join("e2e/fleet/server/bin/nats-server");
    let nodes = nats_server.exists().then(|| NatsServers::three(&nats_server));
    let fleet = nodes.as_ref().map(NatsServers::url);
    let mut testbed = Testbed::new(&programs, has_mounts.then_some(options.length), fleet)?;
    let before = Project::KEPT.map(|project| (project, Untouched::of(&testbed, project)));
    let log = Log::new();
    thread::scope(|scope| {
        let (orders, received) = channel();
        let (testbed, log) = (&testbed, &log);
        let cluster = scope.spawn(move || {
            if let Some(nodes) = nodes {
                cluster::keep(testbed, log, nodes, &received);
            }
        });
        let survivors = run_lanes(testbed, log, &plan, options.length, &orders);
        wind_down::wind_down(testbed, log, survivors, || {
            drop(orders);
            if cluster.join().is_err() {
                log.report_violation(&[], "the fleet of the soak itself has panicked");
            }
        });
    });
    let tally = audit::audit(&testbed, &before.into(), &log);
    if log.entries().violations.is_empty() {
        println!("{}", last_line(options, tally, log.entries().faults));
        return Ok(());
    }
    let kept = testbed.keep();
    let error = report(options, &log, &kept);
    // Dropping it would remove the files that show what went wrong.
    std::mem::forget(testbed);
    Err(error)
}

/// Runs all lanes and all faults until the time is over. Returns the servers that are alive then.
fn run_lanes<'a>(
    testbed: &'a Testbed,
    log: &'a Log,
    plan: &Plan,
    length: Duration,
    nodes: &Sender<Order>,
) -> Vec<Server<'a>> {
    let (stop, end) = channel();
    let (hush, silence) = channel();
    let (leave, absence) = channel();
    let (close, closed) = channel();
    thread::scope(|scope| {
        let speeches =
            scope.spawn(move || speeches::speak_all(testbed, log, &plan.speeches, &silence));
        let replies =
            scope.spawn(move || replies::reply_to_all(testbed, log, &plan.replies, &absence));
        let batches = scope.spawn(move || {
            if testbed.is_elsewhere(Project::Sent) {
                batches::submit_all(testbed, log, &plan.batches, &closed);
            }
        });
        let nodes = nodes.clone();
        let faults =
            scope.spawn(move || Faults::inject_all(testbed, log, &plan.faults, &end, nodes));
        let lanes: Vec<_> = plan
            .lanes
            .iter()
            .enumerate()
            .map(|(number, lane)| {
                scope.spawn(move || match lane.door {
                    Door::Shell => {
                        Shell::new(testbed, log).act(&lane.actions, length);
                        None
                    }
                    Door::Bridge | Door::Mcp => {
                        let session = format!("{}-{number}", lane.door.word());
                        server::act(testbed, log, lane, &session, length)
                    }
                })
            })
            .collect();
        thread::sleep(length);
        drop(stop);
        drop(hush);
        drop(leave);
        drop(close);
        let mut survivors = Vec::new();
        for lane in lanes {
            match lane.join() {
                Ok(server) => survivors.extend(server),
                Err(_) => log.report_violation(&[], "a lane of the soak itself has panicked"),
            }
        }
        if faults.join().is_err() {
            log.report_violation(&[], "the faults of the soak itself have panicked");
        }
        if speeches.join().is_err() {
            log.report_violation(&[], "the speeches of the soak itself have panicked");
        }
        if batches.join().is_err() {
            log.report_violation(&[], "the batches of the soak itself have panicked");
        }
        if replies.join().is_err() {
            log.report_violation(&[], "the replies of the soak itself have panicked");
        }
        survivors
    })
}

fn last_line(options: &Options, tally: Tally, faults: usize) -> String {
    let Tally {
        tasks,
        completed,
        failed,
        refused,
        deleted,
        never_begun,
        in_cgroups,
        restricted,
        in_panes,
        on_fleet,
        in_batches,
        messages,
        delivered,
        questions,
        answered,
        expired,
        written,
        in_refs,
    } = tally;
    format!(
        "soak: seed {}, {} s, {tasks} tasks ({completed} completed, {failed} failed as they should, \
         {refused} refused, {deleted} deleted, {never_begun} never begun; {in_cgroups} in cgroups, \
         {restricted} with restricted access, {in_panes} in panes, {on_fleet} on the fleet, {in_batches} of them in batches), {messages} messages ({delivered} delivered), \
         {questions} questions ({answered} answered by users, {expired} by their deadline), \
         {written} files written in worktrees ({in_refs} in refs), {faults} faults, nothing left",
        options.seed,
        options.length.as_secs(),
    )
}

/// Prints the violations, each with what happened around it, and returns the error.
fn report(options: &Options, log: &Log, kept: &std::path::Path) -> String {
    const MOST: usize = 10;
    let entries = log.entries();
    let timeline: Vec<String> = entries
        .timeline
        .iter()
        .map(|(at, line)| format!("{:>8.3} s  {line}\n", at.as_secs_f64()))
        .collect();
    // If this fails, the printed part is left.
    let _ = std::fs::write(kept.join("timeline.txt"), timeline.concat());
    for violation in entries.violations.iter().take(MOST) {
        println!("\n{}: {}", violation.about.join(" "), violation.what);
        for line in entries.timeline_about(&violation.about) {
            println!("    {line}");
        }
    }
    let count = entries.violations.len();
    format!(
        "soak: seed {}, {} s: {count} violations, the first {} above\n\
         The files are kept in {}, with everything that happened in timeline.txt.\n\
         To repeat the plan:\n    cargo xtask soak {options}",
        options.seed,
        options.length.as_secs(),
        count.min(MOST),
        kept.display(),
    )
}
