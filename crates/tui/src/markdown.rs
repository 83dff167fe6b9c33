//! Markdown as lines.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use session::view::{Line, Role};

use self::table::Rows;
use crate::fit::{line_width, wrap};
use crate::syntax::Highlighter;

/// The lines of a text, at most `columns` wide.
pub(crate) fn render(text: &str, columns: usize) -> Vec<Line> {
    let mut page = Page { columns: columns.max(8), ..Page::default() };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.end_paragraph();
    while page.lines.last().is_some_and(|line| line.spans().is_empty()) {
        page.lines.pop();
    }
    page.lines
}

#[derive(Default)]
struct Page {
    columns: usize,
    lines: Vec<Line>,
    /// The paragraph that is being read.
    paragraph: Line,
    /// What stands before every line: bars of quotations, blanks of lists.
    margins: Vec<Margin>,
    /// The numbers of the lists that are open; `None` for one without numbers.
    lists: Vec<Option<u64>>,
    strong: usize,
    is_heading: bool,
    /// Where a link leads that is being read.
    link: Option<String>,
    code: Option<Highlighter>,
    table: Option<Rows>,
}

struct Margin {
    /// Before the first line.
    mark: Line,
    /// Before the others.
    rest: Line,
    is_marked: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(_) => self.take_code(&text),
                None => self.take_text(&text),
            },
            Event::Code(code) => self.add(Role::Code, &code),
            Event::Html(html) | Event::InlineHtml(html) => self.take_text(&html),
            Event::SoftBreak => self.add(Role::Plain, " "),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.blank();
                self.push(Line::of(Role::Dim, &"─".repeat(self.room().min(40))));
                self.blank();
            }
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.take_text(&text);
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.blank();
                self.is_heading = true;
            }
            // A paragraph of a list item stands beside its mark.
            Tag::Paragraph if self.margins.last().is_none_or(|margin| margin.is_marked) => {
                self.blank();
            }
            Tag::BlockQuote(_) => {
                self.blank();
                let bar = Line::of(Role::Dim, "│ ");
                self.margins.push(Margin { mark: bar.clone(), rest: bar, is_marked: true });
            }
            Tag::CodeBlock(kind) => {
                self.end_paragraph();
                self.blank();
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some(Highlighter::new(language));
            }
            Tag::List(first) => {
                self.end_paragraph();
                if self.lists.is_empty() {
                    self.blank();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_paragraph();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let rest = Line::of(Role::Plain, &" ".repeat(mark.chars().count()));
                let mark = Line::of(Role::Accent, &mark);
                self.margins.push(Margin { mark, rest, is_marked: false });
            }
            Tag::Strong => self.strong += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
            }
            Tag::Table(_) => {
                self.blank();
                self.table = Some(Rows::default());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.is_heading = false;
            }
            TagEnd::Paragraph => self.end_paragraph(),
            TagEnd::CodeBlock => {
                self.code = None;
                self.blank();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            TagEnd::Item | TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.margins.pop();
            }
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => {
                let link = self.link.take().unwrap_or_default();
                // A link that is its own text is told once.
                if !link.is_empty() && !self.paragraph.text().ends_with(&link) {
                    self.add(Role::Dim, &format!(" ({link})"));
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.paragraph);
                if let Some(table) = &mut self.table {
                    table.push_cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                let room = self.room();
                for line in self.table.take().unwrap_or_default().lines(room) {
                    self.push(line);
                }
                self.blank();
            }
            _ => {}
        }
    }

    fn take_text(&mut self, text: &str) {
        let role = match (self.is_heading, &self.link) {
            (true, _) => Role::Title,
            (false, Some(_)) => Role::Accent,
            (false, None) => Role::Plain,
        };
        self.add(role, text);
    }

    fn take_code(&mut self, text: &str) {
        for line in text.lines() {
            let highlighted = self.code.as_mut().map(|code| code.line(line)).unwrap_or_default();
            let room = self.room().saturating_sub(2);
            for row in wrap(highlighted, room, 0) {
                self.push(Line::of(Role::Plain, "  ").and(row));
            }
        }
    }

    fn add(&mut self, role: Role, text: &str) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let is_bold = self.strong > 0 || self.is_heading;
        self.paragraph =
            if is_bold { paragraph.with_bold(role, text) } else { paragraph.with(role, text) };
    }

    fn break_line(&mut self) {
        let line = std::mem::take(&mut self.paragraph);
        for row in wrap(line, self.room(), 0) {
            self.push(row);
        }
    }

    fn end_paragraph(&mut self) {
        if !self.paragraph.spans().is_empty() {
            self.break_line();
        }
    }

    /// How wide a line may be inside of its margins.
    fn room(&self) -> usize {
        let margins = self.margins.iter().map(|margin| line_width(&margin.rest));
        self.columns.saturating_sub(margins.sum()).max(8)
    }

    fn push(&mut self, line: Line) {
        let mut whole = Line::default();
        for margin in &mut self.margins {
            let is_marked = std::mem::replace(&mut margin.is_marked, true);
            whole = whole.and(if is_marked { margin.rest.clone() } else { margin.mark.clone() });
        }
        self.lines.push(whole.and(line));
    }

    /// A blank line, unless there is one.
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.spans().is_empty()) {
            self.lines.push(Line::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, columns: usize) -> Vec<String> {
        render(text, columns).iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_text_is_rendered() {
        let text = "# Result\n\nThe **token** is compared\nwith `==`; see [the docs](https://x.y).\n\n\
                    1. one\n2. two that is long\n   - inner\n\n> quoted\n\n```rust\nlet a = 1; // x\n```\n\n---\nEnd.";
        assert_eq!(
            texts(text, 30),
            [
                "Result",
                "",
                "The token is compared with ==;",
                "see the docs (https://x.y).",
                "",
                "1. one",
                "2. two that is long",
                "   • inner",
                "",
                "│ quoted",
                "",
                "  let a = 1; // x",
                "",
                "──────────────────────────────",
                "",
                "End.",
            ]
        );
    }

    #[test]
    fn the_lines_of_an_item_stand_below_each_other() {
        assert_eq!(
            texts("- one two three four\n- five\n\n  six", 12),
            ["• one two", "  three four", "• five", "", "  six"]
        );
    }

    #[test]
    fn a_table_has_columns() {
        let text = "| file | lines |\n|---|---|\n| a.rs | 12 |\n| bcd.rs | `3` |";
        assert_eq!(texts(text, 40), ["file    lines", "──────  ─────", "a.rs    12", "bcd.rs  3"]);
        assert_eq!(
            texts("| a | b |\n|---|---|\n| one two three | four five six seven |", 20),
            ["a", "  b", "", "one two three", "  four five six", "  seven"]
        );
    }

    #[test]
    fn roles_tell_what_is_what() {
        let lines = render("# H\n\na `b` **c**", 40);
        let roles = |line: &Line| -> Vec<(Role, bool)> {
            line.spans().iter().map(|span| (span.role(), span.is_bold())).collect()
        };
        assert_eq!(roles(&lines[0]), [(Role::Title, true)]);
        assert_eq!(
            roles(&lines[2]),
            [(Role::Plain, false), (Role::Code, false), (Role::Plain, false), (Role::Plain, true)]
        );
    }

    #[test]
    fn any_text_fits() {
        let nested = "> - > - > - > - > deep and deeper words\n".repeat(3);
        for text in ["", "\n\n", "```", "| a |\n|-|", "- \n- \n", &nested, "<b>x</b>", "![i](u)"] {
            for columns in [0, 1, 9, 40] {
                for line in render(text, columns) {
                    assert!(
                        line_width(&line) <= columns.max(8) + 24,
                        "{text:?} {columns} {line:?}"
                    );
                }
            }
        }
    }
}
