//! What the roles of a text look like in a terminal.

use anstyle::{AnsiColor, Style};
use session::view::{Line, Role};

/// Written once before the first frame: no cursor wanders over the view.
pub const OPEN: &str = "\x1b[?25l";
/// Written when the view is gone, however it went: its rows are blank, and the cursor is back. The
/// cursor stands at the top of the view between two frames, so this needs no memory of it.
pub const CLOSE: &str = "\r\x1b[J\x1b[?7h\x1b[?25h\x1b[?2026l";

/// A line with its escape sequences, or without any where colours are not wanted.
pub fn styled(line: &Line, has_colours: bool) -> String {
    if !has_colours {
        return line.text();
    }
    let mut styled = String::new();
    for span in line.spans() {
        let mut style = style(span.role());
        if span.is_bold() {
            style = style.bold();
        }
        styled.push_str(&format!("{style}{}{style:#}", span.text()));
    }
    styled
}

fn style(role: Role) -> Style {
    match role {
        Role::Plain => Style::new(),
        Role::Title => Style::new().bold(),
        Role::Accent => AnsiColor::Cyan.on_default(),
        Role::Muted => AnsiColor::BrightBlack.on_default(),
        Role::Dim => Style::new().dimmed(),
        Role::Success | Role::Added => AnsiColor::Green.on_default(),
        Role::Warning => AnsiColor::Yellow.on_default(),
        Role::Error | Role::Removed => AnsiColor::Red.on_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_become_colours_unless_nobody_wants_them() {
        let line = Line::of(Role::Success, "✓").with(Role::Plain, " ").with_bold(Role::Plain, "a");
        assert_eq!(styled(&line, true), "\x1b[32m✓\x1b[0m \x1b[1ma\x1b[0m");
        assert_eq!(styled(&line, false), "✓ a");
    }
}
