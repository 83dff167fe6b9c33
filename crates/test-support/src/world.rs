//! The surroundings of one test: a project, a home, an agent directory, and an environment with nothing else
//! in it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a harness fails its test by panicking")]
#![expect(clippy::missing_panics_doc, missing_docs, reason = "the names say it")]

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clean_start::{clean_command, set_usual_umask};
use crate::files::write_file;
use crate::processes::{marked_processes, wait_until};

/// The variable that every process of a world inherits, so that all of them can be found.
pub const MARK: &str = "PI_SUBAGENTS_TEST";

/// The programs under test, just built.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub pi_subagents: &'static str,
    pub fake_agent: &'static str,
}

/// The surroundings of one test. Removed at the end of the test, which fails if a process of it is still
/// alive.
#[derive(Debug)]
pub struct World {
    program: Program,
    directory: TempDir,
    /// Where programs agree on what runs: those of one test only with each other.
    runtime: TempDir,
    mark: String,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; absent if a signal killed it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A command that is running.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl World {
    /// A new world with a project that is a git repository.
    pub fn new(program: Program) -> World {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        set_usual_umask();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("world-{}-{count}-end", std::process::id());
        // Also in the path: supervisors hide their environment, but have the path among their arguments.
        let directory = tempfile::Builder::new().prefix(&format!("{mark}-")).tempdir().unwrap();
        let runtime = tempfile::Builder::new().prefix("runtime-").tempdir().unwrap();
        let world = World { program, directory, runtime, mark };
        for path in [world.project().join(".git"), world.home(), world.agent_dir()] {
            fs::create_dir_all(path).unwrap();
        }
        world
    }

    /// The directory of what all programs of the user agree on.
    pub fn locks(&self) -> PathBuf {
        self.runtime.path().join("pi-subagents")
    }

    /// The project's root, where commands are run.
    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// A path beside the project and the home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub fn agent_dir(&self) -> PathBuf {
        self.path("home/.pi/agent")
    }

    /// The same world with a file in the agent directory, such as `agent-profiles/reviewer.md`.
    #[must_use]
    pub fn with_agent_file(self, name: &str, text: &str) -> World {
        write_file(&self.agent_dir().join(name), text);
        self
    }

    /// The same world with a preset `scout`.
    #[must_use]
    pub fn with_scout(self) -> World {
        let preset = "---\nname: scout\ndescription: Looks around.\nmodel: a/one\n---\n";
        self.with_agent_file("subagents/scout.md", preset)
    }

    /// The script of an agent that sends a message, creates the file `working`, waits for
    /// [`World::let_go`], and then answers.
    pub fn working(&self) -> Value {
        json!([
            "start",
            {"message": {"text": "working on it", "stop": "toolUse"}},
            {"touch": self.path("working")},
            {"await": self.path("go")},
            {"say": "found it"},
            {"end": false},
            "settle",
        ])
    }

    /// Lets the agents of [`World::working`] continue.
    pub fn let_go(&self) {
        fs::write(self.path("go"), "").unwrap();
    }

    pub fn settings(&self, subagents: &Value) {
        let settings = json!({ "subagents": subagents });
        fs::write(self.agent_dir().join("settings.json"), settings.to_string()).unwrap();
    }

