//! What a recorded stream tells, for the tests of the protocols.

use model::Activity;
use process::{Line, LineBuffer};

use crate::{Assignment, Protocol};

/// The events of a stream, one for each line, then the activities and what is said about the end, both
/// without repetitions, and the verdict.
pub(crate) fn retell(protocol: Protocol, stream: &[u8]) -> String {
    let mut lines = LineBuffer::new(protocol.keep());
    lines.push(stream);
    let mut reader = protocol.reader(Assignment::default());
    let (mut events, mut verdict) = (String::new(), None);
    let (mut activities, mut last_words) = (Vec::new(), Vec::new());
    let mut take = |reading: crate::Reading| {
        assert!(!reading.is_delta || reading.events.is_empty(), "{reading:?}");
        activities.extend(reading.activity.map(Activity::word));
        last_words.push(format!("{:?}", reading.last_word));
        verdict = reading.verdict.or(verdict.take());
        for event in reading.events {
            events += &serde_json::to_string(&event).unwrap();
            events.push('\n');
        }
    };
    while let Some(line) = lines.next_line() {
        take(reader.read(line));
    }
    take(reader.finish());
    assert_eq!(lines.rest(), None);
    activities.dedup();
    last_words.retain(|last_word| last_word != "Unchanged");
    last_words.dedup();
    let verdict = verdict.map_or_else(String::new, |verdict| {
        format!("{} {}", verdict.outcome.word(), verdict.error.unwrap_or_default())
    });
    let (activities, last_words) = (activities.join(" "), last_words.join(" "));
    format!("{events}\nactivities: {activities}\nlast words: {last_words}\nverdict: {verdict}\n")
        .replace(" \n", "\n")
}

/// Makes sure that streams tell what is written beside them, also if their lines are written in another
/// way, and that no damage to them does harm.
pub(crate) fn check(protocol: Protocol, streams: &[(&str, &[u8], &str)]) {
    for (name, stream, expected) in streams {
        let told = retell(protocol, stream);
        assert!(told == *expected, "{name} tells\n{told}\ninstead of\n{expected}");
        let spaced = String::from_utf8_lossy(stream).replace('\n', "\r\n");
        assert_eq!(retell(protocol, spaced.as_bytes()), told, "{name}");
        for cut in (0..stream.len()).step_by(97) {
            let (head, tail) = stream.split_at(cut);
            retell_damaged(protocol, &[head, b"\xff", tail].concat());
            retell_damaged(protocol, head);
        }
    }
}

fn retell_damaged(protocol: Protocol, stream: &[u8]) {
    let mut reader = protocol.reader(Assignment::default());
    for line in stream.split(|byte| *byte == b'\n') {
        protocol.keep()(line);
        reader.read(Line::Whole(line));
        let (head, tail) = line.split_at(line.len() / 2);
        reader.read(Line::Cut { head, tail, bytes: line.len() as u64 });
    }
    reader.finish();
}
