//! A child's stream, by way of the dialect, into events and everything that is made of them.

use model::{Event, Record, Secrets};

use crate::folds;

const SECRET: &str = "sk-secret-0123";

pub(super) fn check(data: &[u8]) {
    let mut secrets = Secrets::default();
    secrets.insert("KEY", SECRET.to_owned());
    let told = runner::retell([data], &secrets);
    let length = 1 + usize::from(data.first().copied().unwrap_or_default());
    let torn = runner::retell(data.chunks(length), &secrets);
    assert_eq!(told, torn, "it matters how the bytes arrive");
    for event in &told.events {
        assert_bounded(event);
        let written = serde_json::to_string(event).unwrap_or_default();
        assert!(!written.contains(SECRET), "the secret is in {written}");
    }
    // However it is spelled there.
    let log = told.log.join(&b'\n');
    let read_again = serde_json::to_string(&runner::retell([&log[..]], &Secrets::default()).events);
    let shown = format!("{}{}", String::from_utf8_lossy(&log), read_again.unwrap_or_default());
    assert!(!shown.contains(SECRET), "the secret is in the log: {shown}");
    let records = (1..).zip(told.events).map(|(seq, event)| Record { seq, at: seq * 10, event });
    folds::check(&records.collect::<Vec<Record>>());
}

fn assert_bounded(event: &Event) {
    match event {
        Event::ToolResult { text, .. } => assert!(text.len() <= Event::TOOL_RESULT_BYTES),
        Event::UnreadableLine { text, .. }
        | Event::MessageLost { text, .. }
        | Event::RetryScheduled { error: text, .. } => assert!(text.len() <= Event::LINE_BYTES),
        Event::UserMessage { .. } | Event::AssistantMessage { .. } | Event::ToolCall { .. } => {}
        other => unreachable!("a stream does not tell {other:?}"),
    }
}
