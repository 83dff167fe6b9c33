//! Rust without its comments and literals.
//!
//! A lexer of the few tokens that can hide text: comments, strings, characters. All others pass.

/// Replaces comments and the contents of string and character literals with spaces.
///
/// Newlines stay, and every character becomes as many spaces as it had bytes, so that both lines
/// and offsets are those of the original.
pub(super) fn blank_comments_and_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut blanked = String::with_capacity(text.len());
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        let rest = &text[position..];
        // What passes, and how much of what follows it is hidden.
        let (shown, hidden) = match byte {
            b'/' if rest.starts_with("//") => (0, rest.find('\n').unwrap_or(rest.len())),
            b'/' if rest.starts_with("/*") => (0, block_comment_length(rest)),
            b'"' => (1, string_contents_length(&rest[1..])),
            b'\'' => (1, character_contents_length(&rest[1..])),
            _ if is_identifier_byte(byte) => {
                let word = rest.bytes().take_while(|byte| is_identifier_byte(*byte)).count();
                match raw_string_hashes(&rest[..word], &rest[word..]) {
                    Some(hashes) => {
                        let opening = word + hashes + 1;
                        (opening, raw_string_contents_length(&rest[opening..], hashes))
                    }
                    None => (word, 0),
                }
            }
            _ => (1, 0),
        };
        blanked.push_str(&rest[..shown]);
        blank(&rest[shown..shown + hidden], &mut blanked);
        position += shown + hidden;
        // The closing quote must not be taken for the opening quote of another literal.
        if hidden > 0 || byte == b'"' {
            if let Some(quote @ (b'"' | b'\'')) = bytes.get(position)
                && shown > 0
            {
                blanked.push(char::from(*quote));
                position += 1;
            }
        }
    }
    blanked
}

/// Appends `text` to `blanked` as spaces.
pub(super) fn blank(text: &str, blanked: &mut String) {
    blanked.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

/// Whether the byte can be part of an identifier. Everything beyond ASCII counts as such.
pub(super) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}
