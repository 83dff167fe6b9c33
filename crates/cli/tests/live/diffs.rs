//! What `setup` shows of a change.

use super::terminal::Terminal;
use super::*;

#[test]
fn lines_that_come_are_green_where_there_are_colours() {
    let world = world();
    let mut command = on_terminal(world.command(["setup", "cursor", "--dry-run"]));
    for (no_colour, is_coloured) in [("", true), ("1", false)] {
        command.env("NO_COLOR", no_colour);
        let mut terminal = Terminal::start(&command, 120, 40);
        terminal.wait_for("Would create");
        assert_eq!(terminal.finish(), Some(0));
        assert!(terminal.text().contains("+    \"pi-subagents\": {"), "{}", terminal.text());
        let bytes = terminal.bytes();
        assert_eq!(bytes.contains("\u{1b}[32m+    \"pi-subagents\""), is_coloured, "{bytes:?}");
        assert_eq!(bytes.contains('\u{1b}'), is_coloured, "{bytes:?}");
    }
}
