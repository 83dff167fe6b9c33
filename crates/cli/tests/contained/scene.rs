//! A world in which a given user runs the program, with or without a cgroup.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::{Program, Ran, Running, World, kill_and_wait, wait_until};

/// A user without privileges.
const NOBODY: u32 = 65534;
const AS_NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// Who runs the program, and whether runs can have a cgroup there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    Root,
    /// The hierarchy is not mounted.
    RootWithoutCgroups,
    /// Without privileges, in a cgroup that belongs to this user.
    Delegated,
    /// Without privileges, in a cgroup that belongs to root.
    Undelegated,
}

impl Account {
    fn is_root(self) -> bool {
        matches!(self, Account::Root | Account::RootWithoutCgroups)
    }
}

pub(crate) struct Scene {
    pub(crate) world: World,
    /// What the program is started by.
    wrapper: Vec<String>,
    programs: TempDir,
    delegated: Option<PathBuf>,
}

impl Scene {
    pub(crate) fn new(account: Account) -> Scene {
        let programs = tempfile::tempdir().unwrap();
        let world = World::new(program_for(account, programs.path())).with_scout();
        let mut scene = Scene { world, wrapper: Vec::new(), programs, delegated: None };
        match account {
            Account::Root => {}
            Account::RootWithoutCgroups => {
                let shell = "umount --all --types cgroup2 && exec \"$@\"";
                let words = "unshare --mount --propagation private sh -c";
                scene.wrapper = words.split(' ').map(str::to_owned).collect();
                scene.wrapper.extend([shell.to_owned(), "sh".to_owned()]);
            }
            Account::Delegated => {
                let cgroup = scene.make_cgroup();
                for file in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
                    chown(cgroup.join(file), Some(NOBODY), Some(NOBODY)).unwrap();
                }
                scene.enter(&cgroup, AS_NOBODY);
            }
            Account::Undelegated => {
                scene.wrapper = AS_NOBODY.split(' ').map(str::to_owned).collect();
            }
        }
        if !account.is_root() {
            give_to_nobody(&scene.world.path(""));
        }
        scene
    }

    /// A world in which nothing can be put below the cgroup of the program.
    pub(crate) fn where_no_cgroup_can_be_made() -> Scene {
        let mut scene = Scene::new(Account::Root);
        let cgroup = scene.make_cgroup();
        fs::write(cgroup.join("cgroup.max.descendants"), "0").unwrap();
        scene.enter(&cgroup, "");
        scene
    }

    /// The same world, in which the program is started in another pid namespace, whose `/proc` is not mounted.
    #[must_use]
    pub(crate) fn in_another_pid_namespace(mut self) -> Scene {
        let words = ["unshare", "--pid", "--fork"].map(str::to_owned);
        self.wrapper.extend(words);
        self
    }

    fn make_cgroup(&mut self) -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-contained-{}-{count}", std::process::id());
        let cgroup = process::Cgroup::parent().unwrap().join(name);
        fs::create_dir(&cgroup).unwrap();
        self.delegated = Some(cgroup.clone());
        cgroup
    }

    /// Starts programs in this cgroup, behind further words.
    fn enter(&mut self, cgroup: &Path, words: &str) {
        let shell = format!("echo $$ > {}/cgroup.procs && exec {words} \"$@\"", cgroup.display());
        self.wrapper = ["sh", "-c", &shell, "sh"].map(str::to_owned).to_vec();
    }

    pub(crate) fn behind_wrapper(&self, command: Command) -> Command {
        if self.wrapper.is_empty() {
            return command;
        }
        let wrapper: Vec<&str> = self.wrapper.iter().map(String::as_str).collect();
        World::behind(&wrapper, &command)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.behind_wrapper(self.world.command(arguments)).output().unwrap().into()
    }

    /// `run --json` with this agent.
    pub(crate) fn start(&self, agent: &str) -> Running {
        let command = self.world.command(["run", "--json", "--agent", agent, "do it"]);
        Running::start(self.behind_wrapper(command))
    }

    /// `bg start` with this agent; returns when it has made the file `working`.
    pub(crate) fn start_background(&self, agent: &str) -> String {
        let arguments = ["bg", "start", "--preset", "scout", "--agent", agent, "look around"];
        let ran = self.run(&arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        wait_until(|| self.world.path("working").exists());
        ran.stdout.trim().to_owned()
    }

    /// A script that starts another fake agent with these steps, and works when that one has made the file
    /// `hidden`.
    pub(crate) fn hiding(&self, steps: &[&str], empty_environment: bool) -> Value {
        let hidden = self.world.path("hidden");
        let mut steps: Vec<Value> = steps.iter().map(|step| json!(step)).collect();
        steps.extend([json!({"touch": hidden}), json!("hang")]);
        json!([
            {"spawn": {"steps": steps, "empty_environment": empty_environment}},
            {"await": hidden},
            {"touch": self.world.path("working")},
            "hang",
        ])
    }

    /// The process that [`Scene::hiding`] hides.
    pub(crate) fn hidden(&self) -> Option<u32> {
        let processes = self.world.processes();
        let is_hidden = |words: &str| words.contains("hidden") && !words.contains("working");
        processes.iter().find(|(_, words)| is_hidden(words)).map(|(pid, _)| *pid)
    }

    pub(crate) fn kill_supervisor(&self) {
        kill_and_wait(self.world.supervisor());
    }

    /// Kills parent and supervisor, so that neither can clean up behind the other.
    pub(crate) fn kill_both(&self, running: Running) {
        running.signal(Signal::STOP);
        kill_and_wait(self.world.supervisor());
        running.signal(Signal::KILL);
        drop(running.finish());
    }

    /// A copy of a program of the system that makes root of any user.
    pub(crate) fn setuid_program(&self) -> PathBuf {
        let path = self.programs.path().join("setuid");
        fs::copy("/usr/bin/setpriv", &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
        path
    }

    /// A fake agent with a capability, so that the kernel protects it from its own user.
    pub(crate) fn capable_agent(&self, script: &Value) -> String {
        let path = self.programs.path().join("capable");
        fs::copy(env!("CARGO_BIN_EXE_fake-agent"), &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut setcap = self.world.command_of("sh");
        setcap.args(["-c", "PATH=$PATH:/usr/sbin:/sbin exec setcap cap_net_raw+ep \"$0\""]);
        assert!(setcap.arg(&path).status().unwrap().success());
        json!([path, script.to_string()]).to_string()
    }

    /// The cgroup of the only run.
    pub(crate) fn cgroup(&self) -> Option<PathBuf> {
        let meta = fs::read(self.world.only_run().join("meta.json")).unwrap();
        let meta: Value = serde_json::from_slice(&meta).unwrap();
        meta["cgroup"].as_str().map(PathBuf::from)
    }

    pub(crate) fn result(&self) -> Value {
        let result = fs::read(self.world.only_run().join("result.json")).unwrap();
        serde_json::from_slice(&result).unwrap()
    }

    /// Checks that nothing of the only run is left, neither a process nor its cgroup.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        self.world.assert_nothing_left();
        let cgroup = self.cgroup();
        assert!(!cgroup.as_ref().is_some_and(|cgroup| cgroup.exists()), "{cgroup:?} is left");
        if let Some(delegated) = &self.delegated {
            let inside = fs::read_dir(delegated).unwrap().map(|entry| entry.unwrap());
            let mut inside = inside.filter(|entry| entry.file_type().unwrap().is_dir());
            assert!(inside.next().is_none(), "a cgroup is left in {}", delegated.display());
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(cgroup) = &self.delegated {
            let _ = fs::write(cgroup.join("cgroup.kill"), "1");
            let is_empty = || {
                let events = fs::read_to_string(cgroup.join("cgroup.events")).unwrap_or_default();
                !events.contains("populated 1")
            };
            wait_until(is_empty);
            let inside = fs::read_dir(cgroup).into_iter().flatten().flatten();
            for entry in inside.filter(|entry| entry.path().is_dir()) {
                let _ = fs::remove_dir(entry.path());
            }
            let removed = fs::remove_dir(cgroup);
            assert!(std::thread::panicking() || removed.is_ok(), "{removed:?}");
        }
    }
}

pub(crate) fn kill(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// The programs under test, where the user of the account can start them.
fn program_for(account: Account, directory: &Path) -> Program {
    let [pi_subagents, fake_agent] =
        [env!("CARGO_BIN_EXE_pi-subagents"), env!("CARGO_BIN_EXE_fake-agent")];
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    if account.is_root() {
        return Program { pi_subagents, fake_agent };
    }
    let copy = |path: &str| -> &'static str {
        let target = directory.join(Path::new(path).file_name().unwrap());
        fs::copy(path, &target).unwrap();
        Box::leak(target.into_os_string().into_string().unwrap().into_boxed_str())
    };
    Program { pi_subagents: copy(pi_subagents), fake_agent: copy(fake_agent) }
}

fn give_to_nobody(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_to_nobody(&entry.unwrap().path());
        }
    }
}
