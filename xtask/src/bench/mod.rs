//! `cargo xtask bench`: figures, always as ratios in one run against a peer or a bare limit.

mod agent;
mod background;
mod bare;
mod calls;
mod chart;
mod delegate;
mod growth;
mod measure;
mod memory;
mod pi;
mod place;
mod provider;
mod report;
mod spine;
mod stream;
mod table;
mod tasks;
mod view;

use table::Table;

pub(crate) use place::Place;

/// One of the benchmarks.
struct Benchmark {
    name: &'static str,
    title: &'static str,
    run: fn() -> Result<Table, String>,
}

const BENCHMARKS: [Benchmark; 6] = [
    Benchmark { name: "spine", title: "A run, and a long stream", run: spine::run },
    Benchmark { name: "delegate", title: "Many tasks", run: delegate::run },
    Benchmark { name: "agent", title: "The built-in agent", run: agent::run },
    Benchmark { name: "background", title: "Listing many runs", run: background::run },
    Benchmark { name: "pi", title: "Inside of pi", run: pi::run },
    Benchmark { name: "view", title: "The live view", run: view::run },
];

/// Runs the benchmark that is named; or all, and makes the report.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let [word, command @ ..] = arguments
        && word == measure::WORD
    {
        return measure::report(command);
    }
    let [name] = arguments else {
        return if arguments.is_empty() { run_all() } else { Err(usage()) };
    };
    if name == "growth" {
        let grown = growth::run()?;
        for figure in &growth::FIGURES {
            println!("{}\n{}", figure.name, report::growth_table(&grown, figure));
        }
        return Ok(());
    }
    let named = BENCHMARKS.iter().find(|benchmark| benchmark.name == name);
    let table = (named.ok_or_else(usage)?.run)()?;
    print!("{}", table.text());
    missed(table.missed())
}

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
    format!("`bench` takes nothing, for the whole report, or one of: {}, growth", names.join(", "))
}
