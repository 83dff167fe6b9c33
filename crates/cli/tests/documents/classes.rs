//! Blocks that are not run as they are written: why, and what is checked of them nevertheless.

use std::fs;

use serde_json::{Value, json};
use test_support::write_file;

use super::{Block, Examples, blocks, root};

/// Blocks that are not run as they are, each with the reason.
const CLASSES: [(&str, &str); 13] = [
    ("arrows", "`cargo xtask tidy` compares it with the manifests"),
    ("text diagram", "drawn by hand: nothing prints it"),
    ("text conflict", "compared by the test of the page about worktrees"),
    ("text setup", "compared in `samples.rs`"),
    ("text answer", "its agents would need a model and fifteen minutes"),
    ("text doctor", "compared in `samples.rs`"),
    (
        "text status",
        "sixteen agents run in it, and a provider has refused some; `governor/status.rs` has its words",
    ),
    ("text landlock", "needs a kernel with Landlock; `tests/access` shows it"),
    ("console vendors", "needs programs or keys of vendors"),
    ("console running", "needs an agent that runs, or asks something"),
    ("console server", "needs a NATS server, certificates, or root; `tests/fleet` has them"),
    ("console pager", "needs `man`"),
    ("ini systemd", "needs systemd"),
];

impl Examples {
    /// A block that is not run as it is.
    pub(super) fn classified(&self, block: &Block) {
        let class = format!("{} {}", block.kind, block.name);
        match class.trim() {
            "console xtask" => check_developer_commands(&block.text),
            "console answer" => self.answer_by_a_schema(&block.text),
            class => {
                let is_known = CLASSES.iter().any(|(known, _)| *known == class);
                assert!(is_known, "{}: a block of {class:?}?", self.document.display());
                match block.kind.as_str() {
                    "console" => self.understand(&block.text),
                    "ini" => {
                        let start = block.text.lines().find_map(|it| it.strip_prefix("ExecStart="));
                        self.understand(start.unwrap().trim_start_matches("/usr/bin/"));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Makes sure that the program understands every command, without carrying it out. What other programs would do is left
    /// out, and what a task of a batch is must be one.
    fn understand(&self, text: &str) {
        let has_prompts = text.contains("$ ");
        let (mut script, mut commands) = (String::new(), 0);
        for line in text.lines() {
            match line.strip_prefix("$ ") {
                None if has_prompts => {
                    fleet::read_task_line(line).unwrap();
                }
                command => {
                    let command = command.unwrap_or(line).trim_end_matches(" &");
                    commands += command.matches("pi-subagents ").count();
                    script += &format!("{command}\n");
                }
            }
        }
        let others = ["cd", "cat", "git", "man", "openssl", "pi", "nats_server"];
        let others: String = others.iter().map(|name| format!("{name}() {{ :; }}\n")).collect();
        let program = env!("CARGO_BIN_EXE_pi-subagents");
        // Help is printed when everything before it was understood. An answer takes all words that follow as its own.
        let ask = format!(
            "understood() {{ [ $1 != answer ] || set -- answer; '{program}' \"$@\" --help | grep -q Usage; echo understood >&2; }}\n"
        );
        let script = script.replace("nats-server ", "nats_server ");
        let script = script.replace("pi-subagents ", "understood ").replace("~/", "/tmp/");
        let script = script.replace("/etc/understood ", "/etc/pi-subagents ");
        let ran = self.run(&format!("{ask}{others}{script}"));
        assert_eq!(ran.stderr.matches("understood\n").count(), commands, "{text}\n{ran:?}");
    }

    /// The file that is shown, a command with it, and its output at last.
    fn answer_by_a_schema(&self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        let [cat, schema, command, answer] = lines[..] else { panic!("{text}") };
        let file = cat.strip_prefix("$ cat ").unwrap();
        let (command, _) = command.strip_prefix("$ ").unwrap().split_once(" | jq ").unwrap();
        let turns = json!([{"text": answer}]);
        for (name, text) in [(file, schema), ("answer-turns.json", &turns.to_string())] {
            write_file(&self.world.project().join(name), text);
        }
        let ran =
            self.shell(&format!("{command} --agent builtin --model script/answer-turns.json"));
        let expected: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(ran.json()["tasks"][0]["value"], expected, "{ran:?}");
    }
}

/// Makes sure that the commands of developers are there, with what they name.
fn check_developer_commands(text: &str) {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (commands, steps) = (read("xtask/src/main.rs"), read("xtask/src/test/mod.rs"));
    let bench = read("bench/src/main.rs");
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["cargo", "xtask", command, rest @ ..] = words.as_slice() else {
            assert!(line.is_empty() || line.starts_with("cargo test -p "), "{line}");
            continue;
        };
        assert!(commands.contains(&format!("\"{command}\"")), "{line}");
        let names = rest
            .iter()
            .filter(|word| word.chars().all(|c| c.is_lowercase() || c == '_' || c == '-'));
        for name in names.filter(|word| !word.starts_with('-')) {
            let is_there = match *command {
                "test" => steps.contains(&format!("name: \"{name}\"")),
                "fuzz" => root().join("fuzz/corpus").join(name).is_dir(),
                "bench" => bench.contains(&format!("\"{name}\"")),
                _ => true,
            };
            assert!(is_there, "{line}: {name}");
        }
    }
}

#[test]
fn the_pages_for_developers_name_commands_that_there_are() {
    for document in ["CONTRIBUTING.md", "ARCHITECTURE.md"] {
        for block in blocks(&fs::read_to_string(root().join(document)).unwrap()) {
            let class = format!("{} {}", block.kind, block.name);
            match class.trim() {
                "sh" => check_developer_commands(&block.text),
                class => assert!(CLASSES.iter().any(|(known, _)| *known == class), "{class}"),
            }
        }
    }
}
