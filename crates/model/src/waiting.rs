//! Why something that was asked for has not started yet, and what is said about it.

use serde::{Deserialize, Serialize};

/// Why and since when a task waits to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Waiting {
    #[serde(flatten)]
    pub reason: WaitReason,
    /// In milliseconds since 1970.
    pub since: u64,
}

impl Waiting {
    /// What is shown instead of the activity of an agent.
    pub fn words(&self) -> String {
        self.reason.words(self.since)
    }
}

/// What a task waits for before it is started: a closed set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum WaitReason {
    /// As many agents of the user run as may.
    Slots { running: usize, most: usize },
    /// What is left of the memory, in bytes, is less than what is kept.
    Memory { free: u64, kept: u64 },
    /// Processes wait for memory so often that one more would slow all of them down.
    MemoryPressure,
    /// Calls that came before have their turn first.
    Turn,
    /// The provider has asked to be left alone until this time, in milliseconds since 1970.
    Provider { provider: String, until: u64 },
    /// As many agents of the provider run as it bears at a time, since it has refused some.
    ProviderWidth { provider: String, running: usize, most: usize },
    /// What the provider allows is used up until this time, in milliseconds since 1970. The words are the provider's. The run
    /// had begun, and goes on then.
    Quota { words: String, until: u64 },
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

impl WaitReason {
    /// Changes every text that came from the child or from a file.
    pub fn for_each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            WaitReason::Provider { provider: text, .. }
            | WaitReason::ProviderWidth { provider: text, .. }
            | WaitReason::Quota { words: text, .. } => change(text),
            WaitReason::Slots { .. }
            | WaitReason::Memory { .. }
            | WaitReason::MemoryPressure
            | WaitReason::Turn
            | WaitReason::Unknown => {}
        }
    }

    /// What is shown instead of the activity of an agent, at the time `now` in milliseconds since 1970.
    pub fn words(&self, now: u64) -> String {
        let why = match self {
            WaitReason::Slots { running, most } => {
                format!("{running} of {most} agents are running")
            }
            WaitReason::Memory { free, kept } => {
                format!("{} of memory is free, {} are kept", amount(*free), amount(*kept))
            }
            WaitReason::MemoryPressure => "memory is short".to_owned(),
            WaitReason::Turn => "other calls have their turn first".to_owned(),
            WaitReason::Provider { provider, until } => {
                let seconds = until.saturating_sub(now).div_ceil(1000);
                format!("{provider} asks to wait {seconds} s")
            }
            WaitReason::ProviderWidth { provider, running, most } => {
                format!("{running} agents use {provider}, which bears {most} at a time")
            }
            WaitReason::Quota { words, .. } => return format!("parked: {words}"),
            WaitReason::Unknown => return "queued".to_owned(),
        };
        format!("queued: {why}")
    }
}

/// An amount of memory as people say it.
pub fn amount(bytes: u64) -> String {
    const MEGABYTE: f64 = 1_000_000.0;
    let megabytes = bytes as f64 / MEGABYTE;
    if megabytes < 1000.0 {
        return format!("{megabytes:.0} MB");
    }
    let gigabytes = format!("{:.1}", megabytes / 1000.0);
    format!("{} GB", gigabytes.strip_suffix(".0").unwrap_or(&gigabytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_words() {
        for (reason, words) in [
            (WaitReason::Slots { running: 16, most: 16 }, "queued: 16 of 16 agents are running"),
            (
                WaitReason::Memory { free: 1_200_000_000, kept: 2_000_000_000 },
                "queued: 1.2 GB of memory is free, 2 GB are kept",
            ),
            (
                WaitReason::Memory { free: 0, kept: 268_435_456 },
                "queued: 0 MB of memory is free, 268 MB are kept",
            ),
            (WaitReason::MemoryPressure, "queued: memory is short"),
            (WaitReason::Turn, "queued: other calls have their turn first"),
            (
                WaitReason::Provider { provider: "anthropic".to_owned(), until: 34_500 },
                "queued: anthropic asks to wait 34 s",
            ),
            (
                WaitReason::ProviderWidth { provider: "openai".to_owned(), running: 8, most: 7 },
                "queued: 8 agents use openai, which bears 7 at a time",
            ),
            (
                WaitReason::Quota { words: "It resets 3pm".to_owned(), until: 34_500 },
                "parked: It resets 3pm",
            ),
            (WaitReason::Unknown, "queued"),
        ] {
            assert_eq!(reason.words(500), words);
        }
    }

    #[test]
    fn a_reason_is_read_back_and_one_of_a_newer_version_is_passed_over() {
        let waiting = Waiting { reason: WaitReason::Slots { running: 6, most: 6 }, since: 17 };
        let text = serde_json::to_string(&waiting).unwrap();
        assert_eq!(text, r#"{"for":"slots","running":6,"most":6,"since":17}"#);
        assert_eq!(serde_json::from_str::<Waiting>(&text).unwrap(), waiting);
        let newer: Waiting = serde_json::from_str(r#"{"for":"full_moon","since":17}"#).unwrap();
        assert_eq!(newer.reason, WaitReason::Unknown);
    }
}
