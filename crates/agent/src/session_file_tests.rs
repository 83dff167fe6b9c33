use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::history::History;
use crate::message::text_of;
use crate::testing::{assistant, result, user};

struct SessionDirectory {
    directory: tempfile::TempDir,
}

impl SessionDirectory {
    fn new() -> SessionDirectory {
        SessionDirectory { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("session.jsonl")
    }

    fn open(&self) -> Opened {
        SessionFile::open(&self.path(), Path::new("/work")).unwrap()
    }

    /// What a reader finds: the words of every message.
    fn words(&self) -> Vec<String> {
        self.open()
            .entries
            .iter()
            .map(|entry| match &*entry.message {
                Message::User(message) => text_of(&message.content),
                Message::Assistant(message) => message.text(),
                Message::ToolResult(message) => text_of(&message.content),
                Message::CompactionSummary(summary) => format!("summary: {}", summary.summary),
                Message::System(_) => "system".to_owned(),
            })
            .collect()
    }

    fn history(&self) -> History {
        let opened = self.open();
        History::new(opened.entries, Some(opened.file))
    }
}

fn message(entry: &Entry) -> Message {
    Message::clone(&entry.message)
}

#[test]
fn a_conversation_goes_on_where_it_ended() {
    let directory = SessionDirectory::new();
    let id = directory.open().session_id;
    let mut history = directory.history();
    history.push(message(&user("", "one")));
    history.push(message(&assistant("", "two", 5)));
    drop(history);
    directory.history().push(message(&result("", "three")));
    assert_eq!(directory.words(), ["one", "two", "three"]);
    assert_eq!(directory.open().session_id, id);
    let mode = fs::metadata(directory.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_was_omitted_or_compacted_is_gone_for_the_reader_too() {
    let directory = SessionDirectory::new();
    let mut history = directory.history();
    for text in ["one", "two", "three", "failed"] {
        history.push(message(&user("", text)));
    }
    history.omit_last();
    let summary =
        CompactionSummary { summary: "one, two".to_owned(), tokens_before: 9, timestamp: 0 };
    history.compact(summary, 2);
    history.push(message(&user("", "four")));
    assert_eq!(directory.words(), ["summary: one, two", "three", "four"]);
    let summary = CompactionSummary { summary: "all".to_owned(), tokens_before: 9, timestamp: 0 };
    history.compact(summary, 99);
    assert_eq!(directory.words(), ["summary: all"]);
    assert_eq!(history.entries().len(), 1);
}

#[test]
fn a_torn_line_is_left_behind_and_does_not_swallow_the_next() {
    let directory = SessionDirectory::new();
    let mut history = directory.history();
    history.push(message(&user("", "one")));
    drop(history);
    let mut text = fs::read_to_string(directory.path()).unwrap();
    text.push_str("{\"type\":\"message\",\"id\":\"x\u{e9}");
    // It ends in the middle of a character.
    fs::write(directory.path(), &text.as_bytes()[..text.len() - 1]).unwrap();
    directory.history().push(message(&user("", "two")));
    assert_eq!(directory.words(), ["one", "two"]);
}

#[test]
fn two_who_write_at_once_do_not_mix_their_conversations() {
    let directory = SessionDirectory::new();
    directory.history().push(message(&user("", "one")));
    let (mut left, mut right) = (directory.history(), directory.history());
    left.push(message(&user("", "left")));
    right.push(message(&user("", "right")));
    left.push(message(&assistant("", "to the left", 5)));
    right.push(message(&assistant("", "to the right", 5)));
    left.push(message(&user("", "more")));
    assert_eq!(directory.words(), ["one", "left", "to the left", "more"]);
    right.push(message(&user("", "more")));
    assert_eq!(directory.words(), ["one", "right", "to the right", "more"]);
}

#[test]
fn a_session_of_pi_is_read_along_its_last_branch() {
    let directory = SessionDirectory::new();
    let line = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"t","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":1}}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}"#.to_owned(),
        line("a", "", "one"),
        r#"{"type":"thinking_level_change","id":"t","parentId":"a","thinkingLevel":"high"}"#
            .to_owned(),
        line("b", "a", "left"),
        line("c", "a", "right"),
    ];
    fs::write(directory.path(), lines.join("\n") + "\n").unwrap();
    assert_eq!(directory.words(), ["one", "right"]);
}

#[test]
fn what_is_no_session_is_not_touched() {
    let directory = SessionDirectory::new();
    for (text, reason) in [
        ("hello\n", "line 1 is not the header of a session"),
        ("\nhello\n", "line 2 is not the header of a session"),
        ("{\"type\":\"module\"}\n", "it is of another type"),
        (
            "{\"type\":\"session\",\"version\":4,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n",
            "its format is 4",
        ),
    ] {
        fs::write(directory.path(), text).unwrap();
        let error = SessionFile::open(&directory.path(), Path::new("/")).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(fs::read_to_string(directory.path()).unwrap(), text);
    }
    let directory = SessionFile::open(directory.directory.path(), Path::new("/")).unwrap_err();
    assert!(directory.to_string().contains("cannot be used"), "{directory}");
}

#[test]
fn two_entries_of_one_name_do_not_lead_a_conversation_elsewhere() {
    let directory = SessionDirectory::new();
    let said = |id: &str, parent: &str, text: &str| {
        let message = serde_json::json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": "t",
            "message": {
                "role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1,
            },
        });
        format!("{message}\n")
    };
    directory.open();
    let mut file = fs::read_to_string(directory.path()).unwrap();
    file += &(said("a", "", "one") + &said("b", "a", "two"));
    file += "{\"type\": \"label\", \"id\": \"c\", \"parentId\": \"b\"}\n";
    // Another one is called so, on another branch than the last line.
    file += &said("b", "a", "other");
    file += "{\"type\": \"label\", \"parentId\": \"c\"}\n";
    fs::write(directory.path(), file).unwrap();
    assert_eq!(directory.words(), ["one", "two"]);
    directory.history().push(message(&user("", "three")));
    assert_eq!(directory.words(), ["one", "two", "three"]);
}

#[test]
fn a_disk_that_is_full_at_the_start_costs_no_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut session = SessionFile::new(path.clone(), full, None);
    let first = Line::Session {
        version: VERSION,
        id: "session".to_owned(),
        timestamp: String::new(),
        cwd: "/".to_owned(),
    };
    assert!(session.write_line(&first).is_err());
    session.unwritten = Some(first);
    assert!(session.omit("a").is_err(), "there is no room yet");
    // There is room again.
    session.file = std::fs::File::create(&path).unwrap();
    session.omit("a").unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.lines().count(), 2, "{written}");
    assert!(written.starts_with(r#"{"type":"session""#), "{written}");
}
