//! How soon what an agent on a worker says is on the screen of the caller.

use std::fs::{self, File};
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use test_support::{NatsServers, pseudo_terminal};

use super::many::{Workers, start};
use super::nats_server;
use crate::measure::median;
use crate::scratch::Scratch;
use crate::table::Table;

/// How many times the agent says something.
const MARKS: usize = 40;
/// Milliseconds, of the median.
const LIMIT: f64 = 100.0;

pub(super) fn run(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    for (servers, nodes) in [
        (NatsServers::one(&nats_server()), "one node"),
        (NatsServers::three(&nats_server()), "three nodes"),
    ] {
        let mut times = measure(scratch, &servers)?;
        times.sort_by(f64::total_cmp);
        let (median, slowest) = (median(times.clone()), times.last().copied().unwrap_or(f64::NAN));
        table.at_most(
            &format!(
                "from an event of a built-in agent on a worker to the caller's screen, {nodes}, \
                 median of {MARKS} (slowest {slowest:.0} ms)"
            ),
            (median, &format!("{median:.1} ms")),
            (LIMIT, &format!("{LIMIT:.0} ms")),
            1.0,
        );
    }
    Ok(())
}

/// The milliseconds from each mark to its place on the screen.
///
/// The agent writes down the time when a command ends, and says its mark in its next message. So each time includes the
/// agent's own turn, and is rather too long than too short.
fn measure(scratch: &Scratch, servers: &NatsServers) -> Result<Vec<f64>, String> {
    let project = scratch.subdirectory(&format!("latency-{}", servers.count()))?;
    let stamp = |mark: usize| project.join(format!("stamp-{mark}"));
    let turn = |mark: usize| {
        let command = format!("sleep 0.15; date +%s%N > {}", stamp(mark).display());
        let tools: Value = json!([{"name": "bash", "args": {"command": command}}]);
        match mark {
            0 => json!({"text": "begin", "tools": tools}),
            MARKS => json!({"text": words(mark)}),
            mark => json!({"text": words(mark), "tools": tools}),
        }
    };
    let script: Vec<Value> = (0..=MARKS).map(turn).collect();
    let path = project.join("script.json");
    fs::write(&path, json!(script).to_string()).map_err(|error| error.to_string())?;
    let of_fleet = |arguments: &[&str]| {
        let mut command = scratch.our("pi-subagents");
        command.current_dir(&project).env("PI_SUBAGENTS_FLEET", servers.url()).args(arguments);
        command
    };
    let mut worker = of_fleet(&["worker", "--slots", "1", "--workspace"]);
    worker.arg(project.join("worker"));
    let workers = Workers::start([worker].into_iter())?;
    workers.wait_until_there(|| of_fleet(&["fleet", "workers", "--json"]))?;

    let (terminal, screen) = pseudo_terminal::open(120, 40).map_err(|error| error.to_string())?;
    let mut caller = scratch.command("setsid");
    caller.arg("--ctty").arg(scratch.our("pi-subagents").get_program());
    caller.args(["run", "--on", "fleet", "--agent", "builtin", "--model"]);
    caller.arg(format!("script/{}", path.display())).arg("Go.");
    caller.current_dir(&project).env("TERM", "xterm-256color");
    caller.env("PI_SUBAGENTS_FLEET", servers.url());
    let streams = [&screen, &screen, &screen].map(|screen| screen.try_clone().map(Stdio::from));
    let [stdin, stdout, stderr] = streams.map(|stream| stream.map_err(|error| error.to_string()));
    caller.stdin(stdin?).stdout(stdout?).stderr(stderr?);
    drop(screen);
    let mut running = start(&mut caller).map_err(|error| error.to_string())?;
    // It has the terminal open, which ends with its last process.
    drop(caller);
    let seen = read_marks(File::from(terminal));
    let status = running.wait().map_err(|error| error.to_string())?;
    workers.end()?;
    if !status.success() {
        return Err(format!("the caller ended with {status}"));
    }
    let mut times = Vec::new();
    for mark in 1..=MARKS {
        let said = fs::read_to_string(stamp(mark - 1)).map_err(|error| error.to_string())?;
        let said: u64 = said.trim().parse().map_err(|_| "a time is no number".to_owned())?;
        let seen = seen[mark].ok_or_else(|| format!("mark {mark} was never on the screen"))?;
        let seen = seen.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        times.push((seen.saturating_sub(Duration::from_nanos(said))).as_secs_f64() * 1e3);
    }
    Ok(times)
}

fn words(mark: usize) -> String {
    format!("mark-{mark:03}.")
}

/// When each mark was on the screen first.
fn read_marks(mut terminal: File) -> Vec<Option<SystemTime>> {
    let mut seen = vec![None; MARKS + 1];
    let (mut text, mut bytes) = (Vec::new(), [0; 16 * 1024]);
    // The terminal is gone with its last process.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        let now = SystemTime::now();
        text.extend_from_slice(&bytes[..count]);
        let shown = String::from_utf8_lossy(&text).into_owned();
        for (mark, seen) in seen.iter_mut().enumerate().skip(1) {
            if seen.is_none() && shown.contains(&words(mark)) {
                *seen = Some(now);
            }
        }
        // A mark may have come in two pieces.
        let keep = text.len().saturating_sub(64);
        text.drain(..keep);
        if seen[MARKS].is_some() {
            // What is left is read until the end, so that the caller never waits.
            while let Ok(1..) = terminal.read(&mut bytes) {}
        }
    }
    seen
}
