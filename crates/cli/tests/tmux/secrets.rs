//! What a child knows, and what tmux must not.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use test_support::{Running, wait_until};

use crate::{OF_THE_SERVER, TmuxWorld};

const KEY: &str = "sk-of-the-pane-0123456789";
/// A variable that only the caller has.
const OF_THE_CALLER: &str = "ONLY_THE_CALLER_HAS_IT";

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let (directories, files): (Vec<_>, Vec<_>) =
        entries.partition(|entry| entry.file_type().unwrap().is_dir());
    let below = directories.iter().flat_map(|entry| files_below(&entry.path()));
    files.iter().map(fs::DirEntry::path).chain(below).collect()
}

/// Everything that a process shows of itself to others of its user, except for the child's own
/// environment, which must hold the key.
fn shown_by_processes() -> String {
    let mut shown = String::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let command_line = read("cmdline");
        shown.push_str(&String::from_utf8_lossy(&command_line));
        if !String::from_utf8_lossy(&command_line).contains("fake-agent\0@") {
            shown.push_str(&String::from_utf8_lossy(&read("environ")));
        }
    }
    shown
}

#[test]
fn a_key_reaches_the_child_and_nothing_of_tmux() {
    let tmux = TmuxWorld::new();
    let profiles = tmux.world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&profiles).unwrap();
    let profile =
        format!("---\nname: keyed\nprovider: acme\nmodel: acme/one\napiKey: {KEY}\n---\n");
    fs::write(profiles.join("keyed.md"), profile).unwrap();
    let (shown, go) = (tmux.world.path("shown"), tmux.world.path("go"));
    let script = json!([
        {"message": {"text": format!("the key is {KEY}"), "stop": "toolUse"}},
        {"touch": shown},
        {"await": go},
        {"tell": {"variable": "PI_API_KEY"}},
    ]);
    // The script holds the key, so that it must not be an argument itself.
    fs::write(tmux.world.path("script.json"), script.to_string()).unwrap();
    let file = format!("@{}", tmux.world.path("script.json").display());
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), file]).to_string();
    let arguments = ["run", "--json", "--agent", &agent, "--profile", "keyed", "do it"];
    let running = Running::start(tmux.inside(tmux.world.command(arguments)));
    wait_until(|| shown.exists());
    let pane = tmux.only_pane();
    wait_until(|| tmux.shown(&pane).contains("the key is"));
    assert!(tmux.shown(&pane).contains("the key is ****"), "{}", tmux.shown(&pane));
    for asked in [
        &["show-environment"][..],
        &["show-environment", "-g"],
        &["list-panes", "-a", "-F", "#{pane_id} #{pane_start_command} #{pane_title}"],
    ] {
        let answer = tmux.tmux(asked);
        assert!(!answer.contains(KEY), "{asked:?}: {answer}");
    }
    assert!(!shown_by_processes().contains(KEY));
    fs::write(go, "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_eq!(ran.task()["output"], "****", "the child had the key, and it was hidden");
    for path in files_below(&tmux.world.project()) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(KEY), "{} holds the key", path.display());
    }
}

#[test]
fn a_child_has_the_environment_of_its_caller_and_not_of_the_server() {
    let tmux = TmuxWorld::new();
    assert!(tmux.tmux(&["show-environment", "-g"]).contains(OF_THE_SERVER));
    let tell = |name: &str| {
        let mut command = tmux.world.play_command(&json!([{"tell": {"variable": name}}]), &[]);
        command.env(OF_THE_CALLER, "two\nlines ' \" $HOME ; #{pid}");
        Running::start(tmux.inside(command)).finish().task()["output"].clone()
    };
    assert_eq!(tell(OF_THE_CALLER), "two\nlines ' \" $HOME ; #{pid}");
    assert_eq!(tell(OF_THE_SERVER), "(unset)");
    assert_eq!(tell("TMUX_PANE"), "%0", "it is the caller's own");
    tmux.assert_nothing_left();
}
