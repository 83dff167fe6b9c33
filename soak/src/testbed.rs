//! What a soak works in: projects, a home, a provider, a tmux, a clock, and an environment with nothing else in it.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Signal;
use serde_json::json;
use test_support::fake_llm::FakeLlm;
use test_support::{Clock, Program, World};
use xtask::Invocation;

use crate::agent::Agent;
use crate::cluster::WORKERS;
use crate::panes::Panes;
use crate::plan::Project;
use crate::targets::targets;
use crate::task::{self, Task};

pub(crate) struct Testbed {
    pub(crate) world: World,
    /// As `--agent` takes it: the fake agent, which finds its script in the prompt.
    pub(crate) fake_agent: String,
    /// Where the runs of a project have panes. Absent if tmux is not installed.
    pub(crate) panes: Option<Panes>,
    /// The address of the nodes of the fleet. Absent if there is none.
    fleet: Option<String>,
    clock: Clock,
    has_disk: bool,
    _provider: FakeLlm,
}

/// Space for the runs of a minute, so that the disk is full only when the soak fills it.
const MEBIBYTES_A_MINUTE: u64 = 48;
const BALLAST: &str = "ballast";
/// Where the runs of a directory are.
const RUNS: &str = ".pi/subagents/runs";
/// How long a question waits for an answer. Some get none, and must not hold up the soak.
const QUESTION_SECONDS: u64 = 2;
/// So many agents at a time, which is fewer than the doors ask for.
const MACHINE_CONCURRENCY: u64 = 8;

