//! Names and ids that are almost right: what the program says could have been meant.

use test_support::World;
use test_support::fake_agent::saying;

fn world() -> World {
    crate::world()
        .with_scout()
        .with_agent_file("agent-profiles/reviewer.md", "---\nname: reviewer\n---\n")
}

#[track_caller]
fn says(world: &World, arguments: &[&str], expected: &str) {
    let ran = world.run(arguments);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains(expected), "{arguments:?}: {expected:?} is not in {}", ran.stderr);
}

#[test]
fn a_name_that_is_almost_right_is_told_with_the_one_that_was_meant() {
    let world = world();
    for (arguments, expected) in [
        (["profile", "show", "reviwer"].as_slice(), "Did you mean reviewer?"),
        (&["profile", "delete", "Reviewr"], "Did you mean reviewer?"),
        (&["preset", "show", "scuot"], "Did you mean scout?"),
        (&["run", "--profile", "reviwer", "do it"], "Did you mean reviewer?"),
        (&["run", "--preset", "scoutt", "do it"], "Did you mean scout?"),
        (&["bg", "start", "--preset", "scoutt", "do it"], "Did you mean scout?"),
        (&["run", "--agent", "bulitin", "do it"], "Did you mean builtin?"),
        (&["man", "rnu"], "Did you mean run?"),
        (&["sesions"], "sessions"),
    ] {
        says(&world, arguments, expected);
    }
}

#[test]
fn an_id_that_is_almost_right_and_the_name_of_a_task_lead_to_the_session() {
    let world = world();
    let script = saying("a");
    let ran = world.play(&script, &["--name", "review"]);
    let id = ran.task()["sessionId"].as_str().unwrap().to_owned();
    let last = if id.ends_with('0') { "1" } else { "0" };
    let almost = format!("{}{last}", &id[..15]);
    let meant = format!("Did you mean {id}?");
    says(&world, &["sessions", "show", &almost], &meant);
    says(&world, &["sessions", "output", "review"], &meant);
    says(&world, &["run", "--resume", &almost, "go on"], &meant);
    let agent = world.agent(&script);
    let start = ["bg", "start", "--preset", "scout", "--agent", &agent, "look"];
    let id = world.run(&start).stdout.trim().to_owned();
    assert_eq!(world.run(&["bg", "wait", &id]).code, Some(0));
    says(&world, &["bg", "logs", "scout"], &format!("Did you mean {id}?"));
    world.wait_until_nothing_is_left();
}
