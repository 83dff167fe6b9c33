//! The terminal's style for each role of a text.

use anstyle::{AnsiColor, Style};
use session::view::{Line, Role};

/// Written before the first frame: hides the cursor.
pub const OPEN: &str = "\x1b[?25l";
/// Written when the view ends, for whatever reason: clears its rows and shows the cursor. The cursor
/// is at the top of the view between two frames, so this does not depend on what is shown.
pub const CLOSE: &str = "\r\x1b[J\x1b[?7h\x1b[?25h\x1b[?2026l";

/// A line with its escape sequences, or as plain text.
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
    fn roles_become_colours_unless_they_are_off() {
        let line = Line::of(Role::Success, "✓").with(Role::Plain, " ").with_bold(Role::Plain, "a");
        assert_eq!(styled(&line, true), "\x1b[32m✓\x1b[0m \x1b[1ma\x1b[0m");
        assert_eq!(styled(&line, false), "✓ a");
    }
}
