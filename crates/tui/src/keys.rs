//! Turns the bytes of a terminal into keys.

/// The keys that the view understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Key {
    Character(char),
    /// Ctrl and a letter.
    Control(char),
    Up,
    Down,
    Left,
    Right,
    Tab,
    /// Shift and tab.
    BackTab,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
}

/// Reads keys, also those that arrive in pieces.
#[derive(Debug, Default)]
pub struct Keys {
    torn: Vec<u8>,
}

impl Keys {
    /// No keyboard sends a longer sequence.
    const LONGEST: usize = 32;

    /// The keys in what the terminal has sent.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut all = std::mem::take(&mut self.torn);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        let mut keys = Vec::new();
        while let Some((&first, after)) = rest.split_first() {
            rest = match (first, after) {
                (0x1b, [b'[' | b'O', sequence @ ..]) => {
                    let is_final = |byte: &u8| (0x40..=0x7e).contains(byte);
                    let Some(length) = sequence.iter().position(is_final) else {
                        if rest.len() < Keys::LONGEST {
                            self.torn = rest.to_vec();
                        }
                        return keys;
                    };
                    let (sequence, after) = sequence.split_at(length + 1);
                    keys.extend(named(sequence));
                    after
                }
                // Alt and a key, which has no meaning here.
                (0x1b, [second, after @ ..]) if *second != 0x1b => after,
                (0x1b, after) => {
                    keys.push(Key::Escape);
                    after
                }
                (0x80.., _) => {
                    let (character, after) = match first_character(rest) {
                        Decoded::Whole(character, after) => (Some(character), after),
                        Decoded::Torn => {
                            self.torn = rest.to_vec();
                            return keys;
                        }
                        Decoded::Broken => (None, after),
                    };
                    keys.extend(character.map(Key::Character));
                    after
                }
                (byte, after) => {
                    keys.extend(plain(byte));
                    after
                }
            };
        }
        keys
    }
}

enum Decoded<'a> {
    Whole(char, &'a [u8]),
    /// The rest of it is still to come.
    Torn,
    Broken,
}

/// The character that these bytes begin with.
fn first_character(bytes: &[u8]) -> Decoded<'_> {
    let beginning = &bytes[..bytes.len().min(char::MAX_LEN_UTF8)];
    let valid = match std::str::from_utf8(beginning) {
        Ok(valid) => valid,
        Err(error) if error.valid_up_to() > 0 => {
            let valid = &beginning[..error.valid_up_to()];
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(error) if error.error_len().is_none() => return Decoded::Torn,
        Err(_) => return Decoded::Broken,
    };
    match valid.chars().next().filter(|character| !character.is_control()) {
        Some(character) => Decoded::Whole(character, &bytes[character.len_utf8()..]),
        None => Decoded::Broken,
    }
}

fn plain(byte: u8) -> Option<Key> {
    match byte {
        b'\r' | b'\n' => Some(Key::Enter),
        b'\t' => Some(Key::Tab),
        0x08 | 0x7f => Some(Key::Backspace),
        // Ctrl takes away the bits that make a letter of it.
        0x01..=0x1a => Some(Key::Control(char::from(byte + b'a' - 1))),
        0x1c => Some(Key::Control('\\')),
        0x20..=0x7e => Some(Key::Character(char::from(byte))),
        _ => None,
    }
}

/// The key of an escape sequence, of which the introducer was removed.
fn named(sequence: &[u8]) -> Option<Key> {
    match sequence {
        b"A" => Some(Key::Up),
        b"B" => Some(Key::Down),
        b"C" => Some(Key::Right),
        b"D" => Some(Key::Left),
        b"Z" => Some(Key::BackTab),
        b"H" | b"1~" | b"7~" => Some(Key::Home),
        b"F" | b"4~" | b"8~" => Some(Key::End),
        b"5~" => Some(Key::PageUp),
        b"6~" => Some(Key::PageDown),
        b"M" => Some(Key::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        for (bytes, expected) in [
            ("jS?", vec![Key::Character('j'), Key::Character('S'), Key::Character('?')]),
            ("\x0f\r\t", vec![Key::Control('o'), Key::Enter, Key::Tab]),
            ("\x1b[A\x1b[B\x1bOA", vec![Key::Up, Key::Down, Key::Up]),
            ("\x1b[5~\x1b[6~\x1b[Z", vec![Key::PageUp, Key::PageDown, Key::BackTab]),
            ("\x1b", vec![Key::Escape]),
            ("\x1b\x1b", vec![Key::Escape, Key::Escape]),
            ("\x1b[1;5C\x1bxq", vec![Key::Character('q')]),
            ("\x1b[C\x1b[D\x7f", vec![Key::Right, Key::Left, Key::Backspace]),
            ("ż\0日", vec![Key::Character('ż'), Key::Character('日')]),
            ("\u{9b}", vec![]),
        ] {
            assert_eq!(Keys::default().read(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_key_may_come_in_pieces() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"a\x1b["), [Key::Character('a')]);
        assert_eq!(keys.read(b"5"), []);
        assert_eq!(keys.read(b"~b"), [Key::PageUp, Key::Character('b')]);
        assert_eq!(keys.read(&[b"\x1b[".as_slice(), &[b'1'; 64]].concat()), []);
        assert_eq!(keys.read(b"q"), [Key::Character('q')], "what never ends is dropped");
        let (first, second) = "ż".as_bytes().split_at(1);
        assert_eq!(keys.read(first), []);
        assert_eq!(keys.read(second), [Key::Character('ż')]);
        assert_eq!(keys.read(b"\xffq"), [Key::Character('q')], "what is no character is dropped");
    }
}
