use base64::Engine;
use model::{Changes, Cost, Event, Outcome, Record, StopCause, Usage};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::bars::bars;
use super::conversation::{Entry, conversation};
use super::spending::Spending;
use super::timeline::{MarkKind, SpanKind, Timeline};
use super::*;
use crate::export::ExportedRun;
use crate::export::tests::{answer, call, said, session};
use crate::{LARGEST_DIFF, ShownDiff};

fn told(text: &str) -> Event {
    Event::UserMessage { text: text.to_owned() }
}

fn tool(id: &str, args: Value) -> Event {
    Event::ToolCall { id: id.to_owned(), tool: "bash".to_owned(), args }
}

fn result(id: &str, is_error: bool) -> Event {
    Event::ToolResult {
        id: id.to_owned(),
        tool: "bash".to_owned(),
        is_error,
        text: "out".to_owned(),
        limit_reached: false,
    }
}

fn spent(dollars: f64) -> Event {
    Event::AssistantMessage {
        text: "x".to_owned(),
        model: None,
        stop_reason: None,
        error: None,
        usage: Usage {
            total_tokens: 10,
            cost: Some(Cost { total: dollars, ..Cost::default() }),
            ..Usage::default()
        },
    }
}

fn ended(outcome: Outcome) -> Event {
    Event::RunEnded { outcome, error: None, exit_code: Some(0), signal: None, leftovers: None }
}

/// A run that was asked for at the time 0, with its events at their times.
fn run(events: Vec<(u64, Event)>) -> ExportedRun {
    let mut run = session("task", "Do it.", Vec::new()).runs.remove(0);
    run.result = None;
    run.records =
        events.into_iter().zip(1..).map(|((at, event), seq)| Record { seq, at, event }).collect();
    run
}

fn spans(run: &ExportedRun) -> Vec<(u64, u64, SpanKind, String)> {
    let timeline = Timeline::new(run, 100_000);
    let spans = timeline.spans.into_iter();
    spans.map(|span| (span.from, span.to, span.kind, span.what)).collect()
}

#[test]
fn the_policy_names_the_style_and_the_script_of_the_page() {
    for (part, directive) in [(STYLE, "style-src"), (SCRIPT, "script-src")] {
        let hash = base64::prelude::BASE64_STANDARD.encode(Sha256::digest(part));
        let expected = format!("{directive} 'sha256-{hash}'");
        assert!(POLICY.contains(&expected), "the policy needs: {expected}");
    }
    assert!(POLICY.starts_with("default-src 'none'; ") && !POLICY.contains("unsafe"), "{POLICY}");
}

#[test]
fn every_moment_of_a_run_is_told() {
    let run = run(vec![
        (100, Event::RunStarted { pid: 1, agent: None }),
        (150, told("prompt")),
        (1_150, spent(0.5)),
        (1_150, tool("a", json!({"command": "ls"}))),
        (1_160, tool("b", json!({"command": "cat x"}))),
        (2_000, result("a", false)),
        (3_000, result("b", true)),
        (
            3_500,
            Event::RetryScheduled {
                attempt: 1,
                max_attempts: 3,
                delay_ms: 500,
                error: "busy".into(),
            },
        ),
        (5_000, said("Done.")),
        (5_100, told("One more thing.")),
        (6_000, tool("c", json!({"command": "sleep 9"}))),
        (7_000, Event::Stopping { cause: StopCause::Timeout, seen: None }),
        (7_500, ended(Outcome::Timeout)),
    ]);
    let retry = "Provider failed, attempt 1 of 3 in 0.5s: busy";
    let expected = [
        (0, 100, SpanKind::Waiting, "waiting for its turn"),
        (100, 150, SpanKind::Starting, "starting"),
        (150, 1_150, SpanKind::Model, "model, 10 tokens, $0.5000"),
        (1_150, 2_000, SpanKind::Tool, "bash → ls"),
        (1_160, 3_000, SpanKind::FailedTool, "bash → cat x, failed"),
        (3_000, 3_500, SpanKind::Model, "model, failed"),
        (3_500, 4_000, SpanKind::Retry, retry),
        (4_000, 5_000, SpanKind::Model, "model"),
        // It was told something, and so its model was asked again.
        (5_100, 6_000, SpanKind::Model, "model"),
        (6_000, 7_500, SpanKind::FailedTool, "bash → sleep 9, did not finish"),
    ];
    let expected = expected.map(|(from, to, kind, what)| (from, to, kind, what.to_owned()));
    assert_eq!(spans(&run), expected);
    let marks = Timeline::new(&run, 0).marks.into_iter();
    let marks: Vec<_> = marks.map(|mark| (mark.at, mark.kind, mark.what)).collect();
    let expected = [
        (3_500, MarkKind::Retry, retry.to_owned()),
        (5_100, MarkKind::Message, "told: One more thing.".to_owned()),
        (7_000, MarkKind::Stop, "Stopping: the time is up".to_owned()),
    ];
    assert_eq!(marks, expected);
}

