use model::{Cost, Event, Record, Usage};
use serde_json::json;
use session::PreviewContext;

use super::*;
use crate::Keys;

fn said(text: &str) -> Event {
    let cost = Some(Cost::default());
    let usage = Usage { total_tokens: 1_200, cost, ..Usage::default() };
    let (text, model, stop_reason, error) = (text.to_owned(), None, None, None);
    Event::AssistantMessage { text, model, stop_reason, error, usage }
}

fn called(id: &str, command: &str) -> Event {
    Event::ToolCall { id: id.into(), tool: "bash".into(), args: json!({"command": command}) }
}

fn returned(id: &str, text: &str, is_error: bool) -> Event {
    let (id, tool, text) = (id.into(), "bash".into(), text.into());
    Event::ToolResult { id, tool, is_error, text, limit_reached: false }
}

fn take(conversation: &mut Conversation, events: Vec<Event>) {
    let taken = conversation.entries().count() as u64;
    for (seq, event) in (taken * 10 + 1..).zip(events) {
        conversation.apply(&Record { seq, at: seq * 1_000, event }, &PreviewContext::default());
    }
}

fn conversation() -> Conversation {
    let prompt = (1..=9).map(|number| format!("Point {number}.\n")).collect::<String>();
    let mut conversation = Conversation::with_prompt(&prompt, 1);
    let output: String = (1..=8).map(|number| format!("line {number}\n")).collect();
    take(
        &mut conversation,
        vec![
            Event::RunStarted { pid: 1, agent: None },
            said("I **look**."),
            called("1", "ls"),
            returned("1", &output, false),
            called("2", "false"),
            returned("2", "Command exited with code 1", true),
            said("# Done\n\n- one\n- two"),
        ],
    );
    conversation
}

fn press(reader: &mut Reader, keys: &str) -> Vec<Read> {
    Keys::default().read(keys.as_bytes()).into_iter().map(|key| reader.press(key)).collect()
}

fn shown(reader: &mut Reader, conversation: &Conversation, room: usize) -> Vec<String> {
    let rows = reader.rows(conversation, 40, room);
    rows.iter().map(|row| row.text().trim_end().to_owned()).collect()
}

#[test]
fn a_conversation_is_shown_from_its_prompt_to_its_answer() {
    let mut reader = Reader::default();
    assert_eq!(
        shown(&mut reader, &conversation(), 40),
        [
            " ❯ Point 1.",
            "   Point 2.",
            "   Point 3.",
            "   Point 4.",
            "   Point 5.",
            "   ▸ 4 more lines",
            "",
            " ● I look.             0:01  1.2k  $0.00",
            "",
            " ▪ bash   ls                          1s",
            "   │ line 1",
            "   │ line 2",
            "   │ line 3",
            "   ▸ 5 more lines",
            "",
            " ✗ bash   false                       1s",
            "   │ Command exited with code 1",
            "",
            " ● Done                0:06  1.2k  $0.00",
            "",
            "   • one",
            "   • two",
            "",
        ]
    );
}

#[test]
fn it_follows_the_end_until_the_reader_goes_up() {
    let mut conversation = conversation();
    let mut reader = Reader::default();
    assert_eq!(shown(&mut reader, &conversation, 3), ["   • one", "   • two", ""]);
    take(&mut conversation, vec![said("More.")]);
    assert_eq!(shown(&mut reader, &conversation, 3)[1], " ● More.               0:40  1.2k  $0.00");
    press(&mut reader, "kkk");
    let before = shown(&mut reader, &conversation, 3);
    take(&mut conversation, vec![said("Even more.")]);
    assert_eq!(shown(&mut reader, &conversation, 3), before, "nothing moves under the eye");
    press(&mut reader, "g");
    assert_eq!(shown(&mut reader, &conversation, 3)[0], "›❯ Point 1.");
    press(&mut reader, "\x1b[6~");
    assert_eq!(shown(&mut reader, &conversation, 3)[0], "›  Point 4.");
    press(&mut reader, "\x1b[5~\x1b[5~");
    assert_eq!(shown(&mut reader, &conversation, 3)[0], "›❯ Point 1.");
    press(&mut reader, "G");
    assert!(shown(&mut reader, &conversation, 3)[1].contains("Even more."));
}

