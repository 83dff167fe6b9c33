//! What many tasks cost together.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::measure::{Cost, measure, measure_into, median_of, peak_kib};
use crate::provider::Provider;
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::{ANSWER, TASKS, check, check_stream, create, delegate, prompt, write_tasks};

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    many_tasks(&scratch, &mut table)?;
    real_tasks(&scratch, &mut table)?;
    Ok(table)
}

/// How often each of two commands is measured, in turns.
const MANY_ROUNDS: usize = 5;
const REAL_ROUNDS: usize = 7;

/// Four times the tasks must take four times the time, and hardly more memory.
fn many_tasks(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let message = json!({"type": "message_end", "message": {
        "role": "assistant",
        "content": [{"type": "text", "text": ANSWER}],
        "stopReason": "stop",
    }});
    let agent = json!(["sh", "-c", r#"printf '%s\n' "$0""#, message.to_string()]);
    let counts = [500, 2_000];
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..MANY_ROUNDS {
        for (count, costs) in counts.into_iter().zip(&mut costs) {
            // A new one each time: a store that is already full would be slower to prune.
            let project = scratch.subdirectory(&format!("many-{count}-{round}"))?;
            let tasks = write_tasks(&project, (0..count).map(|_| "answer".to_owned()))?;
            let mut command = delegate(scratch, &project, &tasks, &agent.to_string(), 16);
            let answer = scratch.path("many.json");
            costs.push(measure_into(&mut command, &[0], create(&answer)?)?);
            check(&answer, count)?;
            fs::remove_dir_all(project).map_err(|error| error.to_string())?;
        }
    }
    let [few, many] = [0, 1].map(|index| median_of(&costs[index], wall));
    table.at_most(
        "time of 2,000 trivial tasks in one `delegate`, 16 at a time, beside 500",
        (many, &format!("{many:.2} s")),
        (4.0 * few, &format!("4 x {few:.2} s")),
        1.15,
    );
    for (count, costs) in counts.into_iter().zip(&costs) {
        table.memory(
            &format!("peak memory of the largest process, {count} trivial tasks"),
            peak_kib(costs),
        );
    }
    Ok(())
}

/// The real pi as a child, beside the same sixteen processes started by `xargs`.
fn real_tasks(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let provider = Provider::start(scratch)?;
    let project = scratch.subdirectory("real")?;
    let prompts = scratch.subdirectory("prompts")?;
    let outputs = scratch.subdirectory("outputs")?;
    let write = |path: PathBuf, text: &str| {
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write(project.join("notes.txt"), &"a line of notes\n".repeat(40))?;
    for task in 0..TASKS {
        write(prompts.join(task.to_string()), &prompt(task))?;
    }
    let tasks = write_tasks(&project, (0..TASKS).map(prompt))?;
    let mut ours = delegate(scratch, &project, &tasks, "pi", 4);
    let bare = |output: &str| {
        let mut command = scratch.command("sh");
        // In sessions of their own, as ours are: Linux first shares the processors among sessions,
        // so on a busy machine more sessions get more of them. `setsid` becomes pi, it does not
        // wait for it.
        let each = format!(
            "exec setsid pi --mode json -p --no-session < {}/$0 > {output}",
            prompts.display()
        );
        let line = format!("ls {} | xargs -P4 -n1 sh -c '{each}'", prompts.display());
        command.args(["-c", &line]).current_dir(&project);
        provider.offer(&mut command);
        command
    };
    provider.offer(&mut ours);

    // Once without a clock, so that all files are in memory, and to see that the bare ones do the
    // same work: pi ends with 0 also when the model could not be asked.
    measure(&mut bare(&format!("{}/$0", outputs.display())), &[0])?;
    for task in 0..TASKS {
        check_stream(&outputs.join(task.to_string()))?;
    }
    let mut bare = bare("/dev/null");
    let answer = scratch.path("real.json");
    let (mut our_costs, mut bare_costs) = (Vec::new(), Vec::new());
    for _ in 0..REAL_ROUNDS {
        our_costs.push(measure_into(&mut ours, &[0], create(&answer)?)?);
        check(&answer, TASKS)?;
        bare_costs.push(measure(&mut bare, &[0])?);
    }
    let [ours, bare] = [&our_costs, &bare_costs].map(|costs| median_of(costs, wall));
    table.at_most(
        "16 three-turn tasks of the real pi, 4 at a time",
        (ours, &format!("{ours:.2} s")),
        (bare, &format!("{bare:.2} s `xargs -P4`")),
        1.1,
    );
    // Neither depends much on what else the machine does.
    let seconds = |value: f64| format!("{value:.2} s");
    let fastest = |costs: &[Cost]| seconds(costs.iter().map(wall).fold(f64::INFINITY, f64::min));
    table.note("the same, fastest of each", &fastest(&our_costs), &fastest(&bare_costs));
    let cpu = |costs: &[Cost]| seconds(median_of(costs, |cost| cost.cpu.as_secs_f64()));
    table.note("their CPU (all processes)", &cpu(&our_costs), &cpu(&bare_costs));
    Ok(())
}

fn wall(cost: &Cost) -> f64 {
    cost.wall.as_secs_f64()
}
