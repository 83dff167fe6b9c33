//! What each crate may do: starting processes, printing and writing files belong to one crate each.

use super::Violation;
use super::pattern;
use super::tree::{TextFile, Tree};

/// Words that some of the product's code must not contain.
struct Invariant {
    scope: Scope,
    patterns: &'static [&'static str],
    /// The files that may contain them, each with its reason beside it.
    except: &'static [&'static str],
    reason: &'static str,
}

/// Where the patterns are forbidden.
enum Scope {
    Everywhere,
    EverywhereBut(&'static str),
    OnlyIn(&'static [&'static str]),
}

const INVARIANTS: &[Invariant] = &[
    Invariant {
        scope: Scope::EverywhereBut("process"),
        patterns: &["Command::new"],
        except: &[],
        reason: "only crates/process starts processes.",
    },
    Invariant {
        scope: Scope::EverywhereBut("process"),
        patterns: &["kill_process*", "pidfd_send_signal"],
        except: &[],
        reason: "only crates/process sends signals.",
    },
    Invariant {
        scope: Scope::Everywhere,
        patterns: &["thread::spawn", "thread::scope", "spawn_blocking"],
        except: &[],
        reason: "it panics at the limit of processes; process::start_thread gives the work back.",
    },
    Invariant {
        scope: Scope::EverywhereBut("cli"),
        patterns: &["println!", "eprintln!", "print!", "eprint!", "process::exit"],
        except: &[],
        reason: "only crates/cli prints and exits.",
    },
    Invariant {
        scope: Scope::EverywhereBut("store"),
        patterns: &[
            "fs::write",
            "fs::copy",
            "File::create*",
            "File::options",
            "OpenOptions*",
            "create_dir*",
            "remove_dir*",
            "remove_file",
            "rename(",
            "hard_link",
        ],
        except: &[
            // Profiles are files of the user, not of a run.
            "crates/plan/src/definition/file.rs",
            // So is what the built-in agent works on.
            "crates/agent/src/tools/files.rs",
            // What a command printed is kept for the agent, which has no run directory.
            "crates/agent/src/tools/bash/full_output.rs",
            // A conversation is kept where the user wants it.
            "crates/agent/src/session_file.rs",
            // In the repository of a task, what must exist to be kept read-only is made, and what an
            // agent has planted is removed.
            "crates/runner/src/supervisor/access/repository.rs",
            // Private indexes of git, and worktrees that a ref has whole.
            "crates/workspace/src/files.rs",
            // Files that came from another machine, and what a worker keeps while it carries out a task of theirs.
            "crates/workspace/src/travel.rs",
            "crates/fleet/src/tasks.rs",
            "crates/fleet/src/worker/attempt.rs",
            "crates/fleet/src/worker/mod.rs",
            "crates/fleet/src/worker/running.rs",
            "crates/fleet/src/worker/snapshots.rs",
            // What all programs of a user agree on belongs to no run.
            "crates/governor/src/shared_dir.rs",
            // An extension of another program is put where that program looks for it, and an entry
            // into its configuration.
            "crates/setup/src/files.rs",
        ],
        reason: "only crates/store changes files.",
    },
    Invariant {
        scope: Scope::OnlyIn(&["model", "session"]),
        patterns: &[
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "std::thread",
            "SystemTime",
            "Instant::now",
            // The braces could hide any module, so imports are written out one by one.
            "std::{",
        ],
        except: &[],
        reason: "crates/model and crates/session are pure: they compute from their arguments, \
                 and import from std one module at a time so that this can be checked.",
    },
    Invariant {
        scope: Scope::OnlyIn(&["model", "session"]),
        patterns: &[".unwrap()", ".expect(", "panic!", "unreachable!"],
        except: &[],
        reason: "crates/model and crates/session never panic: they fold over what other programs wrote.",
    },
];

/// The directories and the crate that are not part of the product: they test it.
const TEST_DIRECTORIES: &[&str] = &["tests", "testing", "benches"];
const TEST_CRATE: &str = "test-support";

/// Looks for the patterns in the product's code.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust_files()
        .filter_map(|file| Some((file, product_crate(file)?)))
        .flat_map(|(file, crate_name)| {
            INVARIANTS
                .iter()
                .filter(move |invariant| invariant.scope.contains(crate_name))
                .flat_map(|invariant| violations(file, invariant))
        })
        .collect()
}

