use model::{Access, Cost, Event, Outcome, Record, Usage};
use serde_json::json;

use super::*;
use crate::preview::PreviewContext;
use crate::state::Context;
use crate::testing::Random;

fn after(events: Vec<Event>) -> State {
    let preview = PreviewContext { cwd: "/p".into(), home: None, width: 30 };
    let mut state = State::new(Context { preview, window_lines: 3, has_window: true });
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
            cost: Some(Cost { total: 0.01234, ..Cost::default() }),
            ..Usage::default()
        },
    }
}

fn called(tool: &str, args: serde_json::Value) -> Event {
    Event::ToolCall { id: "1".into(), tool: tool.into(), args }
}

fn ended(outcome: Outcome, error: Option<&str>) -> Event {
    Event::RunEnded {
        outcome,
        error: error.map(str::to_owned),
        exit_code: None,
        signal: None,
        leftovers: None,
    }
}

fn session(digit: u8) -> SessionId {
    SessionId::parse(&digit.to_string().repeat(16)).unwrap()
}

fn task<'a>(name: &'a str, state: &'a State, phase: Phase, session: &'a SessionId) -> TaskView<'a> {
    TaskView {
        name,
        profile: None,
        agent: Some("pi"),
        model: None,
        thinking: None,
        state,
        phase,
        elapsed_ms: 12_999,
        doing_ms: 3_999,
        timeout_ms: Some(600_000),
        session,
        access: Access::Full,
        budget: model::Budget::default(),
    }
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

/// The blocks without their roles: the cells of a row that say something, and the steps behind their bar.
fn shown(blocks: &[Block]) -> Vec<String> {
    let mut rows = Vec::new();
    for block in blocks {
        match block {
            Block::Text(line) => rows.push(line.text()),
            Block::Row(row) => {
                let cells = row.cells.iter().map(|cell| cell.line.text());
                let cells: Vec<String> = cells.filter(|text| !text.is_empty()).collect();
                rows.push(cells.join(" | "));
            }
            Block::Steps { steps, .. } => {
                rows.extend(steps.iter().map(|step| format!("┃ {}", step.line.text())));
            }
            Block::Markdown(text) => rows.push(format!("markdown: {text}")),
        }
    }
    rows
}

#[test]
fn a_call_has_windows_while_it_runs_and_rows_when_it_is_over() {
    let start = || Event::RunStarted { pid: 1, agent: None };
    let working = after(vec![
        start(),
        said("One.\nTwo."),
        called("bash", json!({"command": "npm install && npm test && x"})),
    ]);
    let (fresh, failed, done) = (
        State::default(),
        after(vec![ended(Outcome::SpawnFailure, Some("No such program\nTry again"))]),
        after(vec![start(), said("# Result\n\nDone."), ended(Outcome::Completed, None)]),
    );
    let ids = [session(1), session(2), session(3), session(4), session(5)];
    let mut tasks = vec![
        task("work", &working, Phase::Running, &ids[0]),
        TaskView { timeout_ms: None, ..task("start", &fresh, Phase::Running, &ids[1]) },
        task("fail", &failed, Phase::Ended, &ids[2]),
        task("done", &done, Phase::Ended, &ids[3]),
        task("wait", &fresh, Phase::Queued, &ids[4]),
    ];
    assert_eq!(
        shown(&call_blocks(&tasks)),
        [
            "2/5 | ━━━━━━━━━╸────────────── | 2 running · 1 queued · 1 done · 1 failed | 24.7k | $0.02 | 0:12",
            "⠋ | work | pi | m2 | bash  npm install && npm test && x | 3s | 1 | 12.3k | $0.01 | 0:12 | /10:00",
            "┃ One.",
            "┃ Two.",
            "┃ bash   npm install && npm test && x",
            "⠋ | start | pi | starting | 3s",
            "✗ | fail | pi | No such program Try again",
            "✓ | done | pi | m2 | Result | 12.3k | $0.01 | 0:12",
            "○ | wait | pi | queued",
        ]
    );
    assert_eq!(streaming_text(&tasks), "2 running, 1 done, 1 error(s), 1 queued");
    let progress: Vec<Line> = tasks.iter().filter_map(progress_line).collect();
    assert_eq!(texts(&progress), ["work: npm install && npm test && x", "start: starting"]);
    tasks.drain(..2);
    tasks.pop();
    assert_eq!(
        shown(&call_blocks(&tasks))[1..],
        [
            "✗ | fail | pi | No such program Try again",
            "✓ | done | pi | m2 | Result | 12.3k | $0.01 | 0:12",
            "sessions 33333333 44444444 · Ctrl+O opens",
        ]
    );
    // One task needs no overview.
    assert_eq!(
        shown(&call_blocks(&tasks[1..])),
        ["✓ | done | pi | m2 | Result | 12.3k | $0.01 | 0:12", "session 44444444 · Ctrl+O opens"]
    );
    let many = vec![tasks[1]; 16];
    let last = shown(&call_blocks(&many)).pop();
    assert!(last.is_some_and(|line| line.ends_with(" … 12 more · Ctrl+O opens")));
}

