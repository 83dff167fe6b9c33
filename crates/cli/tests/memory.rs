//! What becomes of agents when memory is short. Each test has a cgroup of its own with a limit of memory, so `cargo xtask
//! test` runs these tests where root can make one, of version 1 or 2.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use test_support::{Program, Ran, World, wait_until};

const MEGABYTE: u64 = 1 << 20;

/// A cgroup with a limit of memory, which is removed at the end.
struct Bound {
    directory: PathBuf,
    /// One test at a time: where memory is filled, all processes of the machine may have to wait.
    _turn: MutexGuard<'static, ()>,
}

impl Bound {
    fn new(megabytes: u64) -> Result<Bound, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-memory-{}-{count}", std::process::id());
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = |word: &str| {
            let line = membership.lines().find_map(|line| line.split_once(word));
            line.map(|(_, path)| path.trim_start_matches('/').to_owned())
        };
        let bytes = (megabytes * MEGABYTE).to_string();
        let one = own(":memory:").map(|path| PathBuf::from("/sys/fs/cgroup/memory").join(path));
        let two = own("0::").map(|path| PathBuf::from("/sys/fs/cgroup").join(path));
        let (directory, limit) = match (one, two) {
            (Some(one), _) => (one.join(&name), "memory.limit_in_bytes"),
            (None, Some(two)) => {
                // Beside this process: a group with processes has no controllers for groups below it.
                let parent = two.parent().map_or(two.clone(), PathBuf::from);
                (parent.join(&name), "memory.max")
            }
            (None, None) => return Err("there is no cgroup that counts memory".to_owned()),
        };
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        fs::create_dir(&directory).map_err(failed)?;
        let bound = Bound { directory: directory.clone(), _turn: turn };
        fs::write(directory.join(limit), &bytes).map_err(failed)?;
        Ok(bound)
    }

    /// The same command within the limit.
    fn command(&self, command: &Command) -> Command {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.directory.display());
        World::behind(&["sh", "-c", &enter, "sh"], command)
    }

    /// How often the kernel has killed a process in it.
    fn kills(&self) -> u64 {
        let files = ["memory.oom_control", "memory.events"];
        let texts =
            files.iter().filter_map(|name| fs::read_to_string(self.directory.join(name)).ok());
        let counts = texts.flat_map(|text| {
            let lines: Vec<u64> = text
                .lines()
                .filter_map(|line| line.strip_prefix("oom_kill ")?.parse().ok())
                .collect();
            lines
        });
        counts.sum()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        wait_until(|| fs::remove_dir(&self.directory).is_ok());
    }
}

fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}

/// `delegate` with these scripts, one for each task, within the limit. The first is the one that others may wait for.
fn delegate(world: &World, bound: &Bound, scripts: &[Value]) -> Ran {
    let task = |(number, script): (usize, &Value)| {
        let prompt = format!("<<SCRIPT>>{script}<<END>>");
        json!({"name": format!("t{number}"), "prompt": prompt})
    };
    let tasks: Vec<Value> = scripts.iter().enumerate().map(task).collect();
    let file = world.path("call.json");
    fs::write(&file, json!({"tasks": tasks}).to_string()).unwrap();
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), "-"]).to_string();
    let count = scripts.len().to_string();
    let arguments = ["delegate", "--json", "--concurrency", &count, "--agent", &agent];
    let command = world.command(arguments.into_iter().chain([file.to_str().unwrap()]));
    let mut command = bound.command(&command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap().into()
}

fn outcomes(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap().iter();
    tasks.map(|task| task["outcome"].as_str().unwrap().to_owned()).collect()
}

/// An agent that takes 200 MB, works for half a second, and answers.
fn heavy() -> Value {
    json!(["start", {"take_memory": 200}, {"sleep_ms": 500}, {"say": "done"}, {"end": false}, "settle"])
}

/// `cargo xtask test` asks this first: where it fails, the other tests cannot be run.
#[test]
fn probe() {
    if let Err(reason) = Bound::new(64) {
        panic!("{reason}");
    }
}

#[test]
fn twenty_agents_of_200_megabytes_complete_in_one_gigabyte() {
    let (world, bound) = (world(), Bound::new(1024).unwrap());
    world.settings(&json!({"machineConcurrency": 20}));
    let ran = delegate(&world, &bound, &vec![heavy(); 20]);
    assert_eq!(outcomes(&ran), ["completed"; 20], "{} {}", ran.stdout, ran.stderr);
    assert_eq!(bound.kills(), 0);
    world.wait_until_nothing_is_left();
    let learned = fs::read_to_string(world.agent_dir().join("governor/memory.json")).unwrap();
    let learned: Value = serde_json::from_str(&learned).unwrap();
    assert_eq!(learned[0][0], "program");
    let peaks = learned[0][1].as_array().unwrap();
    assert!(peaks.iter().all(|peak| peak.as_u64().unwrap() > 190 * MEGABYTE), "{learned}");
}

#[test]
fn without_a_reserve_the_kernel_kills_some_of_them() {
    let (world, bound) = (world(), Bound::new(1024).unwrap());
    world.settings(&json!({"machineConcurrency": 20, "memoryReserve": 0}));
    let ran = delegate(&world, &bound, &vec![heavy(); 20]);
    assert!(bound.kills() > 0, "{}", ran.stderr);
    // The kernel takes agents, and no program of ours: their score is higher.
    let outcomes = outcomes(&ran);
    assert!(outcomes.iter().any(|outcome| outcome == "killed_by_signal"), "{outcomes:?}");
    let is_expected =
        |outcome: &String| ["killed_by_signal", "completed"].contains(&outcome.as_str());
    assert!(outcomes.iter().all(is_expected), "{outcomes:?}");
    world.wait_until_nothing_is_left();
}

#[test]
fn an_agent_that_grows_without_end_is_evicted_and_the_others_complete() {
    let (world, bound) = (world(), Bound::new(1024).unwrap());
    world.settings(&json!({"machineConcurrency": 20}));
    let step = json!([{"take_memory": 8}, {"sleep_ms": 20}]);
    let growing = json!(["start", {"repeat": {"times": 10_000, "steps": step}}]);
    let steady = json!(["start", {"take_memory": 60}, {"sleep_ms": 4000}, {"say": "done"}, {"end": false}, "settle"]);
    let scripts: Vec<Value> = [growing].into_iter().chain(vec![steady; 5]).collect();
    let ran = delegate(&world, &bound, &scripts);
    let expected: Vec<&str> = ["evicted"].into_iter().chain(["completed"; 5]).collect();
    assert_eq!(outcomes(&ran), expected, "{}", ran.stderr);
    assert_eq!(bound.kills(), 0);
    let error = ran.json()["tasks"][0]["error"].as_str().unwrap().to_owned();
    assert!(
        error.starts_with("Evicted: memory ran out, and no agent took more of it ("),
        "{error}"
    );
    world.wait_until_nothing_is_left();
}
