//! What the built-in agent costs, beside the real pi and beside agents inside pi.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use xtask::repository_root;

use crate::calls::{Calls, TINTINWEB};
use crate::measure::{Cost, measure, measure_in_turns, measure_into, median, median_of};
use crate::provider::{APIS, Provider};
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::{ANSWER, TASKS, check, check_stream, create, delegate, prompt, write_tasks};

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    let provider = Provider::start(&scratch)?;
    let project = scratch.subdirectory("project")?;
    fs::write(project.join("notes.txt"), "a line of notes\n".repeat(40))
        .map_err(|error| error.to_string())?;
    for (name, api, _) in APIS {
        one_task(&scratch, &provider, &project, (name, api), &mut table)?;
    }
    many_tasks(&scratch, &provider, &project, &mut table)?;
    start_up(&scratch, &project, &mut table)?;
    Ok(table)
}

const ONE_ROUNDS: usize = 11;
const MANY_ROUNDS: usize = 7;
const START_ROUNDS: usize = 200;

/// One task of three turns, started bare, through one of the protocols.
fn one_task(
    scratch: &Scratch,
    provider: &Provider,
    project: &Path,
    (name, api): (&str, &str),
    table: &mut Table,
) -> Result<(), String> {
    let bare = |mut command: Command, arguments: &[&str]| {
        command.args(arguments).current_dir(project);
        provider.offer(&mut command);
        command
    };
    let prompt = prompt(0);
    let model = format!("{name}/fake-1");
    let arguments = ["--mode", "json", "-p", "--no-session", "--model", &model, &prompt];
    let mut ours = bare(scratch.our("pi-subagents"), &[&["agent"], &arguments[..]].concat());
    let mut pis = bare(scratch.command("pi"), &arguments);
    // Once without a clock, so that all files are in memory, and to see that both do the same work.
    for (name, command) in [("ours.jsonl", &mut ours), ("pis.jsonl", &mut pis)] {
        let output = scratch.path(name);
        measure_into(command, &[0], create(&output)?)?;
        check_stream(&output)?;
    }
    let mut version = bare(scratch.command("pi"), &["--version"]);
    let costs = measure_in_turns(
        ONE_ROUNDS,
        &mut [(&mut ours, &[0]), (&mut pis, &[0]), (&mut version, &[0])],
    )?;
    let milliseconds = |cost: &Cost| cost.cpu.as_secs_f64() * 1e3;
    let [ours, pis, start] = [0, 1, 2].map(|index| median_of(&costs[index], milliseconds));
    table.times_less(
        &format!("CPU of one task of three turns, {api}"),
        (ours, &format!("{ours:.1} ms")),
        (pis, &format!("{pis:.0} ms, the real pi")),
        30.0,
    );
    let net = pis - start;
    table.note(
        "the same without pi's start-up (`pi --version`)",
        &format!("{ours:.1} ms (with ours)"),
        &format!("{net:.0} ms, {:.1} x ours", net / ours),
    );
    let megabytes = |cost: &Cost| cost.peak_kib as f64 * 1024.0 / 1e6;
    let [ours, pis] = [0, 1].map(|index| median_of(&costs[index], megabytes));
    table.times_less(
        "peak memory of its largest process",
        (ours, &format!("{ours:.1} MB")),
        (pis, &format!("{pis:.0} MB, the real pi")),
        8.0,
    );
    let wall = |cost: &Cost| cost.wall.as_secs_f64() * 1e3;
    let [ours, pis] = [0, 1].map(|index| median_of(&costs[index], wall));
    table.note(
        "its time from start to end",
        &format!("{ours:.1} ms"),
        &format!("{pis:.0} ms, {:.0} x ours", pis / ours),
    );
    Ok(())
}

/// Sixteen such tasks at once: our whole command, beside a peer that is already running when it is
/// called, and that starts no processes.
fn many_tasks(
    scratch: &Scratch,
    provider: &Provider,
    project: &Path,
    table: &mut Table,
) -> Result<(), String> {
    let tasks = write_tasks(project, (0..TASKS).map(prompt))?;
    let mut ours = delegate(scratch, project, &tasks, "builtin", TASKS);
    provider.offer(&mut ours);
    // Once without a clock.
    let answer = scratch.path("tasks.json");
    let mut our_costs = Vec::new();
    let mut peers = Vec::new();
    measure(&mut ours, &[0])?;
    TINTINWEB.measure(scratch, provider, project)?;
    for _ in 0..MANY_ROUNDS {
        our_costs.push(measure_into(&mut ours, &[0], create(&answer)?)?);
        check(&answer, TASKS)?;
        peers.push(TINTINWEB.measure(scratch, provider, project)?);
    }
    let ours = median_of(&our_costs, |cost| cost.wall.as_secs_f64());
    let figure = |of: fn(&Calls) -> Duration| {
        median(peers.iter().map(|peer| of(peer).as_secs_f64()).collect())
    };
    let (calls, whole) = (figure(|peer| peer.time), figure(|peer| peer.whole));
    table.at_most(
        "16 such tasks, 16 at a time, whole `delegate`",
        (ours, &format!("{ours:.3} s")),
        (calls, &format!("{calls:.3} s, first call to last result, @tintinweb/pi-subagents")),
        0.5,
    );
    table.note(
        "the same with the peer's start-up",
        &format!("{ours:.3} s"),
        &format!("{whole:.3} s, {:.1} x ours", whole / ours),
    );
    let fastest = our_costs.iter().map(|cost| cost.wall).min().unwrap_or_default();
    let peers_fastest = peers.iter().map(|peer| peer.time).min().unwrap_or_default();
    table.note(
        "the same, fastest of each",
        &format!("{:.3} s", fastest.as_secs_f64()),
        &format!("{:.3} s", peers_fastest.as_secs_f64()),
    );
    let cpu = median_of(&our_costs, |cost| cost.cpu.as_secs_f64());
    table.note("its CPU (all processes)", &format!("{cpu:.3} s"), "");
    Ok(())
}

/// The shortest run of the agent, and the size of the program that is loaded for it.
fn start_up(scratch: &Scratch, project: &Path, table: &mut Table) -> Result<(), String> {
    let script = scratch.path("script.json");
    fs::write(&script, json!([{"text": ANSWER}]).to_string()).map_err(|error| error.to_string())?;
    let mut ours = scratch.our("pi-subagents");
    let model = format!("script/{}", script.display());
    ours.args(["agent", "--mode", "json", "-p", "--model", &model, "hello"]).current_dir(project);
    let mut bare = scratch.command("true");
    let costs = measure_in_turns(START_ROUNDS, &mut [(&mut ours, &[0]), (&mut bare, &[0])])?;
    let milliseconds = |cost: &Cost| cost.wall.as_secs_f64() * 1e3;
    let [ours, bare] = [0, 1].map(|index| median_of(&costs[index], milliseconds));
    table.note(
        "`agent` with a scripted answer, from start to end",
        &format!("{ours:.2} ms"),
        &format!("{bare:.2} ms `true`"),
    );
    let size = |path: &Path| fs::metadata(path).map(|metadata| metadata.len() as f64 / 1e6);
    let program = scratch.our("pi-subagents").get_program().to_owned();
    let ours = size(Path::new(&program)).map_err(|error| error.to_string())?;
    let node = repository_root().join("e2e/node_modules/node/bin/node");
    let nodes = size(&node).map_err(|error| error.to_string())?;
    table.note(
        "size of the program",
        &format!("{ours:.1} MB"),
        &format!("{nodes:.0} MB, Node alone"),
    );
    Ok(())
}