#[test]
fn an_opened_task_has_its_prompt_its_steps_and_its_answer() {
    let id = session(1);
    let done = after(vec![
        said("I look."),
        called("read", json!({"path": "a.rs"})),
        said("## Found\n\n- *one*\u{1b}[31m"),
        ended(Outcome::Completed, None),
    ]);
    let task = TaskView { access: Access::Read, ..task("look", &done, Phase::Ended, &id) };
    let prompt = "Look.\n2\n3\n4\n5\n6\n7";
    assert_eq!(
        shown(&opened_blocks(&[(task, Some(prompt.to_owned()))])),
        [
            "✓ | look | pi | m2 | Found | 1 | 24.7k | $0.02",
            "  access read · session 1111111111111111",
            "  ❯ Look.",
            "    2",
            "    3",
            "    4",
            "    5",
            "    … 2 more lines",
            "┃ I look.",
            "┃ read   a.rs",
            "",
            "markdown: ## Found\n\n- *one*",
        ]
    );
    // What was said in the middle of something is no answer.
    let stopped = after(vec![
        said("I look."),
        called("read", json!({"path": "a.rs"})),
        ended(Outcome::Timeout, Some("Timed out")),
    ]);
    let task = self::task("look", &stopped, Phase::Ended, &id);
    assert_eq!(
        shown(&opened_blocks(&[(task, None)]))[2..],
        ["┃ I look.", "┃ read   a.rs", "┃ Error: Timed out"]
    );
    let long = after((0..50).map(|_| said("More.")).collect());
    let task = self::task("talk", &long, Phase::Running, &id);
    let rows = shown(&opened_blocks(&[(task, None)]));
    assert_eq!(
        (rows[2].as_str(), rows.len()),
        ("  … 10 earlier; `pi-subagents sessions show 1111111111111111` has them", 43)
    );
}

#[test]
fn a_list_says_how_long_ago_a_run_ended() {
    let id = session(1);
    let done = after(vec![said("Done."), ended(Outcome::Completed, None)]);
    let running = State::default();
    let last = |state, phase, now| {
        let row = listed_row(&task("a", state, phase, &id), now);
        row.cells.last().map(|cell| cell.line.text()).unwrap_or_default()
    };
    const MINUTE: u64 = 60_000;
    for (minutes, expected) in
        [(0, "now"), (1, "1m ago"), (59, "59m ago"), (60, "1h ago"), (2_880, "2d ago")]
    {
        assert_eq!(last(&done, Phase::Ended, 1 + minutes * MINUTE), expected);
    }
    assert_eq!(last(&running, Phase::Running, MINUTE), "");
}

#[test]
fn a_finished_background_run_is_one_row() {
    let usage = Usage { cost: Some(Cost { total: 0.02, ..Cost::default() }), ..Usage::default() };
    let texts =
        |row: Row| -> Vec<String> { row.cells.iter().map(|cell| cell.line.text()).collect() };
    assert_eq!(
        texts(ended_row(true, "scout", 41_000, &usage, "# Errors\nWhere are they?")),
        ["✓ scout · 0:41 · $0.02", "· Errors"]
    );
    assert_eq!(
        texts(ended_row(false, "scout", 1_000, &Usage::default(), "Look.")),
        ["✗ scout · 0:01", "· Look."]
    );
}

#[test]
fn names_and_failures_are_told_by_their_roles() {
    let failed = after(vec![ended(Outcome::Loop, Some("Loop"))]);
    let id = session(1);
    let row = task_row(&task("a", &failed, Phase::Ended, &id), true);
    let roles: Vec<(Role, &str)> = row
        .cells
        .iter()
        .flat_map(|cell| cell.line.spans())
        .map(|span| (span.role(), span.text()))
        .collect();
    assert_eq!(
        roles,
        [(Role::Error, "✗"), (Role::Name, "a"), (Role::Muted, "pi"), (Role::Error, "Loop")]
    );
    let running = State::default();
    let row = task_row(&task("a", &running, Phase::Running, &id), false);
    assert_eq!(row.cells[0].line.spans()[0].role(), Role::Moving);
}

