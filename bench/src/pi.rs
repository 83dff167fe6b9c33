//! What it costs to have tasks done by the tools of our extension inside of the real pi, beside
//! the extensions of others.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::bare::{self, Bare};
use crate::calls::{Calls, Extension, HARMS_HAUS, OURS, TINTINWEB};
use crate::measure::{median, median_of};
use crate::memory::peak_pss_kib;
use crate::provider::Provider;
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::{TASKS, prompt};
use crate::two_way;

/// How often each of two extensions is measured, in turns.
const ROUNDS: usize = 7;

/// What bridge and supervisors may need together.
const MEMORY_MEGABYTES: f64 = 60.0;

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    let provider = Provider::start(&scratch)?;
    let bench = Bench { scratch: &scratch, provider: &provider };
    let few = scratch.project("pi", &json!({"agent": "pi"}))?;
    let many = scratch.project("builtin", &json!({"agent": "builtin", "maxConcurrency": TASKS}))?;
    bench.compare(
        &mut table,
        &few,
        "16 three-turn tasks inside of pi, children are pi, 4 at a time",
        (&HARMS_HAUS, "@harms-haus/pi-subagents"),
        (bare::pi, 4),
        0.7,
    )?;
    bench.compare(
        &mut table,
        &many,
        "16 three-turn tasks inside of pi, children are built in, 16 at a time",
        (&TINTINWEB, "@tintinweb/pi-subagents"),
        (bare::built_in, TASKS),
        0.5,
    )?;
    let run = || {
        let mut command = scratch.our("pi-subagents");
        command.current_dir(&few).args(["run", "--json", &prompt(0)]);
        provider.offer(&mut command);
        command
    };
    two_way::compare(&mut table, "a pi", "pi", &["pi"], 2 * ROUNDS, &run)?;
    for (project, what) in [(&few, "children are pi, 4 at a time"), (&many, "built in, 16 at once")]
    {
        let megabytes = bench.memory(project)?;
        table.at_most(
            &format!("peak memory (PSS) of bridge and supervisors together, {what}"),
            (megabytes, &format!("{megabytes:.1} MB")),
            (MEMORY_MEGABYTES, &format!("{MEMORY_MEGABYTES} MB")),
            1.0,
        );
    }
    Ok(table)
}

struct Bench<'bench> {
    scratch: &'bench Scratch,
    provider: &'bench Provider,
}

impl Bench<'_> {
    /// The time of all calls and the bytes of their updates, beside those of a peer, and how long the
    /// same agents take when they are started directly.
    fn compare(
        &self,
        table: &mut Table,
        project: &Path,
        what: &str,
        (peer, name): (&Extension, &str),
        (program, at_a_time): (fn(&Scratch) -> Command, usize),
        limit: f64,
    ) -> Result<(), String> {
        let measure =
            |extension: &Extension| extension.measure(self.scratch, self.provider, project);
        // Once without a clock, so that all files are in memory.
        measure(&OURS)?;
        measure(peer)?;
        let bare = Bare { scratch: self.scratch, provider: self.provider, project };
        let (mut ours, mut peers, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(measure(&OURS)?);
            peers.push(measure(peer)?);
            alone.push(bare.run(program, TASKS, at_a_time)?.as_secs_f64());
        }
        let seconds = |calls: &Calls| calls.time.as_secs_f64();
        let [our_time, peers_time] = [&ours, &peers].map(|calls| median_of(calls, seconds));
        table.at_most(
            what,
            (our_time, &format!("{our_time:.3} s")),
            (peers_time, &format!("{peers_time:.3} s, {name}")),
            limit,
        );
        let alone = median(alone);
        table.note(
            "the same children alone",
            &format!("{alone:.3} s"),
            &format!("{:.2} of the peer's time", alone / peers_time),
        );
        let fastest = |calls: &[Calls]| {
            let fastest = calls.iter().map(seconds).fold(f64::INFINITY, f64::min);
            format!("{fastest:.3} s")
        };
        table.note("the same, fastest of each", &fastest(&ours), &fastest(&peers));
        let whole = |calls: &[Calls]| {
            format!("{:.3} s", median_of(calls, |calls| calls.whole.as_secs_f64()))
        };
        table.note("the same with the start of pi", &whole(&ours), &whole(&peers));
        let kilobytes = |calls: &Calls| calls.update_bytes as f64 / 1e3;
        let [our_updates, peers_updates] = [&ours, &peers].map(|calls| median_of(calls, kilobytes));
        table.at_most(
            "what pi prints about their progress",
            (our_updates, &format!("{our_updates:.1} kB")),
            (peers_updates, &format!("{peers_updates:.1} kB, {name}")),
            0.25,
        );
        Ok(())
    }

    /// The most memory that bridge and supervisors needed at one moment, in megabytes. Not measured
    /// together with the time, which looking at them would cost.
    fn memory(&self, project: &Path) -> Result<f64, String> {
        let program = self.scratch.our("pi-subagents").get_program().to_owned();
        let session = OURS.start(self.scratch, self.provider, project, TASKS)?;
        let sampler = peak_pss_kib(session.pid(), Path::new(&program), &["bridge", "supervise"]);
        session.finish()?;
        let kib = sampler.finish()?;
        if kib == 0 {
            return Err("no bridge and no supervisor was seen".to_owned());
        }
        Ok(kib as f64 * 1024.0 / 1e6)
    }
}
