//! The same agents started directly, without a program that supervises, records or shows them. A
//! program that starts the same agents can hardly be faster.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::provider::Provider;
use crate::scratch::Scratch;
use crate::tasks::{check_text, prompt};

pub(crate) fn pi(scratch: &Scratch) -> Command {
    scratch.command("pi")
}

pub(crate) fn built_in(scratch: &Scratch) -> Command {
    let mut command = scratch.our("pi-subagents");
    command.arg("agent");
    command
}

/// Agents that are started directly, in a project, with a model.
pub(crate) struct Bare<'bench> {
    pub(crate) scratch: &'bench Scratch,
    pub(crate) provider: &'bench Provider,
    pub(crate) project: &'bench Path,
}

impl Bare<'_> {
    /// Runs `count` tasks, so many at a time, and returns how long they took together.
    pub(crate) fn run(
        &self,
        program: fn(&Scratch) -> Command,
        count: usize,
        at_a_time: usize,
    ) -> Result<Duration, String> {
        // No extension, and not the one that was measured before either.
        self.provider.install(&[])?;
        let next = AtomicUsize::new(0);
        let start = Instant::now();
        let said = thread::scope(|scope| {
            let work = || {
                let mut said = Vec::new();
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    if task >= count {
                        return Ok(said);
                    }
                    said.push(self.run_one(program, task)?);
                }
            };
            let workers: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
            let ended = workers.into_iter().map(|worker| {
                worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned()))
            });
            ended.collect::<Result<Vec<Vec<String>>, String>>()
        })?;
        let time = start.elapsed();
        said.iter().flatten().try_for_each(|said| check_text(said))?;
        Ok(time)
    }

    /// Runs one task, and returns what the agent printed.
    fn run_one(&self, program: fn(&Scratch) -> Command, task: usize) -> Result<String, String> {
        let mut command = program(self.scratch);
        command.args(["--mode", "json", "-p", "--no-session", &prompt(task)]);
        command.current_dir(self.project);
        self.provider.offer(&mut command);
        let failed = |error: io::Error| error.to_string();
        in_session_of_its_own(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let mut said = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_end(&mut said).map_err(failed)?;
        }
        let status = child.wait().map_err(failed)?;
        if !status.success() {
            return Err(format!("{command:?} ended with {status}"));
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// Starts the command in a session of its own, as our supervisors start agents; some peers do not. Linux
/// first shares the processors among sessions, so on a busy machine more sessions get more of them.
fn in_session_of_its_own(command: &mut Command) {
    let leave = || rustix::process::setsid().map(drop).map_err(io::Error::from);
    // SAFETY: between `fork` and `exec`, this is one system call and nothing else.
    #[expect(unsafe_code, reason = "the standard library does not start sessions")]
    unsafe {
        command.pre_exec(leave)
    };
}
