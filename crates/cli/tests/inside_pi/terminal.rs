//! pi as people use it, in a terminal: a pane of a tmux server that belongs to the test.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_support::{Ran, clean_command, wait_until, write_program};

use crate::{Inside, calling};

/// Where tmux may be installed.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Nothing takes that long to be seen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a pi in it. The server does not have the mark of the world, so that only the processes that
/// pi left behind are found.
pub(crate) struct Terminal<'inside> {
    inside: &'inside Inside,
    server: Pid,
}

impl Inside {
    /// Starts pi in a terminal.
    pub(crate) fn terminal(&self, arguments: &[&str]) -> Terminal<'_> {
        self.start_terminal(self.pi(arguments), (140, 90))
    }

    /// The same in a terminal with so many columns and rows.
    pub(crate) fn terminal_of(&self, size: (u16, u16), calls: &[Value]) -> Terminal<'_> {
        self.start_terminal(self.pi(&[&veiled(&calling(calls))]), size)
    }

    /// The same, with a prompt for a model that makes these calls. Without one, a test would have to wait until
    /// pi accepts a prompt.
    pub(crate) fn terminal_calling(&self, calls: &[Value]) -> Terminal<'_> {
        self.terminal(&[&veiled(&calling(calls))])
    }

    fn start_terminal(&self, mut pi: Command, (columns, rows): (u16, u16)) -> Terminal<'_> {
        pi.env("TERM", "xterm-256color").env("COLORTERM", "truecolor").env("LC_ALL", "C.UTF-8");
        // A file, because the arguments of a server stay visible as long as it lives.
        let script = self.world.path("start-pi");
        write_program(&script, &shell_script(&pi));
        let mut command = self.tmux();
        command.args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string()]);
        command.args(["-P", "-F", "#{pid}"]).arg(&script);
        let ran = Ran::from(command.output().expect("tmux must be installed"));
        let server = ran.stdout.trim().parse().ok().and_then(Pid::from_raw);
        Terminal { inside: self, server: server.expect(&ran.stderr) }
    }

    fn tmux(&self) -> Command {
        let mut command = clean_command("tmux");
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.world.home())
            .env("TMUX_TMPDIR", self.world.path(""))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.world.home())
            .args(["-u", "-L", "test"])
            .stdin(Stdio::null());
        command
    }
}

/// The same prompt, written so that what is said in its script cannot be read in it.
pub(crate) fn veiled(prompt: &str) -> String {
    prompt.replace('e', r"\u0065")
}

/// The lines of a shell that start a command with the environment that it is meant to have.
fn shell_script(command: &Command) -> String {
    let quote =
        |text: &std::ffi::OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', r"'\''"));
    let environment = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let environment =
        environment.map(|(name, value)| format!("{}={}", name.to_str().unwrap(), quote(value)));
    let words = environment
        .chain([quote(command.get_program())])
        .chain(command.get_args().map(quote))
        .collect::<Vec<String>>()
        .join(" ");
    let directory = quote(command.get_current_dir().unwrap().as_os_str());
    format!("#!/bin/sh\ncd {directory} && exec env -i {words}\n")
}

impl Terminal<'_> {
    /// What can be seen at the moment.
    pub(crate) fn screen(&self) -> String {
        Ran::from(self.inside.tmux().args(["capture-pane", "-p"]).output().unwrap()).stdout
    }

    /// The same with its colours.
    pub(crate) fn painted(&self) -> String {
        Ran::from(self.inside.tmux().args(["capture-pane", "-e", "-p"]).output().unwrap()).stdout
    }

    /// Waits until this cannot be seen any more.
    #[track_caller]
    pub(crate) fn wait_until_gone(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.screen().contains(text) {
            assert!(Instant::now() < deadline, "{text:?} can still be seen on\n{}", self.screen());
        }
    }

    /// Waits until all of these can be seen at once.
    #[track_caller]
    pub(crate) fn wait_for(&self, texts: &[&str]) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            let missing: Vec<&&str> =
                texts.iter().filter(|text| !screen.contains(**text)).collect();
            if missing.is_empty() {
                return screen;
            }
            assert!(Instant::now() < deadline, "{missing:?} cannot be seen on\n{screen}");
        }
    }

    /// Types a prompt for a model that makes these calls, and sends it.
    pub(crate) fn submit_calls(&self, calls: &[Value]) {
        self.submit(&veiled(&calling(calls)));
    }

    /// Types a text as if it were pasted, and sends it.
    pub(crate) fn submit(&self, text: &str) {
        let file = self.inside.world.path("typed");
        fs::write(&file, text).unwrap();
        let arguments = ["load-buffer", file.to_str().unwrap(), ";", "paste-buffer", "-p", "-r"];
        self.tell(&arguments);
        self.press("Enter");
    }

    /// Presses keys one by one, by their names in tmux.
    pub(crate) fn type_keys(&self, keys: &[&str]) {
        for key in keys {
            self.press(key);
        }
    }

    /// Presses a key, by its name in tmux.
    pub(crate) fn press(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    fn tell(&self, arguments: &[&str]) {
        let ran = Ran::from(self.inside.tmux().args(arguments).output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }

    /// Ends pi as a user does.
    pub(crate) fn quit(self) {
        self.press("C-c");
        self.press("C-d");
        wait_until(|| self.inside.world.processes().is_empty());
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // Always, however the test has ended.
        let _ = kill_process(self.server, Signal::KILL);
    }
}
