use model::{Cost, Event, Outcome, Record, Usage};
use serde_json::json;

use super::*;
use crate::preview::PreviewContext;
use crate::state::Context;
use crate::testing::Random;

fn after(events: Vec<Event>) -> State {
    let preview = PreviewContext { cwd: "/p".into(), home: None, width: 30 };
    let mut state = State::new(Context { preview, window_lines: 3 });
    for event in events {
        state.apply(&Record { seq: 1, at: 1, event });
    }
    state
}

fn said(text: &str) -> Event {
    Event::AssistantMessage {
        text: text.into(),
        model: Some("m2".into()),
        stop_reason: None,
        error: None,
        usage: Usage {
            total_tokens: 12_345,
            cost: Cost { total: 0.01234, ..Cost::default() },
            ..Usage::default()
        },
    }
}

fn called(tool: &str, args: serde_json::Value) -> Event {
    Event::ToolCall { id: "1".into(), tool: tool.into(), args }
}

fn ended(outcome: Outcome, error: Option<&str>) -> Event {
    Event::RunEnded { outcome, error: error.map(str::to_owned), exit_code: None, signal: None }
}

fn session(digit: u8) -> SessionId {
    SessionId::parse(&digit.to_string().repeat(16)).unwrap()
}

fn task<'a>(name: &'a str, state: &'a State, phase: Phase, session: &'a SessionId) -> TaskView<'a> {
    TaskView {
        name,
        profile: None,
        state,
        phase,
        elapsed_ms: 12_999,
        doing_ms: 3_999,
        timeout_ms: Some(600_000),
        session,
    }
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

#[test]
fn a_call_is_shown_from_its_counts_to_its_footer() {
    let todo = json!({"todos": [{}, {}, {}]});
    let working = after(vec![
        said("One.\nTwo."),
        called("write_todos", todo),
        called("edit_todos", json!({"action": "complete", "indices": [0]})),
        called("bash", json!({"command": "npm install && npm test && x"})),
    ]);
    let (fresh, failed, done) = (
        State::default(),
        after(vec![ended(Outcome::SpawnFailure, Some("No such program\nTry again"))]),
        after(vec![said("Done."), ended(Outcome::Completed, None)]),
    );
    let ids = [session(1), session(2), session(3), session(4), session(5)];
    let profile =
        ProfileView { name: "fast", provider: Some("p"), model: Some("m1"), thinking: Some("low") };
    let mut tasks = vec![
        TaskView { profile: Some(profile), ..task("work", &working, Phase::Running, &ids[0]) },
        TaskView { timeout_ms: None, ..task("start", &fresh, Phase::Running, &ids[1]) },
        task("fail", &failed, Phase::Ended, &ids[2]),
        task("done", &done, Phase::Ended, &ids[3]),
        task("wait", &fresh, Phase::Queued, &ids[4]),
    ];
    assert_eq!(
        texts(&render(&tasks, Extent::Collapsed)),
        [
            "Sub-agents: 2 running, 1 done, 1 error, 1 queued",
            "",
            "⏳ work • fast (p/m2 low) • 3 tools • [1/3] • 12s/600s • 12.3k tokens • $0.0123",
            "  → write_todos → 3 todos written",
            "  → edit_todos → complete [0]",
            "  → bash → npm install && npm test &&",
            "  │ x",
            "",
            "⏳ start • 0 tools • 12s",
            "  (starting...)",
            "",
            "✗ fail • 0 tools • 12s/600s",
            "  (no output)",
            "  Error: No such program",
            "  Try again",
            "",
            "✓ done • 0 tools • 12s/600s • 12.3k tokens • $0.0123",
            "  Done.",
            "",
            "· wait • 0 tools • 0s/600s",
            "  (queued)",
            "",
            "2 running...",
        ]
    );
    assert_eq!(streaming_text(&tasks), "2 running, 1 done, 1 error(s), 1 queued");
    let expanded = texts(&render(&tasks, Extent::Expanded));
    assert!(expanded.contains(&"  One.".to_owned()), "{expanded:?}");
    assert!(!expanded.contains(&"  (starting...)".to_owned()), "{expanded:?}");
    tasks.drain(..2);
    assert_eq!(texts(&footer(&tasks)), ["1 queued..."]);
    tasks.pop();
    assert_eq!(
        texts(&footer(&tasks)),
        [
            "Session IDs (use with get_subagent_output):",
            "    fail: 3333333333333333",
            "    done: 4444444444444444",
        ]
    );
}

#[test]
fn the_roles_say_what_matters() {
    let failed = after(vec![
        called("edit", json!({"path": "a", "edits": [{"newText": "x"}]})),
        ended(Outcome::Loop, Some("Loop")),
    ]);
    let id = session(1);
    let tasks = [task("a", &failed, Phase::Ended, &id)];
    let spans = |line: Line| -> Vec<(Role, bool, String)> {
        let spans = line.spans().iter();
        spans.map(|span| (span.role(), span.is_bold(), span.text().to_owned())).collect()
    };
    let piece = |role, text: &str| (role, false, text.to_owned());
    let bold = |role, text: &str| (role, true, text.to_owned());
    assert_eq!(
        spans(overview(&tasks)),
        [bold(Role::Title, "Sub-agents: "), piece(Role::Error, "1 error")]
    );
    assert_eq!(
        spans(window_header(&tasks[0])),
        [
            piece(Role::Error, "✗"),
            piece(Role::Plain, " "),
            bold(Role::Plain, "a"),
            piece(Role::Dim, " • "),
            piece(Role::Muted, "1 tools"),
            piece(Role::Dim, " • "),
            piece(Role::Muted, "12s/600s"),
        ]
    );
    let lines = window_lines(&tasks[0], Extent::Collapsed);
    assert_eq!(
        lines.into_iter().flat_map(spans).collect::<Vec<_>>(),
        [
            piece(Role::Plain, "  "),
            piece(Role::Muted, "→ edit → a (1 edit) "),
            piece(Role::Added, "+1"),
            piece(Role::Muted, "/"),
            piece(Role::Removed, "-0"),
        ]
    );
    let error = error_lines(&tasks[0]).into_iter().flat_map(spans).collect::<Vec<_>>();
    assert_eq!(error, [piece(Role::Error, "  Error: Loop")]);
    let footer = footer(&tasks).into_iter().flat_map(spans).collect::<Vec<_>>();
    assert_eq!(
        footer,
        [
            piece(Role::Dim, "Session IDs (use with get_subagent_output):"),
            piece(Role::Plain, "    a: "),
            piece(Role::Accent, "1111111111111111"),
        ]
    );
}

