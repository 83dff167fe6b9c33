use serde_json::{Value, json};

use super::tests::{LINES, detail, id, knows, text};
use super::*;
use crate::testing::run_id;

fn entry() -> Value {
    json!({
        "sessionId": id(1),
        "runId": "run-000001",
        "taskName": "task",
        "prompt": "Go.",
        "cwd": "/work",
        "status": "completed",
        "messages": [{"role": "assistant", "content": [{"type": "text", "text": "Done."}]}],
        "exitCode": 0,
        "startedAt": 5,
    })
}

fn changed(field: &str, value: Value) -> Value {
    let mut entry = entry();
    entry[field] = value;
    entry
}

#[test]
fn what_is_not_an_entry_is_passed_over() {
    let messages = |count| vec![json!({"role": "user"}); count];
    let mut bad = vec![
        json!(null),
        json!("entry"),
        json!([entry()]),
        json!({}),
        changed("sessionId", json!("../../etc/passwd")),
        changed("runId", json!("..")),
        changed("status", json!("done")),
        changed("status", json!("Running")),
        changed("messages", json!({})),
        changed("messages", json!([{"content": "x"}])),
        changed("messages", json!([{"role": 1}])),
        changed("messages", json!(["user"])),
        changed("messages", json!([null])),
        changed("messages", json!(messages(1_001))),
    ];
    for field in ["sessionId", "runId", "taskName", "prompt", "status"] {
        bad.extend([json!(null), json!(7), json!(["x"])].map(|value| changed(field, value)));
    }
    for field in ["sessionId", "taskName", "prompt", "status", "messages"] {
        let mut without = entry();
        without.as_object_mut().unwrap().remove(field);
        bad.push(without);
    }
    for bad in &bad {
        assert_eq!(SessionBook::restore([bad]), SessionBook::default(), "{bad}");
    }
    let good = entry();
    let book = SessionBook::restore([&good].into_iter().chain(&bad));
    assert_eq!(book, SessionBook::restore([&good]), "what is bad does not hide what is good");
    let most = changed("messages", json!(messages(1_000)));
    assert_eq!(detail(&SessionBook::restore([&most]), 1, "messageCount"), 500);
}

#[test]
fn what_is_strange_but_not_needed_does_no_harm() {
    for (field, value) in [
        ("cwd", json!(7)),
        ("exitCode", json!(1e300)),
        ("exitCode", json!("x")),
        ("startedAt", json!(-5)),
        ("startedAt", json!(1_700_000_000_000.5)),
        ("model", json!({})),
        ("errorMessage", json!([])),
        ("profileName", json!(false)),
    ] {
        let entry = changed(field, value);
        let book = SessionBook::restore([&entry]);
        assert_eq!(text(&book, 1), "Done.", "{entry}");
    }
}

#[test]
fn the_last_entry_of_a_run_counts_and_a_running_one_was_interrupted() {
    let interrupted = "Session was interrupted (main agent session ended unexpectedly)";
    let begun = changed("status", json!("running"));
    let book = SessionBook::restore([&begun]);
    assert!(!book.is_running(&id(1)));
    assert_eq!(detail(&book, 1, "status"), "error");
    assert_eq!(text(&book, 1), format!("Done.\n[Error: {interrupted}]"));
    let mut complained = begun.clone();
    complained["errorMessage"] = json!("boom");
    assert_eq!(text(&SessionBook::restore([&complained]), 1), "Done.\n[Error: boom]");
    let book = SessionBook::restore([&begun, &entry()]);
    assert_eq!(detail(&book, 1, "status"), "completed");
    assert_eq!(detail(&book, 1, "runCount"), 1);
    assert_eq!(text(&book, 1), "Done.");
    let second = changed("runId", json!("run-000002"));
    let book = SessionBook::restore([&begun, &second, &entry()]);
    assert_eq!(detail(&book, 1, "runCount"), 2);
}

#[test]
fn entries_without_run_ids_are_runs_of_their_own() {
    let mut old = entry();
    old.as_object_mut().unwrap().remove("runId");
    old["messages"] = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "1", "name": "ls", "arguments": {"path": "."}},
        ]},
        {"role": "toolResult", "toolCallId": "1", "toolName": "ls", "isError": false,
         "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "somethingNew"},
    ]);
    let book = SessionBook::restore([&old, &old]);
    assert_eq!(detail(&book, 1, "runCount"), 2);
    let run = "(completed) ===\nI look.\n→ ls: {\"path\":\".\"}\n[tool result]: a\nb";
    assert_eq!(text(&book, 1), format!("=== Run 1/2 {run}\n---\n=== Run 2/2 {run}"));
}

