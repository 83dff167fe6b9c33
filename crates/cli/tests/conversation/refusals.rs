//! Messages that no agent gets, and the reasons.

use super::*;
use crate::world;

#[test]
fn a_run_that_has_ended_takes_no_message() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let run = talk.start();
    talk.let_go();
    let ran = run.finish();
    let told = talk.tell(&["Are you there?"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""));
    assert!(told.stderr.contains("the message was refused: the run has ended"), "{told:?}");
    let hint = "`pi-subagents run --resume talk \"…\"`";
    assert!(told.stderr.contains(hint), "{told:?}");
    let document = talk.tell(&["--json", "Are you there?"]);
    assert_eq!(document.code, Some(1));
    let refused = json!({"state": "refused", "reason": "the run has ended"});
    assert_eq!(document.json()["message"], refused);
    assert_eq!(lives(&ran.run_dir()), [""; 0]);
    assert_eq!(talk.asked().len(), 2);
}

#[test]
fn an_agent_that_reads_only_its_prompt_refuses_with_the_reason() {
    let world = world();
    let run = world.start(&world.working(), &["--name", "talk"]);
    wait_until(|| world.path("working").exists());
    let told = world.run(&["tell", "talk", "Hello?"]);
    assert_eq!(told.code, Some(1));
    let reason = "this agent reads its prompt and nothing else";
    assert!(told.stderr.contains(reason), "{told:?}");
    world.let_go();
    let ran = run.finish();
    assert_eq!(ran.task()["output"], "found it");
    let lives = lives(&ran.run_dir());
    assert!(
        matches!(&lives[..], [life] if life.starts_with("1 refused: this agent reads")),
        "{lives:?}"
    );
    world.assert_nothing_left();
}

#[test]
fn codex_refuses_with_the_reason() {
    let world = world();
    let script =
        json!([{"touch": world.path("working")}, {"await": world.path("go")}, {"exit": 1}]);
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script.to_string()]);
    world.settings(&json!({"agents": {"codex": {"command": command, "protocol": "codex"}}}));
    let command = world
        .command(["run", "--json", "--access", "full", "--agent", "codex", "--name", "talk", "go"]);
    let run = Running::start(command);
    wait_until(|| world.path("working").exists());
    let told = world.run(&["tell", "talk", "Hello?"]);
    assert_eq!(told.code, Some(1));
    assert!(told.stderr.contains("Codex reads its prompt and nothing else"), "{told:?}");
    world.let_go();
    run.finish();
    world.assert_nothing_left();
}

#[test]
fn what_cannot_be_a_message_is_refused() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let run = talk.start();
    let empty = talk.tell(&[" "]);
    assert_eq!((empty.code, empty.stderr.contains("the message is empty")), (Some(2), true));
    let unknown = talk.world().run(&["tell", "nothing", "Hello?"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let long = talk.world().feed(talk.world().command(["tell", "talk", "-"]), &"x".repeat(65_537));
    assert_eq!(long.code, Some(1));
    assert!(long.stderr.contains("the message has 65537 bytes"), "{long:?}");
    fs::write(talk.run_dir().join("message-2.json"), "no message").unwrap();
    assert_eq!(talk.tell(&["Go on."]).stdout, "Message 3 accepted.\n");
    let mut child = talk.world().command(["tell", "talk", "Hello?"]);
    child.env("PI_SUBAGENTS_CHILD", "1");
    let child = Ran::from(child.output().unwrap());
    assert!(
        child.code == Some(2) && child.stderr.contains("a sub-agent cannot speak"),
        "{child:?}"
    );
    talk.let_go();
    let ran = run.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lives = lives(&ran.run_dir());
    assert!(lives[1].starts_with("2 refused: ") && lives[1].contains("is damaged"), "{lives:?}");
    assert_eq!(lives[2..], ["3 accepted: Go on.", "3 delivered"]);
    talk.world().assert_nothing_left();
}

#[test]
fn a_message_for_the_end_of_a_run_that_is_stopped_is_refused() {
    let talk = Talk::new(&[]);
    let run = talk.start();
    assert_eq!(talk.tell(&["--after", "Later."]).code, Some(0));
    run.signal(Signal::INT);
    let ran = run.finish();
    assert_eq!(ran.task()["outcome"], "cancelled");
    assert_eq!(
        lives(&ran.run_dir()),
        ["1 accepted: Later.", "1 refused: the agent ended before it read the message"]
    );
    talk.world().assert_nothing_left();
}

#[test]
fn a_run_of_an_earlier_version_is_not_left_a_message_that_nothing_would_read() {
    let talk = Talk::new(&[json!({"text": "done"})]);
    let run = talk.start();
    let path = talk.run_dir().join("meta.json");
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta.as_object_mut().unwrap().remove("takesMessages");
    fs::write(&path, meta.to_string()).unwrap();
    let told = talk.tell(&["Hello?"]);
    assert!(told.stderr.contains("it was started by an earlier version"), "{told:?}");
    assert!(!talk.run_dir().join("message-1.json").exists());
    talk.let_go();
    assert_eq!(run.finish().code, Some(0));
    talk.world().assert_nothing_left();
}
