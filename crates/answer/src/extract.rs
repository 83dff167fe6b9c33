//! The value in an answer: all of it, or its one fenced block.

use serde_json::Value;

use crate::limits::ANSWER_BYTES;

/// Why an answer holds no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NoValue {
    #[error("it has {0} bytes, and the limit is {ANSWER_BYTES}")]
    TooLong(usize),
    #[error("it is empty")]
    Empty,
    #[error("it is not JSON, and has no fenced block with JSON")]
    NoBlock,
    #[error("it has {0} fenced blocks, and only one may be there")]
    ManyBlocks(usize),
    #[error("its fenced block is not JSON: {0}")]
    NotJson(String),
}

/// The value that an answer is, or has in its one fenced block. If several blocks are there, the only one
/// that says `json` counts.
pub fn value_in(answer: &str) -> Result<Value, NoValue> {
    if answer.len() > ANSWER_BYTES {
        return Err(NoValue::TooLong(answer.len()));
    }
    if answer.trim().is_empty() {
        return Err(NoValue::Empty);
    }
    if let Ok(value) = serde_json::from_str(answer.trim()) {
        return Ok(value);
    }
    let mut blocks = fenced_blocks(answer);
    if blocks.len() > 1 && blocks.iter().any(|block| block.is_json) {
        blocks.retain(|block| block.is_json);
    }
    match blocks.as_slice() {
        [] => Err(NoValue::NoBlock),
        [block] => serde_json::from_str(block.text.trim())
            .map_err(|error| NoValue::NotJson(error.to_string())),
        blocks => Err(NoValue::ManyBlocks(blocks.len())),
    }
}

struct Block<'a> {
    is_json: bool,
    text: &'a str,
}

/// The fenced blocks of a text, as Markdown has them. One that is not closed goes to the end.
fn fenced_blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, bool, usize)> = None;
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        let start = position;
        position += line.len();
        let content = line.trim_start_matches(' ');
        let Some(fence) = content.chars().next().filter(|sign| matches!(sign, '`' | '~')) else {
            continue;
        };
        let width = content.chars().take_while(|sign| *sign == fence).count();
        let rest = content[width..].trim();
        match open {
            None if width >= 3 && !(fence == '`' && rest.contains('`')) => {
                open = Some((fence, width, rest.eq_ignore_ascii_case("json"), position));
            }
            Some((sign, least, is_json, from))
                if fence == sign && width >= least && rest.is_empty() =>
            {
                blocks.push(Block { is_json, text: &text[from..start] });
                open = None;
            }
            _ => {}
        }
    }
    if let Some((_, _, is_json, from)) = open {
        blocks.push(Block { is_json, text: &text[from..] });
    }
    blocks
}
