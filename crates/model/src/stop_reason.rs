//! Why a model stopped writing.

use serde::{Deserialize, Serialize};

use crate::short_text;

/// Why a model ended a message. Every protocol translates its own words into these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model had finished.
    Stop,
    /// The message reached the provider's limit of length.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The provider failed.
    Error,
    /// The agent was told to stop.
    Aborted,
    /// Another word of the agent's, which never counts as an end.
    #[serde(untagged, deserialize_with = "short_text")]
    Other(String),
}

impl StopReason {
    /// The word in JSON and on the screen.
    pub fn word(&self) -> &str {
        match self {
            StopReason::Stop => "stop",
            StopReason::Length => "length",
            StopReason::ToolUse => "toolUse",
            StopReason::Error => "error",
            StopReason::Aborted => "aborted",
            StopReason::Other(word) => word,
        }
    }
}

impl From<String> for StopReason {
    fn from(word: String) -> StopReason {
        match word.as_str() {
            "stop" => StopReason::Stop,
            "length" => StopReason::Length,
            "toolUse" => StopReason::ToolUse,
            "error" => StopReason::Error,
            "aborted" => StopReason::Aborted,
            _ => StopReason::Other(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_written_as_its_word_and_read_back() {
        for word in ["stop", "length", "toolUse", "error", "aborted", "weather"] {
            let json = format!("{word:?}");
            let reason: StopReason = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&reason).unwrap(), json);
            assert_eq!(matches!(reason, StopReason::Other(_)), word == "weather");
        }
    }
}
