//! Rust without its comments and literals.
//!
//! A lexer of the few tokens that can hide text: comments, strings, characters. All others pass.

/// A piece of source: what opens it, what it hides, and what closes it, in bytes.
struct Token {
    opening: usize,
    hidden: usize,
    closing: usize,
}

/// Replaces comments and the contents of string and character literals with spaces.
///
/// Newlines stay, and every character becomes as many spaces as it had bytes, so that both lines
/// and offsets are those of the original.
pub(super) fn blank_comments_and_literals(text: &str) -> String {
    let mut blanked = String::with_capacity(text.len());
    for [opening, hidden, closing] in tokens(text) {
        blanked.push_str(opening);
        blank(hidden, &mut blanked);
        blanked.push_str(closing);
    }
    blanked
}

/// The opposite, in the same way: replaces everything with spaces but the contents of string and
/// character literals.
pub(super) fn blank_all_but_literals(text: &str) -> String {
    let mut blanked = String::with_capacity(text.len());
    for [opening, hidden, closing] in tokens(text) {
        blank(opening, &mut blanked);
        // A comment has nothing that opens it.
        if opening.is_empty() {
            blank(hidden, &mut blanked);
        } else {
            blanked.push_str(hidden);
        }
        blank(closing, &mut blanked);
    }
    blanked
}

/// The tokens of a text: what opens each, what it hides, and what closes it.
fn tokens(text: &str) -> impl Iterator<Item = [&str; 3]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let token = token(*rest.as_bytes().first()?, rest);
        let (opening, after) = rest.split_at(token.opening);
        let (hidden, after) = after.split_at(token.hidden);
        let (closing, after) = after.split_at(token.closing);
        rest = after;
        Some([opening, hidden, closing])
    })
}

/// Appends `text` to `blanked` as spaces.
pub(super) fn blank(text: &str, blanked: &mut String) {
    blanked.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

/// Whether the byte can be part of an identifier. Everything beyond ASCII counts as such.
pub(super) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The token at the start of `rest`, whose first byte is `first`.
fn token(first: u8, rest: &str) -> Token {
    match first {
        b'/' if rest.starts_with("//") => {
            Token { opening: 0, hidden: rest.find('\n').unwrap_or(rest.len()), closing: 0 }
        }
        b'/' if rest.starts_with("/*") => {
            Token { opening: 0, hidden: block_comment_length(rest), closing: 0 }
        }
        b'"' => literal(rest, 1, length_up_to_quote(&rest[1..], b'"'), 1),
        b'\'' => match character_length(&rest[1..]) {
            Some(length) => literal(rest, 1, length, 1),
            // A lifetime, or the label of a loop.
            None => Token { opening: 1, hidden: 0, closing: 0 },
        },
        _ if is_identifier_byte(first) => {
            let word = rest.bytes().take_while(|byte| is_identifier_byte(*byte)).count();
            let hashes = rest[word..].bytes().take_while(|byte| *byte == b'#').count();
            let opening = word + hashes + 1;
            let is_raw_string = matches!(&rest[..word], "r" | "br" | "cr")
                && rest.as_bytes().get(word + hashes) == Some(&b'"');
            if is_raw_string {
                let end = format!("\"{}", "#".repeat(hashes));
                let after = &rest[opening..];
                literal(rest, opening, after.find(&end).unwrap_or(after.len()), end.len())
            } else {
                Token { opening: word, hidden: 0, closing: 0 }
            }
        }
        _ => Token { opening: 1, hidden: 0, closing: 0 },
    }
}

/// A literal that may not be closed before the end of the file.
fn literal(rest: &str, opening: usize, hidden: usize, closing: usize) -> Token {
    Token { opening, hidden, closing: closing.min(rest.len() - opening - hidden) }
}

/// The length of a block comment, with the comments nested in it.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut position = 0;
    while position < rest.len() {
        match rest.as_bytes().get(position..position + 2) {
            Some(b"/*") => {
                depth += 1;
                position += 2;
            }
            Some(b"*/") => {
                depth -= 1;
                position += 2;
                if depth == 0 {
                    return position;
                }
            }
            _ => position += 1,
        }
    }
    rest.len()
}

/// How many bytes there are before the first `quote` that no backslash escapes.
fn length_up_to_quote(rest: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    for (position, byte) in rest.bytes().enumerate() {
        if byte == quote && !is_escaped {
            return position;
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    rest.len()
}

/// The length of the character whose opening quote is before `rest`, unless that quote is the one
/// of a lifetime: those are not closed.
fn character_length(rest: &str) -> Option<usize> {
    let character = rest.chars().next()?;
    if character == '\\' {
        return Some(length_up_to_quote(rest, b'\''));
    }
    let length = character.len_utf8();
    (rest.as_bytes().get(length) == Some(&b'\'')).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_blanked(text: &str, expected: &str) {
        let blanked = blank_comments_and_literals(text);
        assert_eq!(blanked, expected);
        assert_eq!(blanked.len(), text.len());
    }

    #[test]
    fn comments_are_blanked() {
        assert_blanked("a // b\nc", "a     \nc");
        assert_blanked("a /* b /* c */\n d */ e", "a             \n      e");
        assert_blanked("a / b /", "a / b /");
        assert_blanked("/// é", "      ");
    }

    #[test]
    fn strings_are_blanked() {
        assert_blanked(r#"f("a // \" b", c)"#, r#"f("         ", c)"#);
        assert_blanked(r##"r#"a " b"# c"##, r##"r#"     "# c"##);
        assert_blanked(r#"b"\\" c"" d"#, r#"b"  " c"" d"#);
        assert_blanked(r#"r"\" a"#, r#"r" " a"#);
        assert_blanked("\"a\nb", "\" \n ");
    }

    #[test]
    fn characters_are_blanked_but_lifetimes_are_not() {
        assert_blanked(r#"'"' a '\'' b '\u{41}'"#, r#"' ' a '  ' b '      '"#);
        assert_blanked("&'a str, 'é', b'x'", "&'a str, '  ', b' '");
        assert_blanked("'outer: loop {}", "'outer: loop {}");
    }

    #[test]
    fn literals_are_what_is_left_of_the_opposite() {
        for (text, expected) in [
            (r#"f("a // b", 'c') // "d""#, r#"   a // b    c         "#),
            ("r#\"a \" b\"# c", "   a \" b    "),
            ("/* \"a\" */ b\"c\"", "            c "),
            ("&'a str", "       "),
        ] {
            assert_eq!(blank_all_but_literals(text), expected);
        }
    }

    #[test]
    fn raw_identifiers_are_no_strings() {
        assert_blanked(r#"r#fn("a") for"b""#, r#"r#fn(" ") for" ""#);
    }
}
