//! The run that is drawn: agents of several makes at work on one project.
//!
//! The program, its supervisors and its screens are real. The agents play scripts (`streams.rs`), so that the
//! pictures need no key and look alike whenever they are drawn; one is the built-in agent, whose model plays one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::streams::{self, Act, Tool};
use crate::scratch::Scratch;

/// The project, with a file of tasks for its agents.
pub(super) struct Stage {
    scratch: Scratch,
    pub(super) project: PathBuf,
}

impl Stage {
    pub(super) fn new() -> Result<Stage, String> {
        let scratch = Scratch::with_test_programs()?;
        let project = scratch.subdirectory("shop")?;
        let stage = Stage { scratch, project };
        let programs = stage.scratch.subdirectory("bin")?;
        let ours = stage.scratch.our("pi-subagents");
        symlink(ours.get_program(), programs.join("pi-subagents"))
            .map_err(|error| error.to_string())?;
        let fake = stage.scratch.our("fake-agent");
        for name in ["pi", "claude", "codex"] {
            let shell =
                format!("#!/bin/sh\nexec '{}' @script.json \"$@\"\n", fake.get_program().display());
            write(&programs.join(name), &shell)?;
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(programs.join(name), executable)
                .map_err(|error| error.to_string())?;
        }
        stage.scratch.subdirectory("shop/.pi")?;
        // The agent that hangs had a tool at work, and would be given more time.
        write(
            &stage.project.join(".pi/settings.json"),
            r#"{"subagents": {"extend_timeout_debounce": 0}}"#,
        )?;
        let tasks: Vec<Value> =
            TASKS.iter().map(|task| stage.prepare(task)).collect::<Result<_, _>>()?;
        let tasks = json!({"tasks": tasks});
        write(&stage.project.join("tasks.json"), &tasks.to_string())?;
        Ok(stage)
    }

