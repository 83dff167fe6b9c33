//! What one task costs, and one long stream.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use xtask::{packages, repository_root};

use crate::measure::{measure_in_turns, median, median_of, peak_kib};
use crate::scratch::Scratch;
use crate::stream;
use crate::table::Table;
use crate::two_way;

const RECORDS: usize = 212_000;

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    stream_costs(&scratch, &mut table)?;
    stream_growth(&scratch, &mut table)?;
    single_run(&scratch, &mut table)?;
    bounded_run(&scratch, &mut table)?;
    spoken_to(&scratch, &mut table)?;
    start_up(&scratch, &mut table)?;
    many_runs(&scratch, &mut table)?;
    Ok(table)
}

/// `run` with a child that prints the file.
fn reading(scratch: &Scratch, file: &Path) -> Command {
    let agent = serde_json::json!(["sh", "-c", format!("exec cat {}", file.display())]);
    let mut command = scratch.our("pi-subagents");
    command.args(["run", "--json", "--agent", &agent.to_string(), "read"]);
    command
}

/// The cheapest way to read the file from a pipe.
fn counting(scratch: &Scratch, file: &Path) -> Command {
    let mut command = scratch.command("sh");
    command.args(["-c", &format!("cat {} | wc -l", file.display())]);
    command
}

/// A long stream, beside the cheapest way to read it and beside a peer.
fn stream_costs(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let file = scratch.path("stream.jsonl");
    let records = stream::write(&file, RECORDS).map_err(|error| error.to_string())?;
    let empty = scratch.path("empty.jsonl");
    fs::write(&empty, "").map_err(|error| error.to_string())?;
    let megabytes =
        fs::metadata(&file).map_err(|error| error.to_string())?.len() as f64 / 1_000_000.0;
    let stream = format!("{megabytes:.0} MB, {records} records");

    packages::install().map_err(|(command, error)| format!("`{command}` {error}"))?;
    let node = repository_root().join("e2e/node_modules/.bin/node");
    let driver = repository_root().join("e2e/peers/harms-haus-stream.mjs");
    let peer = |stream: &Path| {
        let mut command = scratch.command(&node);
        command.arg(&driver).arg(stream).env("NODE_NO_WARNINGS", "1");
        command
    };
    let mut counting = counting(scratch, &file);
    let costs = measure_in_turns(
        7,
        &mut [
            (&mut reading(scratch, &file), &[0]),
            (&mut counting, &[0]),
            (&mut peer(&file), &[0]),
            (&mut peer(&empty), &[0]),
        ],
    )?;
    let [ours, bare, peer, peer_start] =
        [0, 1, 2, 3].map(|index| median_of(&costs[index], |cost| cost.cpu.as_secs_f64() * 1e3));
    let ms = |value: f64, what: &str| format!("{value:.0} ms {what}");
    table.at_most(
        &format!("CPU of a run that reads {stream}"),
        (ours, &format!("{ours:.0} ms (all processes), {:.0} MB/s", megabytes / ours * 1e3)),
        (bare, &ms(bare, "`cat FILE \\| wc -l`")),
        4.0,
    );
    table.at_most(
        "the same beside a peer",
        (ours, &ms(ours, "(all processes)")),
        (peer, &ms(peer, "@harms-haus/pi-subagents, whole command")),
        0.1,
    );
    let net = peer - peer_start;
    table.note(
        "the same beside the peer without its start-up",
        &ms(ours, "(with ours)"),
        &format!("{net:.0} ms, {:.1} x ours", net / ours),
    );
    table.memory("peak memory of the largest process, long stream", peak_kib(&costs[0]));
    Ok(())
}

/// The cost grows with the length of the stream, and the memory does not.
fn stream_growth(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let file = scratch.path("longer.jsonl");
    stream::write(&file, 4 * RECORDS).map_err(|error| error.to_string())?;
    let (mut longer, mut bare) = (reading(scratch, &file), counting(scratch, &file));
    let costs = measure_in_turns(5, &mut [(&mut longer, &[0]), (&mut bare, &[0])])?;
    let [ours, bare] =
        [0, 1].map(|index| median_of(&costs[index], |cost| cost.cpu.as_secs_f64() * 1e3));
    table.at_most(
        "CPU of the same, stream four times as long",
        (ours, &format!("{ours:.0} ms")),
        (bare, &format!("{bare:.0} ms `cat FILE \\| wc -l`")),
        4.0,
    );
    table.memory("peak memory of the same", peak_kib(&costs[0]));
    fs::remove_file(file).map_err(|error| error.to_string())
}

/// A child that does nothing, bare and as a task; in memory, and on the disk of the repository.
fn single_run(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let on_disk = repository_root().join(format!("target/bench-{}", std::process::id()));
    // The program puts its agent directory beside its working directory.
    let work_on_disk = on_disk.join("work");
    fs::create_dir_all(&work_on_disk).map_err(|error| error.to_string())?;
    for (directory, what, limit) in [
        (
            scratch.subdirectory("single")?,
            "a child that does nothing, request to result",
            Some(6.0),
        ),
        (work_on_disk, "the same on a disk, with its two fsyncs", None),
    ] {
        let measured =
            read_json(scratch.our("bench-runs").current_dir(directory).args(["single", "300"]))?;
        let microseconds = |key: &str| {
            let values = measured[key].as_array().into_iter().flatten().filter_map(Value::as_f64);
            median(values.collect())
        };
        let (bare, run) = (microseconds("bareMicroseconds"), microseconds("runMicroseconds"));
        let ms = |value: f64| format!("{:.2} ms", value / 1e3);
        match limit {
            Some(limit) => {
                let bare_words = format!("{} bare `true`", ms(bare));
                table.at_most(what, (run, &ms(run)), (bare, &bare_words), limit);
            }
            None => table.note(what, &ms(run), &format!("{} bare `true`", ms(bare))),
        }
    }
    fs::remove_dir_all(on_disk).map_err(|error| error.to_string())
}

