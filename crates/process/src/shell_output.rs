//! What a shell command prints.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::spawn::{SpawnError, new_command};

/// Why there is no output. Nothing of it is in the message: it may be a secret.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum OutputError {
    #[error(transparent)]
    NotStarted(#[from] SpawnError),
    #[error("it exited with code {0}")]
    Exited(i32),
    #[error("it was killed by signal {0}")]
    Killed(i32),
    #[error("it took longer than {} seconds", .0.as_secs_f64())]
    TooLong(Duration),
    #[error("it printed more than {0} bytes")]
    TooMuch(usize),
    #[error("its output cannot be read: {0}")]
    Unreadable(std::io::Error),
}

/// Runs a command of `sh` in a process group of its own, and returns what it prints. It reads
/// nothing, and what it complains about is lost.
///
/// A command that takes or prints too much is killed with its group. What a command that ends in
/// time leaves running is left alone: it may be an agent that keeps the user's passwords.
pub fn shell_output(
    command: &str,
    directory: &Path,
    time_limit: Duration,
    largest: usize,
) -> Result<Vec<u8>, OutputError> {
    let deadline = Instant::now() + time_limit;
    let mut child = new_command("sh")
        .args(["-c", command])
        .current_dir(directory)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| SpawnError::Other { program: "sh".to_owned(), source })?;
    let output = read_output(&mut child, deadline, largest)
        .and_then(|output| wait_until(&mut child, deadline).map(|()| output));
    if output.is_err() {
        // Somebody who has not been waited for yet cannot have lost his number to another.
        if let Ok(None) = child.try_wait() {
            let group = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
        }
    }
    output.map_err(|error| match error {
        OutputError::TooLong(_) => OutputError::TooLong(time_limit),
        error => error,
    })
}

fn read_output(
    child: &mut Child,
    deadline: Instant,
    largest: usize,
) -> Result<Vec<u8>, OutputError> {
    let mut output = Vec::new();
    let Some(mut stdout) = child.stdout.take() else { return Ok(output) };
    let mut chunk = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(OutputError::TooLong(Duration::ZERO));
        }
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(&stdout, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(OutputError::Unreadable(error.into())),
        }
        match stdout.read(&mut chunk) {
            Ok(0) => return Ok(output),
            Ok(count) => output.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(OutputError::Unreadable(error)),
        }
        if output.len() > largest {
            return Err(OutputError::TooMuch(largest));
        }
    }
}

/// A command usually ends when its output does; one that only closes it is looked at again and
/// again, because no portable call waits for a process and a time at once.
fn wait_until(child: &mut Child, deadline: Instant) -> Result<(), OutputError> {
    let mut pause = Duration::from_micros(200);
    loop {
        match child.try_wait().map_err(OutputError::Unreadable)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(match status.code() {
                    Some(code) => OutputError::Exited(code),
                    None => OutputError::Killed(status.signal().unwrap_or_default()),
                });
            }
            None if Instant::now() >= deadline => {
                return Err(OutputError::TooLong(Duration::ZERO));
            }
            None => {}
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str) -> Result<String, String> {
        let output = shell_output(command, Path::new("/"), Duration::from_secs(20), 100);
        output.map(|output| String::from_utf8(output).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_output_or_a_reason_without_it() {
        assert_eq!(run("echo a; echo b >&2; cat"), Ok("a\n".to_owned()));
        assert_eq!(run("exec >&-; exit 0"), Ok(String::new()));
        assert_eq!(run("pwd"), Ok("/\n".to_owned()));
        for (command, problem) in [
            ("echo secret; exit 7", "it exited with code 7"),
            ("echo secret; kill -9 $$", "it was killed by signal 9"),
            ("yes secret", "it printed more than 100 bytes"),
        ] {
            assert_eq!(run(command), Err(problem.to_owned()), "{command}");
        }
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_its_group() {
        let top = tempfile::tempdir().unwrap();
        for command in ["sleep 600 & echo $! > pid; wait", "exec >&-; sleep 600"] {
            let limit = Duration::from_millis(300);
            let error = shell_output(command, top.path(), limit, 100).unwrap_err();
            assert_eq!(error.to_string(), "it took longer than 0.3 seconds");
        }
        let pid = std::fs::read_to_string(top.path().join("pid")).unwrap();
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        // Its own parent is gone, so that it is up to init to take its remains away.
        let is_dead =
            || match std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
                Ok(stat) => {
                    stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z'))
                }
                Err(_) => rustix::process::test_kill_process(pid).is_err(),
            };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_dead() {
            assert!(Instant::now() < deadline, "the grandchild is still there");
            std::thread::yield_now();
        }
    }
}
