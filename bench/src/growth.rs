//! How everything grows with the number of tasks: our programs, those of others, and the same agents
//! started directly, all in one run on the same provider.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use xtask::packages;

use crate::bare::{self, Bare};
use crate::calls::{Extension, HARMS_HAUS, NICOBAILON, OURS, TINTINWEB};
use crate::measure::{median, micros};
use crate::memory::peak_pss_kib_of_all;
use crate::provider::Provider;
use crate::scratch::Scratch;
use crate::tasks::{check, create, delegate, prompt, write_tasks};

/// A number of tasks, and how often each contender is measured with it.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) tasks: usize,
    pub(crate) rounds: usize,
}

/// With many tasks, one round of all contenders takes minutes.
pub(crate) const SIZES: [Size; 5] = [
    Size { tasks: 1, rounds: 5 },
    Size { tasks: 4, rounds: 5 },
    Size { tasks: 16, rounds: 3 },
    Size { tasks: 64, rounds: 1 },
    Size { tasks: 256, rounds: 1 },
];
/// A contender that took longer than this with a quarter as many tasks is left out.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// How many children of the same kind run at a time, wherever that can be said.
pub(crate) const AT_A_TIME: usize = 4;

/// What is measured of each contender at each count.
pub(crate) const FIGURES: [Figure; 4] = [
    Figure { name: "time", unit: "s", of: |sample| sample.seconds },
    Figure { name: "processor time", unit: "s", of: |sample| sample.cpu_seconds },
    Figure { name: "memory", unit: "MB", of: |sample| sample.megabytes },
    Figure { name: "bytes", unit: "kB", of: |sample| sample.kilobytes },
];

pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    of: fn(&Sample) -> f64,
}

/// What it cost once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// The most that all processes needed together at one moment.
    pub(crate) megabytes: f64,
    pub(crate) kilobytes: f64,
}

/// The measurements of one contender.
pub(crate) struct Grown {
    pub(crate) name: &'static str,
    /// The name of the contender that runs the same agents directly.
    pub(crate) baseline: &'static str,
    /// The samples of each size, in the order of [`SIZES`].
    pub(crate) samples: Vec<Vec<Sample>>,
}

/// A figure at one count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Grown {
    /// Whether it took too long with the size before this one, or was left out there.
    fn is_too_slow(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        let seconds = self.samples[before].iter().map(|sample| sample.seconds);
        seconds.reduce(f64::max).is_none_or(|longest| longest > LONGEST.as_secs_f64())
    }

    /// A figure at each count. `None` where it is not known.
    pub(crate) fn figure(&self, figure: &Figure) -> Vec<Option<Spread>> {
        let spread = |samples: &Vec<Sample>| {
            // A contender that ended before the first sample shows no memory at all.
            let known = samples.iter().map(figure.of).filter(|value| *value > 0.0);
            let values: Vec<f64> = known.collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            (!values.is_empty()).then(|| Spread { median: median(values), least, most })
        };
        self.samples.iter().map(spread).collect()
    }
}

/// What runs the tasks.
enum Contender {
    /// An extension inside of pi, in a project with these settings of ours.
    Inside(&'static Extension, &'static str),
    /// `delegate`, with this agent.
    Shell(&'static str),
    /// The agents alone, started directly.
    Bare(fn(&Scratch) -> Command),
}

const BARE_PI: &str = "pi alone, 4 at a time";
const BARE_BUILT_IN: &str = "built in alone, 4 at a time";

/// Names, the names of their baselines, and what they are.
fn contenders() -> Vec<(&'static str, &'static str, Contender)> {
    vec![
        (BARE_PI, BARE_PI, Contender::Bare(bare::pi)),
        ("ours in pi, children are pi", BARE_PI, Contender::Inside(&OURS, "pi")),
        ("@harms-haus/pi-subagents", BARE_PI, Contender::Inside(&HARMS_HAUS, "pi")),
        ("pi-subagents (npm)", BARE_PI, Contender::Inside(&NICOBAILON, "pi")),
        ("@tintinweb/pi-subagents", BARE_PI, Contender::Inside(&TINTINWEB, "pi")),
        ("ours in pi, built in", BARE_BUILT_IN, Contender::Inside(&OURS, "builtin")),
        ("ours on the shell, built in", BARE_BUILT_IN, Contender::Shell("builtin")),
        (BARE_BUILT_IN, BARE_BUILT_IN, Contender::Bare(bare::built_in)),
    ]
}

/// Measures everything. Contenders take turns, so that other load on the machine affects all of them alike.
pub(crate) fn run() -> Result<Vec<Grown>, String> {
    adopt_orphans()?;
    packages::install_peers().map_err(|(command, error)| format!("`{command}` {error}"))?;
    let scratch = Scratch::new()?;
    let provider = Provider::start(&scratch)?;
    let contenders = contenders();
    let mut grown: Vec<Grown> = contenders
        .iter()
        .map(|(name, baseline, _)| Grown { name, baseline, samples: vec![Vec::new(); SIZES.len()] })
        .collect();
    let [pi, built_in] = ["pi", "builtin"].map(|agent| {
        let settings = json!({"agent": agent, "maxConcurrency": AT_A_TIME});
        scratch.project(&format!("growth-{agent}"), &settings)
    });
    let (pi, built_in) = (pi?, built_in?);
    for (index, Size { tasks, rounds }) in SIZES.into_iter().enumerate() {
        for round in 1..=rounds {
            for ((name, _, contender), grown) in contenders.iter().zip(&mut grown) {
                let project = match contender {
                    Contender::Inside(_, "builtin") | Contender::Shell(_) => &built_in,
                    Contender::Inside(..) | Contender::Bare(..) => &pi,
                };
                if grown.is_too_slow(index) {
                    continue;
                }
                let bench = Bench { scratch: &scratch, provider: &provider, project, count: tasks };
                let measured = || {
                    if (index, round) == (0, 1) {
                        bench.warm_up(contender)?;
                    }
                    bench.measure(contender)
                };
                let sample =
                    measured().map_err(|error| format!("{name}, {tasks} tasks: {error}"))?;
                grown.samples[index].push(sample);
            }
            eprintln!("{tasks} tasks, round {round} of {rounds}");
        }
    }
    Ok(grown)
}

struct Bench<'bench> {
    scratch: &'bench Scratch,
    provider: &'bench Provider,
    project: &'bench Path,
    count: usize,
}