/// The crate of the file, if the file is part of the product.
pub(super) fn product_crate(file: &TextFile) -> Option<&str> {
    let is_test = file.directories().any(|directory| TEST_DIRECTORIES.contains(&directory));
    file.crate_name().filter(|name| *name != TEST_CRATE && !is_test)
}

fn violations(file: &TextFile, invariant: &Invariant) -> Vec<Violation> {
    if invariant.except.iter().any(|path| file.path == *path) {
        return Vec::new();
    }
    pattern::find(invariant.patterns, &file.product_code)
        .into_iter()
        .map(|(line, pattern)| {
            let shown = pattern.trim_end_matches('*');
            Violation::new(&file.path, line, format!("`{shown}`: {}", invariant.reason))
        })
        .collect()
}

impl Scope {
    fn contains(&self, crate_name: &str) -> bool {
        match self {
            Scope::Everywhere => true,
            Scope::EverywhereBut(owner) => *owner != crate_name,
            Scope::OnlyIn(crates) => crates.contains(&crate_name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn assert_belongs_to(owner: &str, line: &str) {
        for crate_name in ["plan", "runner", "cli", "store", "process", "another"] {
            let path = format!("crates/{crate_name}/src/a.rs");
            let count = usize::from(crate_name != owner);
            assert_eq!(found(&path, line).len(), count, "{path}: {line}");
        }
    }

    #[test]
    fn each_act_belongs_to_one_crate() {
        assert_belongs_to("process", "let a = std::process::Command::new(b);");
        assert_belongs_to("process", "rustix::process::kill_process_group(a, b)");
        assert_belongs_to("process", "pidfd_send_signal(a, b)");
        assert_belongs_to("cli", "println!()");
        assert_belongs_to("cli", "eprint!()");
        assert_belongs_to("cli", "std::process::exit(1)");
        assert_belongs_to("store", "fs::write(a, b)");
        assert_belongs_to("store", "fs::create_dir_all(a)");
        assert_belongs_to("store", "fs::rename(a, b)");
        assert_belongs_to("store", "use std::fs::{File, OpenOptions};");
    }

    #[test]
    fn a_thread_that_cannot_be_started_never_panics() {
        for line in ["std::thread::spawn(a)", "thread::scope(a)", "tokio::task::spawn_blocking(a)"]
        {
            assert_eq!(found("crates/cli/src/a.rs", line).len(), 1, "{line}");
        }
        assert!(found("crates/cli/src/a.rs", "thread::Builder::new().spawn(a)").is_empty());
    }

    #[test]
    fn the_line_and_the_rule_are_named() {
        assert_eq!(
            found("crates/plan/src/a.rs", "fn a() {\n    Command::new(b);\n}\n"),
            ["crates/plan/src/a.rs:2: `Command::new`: only crates/process starts processes."]
        );
    }

    #[test]
    fn model_and_session_are_pure_and_never_panic() {
        for line in [
            "use std::fs;",
            "std::env::var(a)",
            "use std::{fs, io};",
            "use std::time::{Duration, SystemTime};",
            "Instant::now()",
            "std::thread::sleep(a)",
            "a.unwrap()",
            "a.expect(b)",
            "unreachable!()",
        ] {
            assert_eq!(found("crates/model/src/a.rs", line).len(), 1, "{line}");
            assert_eq!(found("crates/session/src/a.rs", line).len(), 1, "{line}");
            assert!(found("crates/runner/src/a.rs", line).is_empty(), "{line}");
        }
        let harmless = "a.unwrap_or(b); a.expect_err(c); std::time::Duration::ZERO; // a.unwrap()";
        assert!(found("crates/model/src/a.rs", harmless).is_empty());
    }

    #[test]
    fn tests_are_left_out() {
        let line = "Command::new(a).unwrap()";
        for path in [
            "crates/cli/tests/a.rs",
            "crates/cli/testing/a.rs",
            "crates/model/benches/a.rs",
            "crates/test-support/src/a.rs",
            "xtask/src/a.rs",
            "crates/model/README.md",
        ] {
            assert!(found(path, line).is_empty(), "{path}");
        }
        let module = format!("#[cfg(test)]\nmod tests {{\n    {line}\n}}\n");
        assert!(found("crates/model/src/a.rs", &module).is_empty());
        assert!(found("crates/model/src/a.rs", &format!("// {line}\n\"{line}\"")).is_empty());
    }
}
