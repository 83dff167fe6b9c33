//! The output of pi and of other supervisors, read by its protocol, and everything that is made of its events.

use std::collections::BTreeSet;

use ::protocol::{Assignment, Delivery, Protocol};
use model::{Event, Message, MessageTiming, Record, Secrets};
use process::Line;
use runner::interpret;

use crate::folds;

const SECRET: &str = "sk-secret-0123";

pub(super) fn check(data: &[u8]) {
    check_protocol(Protocol::Pi, data);
    check_protocol(Protocol::PiRpc, data);
    check_conversation(Protocol::PiRpc, data);
    check_protocol(Protocol::Events, data);
}

pub(super) fn check_protocol(protocol: Protocol, data: &[u8]) {
    let mut secrets = Secrets::default();
    secrets.insert("KEY", SECRET.to_owned());
    let whole = interpret(protocol, [data], &secrets);
    let length = 1 + usize::from(data.first().copied().unwrap_or_default());
    let torn = interpret(protocol, data.chunks(length), &secrets);
    assert_eq!(whole, torn, "it matters how the bytes arrive");
    for event in &whole.events {
        assert_eq!(event.clone().bounded(), *event, "it is not bounded");
        let written = serde_json::to_string(event).unwrap_or_default();
        assert!(!written.contains(SECRET), "the secret is in {written}");
        assert!(!matches!(event, Event::RunStarted { .. } | Event::RunEnded { .. }));
    }
    // However it is spelled there.
    let log = whole.log.join(&b'\n');
    let read_again = interpret(protocol, [&log[..]], &Secrets::default()).events;
    let read_again = serde_json::to_string(&read_again).unwrap_or_default();
    let shown = format!("{}{read_again}", String::from_utf8_lossy(&log));
    assert!(!shown.contains(SECRET), "the secret is in the log: {shown}");
    let records = (1..).zip(whole.events).map(|(seq, event)| Record { seq, at: seq * 10, event });
    folds::check(&records.collect::<Vec<Record>>());
}

/// Tells the agent something between the lines that it prints: whatever it prints, what is written to it is lines of
/// JSON, and every message has one end at most.
pub(super) fn check_conversation(protocol: Protocol, data: &[u8]) {
    let mut reader = protocol.reader(Assignment::default());
    let text = "a message\nof two lines".to_owned();
    let message = Message { text, timing: MessageTiming::default() };
    let mut waiting = BTreeSet::new();
    for (number, line) in (1..).zip(data.split(|byte| *byte == b'\n')) {
        let mut written = match line.len() % 4 {
            0 => reader.interruption(),
            1 => Vec::new(),
            _ => {
                waiting.insert(number);
                reader.tell(number, &message)
            }
        };
        let reading = reader.read(Line::Whole(line));
        written.extend(reading.reply);
        for line in written.split_inclusive(|byte| *byte == b'\n') {
            assert!(line.ends_with(b"\n"), "a line without an end");
            assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok(), "it is no JSON");
        }
        for Delivery::Delivered(number) | Delivery::Refused(number, _) in reading.deliveries {
            assert!(waiting.remove(&number), "message {number} was not told, or ends twice");
        }
    }
    reader.finish();
}
