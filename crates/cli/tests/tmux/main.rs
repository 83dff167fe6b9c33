//! Runs in panes of a real tmux, which has a server of its own in each test. `cargo xtask test`
//! installs tmux where it can.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "this is how a test fails")]

mod ends;
#[path = "../spine/events.rs"]
mod events;
mod refusals;
mod scrollback;
mod secrets;
mod shows;

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Program, Ran, Running, World, clean_command, marked_processes, wait_until};

/// The pane that callers are said to run in.
const CALLER: &str = "%0";
/// Where tmux may be installed.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A variable that only the server has.
const OF_THE_SERVER: &str = "ONLY_THE_SERVER_HAS_IT";

/// A world with a server of tmux, whose only pane does nothing. The server does not have the mark of the world,
/// so that only the processes that a run left behind are found.
struct TmuxWorld {
    world: World,
    server: Pid,
    /// What a program in the first pane would find in `TMUX`.
    variable: String,
}

impl TmuxWorld {
    /// With a terminal of a common size.
    fn new() -> TmuxWorld {
        TmuxWorld::sized(160, 48)
    }

    fn sized(width: u32, height: u32) -> TmuxWorld {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let config = json!({"runner": "tmux"}).to_string();
        fs::write(world.agent_dir().join("subagents.json"), config).unwrap();
        let (width, height) = (width.to_string(), height.to_string());
        let mut command = tmux_command(&world);
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height]);
        command.args(["-P", "-F", "#{pid} #{socket_path},#{pid},0", "tail", "-f", "/dev/null"]);
        let ran = Ran::from(command.output().expect("tmux must be installed"));
        let (pid, variable) = ran.stdout.trim().split_once(' ').expect(&ran.stderr);
        let server = Pid::from_raw(pid.parse().unwrap()).unwrap();
        TmuxWorld { variable: variable.to_owned(), server, world }
    }

    /// Asks the server for something.
    fn tmux(&self, arguments: &[&str]) -> String {
        let ran = Ran::from(tmux_command(&self.world).args(arguments).output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        ran.stdout
    }

    /// A command, as if it were given in the first pane.
    fn inside(&self, mut command: Command) -> Command {
        command.env("PATH", PATH).env("TMUX", &self.variable).env("TMUX_PANE", CALLER);
        command
    }

    /// `run --json` in the first pane, with a fake agent that plays the script.
    fn play(&self, script: &Value, arguments: &[&str]) -> Ran {
        self.start(script, arguments).finish()
    }

    /// The same, running.
    fn start(&self, script: &Value, arguments: &[&str]) -> Running {
        Running::start(self.inside(self.world.play_command(script, arguments)))
    }

    /// A run that has said something, has started a command in a session of its own, and works on.
    fn start_working(&self) -> Running {
        let running = self.start(&self.working_script(), &[]);
        self.await_working();
        running
    }

    fn working_script(&self) -> Value {
        let ready = self.world.path("ready");
        let command = json!(["setsid", {"touch": ready}, "hang"]);
        json!([
            {"message": {"text": "working on it", "stop": "toolUse"}},
            {"spawn": {"steps": command, "holds_stdout": true, "empty_environment": true}},
            {"await": ready},
            {"touch": self.world.path("working")},
            "hang",
        ])
    }

    fn await_working(&self) {
        wait_until(|| self.world.path("working").exists());
        wait_until(|| {
            self.new_panes().iter().any(|pane| self.shown(pane).contains("working on it"))
        });
    }

    /// The panes that were opened since the start.
    fn new_panes(&self) -> Vec<String> {
        let panes = self.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
        panes.lines().filter(|pane| *pane != CALLER).map(str::to_owned).collect()
    }

    /// The only one of them.
    fn only_pane(&self) -> String {
        let panes = self.new_panes();
        assert_eq!(panes.len(), 1, "{panes:?}");
        panes[0].clone()
    }

    /// What a pane shows, lines that were broken put together again.
    fn shown(&self, pane: &str) -> String {
        let ran = tmux_command(&self.world).args(["capture-pane", "-p", "-J", "-t", pane]).output();
        // The pane may be closed already.
        Ran::from(ran.unwrap()).stdout
    }

    /// Ends the server, and everything in its panes.
    fn end_server(&self) {
        self.tmux(&["kill-server"]);
        wait_until(|| self.world.processes().is_empty());
    }

    /// The processes of this world, without the server and the pane that it begins with.
    fn of_runs(&self) -> Vec<(u32, String)> {
        let mut processes = self.world.processes();
        processes.retain(|(_, line)| !line.starts_with("tmux ") && line != "tail -f /dev/null ");
        processes
    }

    /// The processes in the panes.
    fn viewers(&self) -> Vec<(u32, String)> {
        let mut processes = marked_processes(&self.world.path("").to_string_lossy());
        processes.retain(|(_, line)| line.contains(" view /"));
        processes
    }

    /// Fails unless nothing is left of any run but its directory: no process, in a pane or not, no
    /// socket, and, as soon as the server has noticed, no pane.
    #[track_caller]
    fn assert_nothing_left(&self) {
        self.assert_nothing_left_outside();
        wait_until(|| self.new_panes().is_empty());
        assert_eq!(self.tmux(&["list-windows", "-a"]).lines().count(), 1);
    }

    /// The same, where the server is gone.
    #[track_caller]
    fn assert_nothing_left_outside(&self) {
        assert_eq!(self.of_runs(), []);
        assert_eq!(self.viewers(), []);
        self.assert_no_socket_left();
    }

    #[track_caller]
    fn assert_no_socket_left(&self) {
        let names = fs::read_dir(self.world.path("")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<String> = names.filter(|name| name.starts_with("pi-subagents")).collect();
        assert_eq!(left, [""; 0]);
    }

    /// How the only run ended, from its directory.
    fn result(&self) -> Value {
        let result = fs::read(self.world.only_run().join("result.json")).unwrap();
        serde_json::from_slice(&result).unwrap()
    }
}

impl Drop for TmuxWorld {
    fn drop(&mut self) {
        // Always, however the test has ended.
        let _ = kill_process(self.server, Signal::KILL);
        // The pane that it begins with goes with it.
        wait_until(|| std::thread::panicking() || self.world.processes().is_empty());
    }
}

fn tmux_command(world: &World) -> Command {
    let mut command = clean_command("tmux");
    command
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", world.home())
        .env("TMUX_TMPDIR", world.path(""))
        .env("LC_ALL", "C.UTF-8")
        .env(OF_THE_SERVER, "1")
        .current_dir(world.home())
        .args(["-u", "-L", "test"])
        .stdin(Stdio::null());
    command
}
