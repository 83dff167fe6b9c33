//! `cargo xtask soak fleet`: everything that can happen to the fleet, one after another, each with 300 tasks under way. The table
//! that it prints is the one in `docs/use/fleet.md`.

use std::path::Path;
use std::thread;

use test_support::{FleetFault, Program, Suffered, suffer};
use xtask::{Invocation, python_packages, repository_root, target_directory};

const TASKS: usize = 300;

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err("`soak fleet` takes nothing".to_owned());
    }
    let build = Invocation::new("cargo build --package pi-subagents --features test-fakes --bins");
    build.run().map_err(|what| format!("`{build}` {what}"))?;
    let installed = python_packages::install_nats_server();
    installed.map_err(|(install, what)| format!("`{install}` {what}"))?;
    let programs = target_directory().join("debug");
    let program = Program {
        pi_subagents: leak(&programs.join("pi-subagents")),
        fake_agent: leak(&programs.join("fake-agent")),
    };
    let nats_server = repository_root().join("e2e/fleet/server/bin/nats-server");
    println!(
        "| what happens | under way | restarted | lost or counted twice | all of them had results after | the batch took |"
    );
    println!("|---|---|---|---|---|---|");
    let mut failed = Vec::new();
    for fault in FleetFault::ALL {
        let server = nats_server.clone();
        // A harness fails by panicking, and prints why.
        let tried = thread::spawn(move || suffer(program, &server, fault, TASKS)).join();
        match tried {
            Ok(Some(suffered)) => println!("{}", row(fault, suffered)),
            Ok(None) => println!("| {} | not tried: no mounts here | | | | |", fault.words()),
            Err(_) => failed.push(fault.words()),
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("not survived: {}", failed.join("; "))),
    }
}

fn row(fault: FleetFault, suffered: Suffered) -> String {
    let Suffered { under_way, restarted, recovery, total } = suffered;
    format!(
        "| {} | {under_way} | {restarted} | none | {:.1} s | {:.1} s |",
        fault.words(),
        recovery.as_secs_f64(),
        total.as_secs_f64()
    )
}

/// A path for as long as the program runs.
fn leak(path: &Path) -> &'static str {
    path.display().to_string().leak()
}