#[test]
fn what_has_not_ended_lasts_until_now_and_what_was_cut_off_until_the_end() {
    let begun = [(10, Event::RunStarted { pid: 1, agent: None }), (20, told("x"))];
    let of = |more: Vec<(u64, Event)>| {
        let events = begun.iter().cloned().chain(more).collect();
        spans(&run(events)).pop().map(|(from, to, _, what)| (from, to, what)).unwrap()
    };
    assert_eq!(of(vec![]), (20, 100_000, "model".to_owned()));
    let cut_off = of(vec![(50, ended(Outcome::Interrupted))]);
    assert_eq!(cut_off, (20, 50, "model, cut off".to_owned()));
    let runs = of(vec![(50, tool("a", json!({"command": "ls"})))]);
    assert_eq!(runs, (50, 100_000, "bash → ls, runs".to_owned()));
    assert_eq!(spans(&run(vec![])).pop().unwrap().3, "waiting for its turn");
    assert_eq!(
        spans(&run(vec![(9, ended(Outcome::SpawnFailure))])).pop().unwrap().3,
        "never started"
    );
}

#[test]
fn a_clock_that_was_set_back_turns_no_span_around() {
    let run = run(vec![
        (5_000, Event::RunStarted { pid: 1, agent: None }),
        (1_000, told("x")),
        (u64::MAX, tool("a", json!({}))),
        (0, result("a", false)),
        (
            7,
            Event::RetryScheduled {
                attempt: 1,
                max_attempts: 1,
                delay_ms: u64::MAX,
                error: String::new(),
            },
        ),
        (2, ended(Outcome::Completed)),
    ]);
    assert!(spans(&run).iter().all(|(from, to, ..)| from <= to));
    let session = ExportedSession { id: run.meta.session_id.clone(), runs: vec![run] };
    assert!(to_html(&[session]).contains("</html>"));
}

#[test]
fn tools_side_by_side_have_lanes_and_many_short_ones_are_one_bar() {
    let axis = Axis::new(vec![(0, 100_000)]);
    let timeline = Timeline::new(
        &run(vec![
            (0, tool("a", json!({}))),
            (1_000, tool("b", json!({}))),
            (2_000, result("a", false)),
            (3_000, tool("c", json!({}))),
            (4_000, result("b", false)),
            (5_000, result("c", false)),
        ]),
        100_000,
    );
    let lanes: Vec<_> =
        bars(&timeline, &axis).into_iter().map(|bar| (bar.lane, bar.lanes)).collect();
    // The last is the model, which works on after the tools and has a lane of its own.
    assert_eq!(lanes, [(0, 1), (0, 2), (1, 2), (0, 2)]);
    let short = (0..20_000).flat_map(|number| {
        let id = number.to_string();
        [(number * 5, tool(&id, json!({}))), (number * 5 + 4, result(&id, number == 7))]
    });
    let timeline = Timeline::new(&run(short.collect()), 100_000);
    let drawn = bars(&timeline, &axis);
    assert!(drawn.len() < 1_200, "{}", drawn.len());
    let failed = drawn.iter().filter(|bar| bar.kind == SpanKind::FailedTool);
    let failed: Vec<_> = failed.map(|bar| bar.words.as_str()).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains(" tools · "), "{failed:?}");
    assert!(drawn.iter().all(|bar| bar.left >= 0.0 && bar.left + bar.width <= 100.001));
}

