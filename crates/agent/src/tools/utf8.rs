//! Decodes UTF-8 that arrives in pieces.

/// Turns bytes into text. Bytes that are no UTF-8 become U+FFFD, exactly as if all bytes had arrived
/// at once.
#[derive(Debug, Default)]
pub(super) struct Utf8Decoder {
    /// The beginning of a character whose end has not arrived; never more than three bytes.
    begun: Vec<u8>,
}

impl Utf8Decoder {
    pub(super) fn decode(&mut self, mut bytes: &[u8], text: &mut String) {
        while !self.begun.is_empty() {
            let Some((first, rest)) = bytes.split_first() else { return };
            self.begun.push(*first);
            match std::str::from_utf8(&self.begun) {
                Ok(character) => {
                    text.push_str(character);
                    self.begun.clear();
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => bytes = rest,
                // This byte does not continue the character, but may begin another one.
                Err(_) => {
                    self.begun.clear();
                    text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let is_begun =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_begun && chunks.peek().is_none() {
                self.begun.extend_from_slice(invalid);
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Replaces a character whose end has not arrived.
    pub(super) fn finish(&mut self, text: &mut String) {
        if !self.begun.is_empty() {
            self.begun.clear();
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that often are UTF-8, and often just not.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<char>().prop_map(|character| character.to_string().into_bytes()),
            any::<char>().prop_map(|character| {
                let mut bytes = character.to_string().into_bytes();
                bytes.pop();
                bytes
            }),
            any::<u8>().prop_map(|byte| vec![byte]),
        ];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_text_does_not_depend_on_how_the_bytes_arrive(
            bytes in bytes(),
            lengths in proptest::collection::vec(1_usize..6, 1..8),
        ) {
            let mut decoder = Utf8Decoder::default();
            let mut text = String::new();
            let mut rest = bytes.as_slice();
            for length in lengths.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, others) = rest.split_at((*length).min(rest.len()));
                decoder.decode(piece, &mut text);
                rest = others;
            }
            decoder.finish(&mut text);
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}
