//! Removes terminal control sequences.

/// Removes control sequences and control characters from a text that arrives in pieces. Tabs, line
/// feeds and carriage returns stay.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// In a sequence, after this many characters. A letter or the like ends it.
    Sequence(usize),
    /// In the text of a title or a link, which ends with a bell or with an escape and a backslash.
    /// The text is kept, because it is shown after all if it never ends.
    Title { text: String, is_escaped: bool },
}

/// The longest sequence and the longest title. A longer one is text.
const MAX_SEQUENCE: usize = 64;
const MAX_TITLE: usize = 4096;

impl Cleaner {
    /// Appends the text without control sequences.
    pub(super) fn clean(&mut self, text: &str, clean: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            // Most output is plain: everything before the first other byte is copied at once.
            if matches!(self.state, State::Text) {
                let plain = rest.bytes().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
                clean.push_str(&rest[..plain]);
                rest = &rest[plain..];
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.take(character, clean);
            }
            rest = characters.as_str();
        }
    }

    /// Appends the text of a title that has not ended.
    pub(super) fn finish(&mut self, clean: &mut String) {
        if let State::Title { text, .. } = std::mem::take(&mut self.state) {
            clean.push_str(&text);
        }
    }

    fn take(&mut self, character: char, clean: &mut String) {
        match &mut self.state {
            State::Text => self.take_text(character, clean),
            State::Escape => match character {
                '[' => self.state = State::Sequence(0),
                ']' | 'P' | '_' | '^' | 'X' => {
                    self.state = State::Title { text: String::new(), is_escaped: false };
                }
                // Such as the choice of a character set, which has one more character.
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                _ => self.take_text(character, clean),
            },
            State::Sequence(length) => match character {
                ' '..='?' if *length < MAX_SEQUENCE => *length += 1,
                '@'..='~' => self.state = State::Text,
                _ => self.take_text(character, clean),
            },
            State::Title { text, is_escaped } => match character {
                '\u{7}' | '\u{9c}' => self.state = State::Text,
                '\\' if *is_escaped => self.state = State::Text,
                '\u{1b}' if !*is_escaped => *is_escaped = true,
                '\n' | '\u{1b}' | '\u{9b}' => self.give_up_title(character, clean),
                _ if *is_escaped || text.len() >= MAX_TITLE => {
                    self.give_up_title(character, clean);
                }
                _ if is_shown(character) => text.push(character),
                _ => {}
            },
        }
    }

    fn take_text(&mut self, character: char, clean: &mut String) {
        self.state = State::Text;
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Sequence(0),
            _ if is_shown(character) => clean.push(character),
            _ => {}
        }
    }

    /// Shows what looked like a title as text.
    fn give_up_title(&mut self, character: char, clean: &mut String) {
        let was_escaped = matches!(self.state, State::Title { is_escaped: true, .. });
        self.finish(clean);
        if was_escaped {
            self.state = State::Escape;
        }
        self.take(character, clean);
    }
}

/// Whether the byte certainly belongs to a character that is shown. Other characters beyond ASCII
/// begin with one of two bytes.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != 0xc2 && byte != 0xef || matches!(byte, b'\t' | b'\n' | b'\r')
}

/// Control characters, and annotation characters of Unicode, are left out, as in pi.
fn is_shown(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        '\0'..='\u{1f}' | '\u{fff9}'..='\u{fffb}' => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(pieces: &[&str]) -> String {
        let mut cleaner = Cleaner::default();
        let mut clean = String::new();
        for piece in pieces {
            cleaner.clean(piece, &mut clean);
        }
        cleaner.finish(&mut clean);
        clean
    }

    #[test]
    fn what_is_meant_for_a_terminal_is_left_out() {
        for (text, expected) in [
            ("plain\ttext\r\n", "plain\ttext\r\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[38:2:1:2:3mred\u{1b}[m", "red"),
            ("\u{9b}31mred", "red"),
            ("a\u{1b}[2K\u{1b}[1Gb", "ab"),
            ("\u{1b}(Ba\u{1b}=b\u{1b}Mc", "abc"),
            ("\u{1b}]0;title\u{7}a", "a"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\.", "link."),
            ("\u{1b}Pdevice\u{1b}\\a", "a"),
            ("a\0b\u{7}c\u{8}d\u{1f}e", "abcde"),
            ("a\u{fff9}b\u{fffa}c\u{fffb}d", "abcd"),
            ("\u{ab} \u{ff5e} \u{7f}", "\u{ab} \u{ff5e} \u{7f}"),
            ("日本\u{1b}[1m語", "日本語"),
        ] {
            assert_eq!(clean(&[text]), expected, "{text:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_sequence_is_not_lost() {
        for (text, expected) in [
            ("\u{1b}]0;never ends\nnext", "0;never ends\nnext"),
            ("\u{1b}]0;never ends", "0;never ends"),
            ("\u{1b}]0;a\u{1b}[31mb", "0;ab"),
            ("\u{1b}]0;a\u{9b}31mb", "0;ab"),
            ("\u{1b}[12\nnext", "\nnext"),
            ("\u{1b}\nnext", "\nnext"),
            ("a\u{1b}", "a"),
            ("\u{1b}\u{1b}[1mx", "x"),
        ] {
            assert_eq!(clean(&[text]), expected, "{text:?}");
        }
        let long = "x".repeat(2 * MAX_TITLE);
        assert_eq!(clean(&[&format!("\u{1b}]{long}")]), long);
        let digits = "1".repeat(2 * MAX_SEQUENCE);
        assert_eq!(clean(&[&format!("\u{1b}[{digits}")]).len(), MAX_SEQUENCE);
    }

    proptest! {
        #[test]
        fn the_text_does_not_depend_on_how_it_arrives(
            text in "([\u{1b}\\[\\]\u{9b};0-9m\\\\\u{7}\na\u{1}é\u{fffa}P ]){0,60}",
            at in 0_usize..60,
        ) {
            let at = text.ceil_char_boundary(at.min(text.len()));
            let (first, second) = text.split_at(at);
            prop_assert_eq!(clean(&[first, second]), clean(&[&text]));
        }
    }
}
