//! The session files of the built-in agent, which pi writes too.

use std::sync::Arc;

use agent::continue_session;
use agent::message::{Content, Message, UserMessage};

use crate::assertions::assert_reads_back;
use crate::scratch::Scratch;

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

pub(super) fn check(data: &[u8]) {
    SCRATCH.with(|scratch| check_in(scratch, data));
}

fn check_in(scratch: &Scratch, data: &[u8]) {
    let path = scratch.write("session.jsonl", data);
    let (first, second) = (said("first"), said("second"));
    let Ok(mut before) = continue_session(&path, scratch.path(), first.clone()) else {
        let left = std::fs::read(&path).unwrap_or_default();
        assert_eq!(left, data, "a file that cannot be used was changed");
        return;
    };
    for message in &before {
        assert_reads_back(&**message);
    }
    let after = continue_session(&path, scratch.path(), second);
    before.push(Arc::new(first));
    assert_eq!(after.ok(), Some(before), "what was added is not what is read");
    let written = std::fs::read(&path).unwrap_or_default();
    assert!(written.starts_with(data), "what was there is not there any more");
}

fn said(text: &str) -> Message {
    Message::User(UserMessage { content: vec![Content::text(text)], timestamp: 1 })
}
