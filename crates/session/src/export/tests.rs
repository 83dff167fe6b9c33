use std::collections::BTreeMap;

use model::{FORMAT, Lifetime, Limits, Outcome, Owner, OwnerKind, RunId};
use serde_json::{Value, json};

use super::*;

fn said(text: &str) -> Event {
    Event::AssistantMessage {
        text: text.into(),
        model: None,
        stop_reason: None,
        error: None,
        usage: Usage::default(),
    }
}

fn session(name: &str, asked: &str, events: Vec<Event>) -> ExportedSession {
    let run_id = RunId::parse("019a0000-0000-7000-8000-000000000000").unwrap();
    let id = SessionId::parse("0123456789abcdef").unwrap();
    let meta = Meta {
        format: FORMAT,
        run_id: run_id.clone(),
        session_id: id.clone(),
        name: name.to_owned(),
        owner: Owner { kind: OwnerKind::Shell, id: None },
        lifetime: Lifetime::Foreground,
        agent: None,
        protocol: None,
        call_id: None,
        command: Vec::new(),
        cwd: "/p".into(),
        environment: BTreeMap::new(),
        model: Some("a/b".to_owned()),
        provider: None,
        thinking_level: None,
        requested_model: None,
        profile: None,
        preset: None,
        preset_source: None,
        tools: Vec::new(),
        task: None,
        limits: Limits::default(),
        created_at: 0,
    };
    let result = RunResult {
        format: FORMAT,
        run_id,
        session_id: id.clone(),
        name: name.to_owned(),
        status: Status::Completed,
        outcome: Outcome::Completed,
        error: None,
        output: String::new(),
        exit_code: Some(0),
        signal: None,
        model: None,
        stop_reason: None,
        usage: Usage { total_tokens: 1_500, ..Usage::default() },
        tool_calls: 1,
        started_at: Some(0),
        ended_at: 2_500,
        duration_ms: 2_500,
        warnings: Vec::new(),
    };
    let records =
        events.into_iter().zip(1..).map(|(event, seq)| Record { seq, at: 0, event }).collect();
    let asked = asked.to_owned();
    ExportedSession { id, runs: vec![ExportedRun { meta, asked, result: Some(result), records }] }
}

fn call(args: Value) -> Event {
    Event::ToolCall { id: "1".into(), tool: "bash".into(), args }
}

fn answer(text: &str) -> Event {
    Event::ToolResult {
        id: "1".into(),
        tool: "bash".into(),
        is_error: false,
        text: text.into(),
        limit_reached: false,
    }
}

#[test]
fn everything_is_told_once_in_markdown() {
    let events = vec![
        Event::UserMessage { text: "Previously: …\n\nCount.".to_owned() },
        said("I look."),
        call(json!({"command": "ls"})),
        answer("a\nb"),
        said("Two."),
        Event::Warning { message: "Slow.".to_owned() },
    ];
    assert_eq!(
        session("count", "Count.", events).to_markdown(),
        "# count\n\nSession `0123456789abcdef`: completed, 1 run, 1.5k tokens.\n\n\
         ## Run 1 of 1: completed\n\n| | |\n|---|---|\n\
         | run | 019a0000-0000-7000-8000-000000000000 |\n| outcome | completed |\n\
         | started | 1970-01-01 00:00:00 UTC |\n| took | 2.5 s |\n| model | a/b |\n\
         | directory | /p |\n| tool calls | 1 |\n| used | 1.5k tokens |\n\n\
         ### Prompt\n\n> Count.\n\n### Agent\n\n> I look.\n\n\
         **Call of bash**\n\n```json\n{\n  \"command\": \"ls\"\n}\n```\n\n\
         **Answer of bash**\n\n```text\na\nb\n```\n\n### Agent\n\n> Two.\n\n*Warning: Slow.*\n"
    );
}

#[test]
fn no_content_leaves_its_place_in_markdown() {
    let hostile = "```\n# Not a heading\n````html\n<script>alert(1)</script>";
    let events = vec![answer(hostile), said("```\nnever closed\n\n# said"), said("fine")];
    let text = session("a | b\n# <b>c</b>", "> `x`\n\nmore", events).to_markdown();
    assert!(text.contains("\n`````text\n```\n# Not a heading\n````html\n<script>"), "{text}");
    assert!(text.contains("\n</script>\n`````\n") || text.contains("</script>\n`````\n"), "{text}");
    assert!(text.contains("\n> ```\n> never closed\n>\n> # said\n"), "{text}");
    assert!(text.starts_with("# a \\| b \\# \\<b\\>c\\</b\\>\n"), "{text}");
    assert!(text.contains("\n> > `x`\n>\n> more\n"), "{text}");
}

#[test]
fn a_page_has_no_element_and_no_script_of_others() {
    let hostile =
        "</pre><script>alert(1)</script><img src=x onerror='alert(2)'>\u{1b}]0;title\u{7}";
    let events = vec![call(json!({"command": hostile})), answer(hostile), said(hostile)];
    let page = session(hostile, hostile, events).to_html();
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;/pre&gt;&lt;script&gt;alert(1)"), "{page}");
    assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme: dark"));
    // The page loads nothing.
    for reference in ["http:", "https:", " href=", " src=", "url(", "@import"] {
        let own = page.replace("&lt;img src=x", "");
        assert!(!own.contains(reference), "{reference}");
    }
    assert_eq!(page.matches("<pre").count(), page.matches("</pre>").count());
}

#[test]
fn escape_sequences_are_gone_everywhere() {
    let hostile = "\u{1b}[31mred\u{1b}[0m\u{9b}2J\u{7}\rx";
    let events = vec![call(json!({"a": hostile})), answer(hostile), said(hostile)];
    let session = session(hostile, hostile, events);
    for text in [session.to_markdown(), session.to_html()] {
        let is_control = |character: char| character.is_control() && character != '\n';
        assert!(!text.contains(is_control), "{text:?}");
        assert!(text.contains("redx"), "{text}");
    }
}

#[test]
fn the_start_is_shown_whatever_a_file_says() {
    for (milliseconds, expected) in [
        (0, "1970-01-01 00:00:00 UTC"),
        (951_782_400_999, "2000-02-29 00:00:00 UTC"),
        (u64::MAX, "9999-12-30 22:00:00 UTC"),
    ] {
        assert_eq!(utc(milliseconds), expected);
    }
}
