//! Runs a command in a shell.

mod cleaner;
mod full_output;
mod output;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use process::{ChildSpec, Exit, Job, spawn_job};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::{Call, Shell, Tool, ToolError, ToolOutput, schema};
use crate::cancel::Cancel;
use crate::message::Content;
use output::Output;

pub use output::shown_output;

pub(super) const TOOL: Tool = Tool {
    name: "bash",
    description: "Execute a bash command in the current working directory. Returns stdout and \
                  stderr. Output is truncated to last 2000 lines or 50KB (whichever is hit first). \
                  If truncated, full output is saved to a temp file. Optionally provide a timeout \
                  in seconds.",
    snippet: "Execute bash commands (ls, grep, find, etc.)",
    guidelines: &[],
    is_default: true,
    parameters,
    run,
};

const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// How long to wait, after the end of the shell, for more output of processes that it has started.
const QUIET: Duration = Duration::from_millis(100);

/// How often to poll for the end of the shell on systems that do not report it.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The longest timeout, in seconds; pi's timers go no further.
const MAX_TIMEOUT: f64 = 2_147_483.647;

/// How much of the output of a killed command is still read: more than any pipe can hold.
const LAST_BYTES: usize = 4 * 1024 * 1024;

fn parameters() -> Value {
    schema(
        &["command"],
        &[
            ("command", "string", "Shell command to execute"),
            ("timeout", "number", "Timeout in seconds (optional, no default timeout)"),
        ],
    )
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let command = arguments.text("command");
    let timeout = arguments.optional_number("timeout");
    arguments.finish()?;

    (call.report)(ToolOutput::default());
    let deadline = timeout.map(deadline).transpose()?;
    if call.cancel.is_cancelled() {
        return Err(ToolError("Command aborted".to_owned()));
    }
    let job = start(&command, call.cwd, call.shell)?;
    let mut watch = Watch {
        job,
        output: Output::new(call.shell.outputs.clone(), call.shell.redactor.clone()),
        is_output_open: true,
        reports: Reports { report: &mut *call.report, due: None, last: None },
    };
    let ending = watch.watch(call.cancel, deadline);
    let Watch { mut output, mut reports, .. } = watch;
    output.finish();
    if reports.due.is_some() {
        reports.send(&output);
    }
    conclude(ending, timeout.unwrap_or_default(), output)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Exited(Exit),
    Aborted,
    TimedOut,
}

fn deadline(timeout: f64) -> Result<Instant, ToolError> {
    if timeout <= 0.0 {
        let words = "Invalid timeout: must be a finite number of seconds";
        return Err(ToolError(words.to_owned()));
    }
    if timeout > MAX_TIMEOUT {
        return Err(ToolError(format!("Invalid timeout: maximum is {MAX_TIMEOUT} seconds")));
    }
    Ok(Instant::now() + Duration::from_secs_f64(timeout))
}

fn start(command: &str, cwd: &Path, shell: &Shell) -> Result<Job, ToolError> {
    if !cwd.exists() {
        return Err(ToolError(format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            cwd.display()
        )));
    }
    let mark = format!("{}_{}", model::variables::COMMAND, uuid::Uuid::new_v4().simple());
    let program = match &shell.program {
        Some(program) => program.to_string_lossy().into_owned(),
        None => usual_shell(),
    };
    let command = match &shell.prefix {
        Some(prefix) => format!("{prefix}\n{command}"),
        None => command.to_owned(),
    };
    let spec = ChildSpec {
        program: &program,
        name: None,
        args: &["-c".to_owned(), command],
        cwd,
        environment: &BTreeMap::new(),
    };
    spawn_job(spec, &mark).map_err(|error| ToolError(error.to_string()))
}

