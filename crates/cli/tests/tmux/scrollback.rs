//! What the live view leaves behind in terminals that keep what scrolled away: nothing but the record.

use std::fs;
use std::process::Command;

use serde_json::json;
use test_support::{Ran, World, wait_until};

use crate::{PATH, TmuxWorld};

/// The screen is cleared before, so that the view begins in its first row.
const TASKS: usize = 12;

/// A script that clears the screen, runs the tasks, and says that it has ended.
fn script(world: &World) -> String {
    // The runs themselves have no panes here.
    fs::remove_file(world.agent_dir().join("subagents.json")).unwrap();
    let agent = world.agent(&json!([
        "start",
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"await": world.path("go")},
        {"say": "done"},
        {"end": false},
        "settle",
    ]));
    let tasks: Vec<_> = (1..=TASKS)
        .map(|number| json!({"name": format!("agent {number}"), "prompt": "p"}))
        .collect();
    fs::write(world.path("call.json"), json!(tasks).to_string()).unwrap();
    let mut command =
        world.command(["delegate", "--quiet", "--concurrency", "12", "--agent", &agent]);
    command.arg(world.path("call.json"));
    let quoted =
        |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', "'\\''"));
    let words: Vec<String> =
        [command.get_program()].into_iter().chain(command.get_args()).map(quoted).collect();
    let variables = command.get_envs().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value?);
        (name != "PATH").then(|| format!("export {name}={}", quoted(value)))
    });
    let lines: Vec<String> = variables.collect();
    let path = world.path("script.sh");
    let project = quoted(world.project().as_os_str());
    let text = format!(
        "{}\ncd {project}\nseq 1 50\nclear\n{}\necho end of it\ntouch {}\nexec tail -f /dev/null\n",
        lines.join("\n"),
        words.join(" "),
        quoted(world.path("ended").as_os_str()),
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Fails unless everything below the numbers that were there before is the table.
#[track_caller]
fn assert_only_the_record(scrollback: &str) {
    let lines: Vec<&str> =
        scrollback.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let numbers = lines.iter().take_while(|line| line.parse::<u32>().is_ok()).count();
    let record = &lines[numbers..];
    assert_eq!(record.len(), TASKS + 2, "{scrollback}");
    let (tasks, rest) = record.split_at(TASKS);
    // What screen writes into a file has only a byte of each character.
    let is_task = |line: &str| line.chars().skip(1).collect::<String>().starts_with(" agent ");
    assert!(tasks.iter().all(|line| is_task(line)), "{scrollback}");
    assert!(rest[0].starts_with("12 tasks ") && rest[1] == "end of it", "{scrollback}");
}

#[test]
fn tmux_keeps_the_record_and_nothing_else() {
    let tmux = TmuxWorld::sized(80, 10);
    let script = script(&tmux.world);
    let pane = tmux.tmux(&["new-window", "-P", "-F", "#{pane_id}", "sh", &script]);
    let pane = pane.trim();
    wait_until(|| tmux.shown(pane).contains("12 running"));
    fs::write(tmux.world.path("go"), "").unwrap();
    wait_until(|| tmux.world.path("ended").exists());
    wait_until(|| tmux.shown(pane).contains("end of it"));
    let scrollback = tmux.tmux(&["capture-pane", "-p", "-S", "-", "-t", pane]);
    assert_only_the_record(&scrollback);
    tmux.tmux(&["kill-pane", "-t", pane]);
    tmux.end_server();
}

#[test]
fn tmux_keeps_only_the_record_of_a_view_in_a_window_that_was_resized() {
    let tmux = TmuxWorld::sized(80, 10);
    let script = script(&tmux.world);
    let pane = tmux.tmux(&["new-window", "-P", "-F", "#{pane_id}", "sh", &script]);
    let pane = pane.trim();
    wait_until(|| tmux.shown(pane).contains("12 running"));
    for (columns, rows) in [(80, 20), (120, 20), (120, 8), (120, 10)] {
        let (width, height) = (columns.to_string(), rows.to_string());
        tmux.tmux(&["resize-window", "-t", pane, "-x", &width, "-y", &height]);
        wait_until(|| is_drawn_for(&tmux.shown(pane), columns, rows));
    }
    fs::write(tmux.world.path("go"), "").unwrap();
    wait_until(|| tmux.world.path("ended").exists());
    wait_until(|| tmux.shown(pane).contains("end of it"));
    let scrollback = tmux.tmux(&["capture-pane", "-p", "-S", "-", "-t", pane]);
    assert_only_the_record(&scrollback);
    tmux.tmux(&["kill-pane", "-t", pane]);
    tmux.end_server();
}

/// Whether the window shows the view as it is for this size: the whole of it, and with the longer bar where there is room.
fn is_drawn_for(shown: &str, columns: usize, rows: usize) -> bool {
    let lines: Vec<&str> = shown.lines().filter(|line| !line.trim().is_empty()).collect();
    let [first, .., last] = lines[..] else { return false };
    let bar = if columns < 100 { 14 } else { 34 };
    first.starts_with(" 0/12 ")
        && first.matches('─').count() == bar
        && last.contains("? keys")
        && shown.contains("agent 12") == (rows > TASKS + 2)
}

/// A session of GNU screen, which ends with the test.
struct ScreenSession<'a> {
    world: &'a World,
}

impl ScreenSession<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command_of("screen");
        let sockets = self.world.path("screens");
        command.env("PATH", PATH).env("SCREENDIR", sockets).env("LC_ALL", "C.UTF-8");
        command.env("TERM", "xterm-256color").args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let all = ["-S", "test", "-p", "0", "-X"].iter().chain(arguments).copied();
        self.command(&all.collect::<Vec<_>>()).output().expect("screen must be installed").into()
    }

    /// What is seen, and what scrolled away, as soon as it has this text.
    fn scrollback_with(&self, text: &str) -> String {
        let path = self.world.path("hardcopy");
        let mut scrollback = String::new();
        wait_until(|| {
            // It is written some time after the command has returned.
            self.run(&["hardcopy", "-h", path.to_str().unwrap()]);
            let bytes = fs::read(&path).unwrap_or_default();
            scrollback = String::from_utf8_lossy(&bytes).into_owned();
            scrollback.contains(text)
        });
        scrollback
    }
}

impl Drop for ScreenSession<'_> {
    fn drop(&mut self) {
        self.run(&["quit"]);
    }
}

#[test]
fn screen_keeps_the_record_and_nothing_else() {
    use std::os::unix::fs::DirBuilderExt;
    let tmux = TmuxWorld::sized(80, 10);
    let world = &tmux.world;
    fs::DirBuilder::new().mode(0o700).create(world.path("screens")).unwrap();
    let script = script(world);
    let session = ScreenSession { world };
    let ran = Ran::from(
        session.command(&["-U", "-dmS", "test", "-T", "screen", "sh", &script]).output().unwrap(),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    session.scrollback_with("12 running");
    fs::write(world.path("go"), "").unwrap();
    assert_only_the_record(&session.scrollback_with("end of it"));
    drop(session);
    tmux.end_server();
}
