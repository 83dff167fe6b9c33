//! What the governor costs, and what it saves at a provider that takes so many requests in a window of time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;
use xtask::{packages, repository_root};

use crate::measure::{median, median_of};
use crate::scratch::Scratch;
use crate::table::Table;

/// A kind of agent at a limited provider.
struct Limited {
    name: &'static str,
    title: &'static str,
    turns: u32,
    /// How many requests the provider takes in a window.
    requests: u32,
    window: Duration,
    rounds: usize,
    /// How an agent calls a command.
    command: (&'static str, &'static str),
}

/// So many agents of a kind work at a time.
const AGENTS: u32 = 16;

const KINDS: [Limited; 3] = [
    Limited {
        name: "builtin",
        title: "built-in agents",
        turns: 8,
        requests: 16,
        window: Duration::from_millis(1_500),
        rounds: 3,
        command: ("bash", "command"),
    },
    Limited {
        name: "pi",
        title: "agents of pi",
        turns: 3,
        requests: 8,
        window: Duration::from_millis(3_000),
        rounds: 1,
        command: ("bash", "command"),
    },
    Limited {
        name: "claude",
        title: "agents of Claude Code",
        turns: 3,
        requests: 8,
        window: Duration::from_millis(3_000),
        rounds: 1,
        command: ("Bash", "command"),
    },
];

/// The requests that are refused must become fewer than a tenth.
const FEWER: f64 = 10.0;
/// How much longer than the provider's own minimum the tasks may take.
const TIME: f64 = 1.3;

const ASKED: usize = 2_000;
const WAITING: usize = 1_000;
/// A call has so many tasks in one of two cases; in the other, each run waits by itself.
const CALLS: usize = 20;
const SAMPLE: Duration = Duration::from_secs(20);

pub(crate) fn run() -> Result<Table, String> {
    packages::install().map_err(|(command, error)| format!("`{command}` {error}"))?;
    packages::install_clients().map_err(|(command, error)| format!("`{command}` {error}"))?;
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    admission(&scratch, &mut table)?;
    waiting(&scratch, &mut table)?;
    for kind in &KINDS {
        limited(&scratch, kind, &mut table)?;
    }
    Ok(table)
}

/// What it costs to be admitted when nothing waits.
fn admission(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let mut command = scratch.our("bench-runs");
    command.args(["admission", &ASKED.to_string()]).current_dir(scratch.subdirectory("admission")?);
    command.env("PI_SUBAGENTS_STATE_DIR", scratch.subdirectory("admission-state")?);
    let output = command.output().map_err(|error| error.to_string())?;
    let measured: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    for (field, what) in [
        ("alone", "admission of an agent when nothing waits, slot made and given back"),
        ("beside15", "the same beside fifteen agents that run"),
    ] {
        let times = measured[field].as_array().into_iter().flatten();
        let microseconds = median(times.filter_map(Value::as_f64).collect());
        let words = format!("{microseconds:.0} µs");
        table.at_most(what, (microseconds, &words), (1_000.0, "1 ms"), 1.0);
    }
    Ok(())
}

/// What a thousand tasks cost that wait: of a few calls, and each by itself.
fn waiting(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    for (name, calls) in
        [("in 20 calls", CALLS), ("as background runs, each with a process", WAITING)]
    {
        let share = waiting_share(scratch, calls)?;
        let words = format!("{share:.2} %");
        let what = format!("processor time of {WAITING} tasks that wait, {name}");
        table.at_most(&what, (share, &words), (1.0, "1 % of a core"), 1.0);
    }
    Ok(())
}

