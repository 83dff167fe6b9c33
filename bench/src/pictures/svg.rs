//! A screen as a picture.

use std::fmt::Write;

/// What a character needs, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 19.0;
/// The space around the text.
const MARGIN: f64 = 16.0;

/// The colours of a terminal: behind the text, around it, of the text, and the sixteen that programs choose from.
struct Palette {
    background: &'static str,
    border: &'static str,
    foreground: &'static str,
    sixteen: [&'static str; 16],
}

const DARK: Palette = Palette {
    background: "#0d1117",
    border: "#30363d",
    foreground: "#e6edf3",
    sixteen: [
        "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
        "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
    ],
};

const LIGHT: Palette = Palette {
    background: "#ffffff",
    border: "#d0d7de",
    foreground: "#1f2328",
    sixteen: [
        "#24292f", "#cf222e", "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83", "#6e7781",
        "#57606a", "#a40e26", "#1a7f37", "#9a6700", "#218bff", "#a475f9", "#3192aa", "#8c959f",
    ],
};

/// Adjacent characters that look the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Piece {
    row: u16,
    column: u16,
    text: String,
    look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Look {
    colour: Colour,
    is_bold: bool,
    is_dim: bool,
    /// The text has the colour of the background, and the other way round.
    is_inverse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Colour {
    Default,
    Index(u8),
    Exact(u8, u8, u8),
}

/// The size of a picture in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) rows: u16,
    pub(super) columns: u16,
}

/// Draws the rows up to the last that is not empty.
pub(super) fn draw(screen: &vt100::Screen) -> String {
    let pieces = pieces(screen);
    let rows = pieces.iter().map(|piece| piece.row + 1).max().unwrap_or(1);
    let (_, columns) = screen.size();
    let mut svg = begin(Size { rows, columns: columns.get() }, "");
    for piece in &pieces {
        piece.draw(&mut svg);
    }
    svg + "</svg>\n"
}

/// The beginning of a picture: its frame and its colours, dark or light as the reader has it.
pub(super) fn begin(size: Size, styles: &str) -> String {
    let width = f64::from(size.columns) * WIDTH + 2.0 * MARGIN;
    let height = f64::from(size.rows) * HEIGHT + 2.0 * MARGIN;
    let dark = DARK.styles();
    let light = LIGHT.styles();
    let (inner_width, inner_height) = (width - 1.0, height - 1.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', \
         monospace\" font-size=\"14\">\n<style>\ntext{{white-space:pre}}.b{{font-weight:bold}}\
         .d{{fill-opacity:.62}}\n{dark}\n@media (prefers-color-scheme:light){{\n{light}\n}}\n{styles}</style>\n\
         <rect class=\"frame\" x=\".5\" y=\".5\" width=\"{inner_width:.0}\" height=\"{inner_height:.0}\" rx=\"8\"/>\n"
    )
}

impl Palette {
    fn styles(&self) -> String {
        let Palette { background, border, foreground, sixteen } = self;
        let mut styles = format!(
            ".frame{{fill:{background};stroke:{border}}}.f{{fill:{foreground}}}.g{{fill:{background}}}"
        );
        for (index, colour) in sixteen.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(styles, ".c{index}{{fill:{colour}}}");
        }
        styles
    }
}

/// What is on the screen. Texts that stand apart are pieces of their own: in a table each changes by itself.
pub(super) fn pieces(screen: &vt100::Screen) -> Vec<Piece> {
    let (rows, columns) = screen.size();
    let mut pieces = Vec::new();
    for row in 0..rows.get() {
        pieces.extend(pieces_of_row(screen, row, columns.get()));
    }
    pieces
}

fn pieces_of_row(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    // A wide character is not as wide as two letters in every font, and stands alone.
    let mut is_last_wide = false;
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let look = Look::of(cell);
        let is_wide = cell.is_wide();
        match pieces.last_mut() {
            Some(last) if !is_wide && !is_last_wide && last.continues(look, text) => {
                last.text.push_str(text);
            }
            _ => pieces.push(Piece { row, column, text: text.to_owned(), look }),
        }
        is_last_wide = is_wide;
    }
    pieces.retain(|piece| piece.look.is_inverse || !piece.text.trim().is_empty());
    for piece in pieces.iter_mut().filter(|piece| !piece.look.is_inverse) {
        let blanks = piece.text.len() - piece.text.trim_start().len();
        // Blanks have one byte each.
        piece.column += u16::try_from(blanks).unwrap_or_default();
        piece.text = piece.text.trim().to_owned();
    }
    pieces
}

impl Piece {
    /// Whether what comes next belongs to this.
    fn continues(&self, look: Look, next: &str) -> bool {
        let is_apart = self.text.ends_with("  ") && next != " ";
        let [before, next] =
            [self.text.as_str(), next].map(|text| text.chars().next_back().and_then(stroke));
        self.look == look && before == next && !is_apart
    }

