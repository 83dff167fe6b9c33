//! The output of an agent, read by its protocol, and everything that is made of its events.

use ::protocol::Protocol;
use model::{Event, Record, Secrets};
use runner::interpret;

use crate::folds;

const SECRET: &str = "sk-secret-0123";

pub(super) fn check(data: &[u8]) {
    check_protocol(Protocol::Pi, data);
    check_protocol(Protocol::Events, data);
}

fn check_protocol(protocol: Protocol, data: &[u8]) {
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
