//! Many messages from several programs.

use std::thread;

use super::*;

#[test]
fn two_hundred_messages_from_four_programs_arrive_once_each_in_the_order_of_their_acceptance() {
    let talk = Talk::new(&[json!({"text": "I have heard it all."})]);
    let run = talk.start();
    thread::scope(|scope| {
        for speaker in 0..4 {
            let talk = &talk;
            scope.spawn(move || {
                for number in 0..50 {
                    let told = talk.tell(&[&format!("{speaker}-{number}")]);
                    assert_eq!(told.code, Some(0), "{told:?}");
                }
            });
        }
    });
    talk.let_go();
    let ran = run.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lives = lives(&ran.run_dir());
    let accepted: Vec<&str> = lives
        .iter()
        .filter_map(|life| life.split_once(" accepted: "))
        .map(|(_, text)| text)
        .collect();
    assert_eq!(accepted.len(), 200);
    assert_eq!(talk.asked()[1], accepted, "all are in the next request, in their order");
    let delivered: Vec<String> = (1..=200).map(|number| format!("{number} delivered")).collect();
    let ends: Vec<&String> = lives.iter().filter(|life| !life.contains("accepted")).collect();
    assert_eq!(ends, delivered.iter().collect::<Vec<_>>());
    // Each speaker is heard in the order in which it spoke.
    for speaker in 0..4 {
        let own: Vec<String> = (0..50).map(|number| format!("{speaker}-{number}")).collect();
        let prefix = format!("{speaker}-");
        let heard: Vec<&str> =
            accepted.iter().filter(|text| text.starts_with(&prefix)).copied().collect();
        assert_eq!(heard, own);
    }
    talk.world().assert_nothing_left();
}

#[test]
fn a_run_takes_a_thousand_messages_and_no_more() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let run = talk.start();
    // As other programs leave them.
    for number in 1..=1000 {
        let message = json!({"text": format!("m{number}")}).to_string();
        fs::write(talk.run_dir().join(".new"), message).unwrap();
        let path = talk.run_dir().join(format!("message-{number}.json"));
        fs::rename(talk.run_dir().join(".new"), path).unwrap();
    }
    let told = talk.tell(&["one more"]);
    assert_eq!(told.code, Some(1));
    assert!(told.stderr.contains("the run has had 1000 messages, which is the limit"), "{told:?}");
    wait_until(|| lives(&talk.run_dir()).len() == 1000);
    talk.let_go();
    let ran = run.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(talk.asked()[1].len(), 1000);
    talk.world().assert_nothing_left();
}
