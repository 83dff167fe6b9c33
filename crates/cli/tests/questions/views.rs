//! Questions in the live view of `delegate` and in `watch`, on real terminals.

use serde_json::json;
use test_support::{wait_until, write_file};

use super::{COMMAND, asked, asking, lives, wait_for_question};
use crate::live::terminal::Terminal;

/// Longer than a line of the terminal, and with a second line.
const LONG: &str = "find . -name '*.tmp' -newer reference.txt -print0 | xargs -0 rm -f -- && \
                    make clean && make all-of-it\necho END-OF-COMMAND";

#[test]
fn the_live_view_of_several_tasks_shows_a_long_command_in_full() {
    let world = asking(&[LONG]);
    let tasks = json!({"tasks": [
        {"name": "asker", "prompt": "go", "agent": "oracle", "access": "full"},
    ]});
    let path = world.path("tasks.json");
    write_file(&path, &tasks.to_string());
    let mut command = world.command(["delegate", "--ask", &path.to_string_lossy()]);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(&command, 60, 24);
    terminal.wait_for("asker asks whether it may use bash:");
    terminal.wait_for("END-OF-COMMAND");
    terminal.wait_for("make all-of-it");
    terminal.press("n");
    wait_until(|| world.only_run().join("result.json").exists());
    assert_eq!(lives(&world.only_run())[1], "1 no by view");
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    world.wait_until_nothing_is_left();
}

#[test]
fn a_question_of_a_background_run_is_answered_in_watch() {
    for (key, life) in [("y", "1 yes by view"), ("n", "1 no by view"), ("a", "1 always by view")] {
        let world = asking(&[COMMAND]);
        let started = world.run(&[
            "bg", "start", "--agent", "oracle", "--name", "asker", "--access", "full", "--ask",
            "go",
        ]);
        assert_eq!(started.code, Some(0), "{started:?}");
        wait_for_question(&world, 1);
        let mut command = world.command(["watch"]);
        command.env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(&command, 90, 24);
        terminal.wait_for("asker asks whether it may use bash:");
        terminal.wait_for(COMMAND);
        terminal.press(key);
        assert_eq!(terminal.finish(), Some(0), "it ends with the run");
        assert_eq!(lives(&world.only_run()), [asked(1), life.to_owned()]);
        world.wait_until_nothing_is_left();
    }
}
