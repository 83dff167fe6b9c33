//! What agents can change whose access is restricted. These tests need a kernel with Landlock, so
//! `cargo xtask test` runs them where there is one, as any user.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod builtin;
mod git;
mod limits;
mod read;
mod workspace;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Program, Ran, World, write_file};

/// `cargo xtask test` asks this first: where it fails, the other tests cannot be run.
#[test]
fn probe() {
    if let Err(reason) = process::landlock_version() {
        panic!("{reason}");
    }
}

/// A world with a directory beside the project that no restricted agent may change.
struct Restricted {
    world: World,
}

/// What became of a shell script that an agent has run.
struct Attempt {
    ran: Ran,
    /// The exit status of the script.
    status: i32,
    /// What it printed, to either stream.
    said: String,
}

impl Restricted {
    fn new() -> Restricted {
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        write_file(&world.path("outside/file"), "kept");
        fs::create_dir(world.path("outside/directory")).unwrap();
        Restricted { world }
    }

    /// The same with a repository as its project, which has one commit.
    fn with_repository() -> Restricted {
        let restricted = Restricted::new();
        restricted.world.settings(&json!({}));
        write_file(
            &restricted.world.home().join(".gitconfig"),
            "[user]\nname = Test\nemail = test@example.com\n[init]\ndefaultBranch = main\n",
        );
        fs::remove_dir(restricted.project(".git")).unwrap();
        restricted.git(&restricted.project(""), "init -q");
        restricted.git(&restricted.project(""), "commit -q --allow-empty -m first");
        restricted
    }

    fn project(&self, name: &str) -> PathBuf {
        self.world.project().join(name)
    }

    /// An agent that runs a script, which may use `$outside`, and then answers.
    fn agent(&self, script: &str) -> String {
        let fake: Vec<String> = serde_json::from_str(&self.world.agent(&quick())).unwrap();
        let shell = format!(
            "outside={}\n{{ {script}\n}} >&2 2>&1\necho status=$? >&2\nexec \"$0\" \"$@\"",
            self.world.path("outside").display()
        );
        let words = ["/bin/sh".to_owned(), "-c".to_owned(), shell].into_iter().chain(fake);
        Value::from_iter(words).to_string()
    }

    fn command(&self, script: &str, arguments: &[&str]) -> Command {
        let agent = self.agent(script);
        let run = ["run", "--json", "--agent", &agent];
        self.world.command([&run[..], arguments, &["do it"]].concat())
    }

    /// Lets an agent run the script.
    #[track_caller]
    fn attempt(&self, script: &str, arguments: &[&str]) -> Attempt {
        self.outcome(self.command(script, arguments))
    }

    #[track_caller]
    fn outcome(&self, mut command: Command) -> Attempt {
        let ran: Ran = command.output().unwrap().into();
        self.world.assert_nothing_left();
        assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")), "{ran:#?}");
        let said = fs::read_to_string(ran.run_dir().join("stderr.log")).unwrap();
        let (said, status) = said.rsplit_once("status=").unwrap();
        let temporary: Vec<_> = fs::read_dir(self.world.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("subagent-"))
            .collect();
        assert_eq!(temporary, Vec::<String>::new(), "temporary directories are left");
        Attempt { status: status.trim().parse().unwrap(), said: said.to_owned(), ran }
    }

    /// The script succeeds.
    #[track_caller]
    fn assert_can(&self, script: &str, arguments: &[&str]) -> Attempt {
        let attempt = self.attempt(script, arguments);
        assert_eq!(attempt.status, 0, "{script}: {}", attempt.said);
        attempt
    }

    /// The script fails because the system refuses something.
    #[track_caller]
    fn assert_cannot(&self, script: &str, arguments: &[&str]) {
        let attempt = self.attempt(script, arguments);
        let said = attempt.said.to_lowercase();
        let reasons = ["denied", "not permitted", "read-only", "busy", "cross-device", "superuser"];
        let is_refused = reasons.iter().any(|reason| said.contains(reason));
        assert!(attempt.status != 0 && is_refused, "{script}: {} {said}", attempt.status);
    }

    #[track_caller]
    fn assert_outside_untouched(&self) {
        let mut names: Vec<_> = fs::read_dir(self.world.path("outside"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["directory", "file"]);
        assert_eq!(fs::read_to_string(self.world.path("outside/file")).unwrap(), "kept");
    }

    #[track_caller]
    fn git(&self, directory: &Path, arguments: &str) -> String {
        let mut git = self.world.command_of("git");
        let ran: Ran =
            git.args(arguments.split(' ')).current_dir(directory).output().unwrap().into();
        assert_eq!(ran.code, Some(0), "git {arguments}: {ran:#?}");
        ran.stdout.trim().to_owned()
    }
}

impl Attempt {
    fn meta(&self) -> Value {
        let meta = fs::read(self.ran.run_dir().join("meta.json")).unwrap();
        serde_json::from_slice(&meta).unwrap()
    }

    fn warnings(&self) -> String {
        self.ran.task()["warnings"].to_string()
    }
}
