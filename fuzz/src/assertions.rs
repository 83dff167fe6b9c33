//! Assertions of more than one target.

use serde::Serialize;
use serde::de::DeserializeOwned;
use session::view::Block;

/// Nothing that reaches a terminal may move its cursor or turn its text around.
pub(crate) fn assert_clean(what: &str, text: &str) {
    let is_bad = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_bad), "{what} has control characters: {text:?}");
}

/// The same for what is a single row.
pub(crate) fn assert_row(what: &str, text: &str) {
    assert_clean(what, text);
    assert!(!text.contains('\n'), "{what} has several lines: {text:?}");
}

/// What is written can be read, and is the same.
pub(crate) fn assert_reads_back<T>(value: &T)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let written = serde_json::to_string(value).unwrap_or_default();
    let read: Result<T, serde_json::Error> = serde_json::from_str(&written);
    assert!(
        read.as_ref().is_ok_and(|read| read == value),
        "{value:?} is written as {written}, and read as {read:?}"
    );
}

/// A window shows nothing that could harm a screen.
pub(crate) fn assert_blocks(blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(line) => assert_row("a line of a window", &line.text()),
            Block::Row(row) => {
                for cell in &row.cells {
                    assert_row("a cell of a window", &cell.line.text());
                }
            }
            Block::Steps { steps, .. } => {
                for step in steps {
                    let result = step.result.clone().unwrap_or_default();
                    assert_row("a step of a window", &step.line.clone().and(result).text());
                }
            }
            Block::Markdown(text) => assert_clean("an answer", text),
        }
    }
}