#[test]
fn several_errors_are_plural_and_none_of_a_kind_is_silent() {
    let failed = after(vec![ended(Outcome::Loop, None)]);
    let id = session(1);
    let tasks = [task("a", &failed, Phase::Ended, &id), task("b", &failed, Phase::Ended, &id)];
    assert_eq!(overview(&tasks).text(), "Sub-agents: 2 errors");
    assert_eq!(streaming_text(&[]), "processing...");
    // An end of which nothing is known is no success.
    let unknown = State::default();
    assert_eq!(overview(&[task("a", &unknown, Phase::Ended, &id)]).text(), "Sub-agents: 1 error");
}

#[test]
fn access_is_shown_where_it_is_restricted() {
    let (state, id) = (State::default(), session(1));
    let header = |access| {
        let task = TaskView { access, ..task("look", &state, Phase::Running, &id) };
        plain_line(&task).text()
    };
    assert!(header(Access::Read).contains(" • access read • "), "{}", header(Access::Read));
    assert!(!header(Access::Full).contains("access"));
}

#[test]
fn names_cannot_break_the_line() {
    let state = State::default();
    let id = session(1);
    let task = task("a\nb\u{1b}[31m", &state, Phase::Running, &id);
    assert_eq!(plain_line(&task).text(), "⏳ a b • 0 tools • 12s/600s");
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
        let window_lines = random.below(20);
        let mut state = State::new(Context { preview, window_lines, has_window: true });
        let events: Vec<Event> = (0..random.below(60)).map(|_| any_event(&mut random)).collect();
        let records = events.into_iter().map(|event| Record { seq: 1, at: 1, event });
        let records: Vec<Record> = records.collect();
        for record in &records {
            state.apply(record);
        }
        let name = random.text();
        let profile = ProfileView { name: &name, model: Some(&name), ..ProfileView::default() };
        let task = TaskView { profile: Some(profile), ..task(&name, &state, Phase::Ended, &id) };
        let opened = opened_blocks(&[(task, Some(random.text()))]);
        let mut lines: Vec<Line> = call_blocks(&[task, task])
            .into_iter()
            .chain(opened)
            .chain(call_heading("subagent", &random.value(3), Extent::Collapsed))
            .chain(call_heading("subagent", &random.value(3), Extent::Expanded))
            .flat_map(|block| match block {
                Block::Text(line) => vec![line],
                Block::Row(row) => row.cells.into_iter().map(|cell| cell.line).collect(),
                Block::Steps { steps, .. } => steps.into_iter().map(|step| step.line).collect(),
                Block::Markdown(text) => {
                    text.lines().map(|line| Line::of(Role::Plain, line)).collect()
                }
            })
            .collect();
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
        Event::RunStarted { pid: 1, agent: None },
        called("bash", json!({"command": "npm test\nnpm run lint"})),
    ]);
    let stopping = after(vec![Event::Stopping { cause: model::StopCause::Cancelled, seen: None }]);
    let fresh = State::default();
    let failed = after(vec![ended(Outcome::Timeout, Some("Timed out"))]);
    for (state, phase, compact) in [
        (&calling, Phase::Running, "⏳ a • npm test... 3s • 1 tools • 12s/600s"),
        (&stopping, Phase::Running, "⏳ a • stopping 3s • 0 tools • 12s/600s"),
        (&fresh, Phase::Running, "⏳ a • starting 3s • 0 tools • 12s/600s"),
        (&fresh, Phase::Queued, "· a • queued"),
        (&failed, Phase::Ended, "✗ a • Timed out • 0 tools • 12s/600s"),
    ] {
        assert_eq!(compact_line(&task("a", state, phase, &id)).text(), compact);
    }
}

#[test]
fn a_total_of_which_a_part_is_unknown_is_more_than_what_is_known() {
    let start = || Event::RunStarted { pid: 1, agent: None };
    let known = after(vec![start(), said("One.")]);
    let mut message = said("Two.");
    if let Event::AssistantMessage { usage, .. } = &mut message {
        usage.cost = None;
    }
    let unknown = after(vec![start(), message]);
    let ids = [session(1), session(2)];
    let tasks = [
        task("known", &known, Phase::Running, &ids[0]),
        task("unknown", &unknown, Phase::Running, &ids[1]),
    ];
    let first = shown(&call_blocks(&tasks)).remove(0);
    assert!(first.ends_with(" | 24.7k | >$0.01 | 0:12"), "{first}");
}
