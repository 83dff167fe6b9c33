//! Random values for code that must not fail on any input.

use serde_json::{Value, json};

/// Always the same numbers, so that a failure can be repeated.
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    pub(crate) fn is_lucky(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn choose(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    pub(crate) fn text(&mut self) -> String {
        (0..self.below(8)).map(|_| self.choose(PIECES)).collect()
    }

    pub(crate) fn value(&mut self, depth: usize) -> Value {
        // The outermost value is nearly always an object, as in real calls.
        let kind = if depth == 3 && self.below(10) > 0 { 6 } else { self.below(7) };
        match kind {
            0 => Value::Null,
            1 => json!(self.is_lucky()),
            2 => json!(self.below(5)),
            3 => json!([-1.5, 1e300, 0.0][self.below(3)]),
            5 if depth > 0 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            6 if depth > 0 => {
                let entries = (0..self.below(5) + 1)
                    .map(|_| (self.choose(KEYS).to_owned(), self.value(depth - 1)));
                Value::Object(entries.collect())
            }
            _ => json!(self.text()),
        }
    }
}

const KEYS: &[&str] = &[
    "path",
    "filePath",
    "edits",
    "oldText",
    "newText",
    "content",
    "pattern",
    "glob",
    "offset",
    "limit",
    "command",
    "tasks",
    "profile",
    "todos",
    "text",
    "action",
    "indices",
    "file",
    "line",
    "column",
    "query",
    "newName",
    "files",
    "url",
    "sessionId",
];

const PIECES: &[&str] = &[
    "",
    "/",
    "//",
    "..",
    ".",
    "a",
    "src",
    "/home/u/p",
    "~",
    " ",
    " && ",
    "&&",
    "cd ",
    "\n",
    "\r\n",
    "\t",
    "\u{1b}[31m",
    "\u{1b}",
    "\u{9b}",
    "ż",
    "🦀",
    "e\u{301}",
    "│",
    "→",
    "$&",
    "\\",
    "\0",
    "+1/-2",
    "(3 lines)",
    "*",
    "https://",
    ":",
    "'",
    "\"",
    "xxxxxxxxxxxxxxxxxxxx",
];
