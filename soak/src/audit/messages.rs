//! Messages to agents: each has one end, and every program was told the truth about its own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::records::Record;
use crate::log::{Entries, Log};

/// What the events of a run say about the messages to its agent, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(BTreeMap<u64, Vec<String>>);

impl Messages {
    pub(super) fn of(events: &str) -> Messages {
        let mut messages = BTreeMap::<u64, Vec<String>>::new();
        for event in events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let word = event["type"].as_str().and_then(|kind| kind.strip_prefix("message_"));
            if let (Some(word), Some(number)) = (word, event["number"].as_u64()) {
                messages.entry(number).or_default().push(word.to_owned());
            }
        }
        Messages(messages)
    }

    pub(super) fn delivered(&self) -> usize {
        self.0.values().filter(|life| life.iter().any(|word| word == "delivered")).count()
    }

    /// What is wrong with them: a message is accepted at most once, and then delivered or refused once; one that
    /// was not accepted is refused once. If the disk was full, events may be missing.
    pub(super) fn faults(&self, has_gaps: bool) -> Vec<String> {
        let is_right = |life: &[String]| {
            let words: Vec<&str> = life.iter().map(String::as_str).collect();
            match words[..] {
                ["accepted", "delivered" | "refused"] | ["refused"] => true,
                ["accepted" | "delivered"] => has_gaps,
                _ => false,
            }
        };
        let wrong = self.0.iter().filter(|(_, life)| !is_right(life));
        let mut faults: Vec<String> = wrong
            .map(|(number, life)| format!("message {number} was {}", life.join(", ")))
            .collect();
        // They are numbered without a gap, whatever was killed meanwhile.
        let numbers: Vec<u64> = self.0.keys().copied().collect();
        let expected: Vec<u64> = (1..).take(numbers.len()).collect();
        if numbers != expected && !has_gaps {
            faults.push(format!("its messages are numbered {numbers:?}"));
        }
        faults
    }

    fn life(&self, number: u64) -> &[String] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// Checks that what programs were told about their messages agrees with the records.
pub(super) fn check<'a>(entries: &Entries, records: impl Iterator<Item = &'a Record>, log: &Log) {
    let records: BTreeMap<&str, &Record> =
        records.map(|record| (record.run_id.as_str(), record)).collect();
    for message in &entries.messages {
        let (Some(number), Some(record)) =
            (message.number, records.get(message.run_id.as_str()).filter(|it| !it.has_gaps))
        else {
            continue;
        };
        let life = record.messages.life(number);
        let has = |word: &str| life.iter().any(|had| had == word);
        let is_true = match message.state.as_str() {
            // One that came when the run had just ended has no event.
            "refused" => !has("delivered"),
            state => has(state),
        };
        if !is_true {
            let about = [record.token.as_str(), &record.run_id];
            let what =
                format!("message {number} was told to be {}, but was {life:?}", message.state);
            log.report_violation(&about, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_one_end() {
        let count = |lives: &[(u64, &str)], has_gaps| {
            let event = |(number, word): &(u64, &str)| {
                format!("{{\"type\":\"message_{word}\",\"number\":{number}}}\n")
            };
            Messages::of(&lives.iter().map(event).collect::<String>()).faults(has_gaps).len()
        };
        assert_eq!(count(&[(1, "accepted"), (2, "refused"), (1, "delivered")], false), 0);
        assert_eq!(count(&[(1, "accepted"), (1, "refused")], false), 0);
        assert_eq!(count(&[(1, "accepted")], false), 1, "it has no end");
        assert_eq!(count(&[(1, "accepted")], true), 0);
        assert_eq!(count(&[(1, "accepted"), (1, "delivered"), (1, "delivered")], true), 1);
        assert_eq!(count(&[(1, "accepted"), (1, "delivered"), (1, "refused")], true), 1);
        assert_eq!(count(&[(2, "refused")], false), 1, "the first is lost");
        assert_eq!(count(&[(1, "delivered")], false), 1, "it was not accepted");
    }
}