    pub fn command<Argument: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = Argument>,
    ) -> Command {
        let mut command = self.command_of(self.program.pi_subagents);
        command.args(arguments);
        command
    }

    /// Any program, in this world.
    pub fn command_of(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = clean_command(program);
        command
            .current_dir(self.project())
            .env_clear()
            // Only what every system has: a test must never start the developer's own agent.
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .env("TMPDIR", self.path("").as_os_str())
            .env("XDG_RUNTIME_DIR", self.runtime.path())
            .env(MARK, &self.mark)
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// `--agent` for a fake agent with this script.
    pub fn agent(&self, script: &Value) -> String {
        json!([self.program.fake_agent, script.to_string()]).to_string()
    }

    /// `run --json` with a fake agent that plays the script.
    pub fn play(&self, script: &Value, arguments: &[&str]) -> Ran {
        self.play_command(script, arguments).output().unwrap().into()
    }

    /// The same command, not yet started.
    pub fn play_command(&self, script: &Value, arguments: &[&str]) -> Command {
        let agent = self.agent(script);
        let mut all = vec!["run", "--json", "--agent", &agent];
        all.extend(arguments);
        if !arguments.contains(&"--") && !arguments.contains(&"-") {
            all.push("do it");
        }
        self.command(all)
    }

    /// The same command, started by another program with these arguments, such as `nohup`.
    pub fn behind(wrapper: &[&str], command: &Command) -> Command {
        let (program, arguments) = wrapper.split_first().unwrap();
        let mut wrapped = clean_command(program);
        wrapped.args(arguments).arg(command.get_program()).args(command.get_args()).env_clear();
        wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        wrapped.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
        wrapped
    }

    /// The same command, running.
    pub fn start(&self, script: &Value, arguments: &[&str]) -> Running {
        Running::start(self.play_command(script, arguments))
    }

    /// Runs a command to its end, with this on its standard input.
    pub fn feed(&self, mut command: Command, input: &str) -> Ran {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    pub fn only_run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    pub fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.project().join(".pi/subagents/runs"));
        let mut runs: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'))
            .collect();
        runs.sort();
        runs
    }

    pub fn copy_project(&self, to: &Path) {
        copy_directory(&self.project(), to).unwrap();
    }

    /// The processes of this world, once those are gone that a program of the system has started for a moment.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        wait_until(|| {
            found = marked_processes(&self.mark);
            !found.iter().any(|(_, words)| words.contains(HELPER_OF_TMUX))
        });
        found
    }

    /// The supervisor of the only run that is alive.
    pub fn supervisor(&self) -> Pid {
        let processes = self.processes();
        let mut found = processes.iter().filter(|(_, words)| words.contains(" supervise "));
        let (pid, _) = found.next().unwrap();
        assert!(found.next().is_none(), "{processes:?}");
        Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap()
    }

    pub fn assert_nothing_left(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "these processes are left: {left:#?}");
    }

    pub fn wait_until_nothing_is_left(&self) {
        wait_until(|| self.processes().is_empty());
    }
}

/// A server of tmux starts it whenever a pane opens or closes, to change the list of logins, and does not wait for it.
const HELPER_OF_TMUX: &str = "/utempter/utempter ";

impl World {
    /// Removes the cgroups that runs of the project have left, and returns those of runs that have ended. A run
    /// whose supervisor was killed keeps its cgroup until a command ends it.
    fn remove_cgroups(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.project().join(".pi/subagents/runs"));
        let mut left = Vec::new();
        for run in runs.into_iter().flatten().flatten() {
            let path = run.path().join("meta.json");
            // Tests put pipes in its place.
            if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let meta = fs::read(path).unwrap_or_default();
            let meta: Value = serde_json::from_slice(&meta).unwrap_or_default();
            let Some(cgroup) = meta["cgroup"].as_str().map(PathBuf::from) else { continue };
            // Planted records name other directories.
            let is_its_own =
                cgroup.ends_with(format!("pi-subagents-{}", run.file_name().display()));
            if is_its_own
                && fs::remove_dir(&cgroup).is_ok()
                && run.path().join("result.json").exists()
            {
                left.push(cgroup);
            }
        }
        left
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let left = self.processes();
        // A failed test must not leave its processes to the next one.
        for (pid, _) in &left {
            let pid = *pid;
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let cgroups = self.remove_cgroups();
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left at the end: {left:#?}");
            assert!(cgroups.is_empty(), "cgroups of ended runs are left: {cgroups:#?}");
        }
    }
}

impl Ran {
    /// The JSON document on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not a JSON document: {error}: {self:?}"))
    }

    /// The only task of the document.
    pub fn task(&self) -> Value {
        let document = self.json();
        assert_eq!(document["tasks"].as_array().map(Vec::len), Some(1), "{document}");
        document["tasks"][0].clone()
    }

    pub fn run_dir(&self) -> PathBuf {
        PathBuf::from(self.task()["runDir"].as_str().unwrap())
    }
}

impl Running {
    /// Starts a command, and captures its output.
    pub fn start(mut command: Command) -> Running {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running { child }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn finish(self) -> Ran {
        self.child.wait_with_output().unwrap().into()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tmux_starts_for_a_moment_is_waited_for_and_not_what_is_left() {
        let world = World::new(Program { pi_subagents: "none", fake_agent: "none" });
        let helper = world.path("utempter/utempter");
        fs::create_dir(helper.parent().unwrap()).unwrap();
        fs::copy("/bin/sleep", &helper).unwrap();
        let mut child = world.command_of(&helper).arg("0.3").spawn().unwrap();
        world.assert_nothing_left();
        child.wait().unwrap();
    }
}