fn usual_shell() -> String {
    if Path::new("/bin/bash").exists() {
        return "/bin/bash".to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_bash = std::env::split_paths(&path).any(|directory| directory.join("bash").is_file());
    if has_bash { "bash" } else { "sh" }.to_owned()
}

/// The result of a command, which is an error if the command has failed.
fn conclude(ending: Ending, timeout: f64, output: Output) -> Result<ToolOutput, ToolError> {
    let (text, details) = output.conclude();
    let code = match ending {
        Ending::Exited(Exit::Code(code)) => code,
        // As shells do.
        Ending::Exited(Exit::Signal(signal)) => 128 + signal,
        Ending::Aborted => return Err(failure(&text, "Command aborted")),
        Ending::TimedOut => {
            return Err(failure(&text, &format!("Command timed out after {timeout} seconds")));
        }
    };
    let text = if text.is_empty() { "(no output)".to_owned() } else { text };
    if code != 0 {
        return Err(failure(&text, &format!("Command exited with code {code}")));
    }
    Ok(ToolOutput { content: vec![Content::text(text)], details })
}

fn failure(text: &str, status: &str) -> ToolError {
    let separator = if text.is_empty() { "" } else { "\n\n" };
    ToolError(format!("{text}{separator}{status}"))
}

struct Watch<'a> {
    job: Job,
    output: Output,
    is_output_open: bool,
    reports: Reports<'a>,
}

impl Watch<'_> {
    /// Reads and reports until the command has ended, or has to be killed.
    fn watch(&mut self, cancel: &Cancel, deadline: Option<Instant>) -> Ending {
        let mut buffer = vec![0; 32 * 1024];
        let mut quiet_at = None;
        loop {
            let now = Instant::now();
            let is_late = deadline.is_some_and(|deadline| deadline <= now);
            if is_late || cancel.is_cancelled() {
                self.job.kill();
                self.read_rest(&mut buffer);
                return if is_late { Ending::TimedOut } else { Ending::Aborted };
            }
            if let Some(exit) = self.job.try_wait() {
                let quiet_at = *quiet_at.get_or_insert(now + QUIET);
                if !self.is_output_open || quiet_at <= now {
                    return Ending::Exited(exit);
                }
            }
            self.reports.send_if_due(&self.output, now);
            let next = [deadline, quiet_at, self.reports.due].into_iter().flatten().min();
            let timeout = next.map(|next| next.saturating_duration_since(now));
            if self.wait(cancel, timeout) && self.read(&mut buffer) > 0 {
                let now = Instant::now();
                self.reports.changed(now);
                quiet_at = quiet_at.map(|_| now + QUIET);
            }
        }
    }

    /// Waits for the next event, and returns whether there is output to read.
    fn wait(&self, cancel: &Cancel, timeout: Option<Duration>) -> bool {
        let output = self.job.output();
        let mut fds = vec![PollFd::new(cancel, PollFlags::IN)];
        if self.is_output_open {
            fds.push(PollFd::new(&output, PollFlags::IN));
        }
        // After the shell was reaped, this would stay readable, and we would never wait.
        let ended = self.job.ended().filter(|_| !self.job.is_reaped());
        if let Some(ended) = &ended {
            fds.push(PollFd::new(ended, PollFlags::IN));
        }
        let must_poll = ended.is_none() && !self.job.is_reaped();
        let timeout = match timeout {
            Some(timeout) if must_poll => Some(timeout.min(POLL_INTERVAL)),
            None if must_poll => Some(POLL_INTERVAL),
            timeout => timeout,
        };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // A failure is an interruption, and the caller repeats this anyway.
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
        self.is_output_open && !fds[1].revents().is_empty()
    }

    /// Reads once and returns the number of bytes.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        match rustix::io::read(self.job.output(), &mut *buffer) {
            Ok(0) => self.is_output_open = false,
            Ok(length) => {
                self.output.push(&buffer[..length]);
                return length;
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.is_output_open = false,
        }
        0
    }

    /// Reads what a killed command had printed before.
    fn read_rest(&mut self, buffer: &mut [u8]) {
        let mut length = 0;
        while self.is_output_open && length < LAST_BYTES {
            match self.read(buffer) {
                0 => return,
                more => length += more,
            }
        }
    }
}

/// Reports the output so far, but not too often.
struct Reports<'a> {
    report: &'a mut dyn FnMut(ToolOutput),
    /// When the next report is due, if there is new output.
    due: Option<Instant>,
    last: Option<Instant>,
}

impl Reports<'_> {
    fn changed(&mut self, now: Instant) {
        let due = self.last.map_or(now, |last| last + REPORT_INTERVAL);
        self.due.get_or_insert(due);
    }

    fn send_if_due(&mut self, output: &Output, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.send(output);
            self.last = Some(now);
        }
    }

    fn send(&mut self, output: &Output) {
        self.due = None;
        (self.report)(output.report());
    }
}

#[cfg(test)]
mod tests;
