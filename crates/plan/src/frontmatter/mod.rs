//! Markdown files that begin with YAML: the form of profiles, presets and skills.
//!
//! A file becomes a [`Document`], fields with their lines and a body, whatever the fields mean.
//! [`Fields`] then takes them out one by one, by name and type.

mod fields;
mod yaml;

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::plain_file::open_plain;
pub(crate) use fields::Fields;
pub(crate) use yaml::{Field, Value};

/// What the user should know about a file that was read all the same, or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWarning {
    /// The file or directory.
    pub path: PathBuf,
    /// The line that it is about, if there is one, counted from one.
    pub line: Option<usize>,
    /// What is wrong, and what to do about it. Never contains the value of a field.
    pub problem: String,
}

impl fmt::Display for FileWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A file can be called anything, and must not be able to look like another message.
        write!(
            formatter,
            "{}:",
            self.path.to_string_lossy().replace(char::is_control, "\u{fffd}")
        )?;
        if let Some(line) = self.line {
            write!(formatter, "{line}:")?;
        }
        write!(formatter, " {}", self.problem)
    }
}

/// A file taken apart.
// It can hold a key, so that outside of tests there is no way to print it.
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(crate) struct Document {
    /// The fields, in the order of the file.
    pub(crate) fields: Vec<Field>,
    /// What follows the frontmatter, trimmed.
    pub(crate) body: String,
    /// Lines that were not YAML, but clear enough.
    pub(crate) repaired_lines: Vec<usize>,
}

/// A file cannot be taken apart.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("it is larger than {} KiB", Document::MAXIMAL_BYTES / 1024)]
    TooLarge,
    #[error("it is not UTF-8")]
    NotUtf8 { line: usize },
    #[error("it does not begin with frontmatter, a line `---`")]
    NoFrontmatter,
    #[error("its frontmatter is not closed by a line `---`")]
    NotClosed,
    #[error("its frontmatter cannot be understood: {reason}")]
    NotYaml { line: usize, reason: String },
}

impl Document {
    /// No file of this kind is meant to be longer.
    pub(crate) const MAXIMAL_BYTES: u64 = 1024 * 1024;

    /// Takes a file apart.
    pub(crate) fn read(path: &Path) -> Result<Document, DocumentError> {
        let mut bytes = Vec::new();
        open_plain(path)?.0.take(Document::MAXIMAL_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > Document::MAXIMAL_BYTES {
            return Err(DocumentError::TooLarge);
        }
        Document::parse(&bytes)
    }

    /// Takes the contents of a file apart.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Document, DocumentError> {
        let text = str::from_utf8(bytes).map_err(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            DocumentError::NotUtf8 { line: 1 + valid.iter().filter(|byte| **byte == b'\n').count() }
        })?;
        let text = normalize_line_ends(text.strip_prefix('\u{feff}').unwrap_or(text));
        let (frontmatter, body) = split(&text)?;
        let (fields, repaired_lines) = match yaml::parse(frontmatter) {
            Ok(fields) => (fields, Vec::new()),
            Err(error) => yaml::repair(frontmatter)
                .and_then(|(repaired, lines)| Some((yaml::parse(&repaired).ok()?, lines)))
                .ok_or(DocumentError::NotYaml {
                    line: error.line + LINES_BEFORE,
                    reason: error.reason,
                })?,
        };
        Ok(Document {
            fields: fields
                .into_iter()
                .map(|field| Field { line: field.line + LINES_BEFORE, ..field })
                .collect(),
            body: body.trim().to_owned(),
            repaired_lines: repaired_lines.into_iter().map(|line| line + LINES_BEFORE).collect(),
        })
    }
}

impl DocumentError {
    /// The line that cannot be understood, counted from one, if it is known.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            DocumentError::NotUtf8 { line } | DocumentError::NotYaml { line, .. } => Some(*line),
            DocumentError::NoFrontmatter | DocumentError::NotClosed => Some(1),
            DocumentError::Unreadable(_) | DocumentError::TooLarge => None,
        }
    }

    /// The same as a warning about the file.
    pub(crate) fn into_warning(self, path: &Path) -> FileWarning {
        FileWarning { path: path.to_owned(), line: self.line(), problem: self.to_string() }
    }
}

/// The line that opens the frontmatter.
const LINES_BEFORE: usize = 1;
const DELIMITER: &str = "---";

/// A file whose first line ends with a carriage return was written by an editor that ends every
/// line so. In other files carriage returns are part of the text, and are kept.
fn normalize_line_ends(text: &str) -> String {
    match text.find(['\r', '\n']) {
        Some(end) if text[end..].starts_with('\r') => {
            text.replace("\r\n", "\n").replace('\r', "\n")
        }
        _ => text.to_owned(),
    }
}