#[test]
fn what_is_folded_is_unfolded_and_folded_again() {
    let conversation = conversation();
    let mut reader = Reader::from_start();
    shown(&mut reader, &conversation, 40);
    press(&mut reader, "jj\r");
    let rows = shown(&mut reader, &conversation, 40);
    assert_eq!(rows[8..11], ["   Point 9.", "   ▾", ""]);
    assert_eq!(rows[2], "›  Point 3.", "the cursor stays where it is");
    press(&mut reader, " ");
    assert_eq!(shown(&mut reader, &conversation, 40)[5], "   ▸ 4 more lines");
    press(&mut reader, "o");
    assert!(shown(&mut reader, &conversation, 40).iter().all(|row| !row.contains('▸')));
    press(&mut reader, "o");
    let rows = shown(&mut reader, &conversation, 40);
    assert_eq!(rows.iter().filter(|row| row.contains('▸')).count(), 2);
}

#[test]
fn what_is_searched_is_found_also_where_it_is_folded() {
    let conversation = conversation();
    let mut reader = Reader::from_start();
    shown(&mut reader, &conversation, 10);
    press(&mut reader, "/line 8");
    assert_eq!(reader.typed(), Some("line 8"));
    assert_eq!(press(&mut reader, "\r"), [Read::Done]);
    let rows = shown(&mut reader, &conversation, 10);
    assert!(rows.iter().any(|row| row == "›  │ line 8"), "{rows:#?}");
    assert_eq!(press(&mut reader, "/line\r").last(), Some(&Read::Done));
    shown(&mut reader, &conversation, 10);
    press(&mut reader, "n");
    let rows = shown(&mut reader, &conversation, 10);
    assert!(rows.iter().any(|row| row == "›  │ line 1"), "around the end: {rows:#?}");
    press(&mut reader, "N");
    let rows = shown(&mut reader, &conversation, 10);
    assert!(rows.iter().any(|row| row == "›  │ line 8"), "{rows:#?}");
    assert_eq!(press(&mut reader, "/nowhere\r").last(), Some(&Read::NotFound));
    assert_eq!(press(&mut reader, "/x\x7f\x7f"), [Read::Done; 4], "it is left again");
    assert_eq!(reader.typed(), None);
    assert_eq!(press(&mut reader, "n"), [Read::NotFound]);
    press(&mut reader, "\x1b");
    assert_eq!(press(&mut reader, "n"), [Read::Ignored]);
}

#[test]
fn only_what_has_changed_is_drawn_anew() {
    let mut conversation = conversation();
    let mut reader = Reader::default();
    let first_rows = |reader: &Reader| -> Vec<*const Line> {
        let rows = reader.blocks.iter().filter_map(|block| block.rows().next());
        rows.map(|row| match row {
            Row::Text(line) | Row::Sign(line) => std::ptr::from_ref(line),
        })
        .collect()
    };
    shown(&mut reader, &conversation, 10);
    let before = first_rows(&reader);
    take(&mut conversation, vec![said("More.")]);
    shown(&mut reader, &conversation, 10);
    assert_eq!(first_rows(&reader)[..before.len()], before);
}

#[test]
fn every_size_holds_every_row() {
    let conversation = conversation();
    for (columns, room) in [(0, 0), (1, 1), (5, 2), (9, 4), (200, 60)] {
        for keys in ["", "g", "gjjj\r", "o", "/l\r", "k\x1b[5~"] {
            let mut reader = Reader::default();
            reader.rows(&conversation, columns, room);
            press(&mut reader, keys);
            assert!(
                reader.rows(&conversation, columns, room).len() <= room,
                "{columns} {room} {keys}"
            );
        }
    }
}
