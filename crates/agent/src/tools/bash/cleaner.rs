//! Text without what is meant for a terminal.

/// Takes control sequences and control characters out of a text that arrives in pieces. Tabs, line
/// feeds and carriage returns stay.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// Behind an escape character.
    Escape,
    /// In a sequence of this many characters, which ends with a letter or the like.
    Sequence(usize),
    /// In the text of a title or a link, which ends with a bell or with an escape and a backslash.
    /// It is kept, because it might as well never end.
    Title { text: String, is_escaped: bool },
}

/// The longest sequence, and the longest title. What is longer is a text after all.
const MAX_SEQUENCE: usize = 64;
const MAX_TITLE: usize = 4096;

impl Cleaner {
    /// Appends what is left of the text.
    pub(super) fn clean(&mut self, text: &str, clean: &mut String) {
        for character in text.chars() {
            self.take(character, clean);
        }
    }

    /// Appends what would have been left out, had it come to its end.
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
                // Such as the choice of a character set, of which one more character is to come.
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
                '\n' | '\u{1b}' => self.give_up_title(character, clean),
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

    /// What looked like a title is a text.
    fn give_up_title(&mut self, character: char, clean: &mut String) {
        let was_escaped = matches!(self.state, State::Title { is_escaped: true, .. });
        self.finish(clean);
        if was_escaped {
            self.state = State::Escape;
        }
        self.take(character, clean);
    }
}

/// Beside control characters, those that only annotate others are left out, as pi does it.
fn is_shown(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        '\0'..='\u{1f}' | '\u{fff9}'..='\u{fffb}' => false,
        _ => true,
    }
}