impl Testbed {
    /// Makes everything. `programs` is the directory with the programs that Cargo has built. Where mounts are
    /// possible, `disk` is the length of a soak for which the small disk has space. `fleet` is the address of the fleet.
    pub(crate) fn new(
        programs: &Path,
        disk: Option<Duration>,
        fleet: Option<String>,
    ) -> Result<Testbed, String> {
        let program = |name: &str| -> &'static str {
            // The names are needed until the end of the process.
            String::leak(programs.join(name).display().to_string())
        };
        let program =
            Program { pi_subagents: program("pi-subagents"), fake_agent: program("fake-agent") };
        let failed = |error: io::Error| format!("the testbed: {error}");
        let provider = FakeLlm::start().map_err(failed)?;
        let mut world = World::new(program);
        for (path, text) in task::definitions() {
            world = world.with_agent_file(&path, &text);
        }
        let models = json!({"providers": {"fake": {
            "baseUrl": provider.base_url(), "api": "openai-completions", "apiKey": "k",
            "models": [{"id": "fake-1", "contextWindow": 1_000_000}],
        }}});
        // Settings, because bridges and MCP servers take no flag for them.
        let mut agents = json!({});
        for agent in Agent::OF_SETTINGS {
            let script = match agent.opening() {
                None => "-".to_owned(),
                Some(opening) => {
                    let path = world.path(&format!("{}.json", agent.word()));
                    fs::write(&path, opening.to_string()).map_err(failed)?;
                    format!("@{}", path.display())
                }
            };
            let command = [program.fake_agent, &script];
            agents[agent.word()] = json!({"command": command, "protocol": agent.protocol()});
        }
        let subagents = json!({
            "agents": agents, "ask": true, "questionTimeout": QUESTION_SECONDS,
            "machineConcurrency": MACHINE_CONCURRENCY,
        });
        let settings = json!({
            "defaultProvider": "fake", "defaultModel": "fake-1", "retry": {"baseDelayMs": 1},
            "subagents": subagents,
        });
        world = world
            .with_agent_file("models.json", &models.to_string())
            .with_agent_file("settings.json", &settings.to_string());
        fs::create_dir(world.path("tmp")).map_err(failed)?;
        let clock = Clock::new(&world.path("")).map_err(failed)?;
        let fake_agent = json!([program.fake_agent, "-"]).to_string();
        let panes = Panes::new(&world).map_err(|error| println!("tmux is NOT tried: {error}")).ok();
        let has_disk = disk.is_some();
        let testbed =
            Testbed { world, fake_agent, panes, fleet, clock, has_disk, _provider: provider };
        for project in Project::ALL {
            testbed.make_project(project).map_err(failed)?;
        }
        if let Some(length) = disk {
            let size = (length.as_secs() / 60 + 1) * MEBIBYTES_A_MINUTE;
            let size = CString::new(format!("size={size}m")).map_err(|error| error.to_string())?;
            mount("tmpfs", testbed.disk(), "tmpfs", MountFlags::empty(), Some(size.as_c_str()))
                .map_err(|error| format!("the small disk: {error}"))?;
        }
        Ok(testbed)
    }

    /// Makes a project, or what is missing of it.
    pub(crate) fn make_project(&self, project: Project) -> io::Result<()> {
        let directory = self.project(project);
        fs::create_dir_all(directory.join(".pi"))?;
        if project == Project::Paned && self.panes.is_some() {
            let settings = json!({"runner": "tmux"}).to_string();
            fs::write(directory.join(".pi/subagents.json"), settings)?;
        }
        if directory.join(".git/HEAD").exists() {
            return Ok(());
        }
        // Something of everything that must stay as it is: a branch, a stash, changes that are staged and others that are not.
        let commands = "git init --quiet && git config user.name Soak && git config user.email soak@localhost && \
            printf '.pi/\\n' > .gitignore && echo one > a.txt && echo two > b.txt && git add --all && \
            git commit --quiet -m First && git branch other && echo stashed > a.txt && git stash --quiet && \
            echo staged > a.txt && git add a.txt && echo changed > b.txt && echo new > untracked.txt";
        let made = self.git(project, "sh").args(["-c", commands]).output()?;
        // One that is deleted meanwhile is made again later.
        if made.status.success() || project == Project::Doomed {
            Ok(())
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()))
        }
    }

    /// A program of the user in a project, with the right clock.
    pub(crate) fn git(&self, project: Project, program: &str) -> Command {
        let mut command = self.world.command_of(program);
        command.current_dir(self.project(project));
        command
    }

    pub(crate) fn project(&self, project: Project) -> PathBuf {
        self.world.path(project.word())
    }

    /// The directory with the runs of a project.
    pub(crate) fn runs(&self, project: Project) -> PathBuf {
        self.project(project).join(RUNS)
    }

    /// The directory for temporary files of everything that is started.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.world.path("tmp")
    }

    /// The program under test, in one of the projects.
    pub(crate) fn command<Word: AsRef<OsStr>>(
        &self,
        project: Project,
        words: impl IntoIterator<Item = Word>,
    ) -> Command {
        let mut command = self.world.command(words);
        command
            .current_dir(self.project(project))
            .env("TMPDIR", self.temporary())
            .env("PI_SUBAGENTS_AGENT", &self.fake_agent);
        match (project, &self.panes, &self.fleet) {
            (Project::Paned, Some(panes), _) => panes.offer(&mut command),
            (Project::Sent, _, Some(url)) => {
                // An agent that is a program does not leave its machine; one of the settings does.
                let agent = Agent::Fake.word();
                command.env("PI_SUBAGENTS_FLEET", url).env("PI_SUBAGENTS_AGENT", agent);
            }
            _ => {}
        }
        self.clock.offer(&mut command);
        command
    }

    /// The words by which a command sends the tasks of a project elsewhere, if it does.
    pub(crate) fn place(&self, project: Project) -> &'static [&'static str] {
        if project == Project::Sent && self.fleet.is_some() { &["--on", "fleet"] } else { &[] }
    }

    /// Whether the tasks of a project go to the fleet.
    pub(crate) fn is_elsewhere(&self, project: Project) -> bool {
        !self.place(project).is_empty()
    }

    /// The directory of a worker.
    pub(crate) fn worker(&self, number: usize) -> PathBuf {
        self.world.path(&format!("worker-{number}"))
    }

    /// The run directories that a worker has.
    pub(crate) fn runs_of_worker(&self, number: usize) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.worker(number).join(RUNS)).into_iter().flatten().flatten();
        let is_run = |path: &PathBuf| path.is_dir();
        runs.map(|entry| entry.path()).filter(is_run).collect()
    }

    /// The token of the task that a worker carries out in this run.
    pub(crate) fn token_on_worker(&self, run_id: &str) -> Option<String> {
        let prompts = (0..WORKERS).map(|number| self.worker(number).join(RUNS).join(run_id));
        let prompt =
            prompts.filter_map(|run| fs::read_to_string(run.join("prompt.md")).ok()).next()?;
        Task::token_in(&prompt).map(str::to_owned)
    }

    /// Makes the wall clock wrong by so many seconds.
    pub(crate) fn set_clock(&self, seconds: i64) -> io::Result<()> {
        self.clock.set(seconds)
    }

    fn disk(&self) -> PathBuf {
        self.project(Project::Small).join(".pi")
    }

    /// Fills the small disk to the last byte. False if there is none.
    pub(crate) fn fill_disk(&self) -> bool {
        if !self.has_disk {
            return false;
        }
        let mut block = vec![0_u8; 256 * 1024];
        let Ok(file) = fs::File::create(self.disk().join(BALLAST)) else { return false };
        let mut offset = 0;
        while !block.is_empty() {
            match file.write_at(&block, offset) {
                Ok(written) if written > 0 => offset += written as u64,
                _ => block.truncate(block.len() / 2),
            }
        }
        true
    }

    pub(crate) fn empty_disk(&self) {
        // The file is missing if the disk was full already.
        let _ = fs::remove_file(self.disk().join(BALLAST));
    }

    /// Kills all processes, and keeps the files, with a copy of those on the small disk. Returns their path.
    pub(crate) fn keep(&mut self) -> PathBuf {
        for target in targets(self) {
            target.signal(Signal::KILL);
        }
        let copy = Invocation::new("cp -a").word(self.disk().display().to_string());
        let copied = copy.word(self.world.path("disk-of-small").display().to_string()).probe();
        if let Err(what) = copied {
            println!("The small disk is not kept: {what}");
        }
        self.unmount();
        self.world.path("")
    }

    /// Unmounts the small disk, so that the directory can be removed.
    fn unmount(&mut self) {
        if self.has_disk {
            self.has_disk = false;
            // The kernel unmounts it with our namespace at the latest.
            let _ = unmount(self.disk(), UnmountFlags::DETACH);
        }
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.unmount();
    }
}