#[test]
fn spending_grows_over_all_agents() {
    let axis = Axis::new(vec![(0, 1_000)]);
    let timelines = [
        Timeline::new(&run(vec![(500, spent(0.25))]), 1_000),
        Timeline::new(&run(vec![(250, spent(0.5)), (1_000, spent(0.25))]), 1_000),
    ];
    let spending = Spending::new(timelines.iter(), &axis).unwrap();
    assert_eq!(spending.points, [(25.0, 0.5), (50.0, 0.75), (100.0, 1.0)]);
    assert_eq!(spending.words(), "$1.00");
    assert_eq!(spending.path(), "M0 100H25.00V50.0H50.00V25.0H100.00V0.0H100");
    let unknown = [Timeline::new(&run(vec![(500, spent(0.0))]), 1_000)];
    assert_eq!(Spending::new(unknown.iter(), &axis).unwrap().words(), "10 tokens");
    assert_eq!(Spending::new([].iter(), &axis), None);
}

#[test]
fn a_long_conversation_is_left_out_in_the_middle_with_a_sign() {
    let events = (0..1_000).map(|number| (number, said(&format!("{number} {}", "x".repeat(200)))));
    let long = run(events.collect());
    let entries = conversation(&long, 16 * 1024);
    assert!(entries.len() < 60, "{}", entries.len());
    let text = |entry: Option<&Entry>| match entry {
        Some(Entry::Said { text, .. }) => text.split(' ').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    assert_eq!((text(entries.first()), text(entries.last())), ("0".to_owned(), "999".to_owned()));
    let left_out = entries.iter().find_map(|entry| match entry {
        Entry::LeftOut(count) => Some(*count),
        _ => None,
    });
    assert_eq!(left_out.map(|count| count + entries.len() - 1), Some(1_000));
    assert_eq!(conversation(&long, 1024 * 1024).len(), 1_000);
    let huge = run(vec![(0, said(&"ż".repeat(100_000)))]);
    let Entry::Said { text, .. } = &conversation(&huge, 16 * 1024)[0] else {
        panic!("it is a message")
    };
    assert!(text.len() < 5_000 && text.contains("bytes are left out here"), "{}", text.len());
}

#[test]
fn a_call_has_its_result_and_its_arguments_are_readable() {
    let args = json!({"command": "one\ntwo", "timeout": 5});
    let entries = conversation(&run(vec![(0, tool("a", args)), (700, result("a", true))]), 10_000);
    let [Entry::Tool(call)] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!(call.arguments, "command:\none\ntwo\ntimeout: 5");
    let result = call.result.as_ref().unwrap();
    assert_eq!((result.took_ms, result.is_error, result.text.as_str()), (700, true, "out"));
}

#[test]
fn a_page_shows_all_agents_with_their_times_tools_and_costs() {
    let mut first = session("first", "Count.", vec![said("**Two**.")]);
    let cost = Some(model::Cost { total: 0.5, ..model::Cost::default() });
    first.runs[0].result.as_mut().unwrap().usage.cost = cost;
    let mut second = session("second", "Look.", vec![said("x")]);
    second.runs[0].result = None;
    let page = to_html(&[first, second]);
    for part in [
        "<title>2 agents in p</title>",
        "<b>1</b> completed</li>",
        "<b>1</b> running</li>",
        "<td class=\"number\">2.5 s</td><td class=\"number tools\">1</td>\
         <td class=\"number tokens\">1.5k</td><td class=\"number\">$0.50</td>",
        "<strong>Two</strong>",
        "<div id=\"agent-2\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let one = to_html(&[session("only", "Count.", vec![])]);
    assert!(one.contains("<title>only</title>") && one.contains("<details class=\"agent\" open>"));
    // Tokens without a price.
    assert!(one.contains("<td class=\"number\">?</td>"), "{one}");
    assert!(to_html(&[]).contains("<title>0 agents</title>"));
}

#[test]
fn a_page_has_the_changes_of_agents_and_says_what_is_missing() {
    let session = |lines: usize| {
        let mut session = session("only", "Count.", vec![]);
        let diff = format!("diff --git a/x b/x\n{}", "+123456789\n".repeat(lines));
        session.runs[0].diff = Some(ShownDiff::new(diff.as_bytes(), LARGEST_DIFF));
        session.runs[0].result.as_mut().unwrap().changes = Some(Box::new(Changes {
            files: 1,
            insertions: 7,
            reference: Some("refs/x".to_owned()),
            ..Changes::default()
        }));
        session
    };
    let page = to_html(&[session(7)]);
    let folded =
        "<details class=\"changes\"><summary>Changes <small>1 file +7 −0</small></summary>";
    assert!(page.contains(folded), "{page}");
    assert_eq!(page.matches("<span class=\"added\">+123456789</span>\n").count(), 7);
    assert!(page.contains("<span class=\"file\">diff --git a/x b/x</span>"), "{page}");
    assert!(page.contains("<dt>changes</dt><dd>1 file +7 −0</dd>"), "{page}");
    assert!(!page.contains("of the diff are left out"), "{page}");
    // One that is long, and many that share the page.
    for count in [1, 40] {
        let sessions = vec![session(30_000); count];
        let page = to_html(&sessions);
        let shown = page.matches("+123456789").count() * 11 + 19 * count;
        let most = (LARGEST_DIFF * count).min(DIFFS);
        assert!(shown <= most && shown + 11 * count > most, "{shown} of {most}");
        let words = format!(
            "The last {} bytes of the diff are left out here. <code>pi-subagents changes diff {}</code>",
            19 + 30_000 * 11 - shown / count,
            sessions[0].runs[0].meta.run_id
        );
        assert_eq!(page.matches(&words).count(), count, "{words}");
    }
}

#[test]
fn a_page_has_no_element_and_no_script_of_others() {
    let hostile = "</pre></style></script></title><script>alert(1)</script>\
                   <img src=x onerror='alert(2)'>\" onload=\"alert(3)\u{1b}]0;title\u{7}";
    let events = vec![
        call(json!({hostile: hostile})),
        answer(hostile),
        said(hostile),
        told(hostile),
        told(hostile),
        Event::Warning { message: hostile.to_owned() },
        Event::RetryScheduled {
            attempt: 1,
            max_attempts: 2,
            delay_ms: 1,
            error: hostile.to_owned(),
        },
    ];
    let mut session = session(hostile, hostile, events);
    session.runs[0].meta.model = Some(hostile.to_owned());
    session.runs[0].meta.cwd = hostile.into();
    session.runs[0].result.as_mut().unwrap().error = Some(hostile.to_owned());
    let diff = format!("diff --git a/x b/x\n+{hostile}\n-<!-- {hostile}\n");
    session.runs[0].diff = Some(ShownDiff::new(diff.as_bytes(), LARGEST_DIFF));
    let page = to_html(&[session.clone(), session]);
    // The page without its own style and script.
    let page = page.replace(STYLE, "").replace(SCRIPT, "");
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert_eq!(page.matches("<style").count(), 1);
    assert!(!page.contains("<img") && !page.contains('\u{1b}') && !page.contains("\" onload"));
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(
        page.contains("<span class=\"removed\">-&lt;!-- &lt;/pre&gt;") && !page.contains("<!--")
    );
    // The page loads nothing: what it refers to is its own.
    for reference in [" src=", "url(", "@import"] {
        assert!(!page.replace("&lt;img src=x", "").contains(reference), "{reference}");
    }
    for link in page.split(" href=\"").skip(1) {
        assert!(link.starts_with('#'), "{link}");
    }
    for element in ["pre", "details", "svg", "table", "div"] {
        let (begins, ends) = (format!("<{element}"), format!("</{element}>"));
        let begins = page.matches(&begins).count() - page.matches(&format!("{begins}-")).count();
        assert_eq!(begins, page.matches(&ends).count(), "{element}");
    }
}

#[test]
fn the_table_tells_what_was_changed_if_something_was() {
    let mut sessions = vec![
        session("plain", "Do it.", vec![answer("Done.")]),
        session("busy", "Do it.", vec![answer("Done.")]),
    ];
    let page = to_html(&sessions);
    assert!(!page.contains("data-sort=\"changed\""), "no agent had a worktree");
    let changes = serde_json::from_value(json!({
        "files": 3, "insertions": 40, "deletions": 2, "ref": "refs/x",
    }));
    sessions[1].runs[0].result.as_mut().unwrap().changes = Some(changes.unwrap());
    let page = to_html(&sessions);
    assert!(page.contains("data-sort=\"changed\">Changes</th>"), "{page}");
    assert!(page.contains("<td class=\"changed\">3 files +40 −2</td>"), "{page}");
    let rows = page.lines().filter(|line| line.starts_with("<tr data-agent="));
    let cells: Vec<usize> = rows.map(|row| row.matches("</td>").count()).collect();
    assert_eq!(cells, [7, 7], "every row has the column");
}
