//! A screen as a picture.

use std::fmt::Write;

/// What a character needs, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 19.0;
/// The space around the text.
const MARGIN: f64 = 14.0;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
/// The sixteen colours of a terminal.
const PALETTE: [&str; 16] = [
    "#3b4048", "#e06c75", "#8cc265", "#d9a94f", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
    "#7f848e", "#ff7a85", "#a5e075", "#f0c674", "#74bdff", "#de8ef5", "#6fd3de", "#ffffff",
];

/// Adjacent characters that look the same.
#[derive(Default)]
struct Piece {
    column: u16,
    text: String,
    colour: &'static str,
    is_bold: bool,
    is_dim: bool,
}

/// Draws the rows up to the last that is not empty.
pub(super) fn draw(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let rows: Vec<Vec<Piece>> =
        (0..rows.get()).map(|row| pieces(screen, row, columns.get())).collect();
    let used = rows.iter().rposition(|row| !row.is_empty()).map_or(1, |last| last + 1);
    let width = f64::from(columns.get()) * WIDTH + 2.0 * MARGIN;
    let height = used as f64 * HEIGHT + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for (row, pieces) in rows.iter().enumerate().take(used) {
        for piece in pieces {
            let (x, y) =
                (MARGIN + f64::from(piece.column) * WIDTH, MARGIN + (row as f64 + 0.75) * HEIGHT);
            let length = piece.text.chars().count() as f64 * WIDTH;
            let bold = if piece.is_bold { " font-weight=\"bold\"" } else { "" };
            let dim = if piece.is_dim { " opacity=\"0.6\"" } else { "" };
            let (colour, text) = (piece.colour, escaped(&piece.text));
            // Writing to a string cannot fail.
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" fill=\"{colour}\"{bold}{dim} \
                 xml:space=\"preserve\">{text}</text>"
            );
        }
    }
    svg + "</svg>\n"
}

fn pieces(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let colour = colour_of(cell.fgcolor());
        let look = (colour, cell.bold(), cell.dim());
        // A wide character is not as wide as two letters in every font, and stands alone.
        let is_wide = cell.is_wide();
        match pieces.last_mut() {
            Some(last)
                if !is_wide
                    && (last.colour, last.is_bold, last.is_dim) == look
                    && usize::from(column - last.column) == last.text.chars().count() =>
            {
                last.text.push_str(text);
            }
            _ => pieces.push(Piece {
                column,
                text: text.to_owned(),
                colour,
                is_bold: cell.bold(),
                is_dim: cell.dim(),
            }),
        }
    }
    for piece in &mut pieces {
        piece.text.truncate(piece.text.trim_end().len());
    }
    pieces.retain(|piece| !piece.text.is_empty());
    pieces
}

fn colour_of(colour: vt100::Color) -> &'static str {
    match colour {
        vt100::Color::Idx(index) => PALETTE.get(usize::from(index)).copied().unwrap_or(FOREGROUND),
        vt100::Color::Default | vt100::Color::Rgb(..) => FOREGROUND,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    #[test]
    fn a_screen_becomes_texts_with_their_looks() {
        let size = |number| NonZero::new(number).unwrap_or(NonZero::<u16>::MIN);
        let mut parser = vt100::Parser::new(size(3), size(20), 0);
        parser.process(b"\x1b[1;31mbad\x1b[0m <b> & so\r\n");
        let svg = draw(parser.screen());
        assert!(svg.contains("fill=\"#e06c75\" font-weight=\"bold\""), "{svg}");
        assert!(svg.contains(">bad</text>") && svg.contains("&lt;b&gt; &amp; so</text>"), "{svg}");
        assert_eq!(svg.matches("<text ").count(), 2, "{svg}");
    }
}
