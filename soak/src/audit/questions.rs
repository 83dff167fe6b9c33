//! What agents asked: each question has one answer, the record says what has answered it, and every program was told
//! the truth about its own answer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::records::Record;
use crate::log::{Entries, Log};

/// What can have answered a question of the soak. Its agents ask about commands, so that their access answers nothing.
const ANSWERERS: [&str; 7] = ["shell", "pi", "always", "deadline", "limit", "agent", "end"];

/// What the events of a run say about the questions of its agent, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions(BTreeMap<u64, Vec<Life>>);

/// An event about a question.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Life {
    Asked,
    Answered { answer: String, by: String },
}

impl Questions {
    pub(super) fn of(events: &str) -> Questions {
        let mut questions = BTreeMap::<u64, Vec<Life>>::new();
        for event in events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            let life = match event["type"].as_str() {
                Some("question_asked") => Life::Asked,
                Some("question_answered") => {
                    Life::Answered { answer: word("answer"), by: word("by") }
                }
                _ => continue,
            };
            questions.entry(event["number"].as_u64().unwrap_or_default()).or_default().push(life);
        }
        Questions(questions)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// How many were answered by this.
    pub(super) fn answered_by(&self, wanted: &str) -> usize {
        let lives = self.0.values().flatten();
        lives.filter(|life| matches!(life, Life::Answered { by, .. } if by == wanted)).count()
    }

    /// What is wrong with them: each is asked once, and then answered once, by something that is known. If the disk
    /// was full, events may be missing.
    pub(super) fn faults(&self, has_gaps: bool) -> Vec<String> {
        let is_known = |by: &str| ANSWERERS.contains(&by);
        let is_right = |life: &[Life]| match life {
            [Life::Asked, Life::Answered { by, .. }] => is_known(by),
            [Life::Answered { by, .. }] => has_gaps && is_known(by),
            [Life::Asked] => has_gaps,
            _ => false,
        };
        let wrong = self.0.iter().filter(|(_, life)| !is_right(life));
        let mut faults: Vec<String> =
            wrong.map(|(number, life)| format!("question {number} was {life:?}")).collect();
        let numbers: Vec<u64> = self.0.keys().copied().collect();
        let expected: Vec<u64> = (1..).take(numbers.len()).collect();
        if numbers != expected && !has_gaps {
            faults.push(format!("its questions are numbered {numbers:?}"));
        }
        faults
    }

    /// Whether the user has given this answer on the command line.
    fn has_answer(&self, number: u64, word: &str) -> bool {
        let given = Life::Answered { answer: word.to_owned(), by: "shell".to_owned() };
        self.0.get(&number).is_some_and(|life| life.contains(&given))
    }
}

/// Checks that an answer which a program was told to have given is the one in the record, and that no other program
/// was told the same.
pub(super) fn check<'a>(entries: &Entries, records: impl Iterator<Item = &'a Record>, log: &Log) {
    let records: BTreeMap<&str, &Record> =
        records.map(|record| (record.run_id.as_str(), record)).collect();
    let mut answered = BTreeSet::new();
    for reply in entries.replies.iter().filter(|reply| reply.state == "given") {
        let number = reply.number.unwrap_or_default();
        if !answered.insert((reply.run_id.as_str(), number)) {
            let what = format!("two programs were told that they have answered question {number}");
            log.report_violation(&[&reply.run_id], what);
        }
        let record = records.get(reply.run_id.as_str()).filter(|record| !record.has_gaps);
        if let Some(record) = record
            && !record.questions.has_answer(number, reply.word)
        {
            let about = [record.token.as_str(), &record.run_id];
            let life = record.questions.0.get(&number);
            let what = format!("{} was told to be given to {number}: {life:?}", reply.word);
            log.report_violation(&about, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = r#"{"type":"question_asked","number":1}"#;
    const DENIED: &str = r#"{"type":"question_answered","number":1,"answer":"no","by":"end"}"#;

    fn questions(events: &[&str]) -> Questions {
        Questions::of(&events.iter().map(|event| format!("{event}\n")).collect::<String>())
    }

    #[test]
    fn a_question_has_one_answer() {
        let count = |events: &[&str], has_gaps| questions(events).faults(has_gaps).len();
        let second = ASKED.replace('1', "2");
        let unknown = DENIED.replace("end", "other");
        let unsaid = DENIED.replace(",\"by\":\"end\"", "");
        assert_eq!(count(&[ASKED, DENIED], false), 0);
        assert_eq!(count(&[ASKED, DENIED, &second], false), 1, "the second has none");
        assert_eq!(count(&[ASKED], false), 1);
        assert_eq!(count(&[ASKED, DENIED, DENIED], true), 1, "it has two");
        assert_eq!(count(&[DENIED, ASKED], true), 1, "it was answered before");
        assert_eq!(count(&[ASKED, &unknown], true), 1);
        assert_eq!(count(&[ASKED, &unsaid], true), 1);
        assert_eq!(count(&[&second, &DENIED.replace(":1", ":2")], false), 1, "the first is lost");
        // What a full disk may cost.
        assert_eq!((count(&[ASKED], true), count(&[DENIED], true)), (0, 0));
        assert_eq!(count(&[DENIED], false), 1);
    }

    #[test]
    fn a_given_answer_is_in_the_record() {
        let given = DENIED.replace("end", "shell");
        assert!(questions(&[ASKED, &given]).has_answer(1, "no"));
        assert!(!questions(&[ASKED, &given]).has_answer(1, "yes"));
        assert!(!questions(&[ASKED, DENIED]).has_answer(1, "no"), "the end has denied it");
    }
}