/// What everything costs that bounds an agent beside its session: the same runs with and without it,
/// in turns.
fn bounded_run(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    const WHAT: [&str; 2] = [
        "the same with a cgroup of its own and access `read`",
        "the same with a cgroup of its own and access `workspace`",
    ];
    let directory = scratch.subdirectory("bounded")?;
    let runs = |access: &str| {
        let mut command = scratch.our("bench-runs");
        command.current_dir(&directory).args(["single", "60", access]);
        command
    };
    // In a mount namespace without the hierarchy, no run can have a cgroup.
    let unbounded = || {
        let runs = runs("full");
        let mut command = scratch.command("unshare");
        command.current_dir(&directory).args(["--mount", "--propagation", "private", "sh", "-c"]);
        command.arg(r#"umount --all --types cgroup2 && exec "$0" "$@""#);
        command.arg(runs.get_program()).args(runs.get_args());
        command
    };
    let mut microseconds = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..5 {
        let measured = [
            read_json(&mut runs("read"))?,
            read_json(&mut runs("workspace"))?,
            read_json(&mut unbounded()).unwrap_or_default(),
        ];
        let has_cgroup = measured.each_ref().map(|measured| &measured["hasCgroup"]);
        if has_cgroup != [true, true, false] || measured[0]["hasLandlock"] != true {
            for what in WHAT {
                let needs = "needs root, cgroups of version 2, and Landlock";
                table.note(what, "not measured", needs);
            }
            return Ok(());
        }
        for (microseconds, measured) in microseconds.iter_mut().zip(measured) {
            let runs = measured["runMicroseconds"].as_array().into_iter().flatten();
            microseconds.extend(runs.filter_map(Value::as_f64));
        }
    }
    let [read, workspace, without] = microseconds.map(median);
    let ms = |value: f64| format!("{:.2} ms", value / 1e3);
    let without_words = format!("{} without", ms(without));
    for (what, with) in WHAT.into_iter().zip([read, workspace]) {
        table.at_most(what, (with, &ms(with)), (without, &without_words), 1.3);
    }
    Ok(())
}

/// A built-in agent of three turns that can be spoken to, beside one that cannot.
fn spoken_to(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let call = serde_json::json!({"tools": [{"name": "bash", "args": {"command": "true"}}]});
    let turns = serde_json::json!([call, call, {"text": "done"}]);
    let script = scratch.path("turns.json");
    fs::write(&script, turns.to_string()).map_err(|error| error.to_string())?;
    let model = format!("script/{}", script.display());
    let run = || {
        let mut command = scratch.our("pi-subagents");
        command.args(["run", "--json", "--model", &model, "go"]);
        command
    };
    let program = scratch.our("pi-subagents").get_program().to_string_lossy().into_owned();
    two_way::compare(table, "a built-in agent", "builtin", &[&program, "agent"], 200, &run)
}

fn start_up(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let mut version = scratch.our("pi-subagents");
    version.arg("--version");
    let costs =
        measure_in_turns(300, &mut [(&mut version, &[0]), (&mut scratch.command("true"), &[0])])?;
    let [ours, bare] =
        [0, 1].map(|index| median_of(&costs[index], |cost| cost.wall.as_secs_f64() * 1e3));
    table.at_most(
        "`pi-subagents --version`",
        (ours, &format!("{ours:.2} ms")),
        (bare, &format!("{bare:.2} ms `true`")),
        3.0,
    );
    Ok(())
}

/// A long-lived parent must not grow, and four times the runs must take four times the time.
fn many_runs(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let mut measured = Vec::new();
    for count in ["1000", "4000"] {
        let directory = scratch.path(&format!("many-{count}"));
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let mut command = scratch.our("bench-runs");
        command.current_dir(&directory).args(["many", count, "16"]);
        measured.push(read_json(&mut command)?);
        fs::remove_dir_all(directory).map_err(|error| error.to_string())?;
    }
    let seconds = |index: usize| measured[index]["seconds"].as_f64().unwrap_or(f64::NAN);
    table.at_most(
        "time of 4,000 runs, 16 at a time, beside 1,000",
        (seconds(1), &format!("{:.1} s", seconds(1))),
        (4.0 * seconds(0), &format!("4 x {:.1} s", seconds(0))),
        1.15,
    );
    let samples = measured[1]["samples"].as_array().cloned().unwrap_or_default();
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Err("bench-runs gave no samples".to_owned());
    };
    for (key, what, unit) in [
        ("residentKib", "memory of their parent, after 4,000 runs beside 500", "KiB"),
        ("descriptors", "its descriptors", ""),
        ("children", "its children, with none running at the end", ""),
    ] {
        let value = |sample: &Value| sample[key].as_f64().unwrap_or(f64::NAN);
        let words = |sample: &Value| format!("{} {unit}", value(sample));
        // From 2,000 runs on, the parent also prunes now and then, and keeps the memory for that list.
        table.at_most(what, (value(last), &words(last)), (value(first), &words(first)), 1.5);
    }
    Ok(())
}

fn read_json(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("{command:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}
