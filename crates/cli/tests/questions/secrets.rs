//! A key in what an agent asks: the agent keeps it, and no file and no screen shows it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{World, wait_until, write_file};

use super::{lives, wait_for_question};
use crate::live::terminal::Terminal;
use crate::world;

const KEY: &str = "sk-very-secret-key";
/// What a user sees of the command.
const SHOWN: &str = "curl -H x-api-key:**** localhost";

/// A world with an agent that asks whether it may run a command with the key of its profile in it, and keeps what it
/// is answered in the file `reply`. The key is its own: no file has it but the profile.
fn asking_with_a_key() -> World {
    let command = SHOWN.replace("****", "$ANTHROPIC_API_KEY");
    let request = json!({"type": "control_request", "request_id": "r1", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}}});
    let said = json!({"type": "assistant", "message": {"model": "m",
        "content": [{"type": "text", "text": "done"}]}});
    let result =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "done"});
    let script = format!(
        "read -r prompt\ncat <<END\n{request}\nEND\nread -r reply\nprintf '%s' \"$reply\" > reply\n\
         echo '{said}'\necho '{result}'\ncat\n"
    );
    let profile = format!("---\nname: keyed\nagent: clod\naccess: full\napiKey: {KEY}\n---\n");
    let world = world().with_agent_file("agent-profiles/keyed.md", &profile);
    let path = world.path("clod.sh");
    write_file(&path, &script);
    let clod = json!({"command": ["sh", path], "protocol": "claude"});
    world.settings(&json!({"agents": {"clod": clod}}));
    world
}

fn has_key(text: &str) -> bool {
    text.contains(KEY)
}

/// Checks what is left of the run: the agent was permitted its own command, and the record does not have the key.
#[track_caller]
fn assert_hidden(world: &World, life: &str) {
    let run = world.only_run();
    assert_eq!(lives(&run), [format!("1 asked {SHOWN:?}"), life.to_owned()]);
    for entry in fs::read_dir(&run).unwrap() {
        let path = entry.unwrap().path();
        let text = read(&path);
        assert!(!has_key(&text), "{}: {text}", path.display());
    }
    let reply: Value = serde_json::from_str(&read(&world.project().join("reply"))).unwrap();
    let permitted = &reply["response"]["response"]["updatedInput"]["command"];
    assert_eq!(*permitted, SHOWN.replace("****", KEY), "{reply}");
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

#[test]
fn lists_hide_the_key_in_a_question() {
    let world = asking_with_a_key();
    let started =
        world.run(&["bg", "start", "--profile", "keyed", "--name", "asker", "--ask", "go"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    wait_for_question(&world, 1);
    for command in [
        ["bg", "list"].as_slice(),
        &["bg", "list", "--json"],
        &["bg", "status", "--json", "asker"],
        &["sessions", "list", "--json"],
        &["sessions", "show", "asker"],
        &["bg", "logs", "asker"],
    ] {
        let ran = world.run(command);
        assert!(ran.stdout.contains(SHOWN), "{command:?}: {ran:?}");
        assert!(!has_key(&ran.stdout) && !has_key(&ran.stderr), "{command:?}: {ran:?}");
    }
    assert_eq!(world.run(&["answer", "asker", "yes"]).code, Some(0));
    wait_until(|| world.only_run().join("result.json").exists());
    world.wait_until_nothing_is_left();
    assert_hidden(&world, "1 yes by shell");
}

#[test]
fn the_live_view_and_watch_hide_the_key_in_a_question() {
    let world = asking_with_a_key();
    let on_terminal = |words: &[&str]| {
        let mut command = world.command(words);
        command.env("TERM", "xterm-256color");
        Terminal::start(&command, 90, 24)
    };
    let mut own = on_terminal(&["run", "--profile", "keyed", "--name", "asker", "--ask", "go"]);
    own.wait_for("asker asks whether it may use bash:");
    own.wait_for(SHOWN);
    let mut watching = on_terminal(&["watch"]);
    watching.wait_for(SHOWN);
    own.press("y");
    assert_eq!((own.finish(), watching.finish()), (Some(0), Some(0)));
    for terminal in [own, watching] {
        assert!(!has_key(&terminal.bytes()), "{}", terminal.record());
    }
    world.wait_until_nothing_is_left();
    assert_hidden(&world, "1 yes by view");
}