#[test]
fn several_errors_are_plural_and_none_of_a_kind_is_silent() {
    let failed = after(vec![ended(Outcome::Loop, None)]);
    let id = session(1);
    let tasks = [task("a", &failed, Phase::Ended, &id), task("b", &failed, Phase::Ended, &id)];
    assert_eq!(overview(&tasks).text(), "Sub-agents: 2 errors");
    assert!(error_lines(&tasks[0]).is_empty());
    assert_eq!(streaming_text(&[]), "processing...");
    assert_eq!(texts(&render(&[], Extent::Collapsed)), ["(no sub-agent details)"]);
    // An end of which nothing is known is no success.
    let unknown = State::default();
    assert_eq!(overview(&[task("a", &unknown, Phase::Ended, &id)]).text(), "Sub-agents: 1 error");
}

#[test]
fn names_cannot_break_the_line() {
    let state = State::default();
    let id = session(1);
    let task = task("a\nb\u{1b}[31m", &state, Phase::Running, &id);
    assert_eq!(window_header(&task).text(), "⏳ a b • 0 tools • 12s/600s");
}

#[test]
fn whatever_happens_can_be_shown() {
    let mut random = Random::default();
    let id = session(1);
    for _ in 0..300 {
        let preview = PreviewContext {
            cwd: random.text(),
            home: Some(random.text()),
            width: random.below(70),
        };
        let mut state = State::new(Context { preview, window_lines: random.below(20) });
        let events: Vec<Event> = (0..random.below(60)).map(|_| any_event(&mut random)).collect();
        let records = events.into_iter().map(|event| Record { seq: 1, at: 1, event });
        let records: Vec<Record> = records.collect();
        for record in &records {
            state.apply(record);
        }
        let name = random.text();
        let profile = ProfileView { name: &name, model: Some(&name), ..ProfileView::default() };
        let task = TaskView { profile: Some(profile), ..task(&name, &state, Phase::Ended, &id) };
        let mut lines = render(&[task], Extent::Collapsed);
        lines.extend(render(&[task], Extent::Expanded));
        lines.extend(truncated(&state.facts.output, random.below(5)));
        lines.push(call_line("delegate_to_subagents", &random.value(3)));
        lines.push(call_line("subagent", &random.value(3)));
        for span in lines.iter().flat_map(Line::spans) {
            assert!(!span.text().contains(char::is_control), "{span:?}");
        }
        let transcript = crate::transcript(vec![(Status::Error, None, records)]);
        assert!(!transcript.is_empty());
    }
}

fn any_event(random: &mut Random) -> Event {
    // Few ids, so that results find calls and calls find each other.
    let id = random.below(4).to_string();
    match random.below(9) {
        0 => Event::ToolResult {
            id,
            tool: random.choose(&["ls", "find", "read"]).to_owned(),
            is_error: random.is_lucky(),
            text: random.text(),
            limit_reached: random.is_lucky(),
        },
        1 => Event::Stderr { text: random.text() },
        2 => Event::UnreadableLine { bytes: 1, text: random.text() },
        3 => said(&random.text()),
        4 => ended(Outcome::ProviderError, Some(&random.text())),
        5 => called("write_todos", random.value(3)),
        6 => called("edit_todos", random.value(3)),
        _ => Event::ToolCall {
            id,
            tool: random.choose(&["ls", "find", "bash", "edit", "?"]).to_owned(),
            args: random.value(3),
        },
    }
}

#[test]
fn one_line_says_what_matters_most_first() {
    let id = session(1);
    let calling = after(vec![
        Event::RunStarted { pid: 1 },
        called("bash", json!({"command": "npm test\nnpm run lint"})),
    ]);
    let stopping = after(vec![Event::Stopping { cause: model::StopCause::Cancelled }]);
    let fresh = State::default();
    let failed = after(vec![ended(Outcome::Timeout, Some("Timed out"))]);
    for (state, phase, compact, doing) in [
        (
            &calling,
            Phase::Running,
            "⏳ a • npm test... 3s • 1 tools • 12s/600s",
            Some("  npm test... • 3s"),
        ),
        (
            &stopping,
            Phase::Running,
            "⏳ a • stopping 3s • 0 tools • 12s/600s",
            Some("  stopping • 3s"),
        ),
        (
            &fresh,
            Phase::Running,
            "⏳ a • starting 3s • 0 tools • 12s/600s",
            Some("  starting • 3s"),
        ),
        (&fresh, Phase::Queued, "· a • queued", None),
        (&failed, Phase::Ended, "✗ a • Timed out • 0 tools • 12s/600s", None),
    ] {
        let task = task("a", state, phase, &id);
        assert_eq!(compact_line(&task).text(), compact);
        assert_eq!(doing_line(&task).map(|line| line.text()).as_deref(), doing);
    }
}
