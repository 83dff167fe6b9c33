//! Lines of text with roles.

use model::clean;

/// The purpose of a piece of text; a screen has a style for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The text of agents.
    Plain,
    /// The name of a tool, or a heading.
    Title,
    /// The most important.
    Accent,
    /// The name of a task.
    Name,
    /// The mark of a running task, which moves.
    Moving,
    /// The key that opens what is collapsed.
    OpeningKey,
    /// Less important.
    Muted,
    /// The least important.
    Dim,
    /// Done.
    Success,
    /// In progress.
    Warning,
    /// Failed.
    Error,
    /// A number of things that were added or found.
    Added,
    /// A number of things that were removed.
    Removed,
    /// A piece of code inside of a text.
    Code,
    /// A word of a programming language.
    Keyword,
    /// A text or a number in a program.
    Literal,
    /// What the reader searches for.
    Found,
}

/// A piece of a line. Its text has neither line feeds nor tabs nor other control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    role: Role,
    is_bold: bool,
    text: String,
}

impl Span {
    /// What the screen styles it by.
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
    /// What a tab becomes.
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

    /// Adds a piece at the end.
    #[must_use]
    pub fn with(self, role: Role, text: &str) -> Line {
        self.add(role, false, text)
    }

    /// Adds a bold piece at the end.
    #[must_use]
    pub fn with_bold(self, role: Role, text: &str) -> Line {
        self.add(role, true, text)
    }

    /// Adds the pieces of another line at the end.
    #[must_use]
    pub fn and(mut self, other: Line) -> Line {
        self.spans.extend(other.spans);
        self
    }

    fn add(mut self, role: Role, is_bold: bool, text: &str) -> Line {
        if !text.is_empty() {
            let text = clean(text).replace('\t', Line::TAB).replace('\n', " ");
            self.spans.push(Span { role, is_bold, text });
        }
        self
    }
}
