//! What worktrees cost on a large repository, beside the commands of git that make and read them.

use std::process::Command;

use serde_json::json;

use crate::measure::{measure, median_of};
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::{TASKS, write_tasks};

/// Files of the repository, 20 in a directory.
const FILES: usize = 50_000;
const CONCURRENCY: usize = 4;

pub(crate) fn run() -> Result<Table, String> {
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    let project = scratch.subdirectory("project")?;
    let shell = |line: &str| -> Command {
        let mut command = scratch.command("sh");
        command.current_dir(&project).args(["-e", "-c", line]);
        command
    };
    let make = format!(
        "git init -q . && printf 'tasks.json\\n.pi/\\n' > .gitignore && \
         seq {FILES} | awk '{{ d = int($1 / 20); if (d != last) {{ system(\"mkdir -p d\" d); last = d }} \
         print \"a line of file \" $1 > (\"d\" d \"/f\" $1); close(\"d\" d \"/f\" $1) }}' && git add -A && \
         git -c user.name=Bench -c user.email=bench@localhost commit -q -m Files"
    );
    measure(&mut shell(&format!("mkdir -p d0 && {make}")), &[0])?;
    let script = json!([
        // A file of its own for each, so that no two results conflict.
        "start", {"shell": "echo changed > $PI_SUBAGENTS_RUN.txt"}, {"say": "done"}, {"end": false}, "settle",
    ]);
    let agent = scratch.our("fake-agent");
    let agent = json!([agent.get_program().to_string_lossy(), script.to_string()]).to_string();
    let tasks = write_tasks(&project, (0..TASKS).map(|_| "Change a file".to_owned()))?;
    let delegate = |isolation: &[&str]| {
        let mut command = scratch.our("pi-subagents");
        command.current_dir(&project).args(["delegate", "--quiet", "--agent", &agent]);
        command.args(isolation).args(["--concurrency", &CONCURRENCY.to_string()]).arg(&tasks);
        command
    };
    let by_git = |commands: &str| {
        shell(&format!("seq {TASKS} | xargs -P {CONCURRENCY} -I N sh -e -c '{commands}'"))
    };
    let mut ours = delegate(&["--worktree"]);
    let mut plain = delegate(&[]);
    let mut bare = by_git(
        "git worktree add --quiet --detach ../wN; cd ../wN; echo changed > changed.txt; git add -A",
    );
    let mut removal = shell(&format!(
        "seq {TASKS} | xargs -P {CONCURRENCY} -I N rm -rf ../wN && git worktree prune && rm -f *.txt"
    ));
    let mut costs = [const { Vec::new() }; 4];
    // Always in this order: the last one removes what the one before it made.
    for _ in 0..3 {
        let commands = [&mut ours, &mut plain, &mut bare, &mut removal];
        for (command, costs) in commands.into_iter().zip(&mut costs) {
            costs.push(measure(command, &[0])?);
        }
    }
    let wall = |index: usize| median_of(&costs[index], |cost| cost.wall.as_secs_f64());
    let (ours, plain, bare, removal) = (wall(0), wall(1), wall(2), wall(3));
    // Our worktrees are removed in the end, which is neither making nor keeping.
    let kept = ours - plain - removal;
    table.at_most(
        &format!("{TASKS} worktrees of {FILES} files, made and kept"),
        (
            kept,
            &format!(
                "{kept:.2} s more than without ({ours:.2} s in all, {removal:.2} s for the removal)"
            ),
        ),
        (bare, &format!("{bare:.2} s for `git worktree add` and `git add -A`")),
        1.3,
    );
    Ok(table)
}
