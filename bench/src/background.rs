//! What it costs to list many background runs.

use std::path::Path;

use crate::measure::{measure, measure_in_turns, median_of, peak_kib};
use crate::scratch::Scratch;
use crate::table::Table;

/// How many runs there are, and a tenth of them.
const RUNS: &str = "10000";
const TENTH: &str = "1000";

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    let (all, tenth) = (scratch.subdirectory("finished")?, scratch.subdirectory("tenth")?);
    let within = |project: &Path, program: &str, arguments: &[&str]| {
        let mut command = scratch.our(program);
        command.current_dir(project).args(arguments);
        command
    };
    let in_project = |program: &str, arguments: &[&str]| within(&all, program, arguments);
    measure(&mut in_project("bench-runs", &["finished", RUNS]), &[0])?;
    measure(&mut within(&tenth, "bench-runs", &["finished", TENTH]), &[0])?;
    let rows: [(&str, &[&str]); 4] = [
        ("`bg list --all`", &["bg", "list", "--all"]),
        ("`bg list --all --json`", &["bg", "list", "--all", "--json"]),
        ("`bg list`, of which none is running", &["bg", "list"]),
        ("`bg list --all --everyone`", &["bg", "list", "--all", "--everyone"]),
    ];
    let mut commands = rows.map(|(_, arguments)| in_project("pi-subagents", arguments));
    let mut bare = in_project("bench-runs", &["read"]);
    let mut less = within(&tenth, "pi-subagents", rows[0].1);
    // Once without a clock, so that everything is in memory.
    measure(&mut bare, &[0])?;
    let mut turns: Vec<_> = commands.iter_mut().map(|command| (command, &[0][..])).collect();
    turns.push((&mut bare, &[0]));
    turns.push((&mut less, &[0]));
    let costs = measure_in_turns(15, &mut turns)?;
    let wall = |index: usize| median_of(&costs[index], |cost| cost.wall.as_secs_f64() * 1e3);
    let bare = wall(rows.len());
    for (index, (what, _)) in rows.iter().enumerate() {
        let ours = wall(index);
        table.at_most(
            &format!("{what}, 10,000 finished runs, warm"),
            (ours, &format!("{ours:.0} ms")),
            (bare, &format!("{bare:.0} ms reading their two small files")),
            3.0,
        );
    }
    let (ours, less) = (wall(0), wall(rows.len() + 1));
    table.at_most(
        "`bg list --all`, 10,000 finished runs beside 1,000",
        (ours, &format!("{ours:.0} ms")),
        (10.0 * less, &format!("10 x {less:.1} ms, with ten starts")),
        1.15,
    );
    table.note("its memory", &format!("{} KiB", peak_kib(&costs[0])), "");
    Ok(table)
}