impl Bench<'_> {
    /// Once without a clock, so that all files are in memory.
    fn warm_up(&self, contender: &Contender) -> Result<(), String> {
        self.carry_out(contender)?;
        self.await_all()
    }

    /// Twice: once for the time, and once for the memory, because looking at it takes time.
    fn measure(&self, contender: &Contender) -> Result<Sample, String> {
        let before = children_cpu()?;
        let (time, bytes) = self.carry_out(contender)?;
        self.await_all()?;
        let cpu = children_cpu()?.saturating_sub(before);
        let sampler = peak_pss_kib_of_all(self.provider.pid());
        self.carry_out(contender)?;
        let kib = sampler.finish()?;
        self.await_all()?;
        Ok(Sample {
            seconds: time.as_secs_f64(),
            cpu_seconds: cpu.as_secs_f64(),
            megabytes: kib as f64 * 1024.0 / 1e6,
            kilobytes: bytes as f64 / 1e3,
        })
    }

    /// Runs all tasks. The time of an extension is that of its calls, because pi is running already.
    fn carry_out(&self, contender: &Contender) -> Result<(Duration, usize), String> {
        match contender {
            Contender::Inside(extension, _) => {
                let session =
                    extension.start(self.scratch, self.provider, self.project, self.count)?;
                let calls = session.finish()?;
                Ok((calls.time, calls.bytes))
            }
            Contender::Shell(agent) => {
                let tasks = write_tasks(self.project, (0..self.count).map(prompt))?;
                let answer = self.scratch.path("growth.json");
                let mut command = delegate(self.scratch, self.project, &tasks, agent, AT_A_TIME);
                self.provider.offer(&mut command);
                command.stdin(Stdio::null()).stdout(create(&answer)?).stderr(Stdio::null());
                let start = Instant::now();
                let status = command.status().map_err(|error| error.to_string())?;
                let time = start.elapsed();
                check(&answer, self.count).map_err(|error| format!("{status}: {error}"))?;
                let bytes = fs::metadata(&answer).map_err(|error| error.to_string())?.len();
                Ok((time, usize::try_from(bytes).unwrap_or(usize::MAX)))
            }
            Contender::Bare(program) => {
                let bare =
                    Bare { scratch: self.scratch, provider: self.provider, project: self.project };
                Ok((bare.run(*program, self.count, AT_A_TIME)?, 0))
            }
        }
    }

    /// Waits until only the provider is left, so that the cost of everything else is known.
    fn await_all(&self) -> Result<(), String> {
        let provider = i32::try_from(self.provider.pid()).map_err(|error| error.to_string())?;
        loop {
            let left = crate::memory::children_of_this_process();
            let Some(pid) = left.into_iter().find(|pid| *pid != provider) else { return Ok(()) };
            let pid = rustix::process::Pid::from_raw(pid).ok_or("there is no such process")?;
            // An error means that it is gone already.
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        }
    }
}

/// Makes this process the parent of orphans, so that their cost is counted.
#[cfg(target_os = "linux")]
fn adopt_orphans() -> Result<(), String> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("orphans cannot be adopted: {error}"))
}

/// Elsewhere the cost of orphans would be missing in the figures.
#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> Result<(), String> {
    Err("this needs Linux, where orphans can be adopted".to_owned())
}

/// The processor time of all children that were waited for, with all of theirs.
fn children_cpu() -> Result<Duration, String> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the call, and a zeroed `rusage` is a valid one.
    #[expect(unsafe_code, reason = "the standard library does not tell the cost of children")]
    let (done, usage) = unsafe {
        (libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()), usage.assume_init())
    };
    if done != 0 {
        return Err(io::Error::last_os_error().to_string());
    }
    let micros = micros(usage.ru_utime) + micros(usage.ru_stime);
    Ok(Duration::from_micros(micros.unsigned_abs()))
}
