use std::sync::Arc;

use model::{FORMAT, Lifetime, Limits, Outcome, Owner, OwnerKind, RunId};
use serde_json::{Value, json};

use super::*;

pub(crate) fn said(text: &str) -> Event {
    Event::AssistantMessage {
        text: text.into(),
        model: None,
        stop_reason: None,
        error: None,
        usage: Usage::default(),
    }
}

pub(crate) fn session(name: &str, asked: &str, events: Vec<Event>) -> ExportedSession {
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
        cgroup: None,
        environment: Arc::default(),
        access: model::Access::Full,
        access_paths: None,
        model: Some("a/b".to_owned()),
        provider: None,
        thinking_level: None,
        fallback_models: Vec::new(),
        fallback_starts: Vec::new(),
        requested_model: None,
        profile: None,
        preset: None,
        preset_source: None,
        system_prompt: None,
        system_prompt_path: None,
        tools: Vec::new(),
        task: None,
        limits: Limits::default(),
        check: None,
        schema: None,
        worktree: None,
        ledger: None,
        admission: None,
        takes_messages: false,
        ask: false,
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
        budget: Default::default(),
        tool_calls: 1,
        started_at: Some(0),
        ended_at: 2_500,
        duration_ms: 2_500,
        warnings: Vec::new(),
        leftovers: None,
        value: None,
        check: None,
        changes: None,
        resources: None,
    };
    let records =
        events.into_iter().zip(1..).map(|(event, seq)| Record { seq, at: 0, event }).collect();
    let asked = asked.to_owned();
    let run = ExportedRun { meta, asked, result: Some(result), records, diff: None };
    ExportedSession { id, runs: vec![run] }
}

pub(crate) fn call(args: Value) -> Event {
    Event::ToolCall { id: "1".into(), tool: "bash".into(), args }
}

pub(crate) fn answer(text: &str) -> Event {
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
        to_markdown(&[session("count", "Count.", events)]),
        "# count\n\nSession `0123456789abcdef`: completed, 1 run, 1.5k tokens, cost unknown.\n\n\
         ## Run 1 of 1: completed\n\n| | |\n|---|---|\n\
         | run | 019a0000-0000-7000-8000-000000000000 |\n| outcome | completed |\n\
         | started | 1970-01-01 00:00:00 UTC |\n| took | 2.5 s |\n| model | a/b |\n\
         | directory | /p |\n| tool calls | 1 |\n| used | 1.5k tokens, cost unknown |\n\n\
         ### Prompt\n\n> Count.\n\n### Agent\n\n> I look.\n\n\
         **Call of bash**\n\n```json\n{\n  \"command\": \"ls\"\n}\n```\n\n\
         **Answer of bash**\n\n```text\na\nb\n```\n\n### Agent\n\n> Two.\n\n*Warning: Slow.*\n"
    );
}

#[test]
fn no_content_leaves_its_place_in_markdown() {
    let hostile = "```\n# Not a heading\n````html\n<script>alert(1)</script>";
    let events = vec![answer(hostile), said("```\nnever closed\n\n# said"), said("fine")];
    let text = to_markdown(&[session("a | b\n# <b>c</b>", "> `x`\n\nmore", events)]);
    assert!(text.contains("\n`````text\n```\n# Not a heading\n````html\n<script>"), "{text}");
    assert!(text.contains("\n</script>\n`````\n") || text.contains("</script>\n`````\n"), "{text}");
    assert!(text.contains("\n> ```\n> never closed\n>\n> # said\n"), "{text}");
    assert!(text.starts_with("# a \\| b \\# \\<b\\>c\\</b\\>\n"), "{text}");
    assert!(text.contains("\n> > `x`\n>\n> more\n"), "{text}");
}

/// The names of all elements that a renderer makes of a document, and its comments.
fn elements(markdown: &str) -> Vec<String> {
    use pulldown_cmark::{Options, Parser, html};
    let mut page = String::new();
    let mut names = Vec::new();
    for options in [Options::empty(), Options::all()] {
        page.clear();
        html::push_html(&mut page, Parser::new_ext(markdown, options));
        let tags = page.split('<').skip(1);
        let name =
            |tag: &str| tag.split([' ', '>', '\n', '/']).next().unwrap_or_default().to_owned();
        names.extend(tags.map(|tag| name(tag.trim_start_matches('/'))));
        for address in page.split("<a href=\"").skip(1) {
            assert!(address.starts_with("http") || address.starts_with('#'), "{address}");
        }
    }
    names
}

#[test]
fn nothing_in_markdown_runs_or_loads_or_hides_what_follows() {
    for hostile in [
        "<script>alert(1)</script>",
        "before <img src=x onerror=alert(1)> after",
        "<!-- never closed",
        "<!--\n```\n-->\n<script>alert(1)</script>\n```\n<b>",
        "<pre>\n```\n<iframe src='http://example.org'>\n",
        "<details><summary>more",
        "<![CDATA[ never closed",
        "<?php never closed",
        "![x](http://example.org/x.png)",
        "[![x](http://example.org/x.png)](javascript:alert(1))",
        "[a]\n\n[a]: javascript:alert(1)\n[b]: http://example.org/x.png",
        "![b]",
        "\t<script>alert(1)</script>",
        " \t <script>alert(1)</script>",
        "- a\n\n\t<script>alert(1)</script>",
        "\\<script>alert(1)</script>",
        "\\\\<script>alert(1)</script>",
        "| a |\n|---|\n| `x | <script>alert(1)</script>` |",
        "```\nnever closed",
        "`<script>`` never closed",
        "~~~\nnever closed <script>",
        "> > <script>\nalert(1)",
        "<a href=\"\n<script>alert(1)</script>",
        "<a href='`'><script>alert(1)</script>`",
        "<javascript:alert(1)>",
        "[x](<javascript:alert(1)>)",
        "a\n<script>\n\nalert(1)\n</script>",
    ] {
        let mut two = session("task", hostile, vec![said(hostile), answer(hostile), said("fine")]);
        let next = session(hostile, "Next question.", vec![said("Next answer.")]);
        two.runs.extend(next.runs);
        let text = to_markdown(&[two]);
        let known = [
            "h1",
            "h2",
            "h3",
            "p",
            "code",
            "pre",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "strong",
            "em",
            "blockquote",
            "ul",
            "ol",
            "li",
            "a",
            "del",
            "br",
        ];
        for name in elements(&text) {
            assert!(known.contains(&name.as_str()), "{hostile:?}: <{name}> in\n{text}");
        }
        let mut page = String::new();
        pulldown_cmark::html::push_html(&mut page, pulldown_cmark::Parser::new(&text));
        for shown in
            ["<h2>Run 2 of 2: completed</h2>", "<p>Next question.</p>", "<p>Next answer.</p>"]
        {
            assert!(page.contains(shown), "{hostile:?}: {shown} is not in\n{page}");
        }
    }
}

#[test]
fn escape_sequences_are_gone_everywhere() {
    let hostile = "\u{1b}[31mred\u{1b}[0m\u{9b}2J\u{7}\rx";
    let events = vec![call(json!({"a": hostile})), answer(hostile), said(hostile)];
    let session = session(hostile, hostile, events);
    let sessions = [session];
    for text in [to_markdown(&sessions), crate::to_html(&sessions)] {
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
