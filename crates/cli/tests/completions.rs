//! Completions, as bash asks for them. The other shells are tested in `shells`.

use std::fs;

use serde_json::json;
use test_support::fake_agent::saying;
use test_support::{Ran, World, write_file};

/// Calls the function that the script registers, as bash does when the key is pressed: `$1` is the
/// program, and the last of the words that follow is the one that is completed.
const PRESS_TAB: &str = r#"
eval "$("$1" completions bash)"
complete -p pi-subagents >/dev/null || exit 9
shift
COMP_WORDS=(pi-subagents "$@")
COMP_CWORD=$#
COMP_TYPE=9
_clap_complete_pi_subagents pi-subagents "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

fn world() -> World {
    crate::world()
        .with_scout()
        .with_agent_file("agent-profiles/reviewer.md", "---\nname: reviewer\n---\n")
        .with_agent_file("agent-profiles/planner.md", "---\nname: planner\n---\n")
}

fn complete(world: &World, words: &[&str]) -> Vec<String> {
    let shell = ["bash", "--noprofile", "--norc", "-c", PRESS_TAB, "bash"];
    let ran = Ran::from(World::behind(&shell, &world.command(words)).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The same without options, which are always possible, too.
fn complete_name(world: &World, words: &[&str]) -> Vec<String> {
    let mut names = complete(world, words);
    names.retain(|name| !name.starts_with('-'));
    names
}

#[test]
fn commands_and_options() {
    let world = world();
    assert_eq!(complete(&world, &["del"]), ["delegate"]);
    assert_eq!(complete(&world, &["bg", "st"]), ["start", "status", "stop"]);
    assert_eq!(complete(&world, &["run", "--timeo"]), ["--timeout"]);
    let commands = complete(&world, &[""]);
    for hidden in ["supervise", "view"] {
        assert!(!commands.iter().any(|command| command == hidden), "{commands:?}");
    }
}

#[test]
fn names_of_profiles_presets_agents_and_files() {
    let world = world();
    assert_eq!(complete(&world, &["run", "--profile", ""]), ["planner", "reviewer"]);
    assert_eq!(complete(&world, &["run", "--profile", "re"]), ["reviewer"]);
    assert_eq!(complete(&world, &["profile", "show", "pl"]), ["planner"]);
    let of_claude = world.project().join(".claude/agents/critic.md");
    write_file(&of_claude, "---\nname: critic\n---\n");
    assert_eq!(complete(&world, &["run", "--profile", ""]), ["critic", "planner", "reviewer"]);
    assert_eq!(complete(&world, &["profile", "import", "c"]), ["critic"]);
    assert_eq!(complete(&world, &["profile", "import", "pl"]), Vec::<String>::new());
    assert_eq!(complete(&world, &["profile", "edit", "pl"]), ["planner"]);
    assert_eq!(complete(&world, &["profile", "edit", "c"]), Vec::<String>::new());
    assert_eq!(complete(&world, &["bg", "start", "--preset", ""]), ["scout"]);
    assert_eq!(complete(&world, &["run", "--agent", "b"]), ["builtin"]);
    fs::write(world.project().join("tasks.json"), "").unwrap();
    assert_eq!(complete(&world, &["delegate", "ta"]), ["tasks.json"]);
}

#[test]
fn names_and_a_few_ids_of_sessions_and_background_runs() {
    let world = world();
    assert_eq!(complete_name(&world, &["sessions", "show", ""]), Vec::<String>::new());
    let script = saying("a");
    let play = |name: &str| world.play(&script, &["--name", name]).task()["sessionId"].clone();
    let ids: Vec<String> = ["review", "two words", "review", "count", "a;b", "last"]
        .map(|name| play(name).as_str().unwrap().to_owned())
        .into();
    let offered = complete_name(&world, &["run", "--resume", ""]);
    let names = ["last", "count", "review"].map(str::to_owned);
    let newest_first = names.into_iter().chain(ids[1..].iter().rev().cloned());
    assert_eq!(offered, newest_first.collect::<Vec<_>>(), "each name once, and five ids");
    assert_eq!(complete_name(&world, &["sessions", "output", &ids[5][..8]]), [ids[5].clone()]);
    assert_eq!(complete_name(&world, &["watch", "rev"]), ["review"]);
    assert_eq!(complete_name(&world, &["bg", "logs", ""]), Vec::<String>::new());
    let agent = world.agent(&script);
    let start = ["bg", "start", "--preset", "scout", "--agent", &agent, "look"];
    let id = world.run(&start).stdout.trim().to_owned();
    assert_eq!(world.run(&["bg", "wait", &id]).code, Some(0));
    assert_eq!(complete_name(&world, &["bg", "logs", ""]), ["scout".to_owned(), id.clone()]);
    // The other shells show what each is.
    let mut command = world.command(["--", "pi-subagents", "bg", "logs", ""]);
    let fish = Ran::from(command.env("PI_SUBAGENTS_COMPLETE", "fish").output().unwrap());
    assert!(fish.stdout.starts_with("scout\tcompleted, "), "{fish:?}");
    assert!(fish.stdout.contains(&format!("{id}\tscout, completed, ")), "{fish:?}");
    assert_eq!(complete_name(&world, &["bg", "stop", ""]), Vec::<String>::new(), "it has ended");
    world.wait_until_nothing_is_left();
}

#[test]
fn looking_for_ids_changes_nothing() {
    let world = world();
    let script = saying("a");
    let session = world.play(&script, &[]).task()["sessionId"].as_str().unwrap().to_owned();
    // As if its supervisor had died: listing the sessions would end it.
    let run = world.only_run();
    fs::remove_file(run.join("result.json")).unwrap();
    assert_eq!(complete_name(&world, &["sessions", "show", ""]), ["task".to_owned(), session]);
    assert!(!run.join("result.json").exists());
}

/// Pressing the key in a directory does not trust the project there.
#[test]
fn nothing_that_a_project_says_is_run_or_shown_raw_by_the_shell() {
    let world = world();
    let proof = world.path("owned");
    let evil = format!("\u{1b}[2J\u{7}$(touch {0})`touch {0}`;touch {0}", proof.display());
    let text = |name: &str| {
        format!("---\nname: {name}\ndescription: {}\n---\n", serde_json::Value::from(&*evil))
    };
    let directory = world.project().join(".pi/agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("good.md"), text("good")).unwrap();
    fs::write(directory.join("evil.md"), text("\"$(touch owned)\"")).unwrap();
    let script = json!([{"say": "done"}]);
    let task = world.play(&script, &["--name", &evil]).task();
    let offered = complete_name(&world, &["run", "--profile", ""]);
    assert_eq!(offered, ["good", "planner", "reviewer"]);
    let sessions = complete_name(&world, &["sessions", "show", ""]);
    assert_eq!(sessions, [task["sessionId"].as_str().unwrap()]);
    assert!(!proof.exists() && !world.project().join("owned").exists());
    // The other shells show a description of each.
    let mut command = world.command(["--", "pi-subagents", "run", "--profile", "g"]);
    command.env("PI_SUBAGENTS_COMPLETE", "fish");
    let fish = Ran::from(command.output().unwrap());
    assert!(fish.stdout.starts_with("good\t$(touch "), "{fish:?}");
}
