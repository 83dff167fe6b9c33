//! The children of others with nothing around them: nobody who supervises, records or shows them.
//! Whoever starts the same children can hardly be faster.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::place::Place;
use crate::provider::Provider;
use crate::tasks::{check_text, prompt};

/// The real pi.
pub(crate) fn pi(place: &Place) -> Command {
    place.command("pi")
}

/// The built-in agent.
pub(crate) fn built_in(place: &Place) -> Command {
    let mut command = place.our("pi-subagents");
    command.arg("agent");
    command
}

/// Where they work, and with which model.
pub(crate) struct Bare<'bench> {
    pub(crate) place: &'bench Place,
    pub(crate) provider: &'bench Provider,
    pub(crate) project: &'bench Path,
}

impl Bare<'_> {
    /// Has so many tasks done, so many at a time, and tells how long it took.
    pub(crate) fn run(
        &self,
        program: fn(&Place) -> Command,
        count: usize,
        at_a_time: usize,
    ) -> Result<Duration, String> {
        // Not even an extension of whoever was measured before.
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

    /// Runs one task, and tells what was printed.
    fn run_one(&self, program: fn(&Place) -> Command, task: usize) -> Result<String, String> {
        let mut command = program(self.place);
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

/// As ours are, though not those of all others: Linux shares the processors out by session first, so
/// on a busy machine whoever has more of them gets more.
fn in_session_of_its_own(command: &mut Command) {
    let leave = || rustix::process::setsid().map(drop).map_err(io::Error::from);
    // SAFETY: between `fork` and `exec`, this is one system call and nothing else.
    #[expect(unsafe_code, reason = "the standard library does not start sessions")]
    unsafe {
        command.pre_exec(leave)
    };
}
