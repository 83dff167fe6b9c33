//! What a command costs, with everything that it started and waited for.

use std::io;
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The cost of one command.
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
/// the command never waits for us.
pub(crate) fn measure_into(
    command: &mut Command,
    codes: &[i32],
    output: impl Into<Stdio>,
) -> Result<Cost, String> {
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    let (code, usage) = wait(child.id()).map_err(|error| format!("{command:?}: {error}"))?;
    let wall = start.elapsed();
    if !codes.contains(&code) {
        return Err(format!("{command:?} ended with {code}"));
    }
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.unsigned_abs())
            + Duration::from_micros(value.tv_usec.unsigned_abs())
    };
    Ok(Cost {
        wall,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_kib: usage.ru_maxrss.unsigned_abs(),
    })
}

/// The costs of several commands, each measured `rounds` times, in turns, so that whatever else
/// the machine does falls on all of them alike.
pub(crate) fn measure_in_turns(
    rounds: usize,
    commands: &mut [(&mut Command, &[i32])],
) -> Result<Vec<Vec<Cost>>, String> {
    let mut costs = vec![Vec::new(); commands.len()];
    for _ in 0..rounds {
        for ((command, codes), costs) in commands.iter_mut().zip(&mut costs) {
            costs.push(measure(command, codes)?);
        }
    }
    Ok(costs)
}

/// The middle of the measurements.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The middle of one figure of the costs.
pub(crate) fn median_of(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    median(costs.iter().map(figure).collect())
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
