//! What it costs that an agent can be spoken to: the same run with an agent that takes commands, and with
//! one that reads its prompt and nothing else.

use std::process::Command;

use serde_json::json;

use crate::measure::{Cost, measure_in_turns, median_of};
use crate::table::Table;

/// How much more an agent may cost that can be spoken to.
const LIMIT: f64 = 1.05;

/// Measures `run` with an agent that is named, and so can be spoken to, beside the same program given as an
/// array.
pub(crate) fn compare(
    table: &mut Table,
    what: &str,
    name: &str,
    program: &[&str],
    rounds: usize,
    run: &dyn Fn() -> Command,
) -> Result<(), String> {
    let with_agent = |agent: &str| {
        let mut command = run();
        command.args(["--agent", agent]);
        command
    };
    let (mut spoken, mut silent) = (with_agent(name), with_agent(&json!(program).to_string()));
    // Once without a clock, so that all files are in memory.
    measure_in_turns(1, &mut [(&mut spoken, &[0]), (&mut silent, &[0])])?;
    let costs = measure_in_turns(rounds, &mut [(&mut spoken, &[0]), (&mut silent, &[0])])?;
    let time = |cost: &Cost| cost.wall.as_secs_f64() * 1e3;
    let cpu = |cost: &Cost| cost.cpu.as_secs_f64() * 1e3;
    let figures = [
        ("time", [0, 1].map(|index| median_of(&costs[index], time))),
        ("CPU", [0, 1].map(|index| median_of(&costs[index], cpu))),
    ];
    for (figure, [spoken, silent]) in figures {
        table.at_most(
            &format!("{figure} of {what} that can be spoken to"),
            (spoken, &format!("{spoken:.1} ms")),
            (silent, &format!("{silent:.1} ms, the same in JSON mode")),
            LIMIT,
        );
    }
    Ok(())
}
