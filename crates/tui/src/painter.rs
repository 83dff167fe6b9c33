//! From one frame to the next with as few bytes as possible.

/// Knows what stands on the screen.
///
/// The view is drawn below everything that was printed before, not on a screen of its own, so that
/// this stays. Between two frames the cursor stands at the beginning of the view's first row: when
/// the terminal becomes narrower and breaks long rows into several, or does not, that is still the
/// beginning of the view, and everything below it is the view's.
#[derive(Debug, Default)]
pub struct Painter {
    shown: Vec<String>,
    is_lost: bool,
    /// The view is gone for a moment, and comes back in the same frame.
    is_erased: bool,
}

/// Frames are shown as a whole by terminals that know how; and no row that is wider than we think
/// may flow into the next.
const BEGIN: &str = "\x1b[?2026h\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
const TOGETHER: &str = "\x1b[?2026h";
const ERASE_REST_OF_ROW: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";

impl Painter {
    /// What to write so that these rows are shown; nothing if they are shown already.
    pub fn paint(&mut self, rows: Vec<String>) -> String {
        let is_lost = std::mem::take(&mut self.is_lost);
        let is_erased = std::mem::take(&mut self.is_erased);
        if self.shown == rows && !is_lost && !is_erased {
            return String::new();
        }
        let mut pen = Pen { bytes: BEGIN.to_owned(), row: 0, last: self.shown.len().max(1) - 1 };
        if is_lost {
            pen.bytes.push('\r');
            pen.bytes.push_str(ERASE_BELOW);
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
            pen.bytes.push_str(ERASE_BELOW);
        }
        pen.go_to(0);
        pen.bytes.push_str(END);
        self.shown = rows;
        pen.bytes
    }

    /// What to write so that the view is gone, and something else can be printed in its place. The
    /// terminal shows that together with the next frame, or with [`CLOSE`].
    ///
    /// [`CLOSE`]: crate::CLOSE
    pub fn erase(&mut self) -> String {
        if std::mem::take(&mut self.shown).is_empty() && !self.is_lost {
            return String::new();
        }
        self.is_lost = false;
        self.is_erased = true;
        format!("{TOGETHER}\r{ERASE_BELOW}")
    }

    /// Nobody knows any more what stands on the screen, because its size has changed.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }
}

struct Pen {
    bytes: String,
    row: usize,
    /// The last row that is there without scrolling.
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
        // A line feed makes room where a movement would stop at the end of the screen.
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

    #[test]
    fn after_a_resize_everything_is_written_anew() {
        let mut painter = Painter::default();
        paint(&mut painter, &["a", "b"]);
        painter.lose();
        assert_eq!(paint(&mut painter, &["a", "b"]), "\r\x1b[J\ra\x1b[K\r\nb\x1b[K\x1b[1A\r");
    }

    #[test]
    fn an_erased_view_is_drawn_anew() {
        let mut painter = Painter::default();
        assert_eq!(painter.erase(), "", "there is nothing to erase");
        paint(&mut painter, &["a", "b"]);
        assert_eq!(painter.erase(), "\x1b[?2026h\r\x1b[J");
        assert_eq!(paint(&mut painter, &["a"]), "\ra\x1b[K\r");
        painter.erase();
        assert_eq!(painter.paint(Vec::new()), format!("{BEGIN}\r{END}"), "it is not left open");
    }
}
