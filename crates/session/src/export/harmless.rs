//! Markdown in which nothing runs, loads or hides anything: raw HTML is shown as text, images become
//! links, and links lead to web pages and mailboxes only.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// What is inert now can change the meaning of what follows, such as a comment that contained the
/// beginning of a block of code. So the result is read again, but not for ever.
const ROUNDS: usize = 12;

/// The same document without what is not harmless.
pub(super) fn harmless(mut text: String) -> String {
    for _ in 0..ROUNDS {
        let harmful = harmful(&text);
        if harmful.is_empty() {
            return text;
        }
        text = replaced(&text, &harmful);
    }
    // Without these two characters there is no HTML, no link and no image.
    text.replace('<', entity('<')).replace('[', entity('['))
}

/// The positions of the characters that begin something harmful.
fn harmful(text: &str) -> BTreeMap<usize, char> {
    // What is code to a reader with tables is not always code to one without.
    let with_extensions = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut found = BTreeMap::new();
    for options in [Options::empty(), with_extensions] {
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Html(_) | Event::InlineHtml(_) => {
                    let source = text.get(range.clone()).unwrap_or_default();
                    let begins = source.match_indices('<').map(|(at, _)| (range.start + at, '<'));
                    found.extend(begins);
                }
                Event::Start(Tag::Image { .. }) => {
                    found.extend(first(text, range.start));
                }
                Event::Start(Tag::Link { dest_url, .. }) if !is_harmless_address(&dest_url) => {
                    found.extend(first(text, range.start));
                }
                _ => {}
            }
        }
    }
    found
}

/// The first character of an image, a link or an address in angle brackets, with its position.
fn first(text: &str, at: usize) -> Option<(usize, char)> {
    let character = text.get(at..)?.chars().next()?;
    "![<".contains(character).then_some((at, character))
}

/// Entities, because a backslash before them does not bring the character back.
fn entity(character: char) -> &'static str {
    match character {
        '<' => "&lt;",
        '!' => "&#33;",
        _ => "&#91;",
    }
}

fn replaced(text: &str, harmful: &BTreeMap<usize, char>) -> String {
    let mut replaced = String::with_capacity(text.len() + 4 * harmful.len());
    let mut copied = 0;
    for (at, character) in harmful {
        replaced.push_str(&text[copied..*at]);
        replaced.push_str(entity(*character));
        copied = at + character.len_utf8();
    }
    replaced.push_str(&text[copied..]);
    replaced
}

/// Whether following the link does no more than show a page or begin a mail. Browsers ignore white
/// space and controls within an address.
fn is_harmless_address(address: &str) -> bool {
    let is_seen = |character: &char| !character.is_whitespace() && !character.is_control();
    let address: String = address.chars().filter(is_seen).collect();
    let scheme = address.find(['/', '?', '#', ':']).filter(|at| address[*at..].starts_with(':'));
    scheme.is_none_or(|end| {
        let scheme = &address[..end];
        ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> String {
        text.lines().map(|line| format!("> {line}\n")).collect()
    }

    #[test]
    fn what_is_harmless_stays_as_it_is() {
        for text in [
            "plain *text* with `<code>`, a [link](https://example.org/a?b) and <https://example.org>",
            "```html\n<script>alert(1)</script>\n```",
            "1 < 2 && 3 > 2, `a<b>`, vec![1], fn f() -> Option<u32>",
            "| a | b |\n|---|---|\n| `x` | y |\n\n- [ ] do\n- [x] done\n\n[me](mailto:a@example.org)",
            "[here](docs/page.md#part) and [there][1]\n\n[1]: http://example.org",
        ] {
            let text = quoted(text);
            // What looks like the beginning of an element is one to Markdown.
            assert_eq!(harmless(text.clone()), text.replace("Option<u32>", "Option&lt;u32>"));
        }
    }

    #[test]
    fn what_is_not_harmless_is_shown() {
        for (text, expected) in [
            ("a <b>c</b>", "a &lt;b>c&lt;/b>"),
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("<!-- never closed", "&lt;!-- never closed"),
            ("![x](http://example.org/x.png)", "&#33;[x](http://example.org/x.png)"),
            ("![x][1]\n\n[1]: /x.png", "&#33;[x][1]\n>\n> [1]: /x.png"),
            ("[x](javascript:alert(1))", "&#91;x](javascript:alert(1))"),
            ("[x](java&#115;cript&colon;alert(1))", "&#91;x](java&#115;cript&colon;alert(1))"),
            ("<javascript:alert(1)>", "&lt;javascript:alert(1)>"),
            ("[x](data:text/html,hi)", "&#91;x](data:text/html,hi)"),
            // A tab is four columns, of which the quotation takes two: this is no code.
            ("\t<b>", "\t&lt;b>"),
        ] {
            let expected = format!("> {expected}\n");
            let found = harmless(quoted(text)).replace("> \n", ">\n");
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn addresses_are_judged_as_browsers_read_them() {
        for address in
            ["http://a", "HTTPS://a", "//a", "a/b:c", "#javascript:x", "?a:b", "", "mailto:a"]
        {
            assert!(is_harmless_address(address), "{address}");
        }
        for address in
            ["javascript:x", " JavaScript:x", "java\tscript:x", "file:///x", "data:x", ":x"]
        {
            assert!(!is_harmless_address(address), "{address}");
        }
    }
}
