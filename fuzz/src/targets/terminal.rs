//! Text that is shown on a screen, and the keys that are typed there.

use model::{Activity, Event, Record, SessionId};
use serde_json::Value;
use session::view::{Phase, TaskView, call_line, truncated};
use session::{Conversation, PreviewContext, State};
use tui::{Controls, Keys, Ownership, Painter, Palette, Scene, Size, layout, styled};

use crate::assertions::{assert_clean, assert_row};
use crate::scratch::{Scratch, parts};

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

/// The first two bytes are the size of the screen; the parts are a text, the arguments of a tool,
/// and what is typed.
pub(super) fn check(data: &[u8]) {
    let [columns, rows, data @ ..] = data else { return };
    let mut parts = parts(data);
    let bytes = parts.next().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    check_cleaning(&text);
    check_output(bytes);
    let arguments: Value =
        serde_json::from_slice(parts.next().unwrap_or_default()).unwrap_or_default();
    assert_row("the line of a call", &call_line(&text, &arguments).text());
    let size = Size { columns: usize::from(*columns), rows: usize::from(*rows) };
    check_screen(&text, arguments, parts.next().unwrap_or_default(), size);
}

fn check_cleaning(text: &str) {
    let cleaned = session::clean(text);
    assert_clean("a text", &cleaned);
    assert_eq!(session::clean(&cleaned), cleaned, "what is clean is cleaned again");
    assert!(cleaned.matches('\n').count() >= text.matches('\n').count());
    for limit in [0, 1, 7, 80] {
        assert!(session::cut_chars(text, limit).chars().count() <= limit);
        assert!(session::cut_bytes(text, limit).len() <= limit);
    }
    assert!(truncated(text, 5).len() <= 6);
}

fn check_output(bytes: &[u8]) {
    let of = |length| {
        SCRATCH.with(|scratch| agent::tools::shown_output(bytes.chunks(length), scratch.path()))
    };
    let whole = of(usize::MAX);
    // A longer text is kept in a file, whose name differs every time.
    if bytes.len() < 50_000 && !whole.contains("Full output: ") {
        assert_eq!(whole, of(3), "it matters how the output arrives");
    }
    // The model may read the other control characters, as with pi; a view cleans them.
    let is_bad = |character| {
        matches!(character, '\0'..='\u{1f}' | '\u{9b}') && !matches!(character, '\t' | '\n' | '\r')
    };
    assert!(!whole.contains(is_bad), "the output of a command has control characters: {whole:?}");
}

fn check_screen(text: &str, arguments: Value, typed: &[u8], size: Size) {
    let Ok(session) = SessionId::parse("0123456789abcdef") else { return };
    let mut state = State::default();
    let mut conversation = Conversation::with_prompt(text, 1);
    let events = [
        Event::RunStarted { pid: 1, agent: None },
        Event::AssistantMessage {
            text: text.to_owned(),
            model: Some(text.to_owned()),
            stop_reason: None,
            error: None,
            usage: model::Usage::default(),
        },
        Event::Stderr { text: text.to_owned() },
        Event::ToolCall { id: "1".to_owned(), tool: "bash".to_owned(), args: arguments.clone() },
        Event::ToolResult {
            id: "1".to_owned(),
            tool: "bash".to_owned(),
            is_error: text.len().is_multiple_of(2),
            text: text.to_owned(),
            limit_reached: false,
        },
        Event::ToolCall { id: "2".to_owned(), tool: "bash".to_owned(), args: arguments },
        Event::Warning { message: text.to_owned() },
    ];
    for (seq, event) in (1..).zip(events) {
        let record = Record { seq, at: seq, event };
        state.apply(&record);
        conversation.apply(&record, &PreviewContext::default());
    }
    state.observe(Activity::Tool, 5);
    let task = |phase| TaskView {
        name: text,
        profile: None,
        agent: Some("pi"),
        model: Some(text),
        thinking: Some(text),
        state: &state,
        phase,
        elapsed_ms: 90_000,
        doing_ms: 10,
        timeout_ms: None,
        session: &session,
        budget: model::Budget::default(),
        access: model::Access::Full,
    };
    let tasks = [task(Phase::Running), task(Phase::Queued), task(Phase::Ended)];
    let opened = Some(&conversation);
    let scene = Scene { tasks: &tasks, elapsed_ms: 100, has_keys: true, opened };
    let (mut controls, mut keys) = (Controls::new(Ownership::Owner), Keys::default());
    let mut painter = Painter::default();
    for piece in typed.chunks(4).chain([&b""[..]]) {
        for key in keys.read(piece) {
            controls.press(key, &tasks);
        }
        let lines = layout(&scene, size, &mut controls);
        assert!(lines.len() <= size.rows, "{} rows in {size:?}", lines.len());
        for line in &lines {
            assert_row("a row of the screen", &line.text());
        }
        let rows: Vec<String> = lines.iter().map(|line| styled(line, Palette::True)).collect();
        painter.paint(rows.clone());
        assert_eq!(painter.paint(rows), "", "the same frame is drawn again");
    }
}