/// The processor time of all processes that wait, in percent of a core.
fn waiting_share(scratch: &Scratch, calls: usize) -> Result<f64, String> {
    let project = scratch.subdirectory(&format!("waiting-{calls}"))?;
    let agent_dir = scratch.subdirectory(&format!("waiting-{calls}-agent"))?;
    let settings = json!({"subagents": {"machineConcurrency": 1, "memoryReserve": 0}});
    write(&agent_dir.join("settings.json"), &settings.to_string())?;
    let go = project.join("go");
    let agent = json!(["sh", "-c", format!("until [ -e {} ]; do sleep 1; done", go.display())]);
    let per_call = WAITING / calls;
    let tasks: Vec<Value> =
        (0..per_call).map(|task| json!({"name": format!("t{task}"), "prompt": "wait"})).collect();
    let file = project.join("tasks.json");
    write(&file, &json!({"tasks": tasks}).to_string())?;
    let command = |arguments: &[&str]| {
        let mut command = scratch.our("pi-subagents");
        command.current_dir(&project).args(arguments).env("PI_AGENT_DIR", &agent_dir);
        command.env("PI_SUBAGENTS_STATE_DIR", project.join("state"));
        command
    };
    let quiet = |mut command: Command| {
        let null = std::process::Stdio::null;
        command.stdin(null()).stdout(null()).stderr(null()).spawn()
    };
    let agent = agent.to_string();
    let mut children = Vec::new();
    let failed = |error: std::io::Error| error.to_string();
    for call in 0..=calls {
        if calls == WAITING || call == 0 {
            let started = quiet(command(&["bg", "start", "--agent", &agent, "wait"]));
            // It ends when the run is there.
            started.map_err(failed)?.wait().map_err(failed)?;
        } else {
            let arguments = ["delegate", "--quiet", "--agent", &agent, &file.display().to_string()];
            children.push(quiet(command(&arguments)).map_err(failed)?);
        }
    }
    let waiting = || -> Result<Vec<Value>, String> {
        let output = command(&["status", "--json"]).output().map_err(failed)?;
        let status: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        Ok(status["waiting"].as_array().cloned().unwrap_or_default())
    };
    let until = Instant::now() + Duration::from_secs(60);
    let programs = loop {
        let waiting = waiting()?;
        let count: u64 = waiting.iter().filter_map(|call| call["tasks"].as_u64()).sum();
        if count == WAITING as u64 {
            break waiting.iter().filter_map(|call| call["program"].as_u64()).collect::<Vec<u64>>();
        }
        if Instant::now() > until {
            return Err(format!("{count} tasks wait instead of {WAITING}"));
        }
        sleep(Duration::from_millis(100));
    };
    // What they do when they begin to wait is over.
    sleep(Duration::from_secs(15));
    let (before, began) = (ticks(&programs), Instant::now());
    sleep(SAMPLE);
    let used = ticks(&programs).saturating_sub(before);
    let seconds = began.elapsed().as_secs_f64();
    // SAFETY: it only asks for a number.
    #[expect(unsafe_code, reason = "the standard library does not tell how long a tick is")]
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    write(&go, "")?;
    for program in programs {
        let pid = i32::try_from(program).ok().and_then(rustix::process::Pid::from_raw);
        let kill = |pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        // One that has just ended needs no signal.
        let _ = pid.map(kill);
    }
    for mut child in children {
        child.wait().map_err(failed)?;
    }
    while !waiting()?.is_empty() {
        sleep(Duration::from_millis(100));
    }
    Ok(used as f64 / ticks_a_second / seconds * 100.0)
}

/// The processor time of these processes so far, in ticks.
fn ticks(programs: &[u64]) -> u64 {
    let of_program = |pid: &u64| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    programs.iter().filter_map(of_program).sum()
}

/// What happened at the provider.
#[derive(Clone, Copy)]
struct Met {
    refused: f64,
    seconds: f64,
}

/// Agents at a provider that takes so many requests in a window, alone and governed, in turns.
fn limited(scratch: &Scratch, kind: &Limited, table: &mut Table) -> Result<(), String> {
    let (mut alone, mut governed) = (Vec::new(), Vec::new());
    for round in 0..kind.rounds {
        alone.push(at_provider(scratch, kind, round, false)?);
        governed.push(at_provider(scratch, kind, round, true)?);
    }
    let windows = (AGENTS * kind.turns).div_ceil(kind.requests).saturating_sub(1);
    let least = (kind.window * windows).as_secs_f64();
    let [(refused, time), (refused_alone, time_alone)] = [&governed, &alone]
        .map(|met| (median_of(met, |met| met.refused), median_of(met, |met| met.seconds)));
    let what = format!("requests refused, {AGENTS} {} of {} turns", kind.title, kind.turns);
    let words = [refused, refused_alone].map(|count| format!("{count:.0}"));
    let alone_words = format!("{} without the governor", words[1]);
    let took =
        format!("time of them at a provider that takes {} in {:?}", kind.requests, kind.window);
    let (time_words, least_words) = (format!("{time:.1} s"), format!("{least:.1} s at least"));
    if kind.name == "builtin" {
        // No request refused at all is less than any share.
        table.times_less(
            &what,
            (refused.max(1.0), &words[0]),
            (refused_alone, &alone_words),
            FEWER,
        );
        table.at_most(&took, (time, &time_words), (least, &least_words), TIME);
    } else {
        table.note(&what, &words[0], &alone_words);
        let without = format!("{least_words}, {time_alone:.1} s without the governor");
        table.note(&took, &time_words, &without);
    }
    Ok(())
}

