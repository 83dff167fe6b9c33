//! Looking at processes and waiting for conditions.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// How many milliseconds a process may take to become another program, on a machine under load.
const PATIENCE_WITH_A_NEW_PROGRAM: u32 = 100;

/// Waits until the condition holds, and fails the test if that takes absurdly long.
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        if Instant::now() > deadline {
            panic!("the condition did not come true within a minute");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Every living process that has `mark` in its environment or among its arguments, with its
/// command line.
pub fn marked_processes(mark: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let (command_line, environment) = words_of(&entry.path());
        let contains =
            |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
        if pid != std::process::id() && (contains(&environment) || contains(&command_line)) {
            let words = String::from_utf8_lossy(&command_line).replace('\0', " ");
            found.push((pid, words));
        }
    }
    found
}

/// The arguments and the environment of a process, by its directory in `/proc`.
///
/// A process has neither for a moment while it becomes another program, and would be overlooked. A dead process
/// that was not yet waited for, and a thread of the kernel, have neither for ever, but no program either.
fn words_of(process: &Path) -> (Vec<u8>, Vec<u8>) {
    let read = |file: &str| fs::read(process.join(file)).unwrap_or_default();
    for _ in 0..PATIENCE_WITH_A_NEW_PROGRAM {
        let command_line = read("cmdline");
        if !command_line.is_empty() || fs::read_link(process.join("exe")).is_err() {
            return (command_line, read("environ"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // A program may also have been started without arguments, not even its name.
    (Vec::new(), read("environ"))
}

/// Kills a process and waits until it is dead, with its files closed and its locks released.
#[expect(clippy::unwrap_used, reason = "this is how a test fails")]
pub fn kill_and_wait(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
    wait_until(|| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The state stands behind the name, which is in brackets and may have any character.
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    });
}

/// Stops a child of this process with SIGSTOP, and waits until none of its threads runs any more.
#[expect(clippy::unwrap_used, reason = "this is how a test fails")]
pub fn stop_and_wait(child: Pid) {
    kill_process(child, Signal::STOP).unwrap();
    // What is found stays for whoever waits for the child.
    waitid(WaitId::Pid(child), WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT).unwrap();
}

/// The most memory that a process has ever used, in mebibytes.
#[expect(clippy::unwrap_used, reason = "this is how a test fails")]
pub fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}
