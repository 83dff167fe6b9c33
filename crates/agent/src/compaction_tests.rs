use super::*;
use crate::config::AgentSettings;
use crate::testing::{assistant, result, user};

/// A text of so many tokens.
fn words(tokens: usize) -> String {
    "four".repeat(tokens)
}

#[test]
fn a_result_is_never_kept_without_its_call() {
    let entries = [
        user("1", &words(10)),
        assistant("2", &words(10), 0),
        result("3", &words(10)),
        assistant("4", &words(10), 0),
        result("5", &words(10)),
    ];
    for (keep, first) in [(100, 0), (40, 1), (39, 3), (30, 3), (20, 3), (19, 5), (0, 5)] {
        assert_eq!(first_kept(&entries, keep), first, "{keep} tokens");
    }
}

#[test]
fn small_models_keep_room_for_more_than_the_reserve() {
    let policy = AgentSettings::default().compaction;
    assert_eq!(within(policy, 200_000), policy);
    let small = within(policy, 8000);
    assert_eq!((small.reserve_tokens, small.keep_recent_tokens), (2000, 2000));
}

#[test]
fn the_request_fits_and_holds_the_ends_of_everything() {
    let long = format!("begin {} end", words(5000));
    let entries = [user("1", "Do it."), result("2", &long), assistant("3", &long, 0)];
    let policy = within(AgentSettings::default().compaction, 4000);
    let request = summary_request(&entries, Some("what was before"), policy, 4000);
    let Message::User(message) = &*request.messages[0] else { panic!("not a user") };
    let prompt = text_of(&message.content);
    assert!(prompt.len() < 4000 * 4, "{}", prompt.len());
    for part in ["[User]: Do it.", "[Tool result]: begin", "what was before", "bytes left out"] {
        assert!(prompt.contains(part), "{part}");
    }
    assert!(request.tools.is_empty());
}

#[test]
fn the_task_stands_in_front_in_the_users_own_words() {
    let summary = with_task(" Count the tests. ", "\n## Goal\n");
    assert_eq!(summary, "The task, in the user's own words:\n\nCount the tests.\n\n---\n\n## Goal");
    assert!(with_task(&words(100_000), "x").len() < MAX_TASK + 200);
}

#[test]
fn texts_are_cut_between_characters() {
    assert_eq!(shortened("ééé", 6), "ééé");
    let cut = shortened(&"é".repeat(100), 41);
    assert!(cut.starts_with("ééééé\n[… "), "{cut}");
    assert!(cut.ends_with("é"));
}
