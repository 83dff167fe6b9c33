//! Changes one frame into the next with few bytes.

/// Remembers what the screen shows, and writes only the rows that change.
///
/// The view is drawn below what was printed before, not on a screen of its own, so that the user
/// keeps that. Between two frames the cursor is at the beginning of the view's first row: even if
/// the terminal becomes narrower and breaks rows, that is still where the view begins, and
/// everything below it belongs to the view.
#[derive(Debug, Default)]
pub struct Painter {
    shown: Vec<String>,
    is_lost: bool,
    /// The view was erased to print something, and is drawn again in the same frame.
    is_erased: bool,
}

/// Around a frame, which terminals that can do so show as a whole. Lines do not wrap in it, so that
/// a row that is wider than computed does not break into the next.
const BEGIN: &str = "\x1b[?2026h\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
const TOGETHER: &str = "\x1b[?2026h";
const ERASE_REST_OF_ROW: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";
/// Erases the view, with the cursor in its first row, where it stays. The rest is erased from the row below:
/// tmux takes an erasure from the top left corner for a request to keep the screen, and puts the whole
/// view into its scrollback.
pub(crate) const ERASE_VIEW: &str = "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

impl Painter {
    /// The bytes that make the terminal show these rows; empty if it shows them already.
    pub fn paint(&mut self, rows: Vec<String>) -> String {
        let is_lost = std::mem::take(&mut self.is_lost);
        let is_erased = std::mem::take(&mut self.is_erased);
        if self.shown == rows && !is_lost && !is_erased {
            return String::new();
        }
        let mut pen = Pen { bytes: BEGIN.to_owned(), row: 0, last: self.shown.len().max(1) - 1 };
        if is_lost {
            pen.bytes.push_str(ERASE_VIEW);
            pen.last = 0;
            self.shown.clear();
        }
        for (index, row) in rows.iter().enumerate() {
            if self.shown.get(index) != Some(row) {
                pen.go_to(index);
                pen.bytes.push_str(row);
                pen.bytes.push_str(ERASE_REST_OF_ROW);
            }
        }
        if rows.len() < self.shown.len() {
            pen.go_to(rows.len());
            pen.bytes.push_str(if rows.is_empty() { ERASE_VIEW } else { ERASE_BELOW });
        }
        pen.go_to(0);
        pen.bytes.push_str(END);
        self.shown = rows;
        pen.bytes
    }

    /// The bytes that erase the view, so that something can be printed in its place. The terminal
    /// shows both together with the next frame, or with [`CLOSE`].
    ///
    /// [`CLOSE`]: crate::CLOSE
    pub fn erase(&mut self) -> String {
        if std::mem::take(&mut self.shown).is_empty() && !self.is_lost {
            return String::new();
        }
        self.is_lost = false;
        self.is_erased = true;
        format!("{TOGETHER}{ERASE_VIEW}")
    }

    /// Draws everything in the next frame, because a new size may have changed what is shown.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }
}

struct Pen {
    bytes: String,
    row: usize,
    /// The last row that exists without scrolling.
    last: usize,
}

impl Pen {
    fn go_to(&mut self, row: usize) {
        let there = row.min(self.last);
        match there.cmp(&self.row) {
            std::cmp::Ordering::Less => self.bytes.push_str(&format!("\x1b[{}A", self.row - there)),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => {
                self.bytes.push_str(&format!("\x1b[{}B", there - self.row));
            }
        }
        self.bytes.push('\r');
        self.row = there;
        // At the end of the screen, a line feed makes room where a movement would stop.
        for _ in there..row {
            self.bytes.push('\n');
        }
        self.row = row;
        self.last = self.last.max(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// A frame without what stands around all of them.
    fn paint(painter: &mut Painter, texts: &[&str]) -> String {
        let bytes = painter.paint(rows(texts));
        bytes.trim_start_matches(BEGIN).trim_end_matches(END).to_owned()
    }

    #[test]
    fn only_what_changes_is_written() {
        let mut painter = Painter::default();
        assert_eq!(
            paint(&mut painter, &["a", "b", "c"]),
            "\ra\x1b[K\r\nb\x1b[K\r\nc\x1b[K\x1b[2A\r"
        );
        assert_eq!(paint(&mut painter, &["a", "b", "c"]), "", "nothing changes");
        assert_eq!(paint(&mut painter, &["a", "x", "c"]), "\x1b[1B\rx\x1b[K\x1b[1A\r");
        assert_eq!(
            paint(&mut painter, &["a", "x", "c", "d"]),
            "\x1b[2B\r\nd\x1b[K\x1b[3A\r",
            "a line feed makes room"
        );
        assert_eq!(paint(&mut painter, &["a"]), "\x1b[1B\r\x1b[J\x1b[1A\r", "the rest is erased");
    }

    /// An erasure from the top left corner fills the scrollback of tmux.
    #[test]
    fn the_first_row_is_never_erased_together_with_the_others() {
        let mut painter = Painter::default();
        let mut bytes = painter.paint(rows(&["a", "b"]));
        bytes.push_str(&painter.paint(Vec::new()));
        bytes.push_str(&painter.paint(rows(&["a"])));
        painter.lose();
        bytes.push_str(&painter.paint(rows(&["a"])));
        bytes.push_str(&painter.erase());
        bytes.push_str(crate::CLOSE);
        for (before, _) in bytes.match_indices(ERASE_BELOW).map(|(at, _)| bytes.split_at(at)) {
            assert!(before.ends_with("\x1b[B"), "{before:?}");
        }
        assert!(crate::CLOSE.starts_with(ERASE_VIEW));
    }

    #[test]
    fn after_a_resize_everything_is_written_anew() {
        let mut painter = Painter::default();
        paint(&mut painter, &["a", "b"]);
        painter.lose();
        assert_eq!(
            paint(&mut painter, &["a", "b"]),
            format!("{ERASE_VIEW}\ra\x1b[K\r\nb\x1b[K\x1b[1A\r")
        );
    }

    #[test]
    fn an_erased_view_is_drawn_anew() {
        let mut painter = Painter::default();
        assert_eq!(painter.erase(), "", "there is nothing to erase");
        paint(&mut painter, &["a", "b"]);
        assert_eq!(painter.erase(), format!("\x1b[?2026h{ERASE_VIEW}"));
        assert_eq!(paint(&mut painter, &["a"]), "\ra\x1b[K\r");
        painter.erase();
        assert_eq!(painter.paint(Vec::new()), format!("{BEGIN}\r{END}"), "it is not left open");
    }
}
