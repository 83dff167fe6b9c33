//! What other programs ask of a running agent: files of its run directory, and the commands of RPC mode.

use model::{LeftAnswer, Message};
use serde_json::Value;
use store::RunDir;

use crate::assertions::assert_reads_back;
use crate::scratch::{Scratch, parts};

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

/// The parts are the commands, a message and an answer.
pub(super) fn check(data: &[u8]) {
    let mut parts = parts(data);
    check_commands(parts.next().unwrap_or_default());
    let files = [parts.next(), parts.next()].map(Option::unwrap_or_default);
    SCRATCH.with(|scratch| check_files(scratch, files));
}

/// Every line that says something is a command, and one that is refused gets one line of JSON that says why.
fn check_commands(commands: &[u8]) {
    let refusals = agent::refusals(commands);
    let lines = commands.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    assert_eq!(refusals.len(), lines.clone().count());
    for (line, refusal) in lines.zip(refusals) {
        let Some(refusal) = refusal else { continue };
        assert!(!refusal.contains(['\n', '\r']), "{refusal}");
        let answer: Value = serde_json::from_str(&refusal).unwrap_or_default();
        assert_eq!(answer["success"], false, "{refusal}");
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{refusal}");
        let id =
            serde_json::from_slice::<Value>(line).map_or(Value::Null, |line| line["id"].clone());
        assert_eq!(answer["id"], id, "{refusal}");
    }
}

fn check_files(scratch: &Scratch, [message, answer]: [&[u8]; 2]) {
    let run = scratch.path().join("run-made-up-1");
    scratch.write("run-made-up-1/message-1.json", message);
    scratch.write("run-made-up-1/answer-1.json", answer);
    let Ok(dir) = RunDir::open(&run) else { unreachable!("the directory was just written") };
    let (read, expected) = (dir.message(1), serde_json::from_slice::<Message>(message));
    assert_eq!(read.as_ref().ok().and_then(Option::as_ref), expected.as_ref().ok());
    if let Ok(Some(message)) = &read {
        assert_reads_back(message);
    }
    let (read, expected) = (dir.answer(1), serde_json::from_slice::<LeftAnswer>(answer));
    assert_eq!(read.as_ref().ok().and_then(Option::as_ref), expected.as_ref().ok());
    if let Ok(Some(answer)) = &read {
        assert_reads_back(answer);
    }
    assert!(matches!((dir.message(2), dir.answer(2)), (Ok(None), Ok(None))));
}
