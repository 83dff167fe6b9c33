//! Detects that an agent repeats itself without getting on.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use model::Event;
use serde_json::Value;

use crate::preview::{PreviewContext, preview};
use crate::text::{cut_chars, one_line};

/// The most calls in a cycle.
const LONGEST_CYCLE: usize = 4;
/// How much of a call or an error is told.
const WORDS_CHARS: usize = 80;

/// Looks for three kinds of loops, each as often as the limit says:
///
/// - the same call in a row;
/// - the same two to four calls in turns, with the same results, so that an agent that waits for something or
///   repairs something is none;
/// - failures of one tool in a row, with the same error.
#[derive(Clone, Debug)]
pub struct LoopDetector {
    /// A limit of zero is never reached.
    limit: usize,
    /// The latest calls, as many as the longest cycle needs.
    calls: VecDeque<Call>,
    failures: Option<Failures>,
}

/// Calls and results are compared by their hashes: they can be long.
#[derive(Clone, Debug)]
struct Call {
    id: String,
    signature: u64,
    words: String,
    /// `None` while the tool runs.
    result: Option<u64>,
}

/// Failures in a row.
#[derive(Clone, Debug)]
struct Failures {
    signature: u64,
    count: usize,
}

impl LoopDetector {
    /// Detects what happens `limit` times.
    pub fn new(limit: u32) -> LoopDetector {
        LoopDetector { limit: limit as usize, calls: VecDeque::new(), failures: None }
    }

    /// Takes the next event, and says what is repeated if it completes a loop.
    pub fn observe(&mut self, event: &Event) -> Option<String> {
        if self.limit == 0 {
            return None;
        }
        match event {
            Event::ToolCall { id, tool, args } => self.call(id, tool, args),
            Event::ToolResult { id, tool, is_error, text, .. } => {
                self.finish(id, hash(&(is_error, text)));
                self.cycle().or_else(|| self.count_failure(tool, *is_error, text))
            }
            _ => None,
        }
    }

    fn call(&mut self, id: &str, tool: &str, args: &Value) -> Option<String> {
        if self.calls.len() == self.limit * LONGEST_CYCLE {
            self.calls.pop_front();
        }
        let signature = hash(&signature(tool, args));
        let words = words(tool, args);
        self.calls.push_back(Call { id: id.to_owned(), signature, words, result: None });
        let mut latest = self.calls.iter().rev().take(self.limit);
        let is_loop =
            self.calls.len() >= self.limit && latest.all(|call| call.signature == signature);
        is_loop.then(|| self.told(1))
    }

    /// The ids of an agent may repeat, so that the result belongs to the oldest call that has none.
    fn finish(&mut self, id: &str, result: u64) {
        if let Some(call) =
            self.calls.iter_mut().find(|call| call.id == id && call.result.is_none())
        {
            call.result = Some(result);
        }
    }

    fn cycle(&self) -> Option<String> {
        (2..=LONGEST_CYCLE).find(|length| self.repeats(*length)).map(|length| self.told(length))
    }

    /// Whether the latest calls are the limit's number of rounds of the last `length` ones.
    fn repeats(&self, length: usize) -> bool {
        let Some(first) = self.calls.len().checked_sub(length * self.limit) else {
            return false;
        };
        let latest = || self.calls.range(first..);
        let is_same = |(one, other): (&Call, &Call)| {
            one.result.is_some() && (one.signature, one.result) == (other.signature, other.result)
        };
        // With a limit of one there is no other round to compare with: the first call was the loop.
        latest().zip(latest().skip(length)).all(is_same)
            && latest().all(|call| call.result.is_some())
    }

    fn told(&self, length: usize) -> String {
        let first = self.calls.len() - length;
        let calls: Vec<&str> = self.calls.range(first..).map(|call| call.words.as_str()).collect();
        format!("{}, {} times", calls.join(", then "), self.limit)
    }

    fn count_failure(&mut self, tool: &str, is_error: bool, text: &str) -> Option<String> {
        let reason = is_error.then(|| reason(text)).flatten();
        let Some(reason) = reason else {
            self.failures = None;
            return None;
        };
        let signature = hash(&(tool, text));
        let failures = match &mut self.failures {
            Some(failures) if failures.signature == signature => failures,
            other => other.insert(Failures { signature, count: 0 }),
        };
        failures.count += 1;
        (failures.count >= self.limit).then(|| {
            let times = failures.count;
            format!("{tool} failed {times} times in a row with the same error: {reason}")
        })
    }
}

/// The first line of an error that says why. A command that found nothing only has an exit code, and different
/// commands that find nothing are a search, no loop.
fn reason(text: &str) -> Option<String> {
    let says_why = |line: &&str| {
        let line = line.to_lowercase();
        let tells_only_its_end = line.contains("exit code")
            || line.contains("exited with code")
            || line.contains("no output");
        !line.trim().is_empty() && !tells_only_its_end
    };
    text.lines().find(says_why).map(|line| cut_chars(line.trim(), WORDS_CHARS).to_owned())
}

fn words(tool: &str, args: &Value) -> String {
    let preview = preview(tool, args, &PreviewContext::default());
    cut_chars(&one_line(&preview), WORDS_CHARS).to_owned()
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The tool's name and its complete arguments. The keys of every object are sorted, so that their
/// order does not make two calls different.
fn signature(tool: &str, args: &Value) -> String {
    let mut signature = format!("{tool}:");
    write_sorted(args, &mut signature);
    signature
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for value in values {
                write_sorted(value, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests;
