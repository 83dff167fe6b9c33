//! The benchmarks: figures, always as ratios in one run against a peer or a bare limit; and the
//! pictures in the documents. `cargo xtask bench` and `cargo xtask pictures` build and start this.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers, whose whole result is what it prints"
)]

mod acp_client;
mod agent;
mod agents;
mod background;
mod bare;
mod calls;
mod chart;
mod claude_client;
mod delegate;
mod fleet;
mod governor;
mod growth;
mod measure;
mod memory;
mod pi;
mod pictures;
mod provider;
mod report;
mod scratch;
mod spine;
mod stream;
mod table;
mod tasks;
mod two_way;
mod view;
mod worktrees;

use std::process::ExitCode;

use table::Table;

struct Benchmark {
    name: &'static str,
    title: &'static str,
    run: fn() -> Result<Table, String>,
}

const BENCHMARKS: [Benchmark; 10] = [
    Benchmark { name: "spine", title: "A run, and a long stream", run: spine::run },
    Benchmark { name: "delegate", title: "Many tasks", run: delegate::run },
    Benchmark { name: "agent", title: "The built-in agent", run: agent::run },
    Benchmark { name: "agents", title: "Agents of all makes", run: agents::run },
    Benchmark { name: "background", title: "Listing many runs", run: background::run },
    Benchmark { name: "pi", title: "Inside of pi", run: pi::run },
    Benchmark { name: "view", title: "The live view", run: view::run },
    Benchmark { name: "fleet", title: "The fleet", run: fleet::run },
    Benchmark { name: "governor", title: "The governor", run: governor::run },
    Benchmark { name: "worktrees", title: "Worktrees", run: worktrees::run },
];

fn main() -> ExitCode {
    xtask::main(|arguments| match arguments {
        [] => run_all(),
        [word, command @ ..] if word == measure::WORD => measure::report(command),
        [word, command @ ..] if word == acp_client::WORD => acp_client::converse(command),
        [word, command @ ..] if word == claude_client::WORD => claude_client::converse(command),
        [word] if word == "pictures" => pictures::run(),
        [name] => run_one(name, false),
        [name, option] if option == "--save" => run_one(name, true),
        _ => Err(usage()),
    })
}

/// One benchmark. If it is saved, its part of the report is written anew.
fn run_one(name: &str, is_saved: bool) -> Result<(), String> {
    if name == "growth" {
        return run_growth(is_saved);
    }
    let named = BENCHMARKS.iter().find(|benchmark| benchmark.name == name).ok_or_else(usage)?;
    let table = (named.run)()?;
    print!("{}", table.text());
    if is_saved {
        report::write_part(named.title, &table)?;
    }
    missed(table.missed())
}

/// How everything grows with the number of tasks.
fn run_growth(is_saved: bool) -> Result<(), String> {
    let grown = growth::run()?;
    for figure in &growth::FIGURES {
        println!("{}\n{}", figure.name, report::growth_table(&grown, figure));
    }
    if is_saved { report::write_growth(&grown) } else { Ok(()) }
}

/// All benchmarks, and the report about them.
fn run_all() -> Result<(), String> {
    let mut tables = Vec::new();
    for benchmark in &BENCHMARKS {
        let table = (benchmark.run)()?;
        println!("{}\n{}", benchmark.title, table.text());
        tables.push((benchmark.title, table));
    }
    report::write(&growth::run()?, &tables)?;
    // One that misses a limit does not keep the others from being measured.
    missed(tables.iter().flat_map(|(_, table)| table.missed()))
}

fn missed<'a>(rows: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let rows: Vec<&str> = rows.collect();
    if rows.is_empty() { Ok(()) } else { Err(format!("missed: {}", rows.join("; "))) }
}

fn usage() -> String {
    let names: Vec<&str> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
    format!(
        "`bench` takes nothing, for the whole report, or one of: {}, growth; and `--save` to write its part of the report",
        names.join(", ")
    )
}
