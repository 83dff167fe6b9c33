//! What a command costs, with everything that it started and waited for.

use std::env;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// Time on a processor, of the command and of all its descendants that were waited for.
    pub(crate) cpu: Duration,
    /// The largest resident memory of any one of these processes, in KiB.
    pub(crate) peak_kib: u64,
}

/// Runs the command, which must succeed with one of the given exit codes, and measures it.
pub(crate) fn measure(command: &mut Command, codes: &[i32]) -> Result<Cost, String> {
    measure_into(command, codes, Stdio::null())
}

/// The same, for a command whose output is wanted. It goes to a file rather than a pipe, so that
/// the command never waits for a reader.
///
/// A second process of this program starts it and waits for it. Linux counts the memory of a process from
/// before its `exec`, when it was a copy of its parent, and this process may have grown.
#[expect(clippy::disallowed_methods, reason = "what is measured is started directly")]
pub(crate) fn measure_into(
    command: &mut Command,
    codes: &[i32],
    output: impl Into<Stdio>,
) -> Result<Cost, String> {
    let failed = |error: io::Error| format!("{command:?} cannot be measured: {error}");
    let mut small = Command::new(env::current_exe().map_err(failed)?);
    small.arg(WORD).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => small.env(name, value),
            None => small.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        small.current_dir(directory);
    }
    let small = small.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
    let said = small.spawn().and_then(Child::wait_with_output).map_err(failed)?.stderr;
    let said = String::from_utf8_lossy(&said);
    let numbers: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [code, wall, cpu, peak_kib] = numbers[..] else {
        return Err(format!("{command:?}: {}", said.trim()));
    };
    if !codes.iter().any(|wanted| u64::try_from(*wanted) == Ok(code)) {
        return Err(format!("{command:?} ended with {code}"));
    }
    Ok(Cost { wall: Duration::from_nanos(wall), cpu: Duration::from_micros(cpu), peak_kib })
}

/// `bench measure PROGRAM ARGUMENT…`, with which this program starts itself.
pub(crate) const WORD: &str = "measure";

/// Runs a command and prints, as numbers, its exit code, its time in nanoseconds, its processor time
/// in microseconds and its memory in KiB. The command writes to the standard output of this process.
#[expect(clippy::disallowed_methods, reason = "what is measured is started directly")]
pub(crate) fn report(command: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = command else {
        return Err("there is nothing to measure".to_owned());
    };
    let start = Instant::now();
    let child = Command::new(program).args(arguments).stderr(Stdio::null()).spawn();
    let child = child.map_err(|error| format!("it cannot be started: {error}"))?;
    let (code, usage) = wait(child.id()).map_err(|error| error.to_string())?;
    let wall = start.elapsed().as_nanos();
    let cpu = micros(usage.ru_utime) + micros(usage.ru_stime);
    eprintln!("{code} {wall} {cpu} {}", usage.ru_maxrss);
    Ok(())
}

/// A time in microseconds. Systems differ in the types of its parts.
pub(crate) fn micros(time: libc::timeval) -> i64 {
    fn wide(part: impl Into<i64>) -> i64 {
        part.into()
    }
    wide(time.tv_sec) * 1_000_000 + wide(time.tv_usec)
}

/// The costs of several commands, each measured `rounds` times. They take turns, so that other load on
/// the machine affects all of them alike, in an order that turns around, so that none is always the one behind another.
pub(crate) fn measure_in_turns(
    rounds: usize,
    commands: &mut [(&mut Command, &[i32])],
) -> Result<Vec<Vec<Cost>>, String> {
    let mut costs = vec![Vec::new(); commands.len()];
    for round in 0..rounds {
        for turn in 0..commands.len() {
            let index = if round % 2 == 0 { turn } else { commands.len() - 1 - turn };
            let (command, codes) = &mut commands[index];
            costs[index].push(measure(command, codes)?);
        }
    }
    Ok(costs)
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median_of<Measured>(all: &[Measured], figure: impl Fn(&Measured) -> f64) -> f64 {
    median(all.iter().map(figure).collect())
}

/// The most memory that any of the commands needed.
pub(crate) fn peak_kib(costs: &[Cost]) -> u64 {
    costs.iter().map(|cost| cost.peak_kib).max().unwrap_or(0)
}

fn wait(pid: u32) -> io::Result<(i32, libc::rusage)> {
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for the call, and a zeroed `rusage` is a valid one.
    #[expect(unsafe_code, reason = "the standard library does not tell the cost of a child")]
    let (waited, usage) =
        unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    if waited == pid {
        let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 };
        Ok((code, usage))
    } else {
        Err(io::Error::last_os_error())
    }
}