/// The frontmatter without its delimiters, and what follows it.
fn split(text: &str) -> Result<(&str, &str), DocumentError> {
    let is_delimiter = |line: &str| line.trim_end() == DELIMITER;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if !is_delimiter(first) {
        return Err(DocumentError::NoFrontmatter);
    }
    let start = first.len();
    let mut end = start;
    for line in lines {
        if is_delimiter(line) {
            return Ok((&text[start..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err(DocumentError::NotClosed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Document {
        Document::parse(text.as_bytes()).unwrap()
    }

    fn failure(bytes: &[u8]) -> (Option<usize>, String) {
        let error = Document::parse(bytes).unwrap_err();
        (error.line(), error.to_string())
    }

    fn field(name: &str, line: usize, value: Value) -> Field {
        Field { name: name.to_owned(), line, value }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn the_name_of_a_file_cannot_begin_another_line() {
        let path = PathBuf::from("/a/b\nwarning: \u{1b}[2Jc.md");
        let warning = FileWarning { path, line: Some(3), problem: "it is odd".to_owned() };
        assert_eq!(warning.to_string(), "/a/b\u{fffd}warning: \u{fffd}[2Jc.md:3: it is odd");
    }

    #[test]
    fn a_file_is_fields_with_their_lines_and_a_body() {
        let document =
            parse("---\nname: a\n\n# comment\nlist: [x, 1]\n---\n\n Body\n---\nmore \n\n");
        assert_eq!(
            document.fields,
            [
                field("name", 2, text("a")),
                field("list", 5, Value::List(vec![text("x"), Value::Number("1".to_owned())])),
            ]
        );
        assert_eq!(document.body, "Body\n---\nmore");
    }

    #[test]
    fn every_way_to_end_a_line_is_understood() {
        for contents in [
            "---\nname: a\nmodel: b\n---\nx\ny",
            "---\r\nname: a\r\nmodel: b\r\n---\r\nx\r\ny\r\n",
            "---\rname: a\rmodel: b\r---\rx\ry",
            "\u{feff}---\nname: a\nmodel: b\n---\nx\ny",
            "---  \nname: a\nmodel: b\n---\t\nx\ny",
        ] {
            let document = parse(contents);
            assert_eq!(
                document.fields,
                [field("name", 2, text("a")), field("model", 3, text("b"))],
                "{contents:?}"
            );
            assert_eq!(document.body, "x\ny", "{contents:?}");
        }
        assert_eq!(parse("---\n---\na\r\nb").body, "a\r\nb");
    }

    #[test]
    fn an_empty_frontmatter_has_no_fields() {
        for contents in ["---\n---\n", "---\n---", "---\n# nothing\n---", "---\nnull\n---"] {
            assert_eq!(parse(contents).fields, [], "{contents:?}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_an_error_with_its_line() {
        for (contents, line, reason) in [
            ("", 1, "it does not begin with frontmatter"),
            ("name: a\n", 1, "it does not begin with frontmatter"),
            ("----\nname: a\n----\n", 1, "it does not begin with frontmatter"),
            ("---\nname: a\n", 1, "is not closed by a line `---`"),
            ("---\nname: a\nmodel: [b\n---\n", 3, "unclosed bracket '['"),
            ("---\nname: a\nmodel: \"b\n---\n", 3, "quoted scalar"),
            ("---\nname: a\n  model: b\n---\n", 3, "mapping values are not allowed"),
            ("---\nname: a\nname: b\n---\n", 3, "\"name\" is there twice"),
            ("---\nname: *a\n---\n", 2, "refers to something that is not there"),
            ("---\n- a\n---\n", 2, "must be fields, `name: value`"),
            ("---\njust text\n---\n", 2, "must be fields, `name: value`"),
            ("---\n[a]: b\n---\n", 2, "must be fields, `name: value`"),
            ("---\na: b\n...\nc: d\n---\n", 3, "it is too large or too deep"),
        ] {
            let (found_line, found) = failure(contents.as_bytes());
            assert_eq!(found_line, Some(line), "{contents:?}: {found}");
            assert!(found.contains(reason), "{contents:?}: {found}");
        }
        assert_eq!(
            failure(b"---\nname: a\nb: \xff\n---\n"),
            (Some(3), "it is not UTF-8".to_owned())
        );
    }

    #[test]
    fn a_plain_value_with_a_colon_is_accepted_and_its_line_named() {
        let document = parse(
            "---\nname: a\ndescription: Use it: when 'needed' # or not\nmodel: x:\nother: d:e\n---\n",
        );
        assert_eq!(
            document.fields,
            [
                field("name", 2, text("a")),
                field("description", 3, text("Use it: when 'needed'")),
                field("model", 4, text("x:")),
                field("other", 5, text("d:e")),
            ]
        );
        assert_eq!(document.repaired_lines, [3, 4]);
    }

    #[test]
    fn nothing_else_is_repaired() {
        for contents in [
            "---\ndescription: Use it: when\n  needed\n---\n",
            "---\ndescription: \"Use\" it: when\n---\n",
            "---\ndescription: [Use it: when\n---\n",
            "---\n  nested: Use it: when\n---\n",
            "---\ndescription: Use it: when\nmodel: [a\n---\n",
        ] {
            assert!(Document::parse(contents.as_bytes()).is_err(), "{contents:?}");
        }
    }

    #[test]
    fn bombs_are_refused_at_once() {
        let deep: String = (0..3_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        let mut doubling = "a: &a [x, x]\n".to_owned();
        for (before, name) in ('a'..='y').zip('b'..='z') {
            doubling += &format!("{name}: &{name} [*{before}, *{before}]\n");
        }
        for yaml in
            ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000), deep, doubling]
        {
            assert!(Document::parse(format!("---\n{yaml}\n---\n").as_bytes()).is_err());
        }
    }

    #[test]
    fn only_regular_files_of_a_reasonable_size_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let large = directory.path().join("large.md");
        fs::write(&large, vec![b'x'; 1024 * 1024 + 1]).unwrap();
        assert!(matches!(Document::read(&large), Err(DocumentError::TooLarge)));
        assert!(matches!(Document::read(directory.path()), Err(DocumentError::Unreadable(_))));
        let absent = directory.path().join("absent.md");
        assert!(matches!(Document::read(&absent), Err(DocumentError::Unreadable(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_can_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Document::parse(&bytes);
            let _ = Document::parse(&[b"---\n", &bytes[..], b"\n---\n"].concat());
        }

        #[test]
        fn no_text_can_panic(text in "[-a-z:#'\"|>&*!%@`{}\\[\\],?~ \t\n\r\\\\]{0,80}") {
            let _ = Document::parse(format!("---\n{text}\n---\nbody").as_bytes());
        }
    }
}
