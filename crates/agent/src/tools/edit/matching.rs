//! Finds the texts that edits replace.
//!
//! A text that is not in the file is looked for once more in a simplified form, without the
//! differences that models get wrong: spaces at the ends of lines, and kinds of quotes, dashes and
//! spaces. Then whole lines are replaced, so that other lines keep what the simplified form lacks.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use crate::tools::ToolError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
}

/// A range of a text, and its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// Finds all edits in the text, or returns the error of the first that is wrong. The replacements
/// are in the order of the text.
pub(super) fn find(text: &str, edits: &[Edit], path: &str) -> Result<Vec<Replacement>, ToolError> {
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit { old: unix_lines(&edit.old), new: unix_lines(&edit.new) })
        .collect();
    let errors = Errors { path, edits: edits.len() };
    if let Some(index) = edits.iter().position(|edit| edit.old.is_empty()) {
        return Err(errors.empty(index));
    }
    if edits.iter().all(|edit| text.contains(&edit.old)) {
        return find_in(text, &edits, &errors);
    }
    let simple = simplify(text);
    let replacements = find_in(&simple, &edits, &errors)?;
    widen(text, &simple, replacements).ok_or_else(|| errors.missing(0))
}

/// Applies the replacements, which are in the order of the text.
pub(super) fn apply(text: &str, replacements: &[Replacement]) -> String {
    let mut new = String::with_capacity(text.len());
    let mut position = 0;
    for replacement in replacements {
        new.push_str(&text[position..replacement.start]);
        new.push_str(&replacement.text);
        position = replacement.end;
    }
    new.push_str(&text[position..]);
    new
}

pub(super) fn no_change(path: &str, edits: usize) -> ToolError {
    ToolError(if edits == 1 {
        format!(
            "No changes made to {path}. The replacement produced identical content. This might \
             indicate an issue with special characters or the text not existing as expected."
        )
    } else {
        format!("No changes made to {path}. The replacements produced identical content.")
    })
}

/// Finds every edit, as it is, else simplified, which is needed if the text is simplified.
fn find_in(text: &str, edits: &[Edit], errors: &Errors<'_>) -> Result<Vec<Replacement>, ToolError> {
    let mut found: Vec<(usize, Replacement)> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let simple;
        let mut old = edit.old.as_str();
        if !text.contains(old) {
            simple = simplify(old);
            old = &simple;
        }
        // An edit of spaces alone is empty when it is simplified.
        let matches = if old.is_empty() { 0 } else { text.matches(old).count() };
        let start = match (matches, text.find(old)) {
            (1, Some(start)) => start,
            (0, _) | (_, None) => return Err(errors.missing(index)),
            (count, _) => return Err(errors.ambiguous(index, count)),
        };
        let end = start + old.len();
        found.push((index, Replacement { start, end, text: edit.new.clone() }));
    }
    found.sort_by_key(|(_, replacement)| replacement.start);
    for pair in found.windows(2) {
        if let [(first, before), (second, after)] = pair
            && before.end > after.start
        {
            return Err(errors.overlapping(*first, *second));
        }
    }
    Ok(found.into_iter().map(|(_, replacement)| replacement).collect())
}

/// Turns replacements in the simplified text into replacements of whole lines in the text. `None` if
/// the two have different numbers of lines, which never happens.
fn widen(text: &str, simple: &str, replacements: Vec<Replacement>) -> Option<Vec<Replacement>> {
    let (lines, simple_lines) = (line_ranges(text), line_ranges(simple));
    if lines.len() != simple_lines.len() {
        return None;
    }
    let mut widened: Vec<(Range<usize>, Vec<Replacement>)> = Vec::new();
    for replacement in replacements {
        let first = simple_lines.partition_point(|line| line.end <= replacement.start);
        let last = simple_lines.partition_point(|line| line.end < replacement.end);
        match widened.last_mut() {
            Some((range, group)) if first < range.end => {
                range.end = range.end.max(last + 1);
                group.push(replacement);
            }
            _ => widened.push((first..last + 1, vec![replacement])),
        }
    }
    let replace_lines = |(range, group): (Range<usize>, Vec<Replacement>)| {
        let (first, last) = (range.start, range.end - 1);
        let start = simple_lines.get(first)?.start;
        let within: Vec<Replacement> = group
            .into_iter()
            .map(|replacement| Replacement {
                start: replacement.start - start,
                end: replacement.end - start,
                text: replacement.text,
            })
            .collect();
        Some(Replacement {
            start: lines.get(first)?.start,
            end: lines.get(last)?.end,
            text: apply(&simple[start..simple_lines.get(last)?.end], &within),
        })
    };
    widened.into_iter().map(replace_lines).collect()
}

fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let ranges = text.split_inclusive('\n').map(|line| {
        let range = start..start + line.len();
        start = range.end;
        range
    });
    ranges.collect()
}

fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The text without the differences that models get wrong.
fn simplify(text: &str) -> String {
    let text: String = text.nfkc().collect();
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches(is_space)).collect();
    lines.join("\n").chars().map(simple).collect()
}

fn is_space(character: char) -> bool {
    character == '\u{feff}' || character.is_whitespace() && character != '\u{85}'
}

fn simple(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The errors, with pi's texts: a single edit has no number.
struct Errors<'a> {
    path: &'a str,
    edits: usize,
}

impl Errors<'_> {
    fn missing(&self, index: usize) -> ToolError {
        let (what, text) = if self.edits == 1 {
            ("the exact text".to_owned(), "old text")
        } else {
            (format!("edits[{index}]"), "oldText")
        };
        ToolError(format!(
            "Could not find {what} in {}. The {text} must match exactly including all whitespace \
             and newlines.",
            self.path
        ))
    }

    fn ambiguous(&self, index: usize, count: usize) -> ToolError {
        let (what, text) = if self.edits == 1 {
            ("the text".to_owned(), "The text")
        } else {
            (format!("edits[{index}]"), "Each oldText")
        };
        ToolError(format!(
            "Found {count} occurrences of {what} in {}. {text} must be unique. Please provide more \
             context to make it unique.",
            self.path
        ))
    }

    fn empty(&self, index: usize) -> ToolError {
        let edit = if self.edits == 1 { String::new() } else { format!("edits[{index}].") };
        ToolError(format!("{edit}oldText must not be empty in {}.", self.path))
    }

    fn overlapping(&self, first: usize, second: usize) -> ToolError {
        ToolError(format!(
            "edits[{first}] and edits[{second}] overlap in {}. Merge them into one edit or target \
             disjoint regions.",
            self.path
        ))
    }
}
