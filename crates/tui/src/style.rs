//! The terminal's style for each role of a text.

use std::fmt::Write;

use anstyle::{AnsiColor, RgbColor, Style};
use session::view::{Line, Role};

/// Written before the first frame: hides the cursor.
pub const OPEN: &str = "\x1b[?25l";
/// Written when the view ends, for whatever reason: clears its rows and shows the cursor. The cursor
/// is at the top of the view between two frames, so this does not depend on what is shown.
pub const CLOSE: &str = "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8\x1b[?7h\x1b[?25h\x1b[?2026l";

/// Which colours the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// The user wants none.
    None,
    /// The sixteen of the terminal, which its user has chosen.
    Sixteen,
    /// Any.
    True,
}

impl Palette {
    /// From the values of `NO_COLOR` and `COLORTERM`.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>) -> Palette {
        match (no_color, colorterm) {
            (Some(value), _) if !value.is_empty() => Palette::None,
            (_, Some("truecolor" | "24bit")) => Palette::True,
            _ => Palette::Sixteen,
        }
    }
}

/// A line with its escape sequences, or as plain text.
pub fn styled(line: &Line, palette: Palette) -> String {
    if palette == Palette::None {
        return line.text();
    }
    let mut styled = String::new();
    for span in line.spans() {
        let mut style = match palette {
            Palette::True => true_style(span.role()),
            Palette::None | Palette::Sixteen => style(span.role()),
        };
        if span.is_bold() {
            style = style.bold();
        }
        // Writing to a string cannot fail.
        let _ = write!(styled, "{style}{}{style:#}", span.text());
    }
    styled
}

/// Only colours that every terminal shows on its own background. What is less important is faint and
/// not grey: the grey of some terminals is their background.
fn style(role: Role) -> Style {
    match role {
        Role::Plain | Role::Name => Style::new(),
        Role::Title => Style::new().bold(),
        Role::Accent | Role::Moving | Role::OpeningKey => AnsiColor::Cyan.on_default(),
        Role::Muted | Role::Dim => Style::new().dimmed(),
        Role::Success | Role::Added | Role::Literal => AnsiColor::Green.on_default(),
        Role::Warning => AnsiColor::Yellow.on_default(),
        Role::Error | Role::Removed => AnsiColor::Red.on_default(),
        Role::Code => AnsiColor::Magenta.on_default(),
        Role::Keyword => AnsiColor::Blue.on_default(),
        Role::Found => Style::new().invert(),
    }
}

/// Colours of a brightness that can be read on black and on white.
fn true_style(role: Role) -> Style {
    let colour = match role {
        Role::Plain | Role::Name | Role::Title | Role::Found => return style(role),
        Role::Accent | Role::Moving | Role::OpeningKey => ACCENT,
        Role::Muted | Role::Dim => GREY,
        Role::Success | Role::Added | Role::Literal => GREEN,
        Role::Warning => AMBER,
        Role::Error | Role::Removed => RED,
        Role::Code => VIOLET,
        Role::Keyword => BLUE,
    };
    colour.on_default()
}

const ACCENT: RgbColor = RgbColor(0, 130, 150);
const GREY: RgbColor = RgbColor(118, 118, 118);
const GREEN: RgbColor = RgbColor(30, 136, 56);
const AMBER: RgbColor = RgbColor(168, 104, 0);
const RED: RgbColor = RgbColor(222, 50, 50);
const VIOLET: RgbColor = RgbColor(158, 86, 190);
const BLUE: RgbColor = RgbColor(52, 114, 222);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_become_colours_unless_they_are_off() {
        let line = Line::of(Role::Success, "✓").with(Role::Plain, " ").with_bold(Role::Plain, "a");
        assert_eq!(styled(&line, Palette::Sixteen), "\x1b[32m✓\x1b[0m \x1b[1ma\x1b[0m");
        assert_eq!(styled(&line, Palette::None), "✓ a");
        assert_eq!(
            styled(&Line::of(Role::Muted, "x"), Palette::True),
            "\x1b[38;2;118;118;118mx\x1b[0m"
        );
    }

    #[test]
    fn the_environment_decides_about_colours() {
        for (no_color, colorterm, expected) in [
            (None, None, Palette::Sixteen),
            (None, Some("truecolor"), Palette::True),
            (None, Some("24bit"), Palette::True),
            (None, Some("yes"), Palette::Sixteen),
            (Some("1"), Some("truecolor"), Palette::None),
            (Some(""), Some("truecolor"), Palette::True),
        ] {
            assert_eq!(Palette::of(no_color, colorterm), expected, "{no_color:?} {colorterm:?}");
        }
    }

    /// The contrast of two colours, as web pages compute it: 1 to 21.
    #[test]
    fn true_colours_can_be_read_on_black_and_on_white() {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        for RgbColor(red, green, blue) in [ACCENT, GREY, GREEN, AMBER, RED, VIOLET, BLUE] {
            let light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
            let (on_black, on_white) = ((light + 0.05) / 0.05, 1.05 / (light + 0.05));
            assert!(
                on_black >= 4.3 && on_white >= 4.3,
                "{red} {green} {blue}: {on_black} {on_white}"
            );
        }
    }
}
