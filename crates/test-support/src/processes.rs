//! Looking at processes and waiting for conditions.

use std::fs;
use std::time::{Duration, Instant};

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
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let contains =
            |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
        // A dead process that was not yet waited for has neither environment nor arguments.
        let command_line = read("cmdline");
        if pid != std::process::id() && (contains(&read("environ")) || contains(&command_line)) {
            let words = String::from_utf8_lossy(&command_line).replace('\0', " ");
            found.push((pid, words));
        }
    }
    found
}
