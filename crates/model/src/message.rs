//! Messages to an agent that is at work.

use serde::{Deserialize, Serialize};

/// Something that a running agent is told: the contents of a file of its run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// What the agent reads.
    pub text: String,
    /// When the agent reads it.
    #[serde(default)]
    pub timing: MessageTiming,
}

impl Message {
    /// The longest text.
    pub const TEXT_BYTES: usize = 64 * 1024;
    /// How many messages a run takes.
    pub const MOST: u64 = 1_000;
}

/// When an agent reads a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageTiming {
    /// Before the model is asked the next time.
    #[default]
    Steer,
    /// When the agent would have ended: as a further turn of the same run.
    After,
    /// At once: what the agent is doing is stopped, and the run goes on with the message.
    Interrupt,
}

impl MessageTiming {
    /// All of them, with their words.
    pub const WORDS: [(&'static str, MessageTiming); 3] = [
        ("steer", MessageTiming::Steer),
        ("after", MessageTiming::After),
        ("interrupt", MessageTiming::Interrupt),
    ];

    /// The timing that this is the word for.
    pub fn parse(word: &str) -> Option<MessageTiming> {
        MessageTiming::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, timing)| timing)
    }

    /// The word for it, the same in files and in JSON.
    pub fn word(self) -> &'static str {
        MessageTiming::WORDS[self as usize].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_timing_is_found_by_its_word_and_no_word_means_the_next_request() {
        for (word, timing) in MessageTiming::WORDS {
            assert_eq!((timing.word(), MessageTiming::parse(word)), (word, Some(timing)));
            assert_eq!(serde_json::to_value(timing).unwrap(), word);
        }
        assert_eq!(MessageTiming::parse("later"), None);
        let message: Message = serde_json::from_str(r#"{"text":"stop that"}"#).unwrap();
        assert_eq!(message.timing, MessageTiming::Steer);
    }
}
