//! Runs a command to its end and returns what it prints, within a time and a size.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::spawn::{SpawnError, die_with_parent, explain, new_command};
use crate::tree::Exit;

/// Why there is no output. No message quotes what was printed: it may be a secret.
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
    #[error("it was stopped")]
    Stopped,
}

/// Runs a command of `sh` in a process group of its own, and returns its standard output. Its
/// standard input is empty, and its standard error is discarded.
///
/// A command that takes too long or prints too much is killed with its group. What a command that
/// ends in time leaves running is left alone: it may be an agent that keeps the user's passwords.
pub fn shell_output(
    command_line: &str,
    directory: &Path,
    time_limit: Duration,
    largest: usize,
) -> Result<Vec<u8>, OutputError> {
    let mut command = new_command("sh");
    command.args(["-c", command_line]).current_dir(directory).stderr(Stdio::null());
    let ran = run(command, "sh", time_limit, largest, &|| false)?;
    match ran.exit {
        Exit::Code(0) => Ok(ran.stdout),
        Exit::Code(code) => Err(OutputError::Exited(code)),
        Exit::Signal(signal) => Err(OutputError::Killed(signal)),
    }
}

/// How a command ended, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CommandOutput {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program, looked up on `PATH`, to its end. Its standard input is empty. A program that
/// takes too long or prints too much is killed with its process group.
pub fn command_output(
    program: &str,
    args: &[&str],
    time_limit: Duration,
    largest: usize,
) -> Result<CommandOutput, OutputError> {
    let mut command = new_command(program);
    command.args(args).stderr(Stdio::piped());
    run(command, program, time_limit, largest, &|| false)
}

/// A program that works for this process, in a directory and an environment of its own.
#[derive(Clone, Copy, Debug)]
pub struct ToolCommand<'a> {
    /// Looked up on `PATH`.
    pub program: &'a str,
    /// Without the program itself.
    pub args: &'a [&'a OsStr],
    /// Where it works.
    pub directory: &'a Path,
    /// Variables to set, or, without a value, to remove. The rest is inherited.
    pub environment: &'a BTreeMap<OsString, Option<OsString>>,
    /// It is killed with its process group when it takes longer,
    pub time_limit: Duration,
    /// or when it prints more bytes,
    pub largest: usize,
    /// or when the thread that has started it dies (Linux): what it works on is then left to another process.
    pub dies_with_caller: bool,
}

/// Runs a program as [`command_output`] does. It is also killed when `is_stopped` says so.
pub fn tool_output(
    tool: ToolCommand<'_>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<CommandOutput, OutputError> {
    let mut command = new_command(tool.program);
    command.args(tool.args).current_dir(tool.directory).stderr(Stdio::piped());
    for (name, value) in tool.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if tool.dies_with_caller {
        die_with_parent(&mut command);
    }
    run(command, tool.program, tool.time_limit, tool.largest, is_stopped)
}

fn run(
    mut command: Command,
    program: &str,
    time_limit: Duration,
    largest: usize,
    is_stopped: &dyn Fn() -> bool,
) -> Result<CommandOutput, OutputError> {
    let deadline = Instant::now() + time_limit;
    let mut child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| explain(program, source))?;
    let streams = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let output =
        read_streams(streams, deadline, largest, is_stopped).and_then(|[stdout, stderr]| {
            wait_until(&mut child, deadline).map(|exit| CommandOutput { exit, stdout, stderr })
        });
    if output.is_err() {
        // The id of a child that was not reaped yet cannot have been reused.
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

/// How often it is asked whether a command is to be stopped.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Reads both streams side by side, until both have ended.
fn read_streams(
    mut streams: [Option<OwnedFd>; 2],
    deadline: Instant,
    largest: usize,
    is_stopped: &dyn Fn() -> bool,
) -> Result<[Vec<u8>; 2], OutputError> {
    let mut outputs = [Vec::new(), Vec::new()];
    let mut chunk = [0; 4096];
    while streams.iter().any(Option::is_some) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(OutputError::TooLong(Duration::ZERO));
        }
        if is_stopped() {
            return Err(OutputError::Stopped);
        }
        let timeout = Timespec::try_from(left.min(STOP_INTERVAL)).ok();
        let (open, mut fds): (Vec<usize>, Vec<PollFd<'_>>) = streams
            .iter()
            .enumerate()
            .filter_map(|(index, stream)| {
                Some((index, PollFd::new(stream.as_ref()?, PollFlags::IN)))
            })
            .unzip();
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(OutputError::Unreadable(error.into())),
        }
        let ready = open.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        let ready: Vec<usize> = ready.map(|(index, _)| index).collect();
        for index in ready {
            let Some(stream) = &streams[index] else { continue };
            match rustix::io::read(stream, &mut chunk) {
                Ok(0) => streams[index] = None,
                Ok(count) => outputs[index].extend_from_slice(&chunk[..count]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(OutputError::Unreadable(error.into())),
            }
        }
        if outputs.iter().any(|output| output.len() > largest) {
            return Err(OutputError::TooMuch(largest));
        }
    }
    Ok(outputs)
}

/// A command usually ends when its output does. One that only closes its output is polled, because
/// no portable call waits for a process with a time limit.
pub(crate) fn wait_until(child: &mut Child, deadline: Instant) -> Result<Exit, OutputError> {
    let mut pause = Duration::from_micros(200);
    loop {
        match child.try_wait().map_err(OutputError::Unreadable)? {
            Some(status) => {
                let signal = status.signal().unwrap_or_default();
                return Ok(status.code().map_or(Exit::Signal(signal), Exit::Code));
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

    fn shell(command: &str) -> Result<String, String> {
        let output = shell_output(command, Path::new("/"), Duration::from_secs(20), 100);
        output.map(|output| String::from_utf8(output).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_output_or_a_reason_without_it() {
        assert_eq!(shell("echo a; echo b >&2; cat"), Ok("a\n".to_owned()));
        assert_eq!(shell("exec >&-; exit 0"), Ok(String::new()));
        assert_eq!(shell("pwd"), Ok("/\n".to_owned()));
        for (command, problem) in [
            ("echo secret; exit 7", "it exited with code 7"),
            ("echo secret; kill -9 $$", "it was killed by signal 9"),
            ("yes secret", "it printed more than 100 bytes"),
        ] {
            assert_eq!(shell(command), Err(problem.to_owned()), "{command}");
        }
    }

    #[test]
    fn standard_error_is_returned_beside_standard_output() {
        let long = format!("echo a; echo b >&2; head -c {} /dev/zero >&2; exit 3", 1024 * 1024);
        let limit = Duration::from_secs(20);
        let output = command_output("sh", &["-c", &long], limit, 2 * 1024 * 1024).unwrap();
        assert_eq!((output.exit, output.stdout.as_slice()), (Exit::Code(3), b"a\n".as_slice()));
        assert!(output.stderr.starts_with(b"b\n\0") && output.stderr.len() > 1024 * 1024);
        let error = command_output("no-such-program", &[], limit, 100).unwrap_err();
        assert_eq!(error.to_string(), "the program \"no-such-program\" was not found on PATH");
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
        // Its own parent is gone, so init has to reap it.
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
