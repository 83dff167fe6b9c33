use serde_json::json;

use super::*;

/// One call with its result: tool, subject, whether it failed, and what came back.
type Step<'a> = (&'a str, &'a str, bool, &'a str);

fn call(id: usize, tool: &str, subject: &str) -> Event {
    let field = if tool == "bash" { "command" } else { "path" };
    Event::ToolCall { id: id.to_string(), tool: tool.to_owned(), args: json!({field: subject}) }
}

fn result(id: usize, tool: &str, is_error: bool, text: &str) -> Event {
    Event::ToolResult {
        id: id.to_string(),
        tool: tool.to_owned(),
        is_error,
        text: text.to_owned(),
        limit_reached: false,
    }
}

/// What a session is stopped for, and after how many events.
fn stopped<'a>(limit: u32, steps: impl IntoIterator<Item = Step<'a>>) -> Option<(usize, String)> {
    let mut detector = LoopDetector::new(limit);
    let events = steps.into_iter().enumerate().flat_map(|(id, (tool, subject, failed, text))| {
        [call(id, tool, subject), result(id, tool, failed, text)]
    });
    let mut seen = events
        .enumerate()
        .filter_map(|(index, event)| detector.observe(&event).map(|words| (index + 1, words)));
    seen.next()
}

fn rounds<'a>(times: usize, steps: &'a [Step<'a>]) -> impl Iterator<Item = Step<'a>> {
    std::iter::repeat_n(steps, times).flatten().copied()
}

#[test]
fn the_fifth_identical_call_is_a_loop_before_it_has_a_result() {
    let steps = rounds(9, &[("bash", "ls", false, "a b")]);
    assert_eq!(stopped(5, steps), Some((9, "bash → ls, 5 times".to_owned())));
    // Also if it brings something new each time: that is what is specified.
    let outputs: Vec<String> = (0..9).map(|round| round.to_string()).collect();
    let steps = outputs.iter().map(|text| ("bash", "date", false, text.as_str()));
    assert_eq!(stopped(5, steps), Some((9, "bash → date, 5 times".to_owned())));
}

#[test]
fn cycles_with_the_same_results_are_loops() {
    let cycle = [
        ("read", "/a.rs", false, "fn a"),
        ("bash", "cargo test", true, "error: no such thing"),
        ("ls", "/src", false, "a.rs"),
        ("read", "/b.rs", false, "fn b"),
    ];
    let words = |length: usize| {
        let all = ["read → /a.rs", "bash → cargo test", "ls → /src", "read → /b.rs"];
        format!("{}, 5 times", all[..length].join(", then "))
    };
    for length in 2..=4 {
        let seen = stopped(5, rounds(9, &cycle[..length]));
        assert_eq!(seen, Some((2 * 5 * length, words(length))), "{length}");
    }
    let longer = [&cycle[..], &[("ls", "/tests", false, "b.rs")]].concat();
    assert_eq!(stopped(5, rounds(20, &longer)), None);
    // What came before does not hide it.
    let before = [("read", "/c.rs", false, "fn c")];
    let seen = stopped(3, before.into_iter().chain(rounds(9, &cycle[..2])));
    assert_eq!(seen, Some((2 + 2 * 3 * 2, words(2).replace('5', "3"))));
}

#[test]
fn calls_that_run_side_by_side_are_a_cycle_when_the_last_result_is_there() {
    let mut detector = LoopDetector::new(3);
    let mut seen = Vec::new();
    for round in 0..3 {
        let ids = [2 * round, 2 * round + 1];
        let events = [
            call(ids[0], "read", "/a"),
            call(ids[1], "read", "/b"),
            // They end in another order than they began.
            result(ids[1], "read", false, "b"),
            result(ids[0], "read", false, "a"),
        ];
        seen.extend(events.iter().map(|event| detector.observe(event)));
    }
    assert!(seen[..11].iter().all(Option::is_none), "{seen:?}");
    assert_eq!(seen[11].as_deref(), Some("read → /a, then read → /b, 3 times"));
}

#[test]
fn failures_of_one_tool_with_the_same_error_are_a_loop() {
    let paths: Vec<String> = (0..5).map(|number| format!("/{number}.rs")).collect();
    let failing = || paths.iter().map(|path| ("edit", path.as_str(), true, "oldText not found"));
    let words = "edit failed 5 times in a row with the same error: oldText not found";
    assert_eq!(stopped(5, failing()), Some((10, words.to_owned())));
    // Something that worked in between, or another error, starts the count anew.
    for between in [("read", "/a.rs", false, "fn a"), ("edit", "/a.rs", true, "read only")] {
        let steps = failing().take(4).chain([between]).chain(failing().take(4));
        assert_eq!(stopped(5, steps), None, "{between:?}");
    }
}

/// What agents do when they work. None of it may be stopped.
#[test]
fn sessions_that_get_on_are_no_loops() {
    let numbered = |format: &dyn Fn(usize) -> String| (0..40).map(format).collect::<Vec<String>>();
    let outputs = numbered(&|round| format!("{round} % done"));
    let files = numbered(&|round| format!("/src/{round}.rs"));
    let waits: Vec<Step<'_>> = outputs
        .iter()
        .flat_map(|output| {
            [("bash", "sleep 5", false, "(no output)"), ("read", "/status", false, output.as_str())]
        })
        .collect();
    let repairs: Vec<Step<'_>> = files
        .iter()
        .flat_map(|file| {
            [("edit", file.as_str(), false, "done"), ("bash", "cargo test", true, "1 failed")]
        })
        .collect();
    let searches: Vec<Step<'_>> = files
        .iter()
        .map(|file| ("bash", file.as_str(), true, "(no output)\n\nCommand exited with code 1"))
        .collect();
    let reading: Vec<Step<'_>> =
        files.iter().map(|file| ("read", file.as_str(), false, "the same licence")).collect();
    let versions: Vec<Step<'_>> = outputs
        .iter()
        .flat_map(|output| {
            [
                ("bash", "git status", false, output.as_str()),
                ("bash", "git add -A", false, "(no output)"),
                ("bash", "git diff --cached", false, output.as_str()),
            ]
        })
        .collect();
    let retries = [
        ("bash", "npm ci", true, "network error"),
        ("bash", "npm ci", true, "network error"),
        ("bash", "npm ci --offline", true, "not in cache"),
        ("bash", "npm ci", true, "network error"),
        ("bash", "npm ci", false, "added 4 packages"),
    ];
    let table = [
        ("waits for a process", waits),
        ("repairs one file after another", repairs),
        ("searches and finds nothing", searches),
        ("reads files with the same beginning", reading),
        ("commits again and again", versions),
        ("tries again until it works", retries.to_vec()),
    ];
    for (what, steps) in table {
        assert_eq!(stopped(5, steps), None, "{what}");
    }
}

#[test]
fn the_order_of_keys_does_not_matter_but_depth_does() {
    let one = json!({"a": 1, "b": {"x": [1, {"p": 1, "q": 2}], "y": 2}});
    let same: Value = serde_json::from_str(r#"{"b":{"y":2,"x":[1,{"q":2,"p":1}]},"a":1}"#).unwrap();
    let deep = json!({"a": 1, "b": {"x": [1, {"p": 1, "q": 3}], "y": 2}});
    assert_eq!(signature("edit", &one), signature("edit", &same));
    assert_ne!(signature("edit", &one), signature("edit", &deep));
    assert_ne!(signature("edit", &one), signature("write", &one));
}

#[test]
fn another_call_in_between_starts_the_count_anew() {
    let steps: Vec<Step<'_>> =
        (0..20).map(|round| ("bash", if round % 4 == 3 { "b" } else { "a" }, false, "")).collect();
    assert_eq!(stopped(6, steps), None);
}

#[test]
fn zero_turns_the_rule_off() {
    assert_eq!(stopped(0, rounds(100, &[("ls", "/", true, "no")])), None);
}

#[test]
fn memory_does_not_grow_with_the_session() {
    let mut detector = LoopDetector::new(50);
    for id in 0..1_000 {
        detector.observe(&call(id, "bash", &"x".repeat(id)));
    }
    assert_eq!(detector.calls.len(), 200);
    assert!(detector.calls.iter().all(|call| call.words.len() <= 4 * WORDS_CHARS));
}