    pub(super) fn draw(&self, svg: &mut String) {
        let count = self.text.chars().count() as f64;
        let (x, y) =
            (MARGIN + f64::from(self.column) * WIDTH, MARGIN + f64::from(self.row) * HEIGHT);
        let mut class = self.look.class();
        let fill = match self.look.colour {
            Colour::Exact(red, green, blue) => format!(" fill=\"#{red:02x}{green:02x}{blue:02x}\""),
            Colour::Default | Colour::Index(_) => String::new(),
        };
        // Writing to a string cannot fail.
        if self.look.is_inverse {
            let width = count * WIDTH;
            let _ = writeln!(
                svg,
                "<rect{class}{fill} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/>"
            );
            class = " class=\"g\"".to_owned();
        }
        if let Some(stroke) = self.text.chars().next().and_then(stroke) {
            let Stroke { left, top, width, height } = stroke;
            // Horizontal lines go on; vertical ones stand alone.
            let width = if width < WIDTH { width } else { width * count };
            let _ = writeln!(
                svg,
                "<rect{class}{fill} x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height}\"/>",
                x + left,
                y + top
            );
            return;
        }
        let text = self.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (y, length) = (y + 0.75 * HEIGHT, count * WIDTH);
        let _ = writeln!(
            svg,
            "<text{class}{fill} x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\">{text}</text>"
        );
    }
}

impl Look {
    fn of(cell: &vt100::Cell) -> Look {
        let colour = match cell.fgcolor() {
            vt100::Color::Default => Colour::Default,
            vt100::Color::Idx(index @ 0..16) => Colour::Index(index),
            vt100::Color::Idx(index) => exact(index),
            vt100::Color::Rgb(red, green, blue) => Colour::Exact(red, green, blue),
        };
        let (is_bold, is_dim, is_inverse) = (cell.bold(), cell.dim(), cell.inverse());
        Look { colour, is_bold, is_dim, is_inverse }
    }

    fn class(self) -> String {
        let colour = match self.colour {
            Colour::Default => Some("f".to_owned()),
            Colour::Index(index) => Some(format!("c{index}")),
            Colour::Exact(..) => None,
        };
        let bold = self.is_bold.then(|| "b".to_owned());
        let dim = self.is_dim.then(|| "d".to_owned());
        let classes: Vec<String> = [colour, bold, dim].into_iter().flatten().collect();
        if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
    }
}

/// A colour of the 256 that is none of the sixteen: a cube of colours, and greys.
fn exact(index: u8) -> Colour {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..16 => Colour::Index(index),
        16..232 => {
            let index = index - 16;
            Colour::Exact(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        232.. => {
            let grey = 8 + 10 * (index - 232);
            Colour::Exact(grey, grey, grey)
        }
    }
}

/// A character that is a line within its cell. The lines of a font do not meet where rows are apart, and not where
/// its letters have another width.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stroke {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

fn stroke(character: char) -> Option<Stroke> {
    const HEAVY: f64 = 2.6;
    const LIGHT: f64 = 1.2;
    let across = |thick: f64, width: f64| Stroke {
        left: 0.0,
        top: (HEIGHT - thick) / 2.0,
        width,
        height: thick,
    };
    let down =
        |thick: f64| Stroke { left: (WIDTH - thick) / 2.0, top: 0.0, width: thick, height: HEIGHT };
    match character {
        '━' => Some(across(HEAVY, WIDTH)),
        '╸' => Some(across(HEAVY, WIDTH / 2.0)),
        '─' => Some(across(LIGHT, WIDTH)),
        '┃' => Some(down(HEAVY)),
        '│' => Some(down(LIGHT)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    fn screen_with(bytes: &[u8]) -> vt100::Parser {
        let size = |number| NonZero::new(number).unwrap_or(NonZero::<u16>::MIN);
        let mut parser = vt100::Parser::new(size(3), size(20), 0);
        parser.process(bytes);
        parser
    }

    #[test]
    fn a_screen_becomes_texts_with_their_looks() {
        let svg = draw(screen_with(b"\x1b[1;31mbad\x1b[0m <b> & so\r\n").screen());
        assert!(svg.contains("<text class=\"c1 b\" x=\"16.0\""), "{svg}");
        assert!(svg.contains(">bad</text>") && svg.contains("&lt;b&gt; &amp; so</text>"), "{svg}");
        assert_eq!(svg.matches("<text ").count(), 2, "{svg}");
    }

    #[test]
    fn texts_that_stand_apart_change_by_themselves() {
        let parser = screen_with("a b  c   1:02\r\n━━╸── ┃ x".as_bytes());
        let texts: Vec<(u16, String)> =
            pieces(parser.screen()).into_iter().map(|piece| (piece.column, piece.text)).collect();
        let expected =
            [(0, "a b"), (5, "c"), (9, "1:02"), (0, "━━"), (2, "╸"), (3, "──"), (6, "┃"), (8, "x")];
        assert_eq!(texts, expected.map(|(column, text)| (column, text.to_owned())));
    }
}
