//! Text that came from outside, made safe to show.

use std::borrow::Cow;

/// Removes terminal escape sequences and control characters, except for line feeds and tabs.
///
/// What a child prints could otherwise move the cursor, change the title of the user's terminal or
/// write to the clipboard.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(may_be_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next_if(|next| ('\u{20}'..='\u{7e}').contains(next)) {
                Some('[') => skip_control_sequence(&mut characters),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut characters),
                // Sequences such as `ESC ( B` have one more character.
                Some('(' | ')' | '#' | '%' | ' ') => {
                    characters.next_if(|next| ('\u{20}'..='\u{7e}').contains(next));
                }
                _ => {}
            },
            '\u{9b}' => skip_control_sequence(&mut characters),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut characters),
            _ if is_unsafe(character) => {}
            _ => cleaned.push(character),
        }
    }
    Cow::Owned(cleaned)
}

/// JSON in which every character that [`clean`] would remove is written as an escape, such as
/// `\u009b`.
///
/// Such characters occur only in strings, so that the document still means the same. JSON requires
/// the escape only for characters below the space, but terminals obey others as well.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.bytes().any(may_be_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unsafe(character) {
            // A character beyond the first 65,536 takes two escapes.
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a byte can belong to an unsafe character. Almost no text has such a byte, and bytes are
/// looked at many at a time.
fn may_be_unsafe(byte: u8) -> bool {
    // Control characters beyond ASCII begin with the byte 0xC2, those of direction with 0xD8 or 0xE2,
    // tags with 0xF3.
    (byte < 0x20 && byte != b'\n' && byte != b'\t')
        || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xf3)
}

fn is_unsafe(character: char) -> bool {
    // Characters that reverse the direction make a text look like another one, and tags are not seen
    // at all.
    let hides = matches!(
        character,
        '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}'
    );
    hides || (character.is_control() && !matches!(character, '\n' | '\t'))
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// `CSI`: parameters and intermediates, up to a final character.
fn skip_control_sequence(characters: &mut Characters<'_>) {
    while characters.next_if(|next| ('\u{20}'..='\u{3f}').contains(next)).is_some() {}
    characters.next_if(|next| ('\u{40}'..='\u{7e}').contains(next));
}

/// `OSC` and the like: everything up to a terminator. A sequence that is never terminated ends
/// with its line, so that it cannot swallow what follows.
fn skip_string(characters: &mut Characters<'_>) {
    while let Some(next) = characters.next_if(|next| *next != '\n') {
        match next {
            '\u{07}' | '\u{9c}' => return,
            '\u{1b}' => {
                characters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_controls_are_removed() {
        for (dirty, expected) in [
            ("plain\ttext\nzażółć 🦀", "plain\ttext\nzażółć 🦀"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("evil\u{202e}txt.exe → \u{2066}x\u{2069}", "eviltxt.exe → x"),
            ("a\u{200e}b\u{200f}c\u{61c}d\u{e0041}e ب", "abcde ب"),
            ("\u{1b}[?25lhidden", "hidden"),
            ("\u{9b}2Jcleared", "cleared"),
            ("\u{1b}]0;title\u{07}after", "after"),
            ("\u{1b}]52;c;c2VjcmV0\u{1b}\\after", "after"),
            ("\u{1b}]never ended\nnext line", "\nnext line"),
            ("\u{1b}Pdevice\u{1b}\\x", "x"),
            ("\u{1b}(Bx\u{1b}cy", "xy"),
            ("a\rb\u{08}c\u{7f}d\0e", "abcde"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(clean(dirty), expected, "{dirty:?}");
        }
    }

    #[test]
    fn json_means_the_same_and_commands_nothing() {
        let text =
            "zażółć 🦀 →\t\u{1b}[2J\u{7f}\u{9b}2J\u{9d}0;t\u{9c}\u{202e}txt\u{2069}\u{e0041}\n";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let escaped = escape_json(&json);
        assert!(!escaped.chars().any(is_unsafe), "{escaped:?}");
        assert!(escaped.contains(r"\u009b2J") && escaped.contains("zażółć 🦀 →"), "{escaped:?}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).unwrap(), [text]);
        assert!(matches!(escape_json("{}"), Cow::Borrowed("{}")));
    }
}
