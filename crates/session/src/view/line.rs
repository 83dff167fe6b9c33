//! Lines of text with roles.

use crate::text::clean;

/// What a piece of text is there for; a screen has a style for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// What the agents themselves say.
    Plain,
    /// The name of a tool, or a heading.
    Title,
    /// What should be seen first.
    Accent,
    /// What matters less.
    Muted,
    /// What matters least.
    Dim,
    /// Something that went well.
    Success,
    /// Something that is going on.
    Warning,
    /// Something that went wrong.
    Error,
    /// A number of things that were added or found.
    Added,
    /// A number of things that were removed.
    Removed,
}

/// A piece of a line. Its text has neither line feeds nor tabs nor anything else that would move
/// a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    role: Role,
    is_bold: bool,
    text: String,
}

impl Span {
    /// What it is there for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it is bold.
    pub fn is_bold(&self) -> bool {
        self.is_bold
    }

    /// Its text, safe to show.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// One line of a screen; blank if it has no spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// How far a tab goes.
    const TAB: &'static str = "    ";

    /// Its pieces, from left to right.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Its text without roles.
    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// A line of one piece.
    pub fn of(role: Role, text: &str) -> Line {
        Line::default().with(role, text)
    }

    /// The line with one more piece at its end.
    #[must_use]
    pub fn with(self, role: Role, text: &str) -> Line {
        self.add(role, false, text)
    }

    /// The line with one more piece at its end, in bold.
    #[must_use]
    pub fn with_bold(self, role: Role, text: &str) -> Line {
        self.add(role, true, text)
    }

    fn add(mut self, role: Role, is_bold: bool, text: &str) -> Line {
        if !text.is_empty() {
            let text = clean(text).replace('\t', Line::TAB).replace('\n', " ");
            self.spans.push(Span { role, is_bold, text });
        }
        self
    }
}