    /// A program that is started in the project.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = self.scratch.command(program);
        let home = self.scratch.path("home");
        command.current_dir(&self.project).env_clear().env("HOME", home).env("LANG", "C.UTF-8");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.scratch.path("bin").display()));
        command.env("TERM", "xterm-256color").env("PS1", "$ ");
        // What the agents of the machine could be told by.
        command.env("ANTHROPIC_API_KEY", "none").env("CODEX_API_KEY", "none");
        command
    }

    /// Makes the directory in which the agent of a task works, with its script.
    fn prepare(&self, task: &Task) -> Result<Value, String> {
        let directory = self.scratch.subdirectory(&format!("shop/{}", task.name))?;
        let mut arguments = json!({"name": task.name, "prompt": task.prompt, "agent": task.agent, "cwd": directory});
        if let Some(seconds) = task.timeout {
            arguments["timeout"] = json!(seconds);
        }
        let script = match task.agent {
            "pi" => streams::pi(task.model, task.acts),
            "claude" => streams::claude(task.model, task.acts),
            "codex" => {
                arguments["model"] = json!(task.model);
                streams::codex(task.acts)
            }
            _ => {
                // Its model is a file of turns.
                let turns = directory.join(task.model);
                write(&turns, BUILTIN_TURNS)?;
                for number in 0..24 {
                    write(&directory.join(format!("part-{number}.rs")), "")?;
                }
                arguments["model"] = json!(format!("script/{}", turns.display()));
                return Ok(arguments);
            }
        };
        write(&directory.join("script.json"), &script.to_string())?;
        Ok(arguments)
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

struct Task {
    name: &'static str,
    prompt: &'static str,
    agent: &'static str,
    model: &'static str,
    timeout: Option<f64>,
    acts: &'static [Act],
}

/// The task that is opened in a picture.
pub(super) const OPENED: &str = "review-auth";

const TASKS: [Task; 7] = [
    Task {
        name: OPENED,
        prompt: "Review crates/auth. Does anything compare secrets so that an attacker can measure it? \
                 Mend what you find, with a test.",
        agent: "claude",
        model: "claude-sonnet-4-5",
        timeout: None,
        acts: REVIEW,
    },
    Task {
        name: "survey-errors",
        prompt: "Where can this program panic although a user only made a mistake?",
        agent: "pi",
        model: "claude-haiku-4-5",
        timeout: None,
        acts: SURVEY,
    },
    Task {
        name: "port-tests",
        prompt: "Port the tests of the cart from JavaScript to Rust.",
        agent: "codex",
        model: "gpt-5.2",
        timeout: None,
        acts: PORT,
    },
    Task {
        name: "count-files",
        prompt: "How many source files are there?",
        agent: "builtin",
        model: "claude-haiku-4-5",
        timeout: None,
        acts: &[],
    },
    Task {
        name: "fix-flaky",
        prompt: "Find out why the test of the checkout fails now and then.",
        agent: "pi",
        model: "claude-sonnet-4-5",
        timeout: Some(4.0),
        acts: FLAKY,
    },
    Task {
        name: "write-docs",
        prompt: "Describe the settings of the payment service.",
        agent: "claude",
        model: "claude-haiku-4-5",
        timeout: None,
        acts: DOCS,
    },
    Task {
        name: "update-deps",
        prompt: "Update the dependencies and mend what breaks.",
        agent: "pi",
        model: "claude-haiku-4-5",
        timeout: None,
        acts: UPDATE,
    },
];

const REVIEW: &[Act] = &[
    Act::Say(600, "I read how sessions are checked, and look for places that compare secrets."),
    Act::Use(350, Tool::Read { path: "crates/auth/src/token.rs", lines: 80 }),
    Act::Use(450, Tool::Grep { pattern: "==", path: "crates/auth", matches: 23 }),
    Act::Say(
        800,
        "The session token is compared with `==`, which returns at the first byte that differs. \
         That can be measured.",
    ),
    Act::Use(700, Tool::Edit { path: "crates/auth/src/token.rs", added: 12, removed: 3 }),
    Act::Use(2_000, Tool::Bash { command: "cargo test -p auth", output: TESTED }),
    Act::Say(500, "The tests pass. I add one for tokens of different lengths."),
    Act::Use(500, Tool::Edit { path: "crates/auth/tests/token.rs", added: 18, removed: 0 }),
    Act::Use(
        1_200,
        Tool::Bash {
            command: "cargo test -p auth",
            output: "running 42 tests\n\ntest result: ok. 42 passed; 0 failed",
        },
    ),
    Act::Say(
        500,
        "Session tokens are now compared in constant time.\n\n## What was wrong\n\n`==` returns at the first byte \
         that differs, so an attacker can guess a token **byte by byte**:\n\n```rust\nif token == expected {\n    \
         return Ok(session);\n}\n```\n\n- `crates/auth/src/token.rs` now uses `subtle::ConstantTimeEq`\n- a test \
         covers tokens of different lengths\n",
    ),
];

const TESTED: &str = "   Compiling auth v0.4.1\n    Finished `test` profile in 1.62s\n     Running unittests src/lib.rs\n\n\
    running 41 tests\ntest token::accepts_a_fresh_token ... ok\ntest token::refuses_an_old_token ... ok\n\
    test token::refuses_a_foreign_token ... ok\n\ntest result: ok. 41 passed; 0 failed; finished in 0.31s";

const SURVEY: &[Act] = &[
    Act::Say(500, "First I look for everything that can panic."),
    Act::Use(500, Tool::Grep { pattern: "unwrap()", path: "src", matches: 37 }),
    Act::Use(300, Tool::Read { path: "src/errors.rs", lines: 112 }),
    Act::Use(300, Tool::Read { path: "src/cart/coupon.rs", lines: 64 }),
    Act::Say(
        700,
        "Most of them cannot fail. A coupon with a space in it can: it comes from the user.",
    ),
    Act::Use(
        1_500,
        Tool::FailingBash {
            command: "cargo run -- coupon 'SAVE 10'",
            output: "thread 'main' panicked at src/cart/coupon.rs:31:14",
        },
    ),
    Act::Use(500, Tool::Edit { path: "src/cart/coupon.rs", added: 6, removed: 2 }),
    Act::Say(
        600,
        "Of 37 calls of unwrap(), one can be reached by a user: a coupon with a space. It is mended.",
    ),
];

const PORT: &[Act] = &[
    Act::Say(600, "I look at the old tests before I port them one by one."),
    Act::Use(
        400,
        Tool::Bash {
            command: "ls tests/cart",
            output: "add.test.js\ncoupon.test.js\ntotal.test.js",
        },
    ),
    Act::Use(
        400,
        Tool::Bash {
            command: "wc -l tests/cart/*.js",
            output: "  84 add.test.js\n 112 coupon.test.js\n 240 total",
        },
    ),
    Act::Say(900, "Three files with 31 tests; two of them need a clock, which I pass in."),
    Act::Use(900, Tool::Edit { path: "tests/cart.rs", added: 130, removed: 0 }),
    Act::Use(
        1_700,
        Tool::FailingBash {
            command: "cargo test --test cart",
            output: "test result: FAILED. 29 passed; 2 failed",
        },
    ),
    Act::Say(
        600,
        "The coupon of the last day expires an hour early: the old tests had the wrong time zone.",
    ),
    Act::Use(700, Tool::Edit { path: "tests/cart.rs", added: 8, removed: 5 }),
    Act::Use(
        1_400,
        Tool::Bash {
            command: "cargo test --test cart",
            output: "test result: ok. 31 passed; 0 failed",
        },
    ),
    Act::Say(500, "All 31 tests of the cart are ported and pass."),
];

const FLAKY: &[Act] = &[
    Act::Say(600, "I run the test until it fails."),
    Act::Use(
        900,
        Tool::Bash {
            command: "for i in $(seq 20); do cargo test checkout; done",
            output: "20 passed",
        },
    ),
    Act::Say(400, "Twenty times without a failure. I try it with a busy machine."),
    Act::Use(
        60_000,
        Tool::Bash { command: "stress -c 8 & cargo test checkout -- --test-threads 1", output: "" },
    ),
    Act::Say(0, ""),
];

const DOCS: &[Act] = &[
    Act::Say(500, "I collect the settings where they are read."),
    Act::Use(500, Tool::Grep { pattern: "env::var", path: "crates/payment", matches: 9 }),
    Act::Use(400, Tool::Read { path: "crates/payment/src/config.rs", lines: 96 }),
    Act::Say(700, "Nine settings, two of them without a default. I write the table."),
    Act::Use(900, Tool::Edit { path: "docs/payment.md", added: 34, removed: 6 }),
    Act::Say(500, "docs/payment.md now has all nine settings, with their defaults."),
];

const UPDATE: &[Act] = &[
    Act::Say(400, "I update first and see what breaks."),
    Act::Use(900, Tool::Bash { command: "cargo update", output: "    Updating 14 packages" }),
    Act::Use(
        1_200,
        Tool::Bash {
            command: "cargo check --workspace",
            output: "    Finished `dev` profile in 1.1s",
        },
    ),
    Act::Say(500, "Fourteen packages are updated, and nothing breaks."),
];

/// What the model of the built-in agent says. The commands are real.
const BUILTIN_TURNS: &str = r#"[
    {"text": "I count the files by their kinds.", "delay_ms": 150, "usage": {"input": 1710, "output": 90},
     "tools": [{"name": "bash", "args": {"command": "ls | sed 's/.*\\.//' | sort | uniq -c"}}]},
    {"text": "Now those that Rust compiles.", "delay_ms": 250, "usage": {"input": 2120, "output": 80},
     "tools": [{"name": "bash", "args": {"command": "ls *.rs | wc -l"}}]},
    {"text": "There are {{last:1}} source files, all of them Rust.", "delay_ms": 200,
     "usage": {"input": 2480, "output": 60}}
]"#;
