//! What it costs to look at agents while they work.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::json;
use test_support::pseudo_terminal;

use crate::measure::median;
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::write_tasks;

const AGENTS: usize = 16;
const LINES_A_SECOND: u64 = 200;
const SECONDS: u64 = 5;
const ROUNDS: usize = 5;

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    let agent = scratch.our("fake-agent");
    let step = json!([
        {"message": {"text": "a line of what the agent says", "stop": "toolUse"}},
        {"sleep_ms": 1000 / LINES_A_SECOND},
    ]);
    let script = json!([
        "start",
        {"repeat": {"times": LINES_A_SECOND * SECONDS, "steps": step}},
        {"say": "done"},
        {"end": false},
        "settle",
    ]);
    let agent = json!([agent.get_program().to_string_lossy(), script.to_string()]).to_string();
    let (mut live, mut plain, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let project = scratch.subdirectory(&format!("view-{round}"))?;
        let tasks = write_tasks(&project, (0..AGENTS).map(|_| "talk".to_owned()))?;
        let (seconds, written) = look(&mut delegate(&scratch, &project, &agent, &tasks, &[]))?;
        live.push(seconds);
        bytes.push(written as f64);
        plain.push(look_away(&mut delegate(&scratch, &project, &agent, &tasks, &["--plain"]))?);
        fs::remove_dir_all(project).map_err(|error| error.to_string())?;
    }
    let [live, plain, bytes] = [live, plain, bytes].map(median);
    table.at_most(
        &format!(
            "CPU of `delegate` itself with the live view, {AGENTS} agents, {LINES_A_SECOND} lines \
             a second each, {SECONDS} s"
        ),
        (live, &format!("{:.0} ms", live * 1e3)),
        (plain, &format!("{:.0} ms `--plain > /dev/null`", plain * 1e3)),
        2.0,
    );
    table.note("written to the terminal a second", &kilobytes(bytes / SECONDS as f64), "");
    Ok(table)
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.0} kB", bytes / 1e3)
}

fn delegate(
    scratch: &Scratch,
    project: &Path,
    agent: &str,
    tasks: &Path,
    arguments: &[&str],
) -> Command {
    let program = scratch.our("pi-subagents");
    // In a session of its own: the terminal must be its own to be drawn on. `setsid` becomes the
    // program, it does not wait for it.
    let mut command = scratch.command("setsid");
    command.arg("--ctty").arg(program.get_program()).args(["delegate", "--agent", agent]);
    command.args(["--concurrency", &AGENTS.to_string()]).args(arguments).arg(tasks);
    command.current_dir(project).env("TERM", "xterm-256color");
    command
}

/// The cost of the command on a terminal, in seconds, and how much it writes to it.
fn look(command: &mut Command) -> Result<(f64, usize), String> {
    let (terminal, inside) =
        pseudo_terminal::open(200, 60).map_err(|error| format!("no terminal: {error}"))?;
    let streams = [&inside, &inside, &inside].map(|fd| fd.try_clone().map(Stdio::from));
    let [stdin, stdout, stderr] = streams.map(|stream| stream.map_err(|error| error.to_string()));
    command.stdin(stdin?).stdout(stdout?).stderr(stderr?);
    drop(inside);
    let reader = std::thread::spawn(move || {
        let (mut terminal, mut written) = (File::from(terminal), 0);
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length) = terminal.read(&mut buffer) {
            written += length;
        }
        written
    });
    let seconds = cpu(command)?;
    // The reader ends when no process has the terminal open.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let written = reader.join().map_err(|_| "the reader panicked".to_owned())?;
    Ok((seconds, written))
}

/// The same without a live view.
fn look_away(command: &mut Command) -> Result<f64, String> {
    let (_terminal, inside) =
        pseudo_terminal::open(200, 60).map_err(|error| format!("no terminal: {error}"))?;
    command.stdin(inside).stdout(Stdio::null()).stderr(Stdio::null());
    cpu(command)
}

/// The processor time of the command itself, without that of the processes that it starts.
fn cpu(command: &mut Command) -> Result<f64, String> {
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    // It is not reaped yet, so its times can still be read.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&child)), options).map_err(|error| error.to_string())?;
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()));
    let stat = stat.map_err(|error| error.to_string())?;
    let status = child.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("{command:?} ended with {status}"));
    }
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Ok(Duration::from_millis(10 * ticks.sum::<u64>()).as_secs_f64())
}