/// Lets all agents work until they have answered, and counts what was refused.
fn at_provider(
    scratch: &Scratch,
    kind: &Limited,
    round: usize,
    is_governed: bool,
) -> Result<Met, String> {
    let failed = |error: std::io::Error| error.to_string();
    let llm = FakeLlm::start().map_err(failed)?;
    llm.limit(kind.requests, kind.window);
    let name = format!("{}-{round}-{is_governed}", kind.name);
    let (project, agent_dir) =
        (scratch.subdirectory(&name)?, scratch.subdirectory(&format!("{name}-agent"))?);
    let models = json!({"providers": {"fake": {
        "baseUrl": llm.base_url(), "api": "openai-completions", "apiKey": "k",
        "models": [{"id": "fake-1"}],
    }}});
    let settings = json!({
        "defaultProvider": "fake", "defaultModel": "fake-1",
        "retry": {"baseDelayMs": 100, "maxRetries": 200},
    });
    write(&agent_dir.join("models.json"), &models.to_string())?;
    write(&agent_dir.join("settings.json"), &settings.to_string())?;
    let (tool, field) = kind.command;
    let turns = (1..kind.turns)
        .map(|turn| json!({"tools": [{"name": tool, "args": {field: format!("true {turn}")}}]}));
    let script: Vec<Value> = turns.chain([json!({"text": "done"})]).collect();
    let prompt = format!("<<SCRIPT>>{}<<END>>", json!(script));
    let tasks: Vec<Value> = (0..AGENTS)
        .map(|task| json!({"name": format!("a{task}"), "prompt": prompt, "timeout": 240}))
        .collect();
    let file = project.join("tasks.json");
    write(&file, &json!({"tasks": tasks}).to_string())?;
    let mut command = scratch.our("pi-subagents");
    command
        .current_dir(&project)
        .args(["delegate", "--json", "--access", "full", "--agent", kind.name, "--concurrency"])
        .arg(AGENTS.to_string())
        .arg(&file)
        .env("PATH", programs(scratch)?)
        .env("PI_AGENT_DIR", &agent_dir)
        .env("PI_OFFLINE", "1")
        .env("ANTHROPIC_BASE_URL", llm.root_url())
        .env("ANTHROPIC_API_KEY", "k")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_TELEMETRY", "1")
        // Claude Code as root.
        .env("IS_SANDBOX", "1");
    // Where nothing can be agreed on, each agent is on its own.
    let state = if is_governed { project.join("state") } else { PathBuf::from("/dev/null") };
    command.env("PI_SUBAGENTS_STATE_DIR", state);
    let began = Instant::now();
    let output = command.output().map_err(failed)?;
    let seconds = began.elapsed().as_secs_f64();
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let tasks = document["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let done = tasks.iter().filter(|task| task["output"] == "done").count();
    if done != AGENTS as usize {
        let failed = tasks.iter().find(|task| task["output"] != "done");
        return Err(format!("{done} of {AGENTS} {} have completed: {failed:?}", kind.title));
    }
    Ok(Met { refused: llm.refused() as f64, seconds })
}

/// Where the agents are found by their names.
fn programs(scratch: &Scratch) -> Result<String, String> {
    let e2e = repository_root().join("e2e");
    let programs = scratch.subdirectory("programs")?;
    let claude = programs.join("claude");
    if !claude.exists() {
        let package = crate::agents::of_this_platform(
            "clients/node_modules/@anthropic-ai/claude-code-{node}/claude",
        );
        std::os::unix::fs::symlink(e2e.join(package), &claude)
            .map_err(|error| error.to_string())?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    Ok(format!("{}:{}:{path}", programs.display(), e2e.join("node_modules/.bin").display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
