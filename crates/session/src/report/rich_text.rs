//! Markdown of an agent as HTML of our own: every element is from a short list, every text is escaped, raw
//! HTML is shown as text, and links lead to web pages and mailboxes only.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::escape::escaped;

/// Elements that are nested deeper are left out, and their contents stay.
const DEPTH: usize = 24;

/// The document as HTML.
pub(super) fn rich_text(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(markdown, options) {
        writer.event(event);
    }
    writer.html
}

#[derive(Default)]
struct Writer {
    html: String,
    /// The ends of the open elements; empty for those that have none.
    ends: Vec<&'static str>,
    is_in_head: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => {
                if let Some(end) = self.ends.pop() {
                    self.html.push_str(end);
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.html.push_str(&escaped(&text));
            }
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.html.push_str(&format!("<code>{}</code>", escaped(&code)));
            }
            Event::FootnoteReference(name) => {
                self.html.push_str(&format!("[{}]", escaped(&name)));
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.html.push_str(if is_done { "☑ " } else { "☐ " });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let is_deep = self.ends.len() >= DEPTH;
        let (begin, end): (String, &'static str) = match tag {
            _ if is_deep => (String::new(), ""),
            Tag::Paragraph | Tag::HtmlBlock => ("<p>".into(), "</p>\n"),
            // The headings of the page itself are larger.
            Tag::Heading { level, .. } => match level {
                HeadingLevel::H1 | HeadingLevel::H2 => ("<h4>".into(), "</h4>\n"),
                HeadingLevel::H3 => ("<h5>".into(), "</h5>\n"),
                _ => ("<h6>".into(), "</h6>\n"),
            },
            Tag::BlockQuote(_) => ("<blockquote>".into(), "</blockquote>\n"),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                ("<pre class=\"code\">".into(), "</pre>\n")
            }
            Tag::List(None) => ("<ul>".into(), "</ul>\n"),
            Tag::List(Some(1)) => ("<ol>".into(), "</ol>\n"),
            Tag::List(Some(first)) => (format!("<ol start=\"{first}\">"), "</ol>\n"),
            Tag::Item => ("<li>".into(), "</li>\n"),
            Tag::Table(_) => ("<table>".into(), "</table>\n"),
            Tag::TableHead => {
                self.is_in_head = true;
                ("<tr>".into(), "</tr>\n")
            }
            Tag::TableRow => {
                self.is_in_head = false;
                ("<tr>".into(), "</tr>\n")
            }
            Tag::TableCell if self.is_in_head => ("<th>".into(), "</th>"),
            Tag::TableCell => ("<td>".into(), "</td>"),
            Tag::Emphasis => ("<em>".into(), "</em>"),
            Tag::Strong => ("<strong>".into(), "</strong>"),
            Tag::Strikethrough => ("<del>".into(), "</del>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }
                // A link has no place in another.
                if leads_out(&dest_url) && !self.ends.contains(&"</a>") =>
            {
                let link = escaped(&dest_url);
                let rel = "noopener noreferrer";
                (format!("<a href=\"{link}\" rel=\"{rel}\" target=\"_blank\">"), "</a>")
            }
            Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => (String::new(), ""),
        };
        self.html.push_str(&begin);
        self.ends.push(end);
    }
}

/// Whether the address names a web page or a mailbox in full. In a file of its own, any other address
/// leads nowhere.
fn leads_out(address: &str) -> bool {
    let begins = |scheme: &str| {
        address.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    ["http://", "https://", "mailto:"].into_iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_has_is_shown() {
        for (markdown, expected) in [
            (
                "a *b* **c** ~~d~~ `e<`",
                "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;</code></p>\n",
            ),
            ("# A\n### B\n###### C", "<h4>A</h4>\n<h5>B</h5>\n<h6>C</h6>\n"),
            ("- a\n- [x] b", "<ul><li>a</li>\n<li>☑ b</li>\n</ul>\n"),
            ("3. a", "<ol start=\"3\"><li>a</li>\n</ol>\n"),
            ("```html\n<b>\n```", "<pre class=\"code\">&lt;b&gt;\n</pre>\n"),
            (
                "|a|b|\n|-|-|\n|c|d|",
                "<table><tr><th>a</th><th>b</th></tr>\n<tr><td>c</td><td>d</td></tr>\n</table>\n",
            ),
            (
                "[x](https://example.org/?a=1&b=\"2)",
                "<p><a href=\"https://example.org/?a=1&amp;b=&quot;2\" rel=\"noopener noreferrer\" target=\"_blank\">x</a></p>\n",
            ),
        ] {
            assert_eq!(rich_text(markdown), expected, "{markdown}");
        }
    }

    #[test]
    fn nothing_runs_or_loads() {
        for (markdown, expected) in [
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("a <b onclick=x>", "<p>a &lt;b onclick=x&gt;</p>\n"),
            ("[x](javascript:alert(1))", "<p>x</p>\n"),
            ("[x](java&#115;cript:alert(1))", "<p>x</p>\n"),
            ("[x](docs/page.md)", "<p>x</p>\n"),
            ("[x](//example.org)", "<p>x</p>\n"),
            ("<javascript:alert(1)>", "<p>javascript:alert(1)</p>\n"),
            ("![x](file:///x.png)", "<p>x</p>\n"),
        ] {
            assert_eq!(rich_text(markdown), expected, "{markdown}");
        }
        // An image becomes a link, and a link in a link its text.
        let image = rich_text("[![x](http://example.org/x.png)](http://example.org)");
        assert_eq!(image.matches("<a ").count(), 1, "{image}");
        assert!(!image.contains("<img"), "{image}");
    }

    #[test]
    fn elements_are_not_nested_without_end() {
        let html = rich_text(&format!("{}deep", "> ".repeat(10_000)));
        assert!(html.matches("<blockquote>").count() <= DEPTH, "{}", html.len());
        assert_eq!(html.matches("<blockquote>").count(), html.matches("</blockquote>").count());
        assert!(html.contains("deep"));
    }
}
