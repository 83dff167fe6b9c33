//! A pane of tmux as a picture, with the backgrounds that pi gives its boxes.

use std::fmt::Write;
use std::num::NonZero;

/// What a character needs, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 19.0;
/// The space around the text.
const MARGIN: f64 = 14.0;

/// The colours of a terminal. Everything else has the colours of pi's theme.
#[derive(Clone, Copy)]
pub(super) struct Terminal {
    pub(super) background: &'static str,
    pub(super) foreground: &'static str,
}

/// Adjacent characters that look the same.
struct Piece {
    column: u16,
    width: u16,
    text: String,
    look: Look,
}

#[derive(Clone, PartialEq)]
struct Look {
    colour: Option<String>,
    background: Option<String>,
    is_bold: bool,
    is_italic: bool,
}

/// Draws what `tmux capture-pane -e` has printed, from the first row with this text on.
pub(super) fn draw(captured: &str, from: &str, columns: u16, terminal: Terminal) -> String {
    let rows: Vec<&str> = captured.trim_end().lines().collect();
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let size = |number| NonZero::new(number).unwrap_or(NonZero::<u16>::MIN);
    let mut parser = vt100::Parser::new(size(height), size(columns), 0);
    parser.process(rows.join("\r\n").as_bytes());
    let screen = parser.screen();
    let texts: Vec<String> = screen.rows(0, columns).collect();
    // The row above it belongs to the same box.
    let first =
        texts.iter().position(|row| row.contains(from)).map_or(0, |row| row.saturating_sub(1));
    let shown = rows.len().saturating_sub(first);
    let (width, height) =
        (f64::from(columns) * WIDTH + 2.0 * MARGIN, shown as f64 * HEIGHT + 2.0 * MARGIN);
    let Terminal { background, foreground } = terminal;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\">\n<style>text{{white-space:pre}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{background}\"/>\n"
    );
    for row in 0..shown {
        let pieces = pieces(screen, u16::try_from(first + row).unwrap_or_default(), columns);
        let y = MARGIN + row as f64 * HEIGHT;
        // First what is behind the letters: they reach beyond their cells.
        for piece in &pieces {
            draw_background(&mut svg, piece, y);
        }
        for piece in &pieces {
            draw_text(&mut svg, piece, y, foreground);
        }
    }
    svg + "</svg>\n"
}

fn draw_background(svg: &mut String, piece: &Piece, y: f64) {
    let Some(background) = &piece.look.background else { return };
    let (x, width) = (MARGIN + f64::from(piece.column) * WIDTH, f64::from(piece.width) * WIDTH);
    // A little higher than a row, so that no line shows between two. Writing to a string cannot fail.
    let height = HEIGHT + 0.5;
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{background}\"/>"
    );
}

fn draw_text(svg: &mut String, piece: &Piece, y: f64, foreground: &str) {
    let blanks = piece.text.chars().take_while(|character| *character == ' ').count();
    let text = piece.text.trim();
    if text.is_empty() {
        return;
    }
    let x = MARGIN + (f64::from(piece.column) + blanks as f64) * WIDTH;
    let (y, length) = (y + 0.75 * HEIGHT, text.chars().count() as f64 * WIDTH);
    let colour = piece.look.colour.as_deref().unwrap_or(foreground);
    let bold = if piece.look.is_bold { " font-weight=\"bold\"" } else { "" };
    let italic = if piece.look.is_italic { " font-style=\"italic\"" } else { "" };
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" fill=\"{colour}\"{bold}{italic}>{text}</text>"
    );
}

fn pieces(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let (mut colour, mut background) = (exact(cell.fgcolor()), exact(cell.bgcolor()));
        if cell.inverse() {
            (colour, background) = (background, colour);
        }
        let look = Look { colour, background, is_bold: cell.bold(), is_italic: cell.italic() };
        let width = if cell.is_wide() { 2 } else { 1 };
        match pieces.last_mut() {
            Some(last) if last.look == look && width == 1 && !is_apart(&last.text, text) => {
                last.text.push_str(text);
                last.width += 1;
            }
            _ => pieces.push(Piece { column, width, text: text.to_owned(), look }),
        }
    }
    pieces
}

/// Words of a table are placed one by one: the blanks of a font have another width than the cells of a terminal.
fn is_apart(before: &str, next: &str) -> bool {
    before.ends_with("  ") && next != " "
}

fn exact(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        // pi uses exact colours where it can, and the terminal has told it so.
        vt100::Color::Idx(index) => Some(format!("#{index:02x}{index:02x}{index:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_keep_their_background_and_texts_their_look() {
        let captured =
            "above\n\u{1b}[48;2;1;2;3m \u{1b}[1;38;2;4;5;6mname\u{1b}[22m  <b>\u{1b}[0m\n\n";
        let terminal = Terminal { background: "#000000", foreground: "#ffffff" };
        let svg = draw(captured, "name", 12, terminal);
        assert!(svg.contains("fill=\"#010203\"/>"), "{svg}");
        assert!(svg.contains("fill=\"#040506\" font-weight=\"bold\">name</text>"), "{svg}");
        assert!(svg.contains(">&lt;b&gt;</text>") && svg.contains(">above</text>"), "{svg}");
    }
}