#[test]
fn a_long_log_is_restored_within_the_limits() {
    let mut log = Vec::new();
    for number in 0..100_u64 {
        let mut entry = entry();
        entry["sessionId"] = json!(id(number));
        entry["runId"] = json!(run_id(number).as_str());
        entry["startedAt"] = json!(number);
        entry["status"] = json!("running");
        log.push(entry);
    }
    // All of them end only after all of them have begun.
    let ends: Vec<Value> = log
        .iter()
        .map(|entry| {
            let mut entry = entry.clone();
            entry["status"] = json!("completed");
            entry
        })
        .collect();
    log.extend(ends);
    let book = SessionBook::restore(&log);
    assert_eq!(book.sessions.len(), SessionBook::MOST_SESSIONS);
    assert!(!knows(&book, 67) && (68..100).all(|session| knows(&book, session)));
}

/// The same numbers every time, so that a failure can be seen again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn value(&mut self, depth: usize) -> Value {
        const KEYS: [&str; 9] =
            ["sessionId", "runId", "role", "content", "type", "text", "name", "arguments", "id"];
        const TEXTS: [&str; 9] = [
            "",
            "user",
            "assistant",
            "toolResult",
            "toolCall",
            "text",
            "running",
            "\u{1b}[0mż🦀",
            "0000000000000001",
        ];
        match self.below(8) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!([0.5, -1e300, 1e19, -3.0][self.below(4)]),
            3 => json!(u64::MAX - self.below(3) as u64),
            4 if depth > 0 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            5 | 6 if depth > 0 => {
                let fields = (0..self.below(5))
                    .map(|_| (KEYS[self.below(KEYS.len())].to_owned(), self.value(depth - 1)));
                Value::Object(fields.collect())
            }
            _ => json!(TEXTS[self.below(TEXTS.len())]),
        }
    }

    /// An entry, with something else in places.
    fn entry(&mut self) -> Value {
        let mut entry = entry();
        entry["sessionId"] = json!(id(self.below(40) as u64));
        entry["runId"] = json!(run_id(self.below(60) as u64).as_str());
        entry["startedAt"] = json!(self.below(100));
        let message = |random: &mut Random| {
            let role = ["user", "assistant", "toolResult"][random.below(3)];
            let mut message = json!({"role": role});
            message["content"] = random.value(3);
            message
        };
        entry["messages"] = (0..self.below(5)).map(|_| message(self)).collect();
        if self.below(3) == 0 {
            let keys: Vec<String> = entry.as_object().unwrap().keys().cloned().collect();
            let key = &keys[self.below(keys.len())];
            entry[key] = self.value(3);
        }
        entry
    }
}

#[test]
fn nothing_that_is_restored_can_do_harm() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut restored_runs = 0;
    for _ in 0..150 {
        let log: Vec<Value> = (0..random.below(60))
            .map(|_| if random.below(3) == 0 { random.value(4) } else { random.entry() })
            .collect();
        let book = SessionBook::restore(&log);
        assert!(book.sessions.len() <= SessionBook::MOST_SESSIONS);
        for session in &book.sessions {
            assert!((1..=SessionBook::MOST_RUNS).contains(&session.runs.len()));
            assert!(!session.is_running());
            book.output(session.id.as_str(), LINES).unwrap();
            book.transcript(session.id.as_str(), LINES).unwrap();
            book.resume_prompt(session.id.as_str(), "Go.").unwrap();
        }
        let ids: Vec<&RunId> = book.runs().map(|run| &run.started.run_id).collect();
        let distinct: std::collections::HashSet<&&RunId> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
        let entries: Vec<Value> = ids.iter().filter_map(|run| book.to_entry(run)).collect();
        assert_eq!(entries.len(), ids.len());
        // What was restored is written and restored without a change.
        let again = SessionBook::restore(&entries);
        assert!(ids.iter().all(|run| again.to_entry(run) == book.to_entry(run)));
        restored_runs += ids.len();
    }
    assert!(restored_runs > 1_000, "{restored_runs}");
}
