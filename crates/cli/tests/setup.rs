//! `setup pi`: the extension inside the program, put into an agent directory and removed again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{Ran, World};

use crate::world;

const FILES: &[&str] = &[
    "agents.ts",
    "bridge.ts",
    "dialogs.ts",
    "index.ts",
    "package.json",
    "pi-subagents",
    "prompts",
    "prompts/implement-and-review.md",
    "prompts/implement.md",
    "prompts/scout-and-plan.md",
    "render.ts",
    "session.ts",
    "window.ts",
];

fn extension(world: &World) -> PathBuf {
    world.agent_dir().join("extensions/pi-subagents")
}

/// Everything below a directory, by relative paths.
fn below(directory: &Path) -> Vec<String> {
    fn visit(directory: &Path, top: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            if path.symlink_metadata().unwrap().is_dir() {
                visit(&path, top, found);
            }
        }
    }
    let mut found = Vec::new();
    visit(directory, directory, &mut found);
    found.sort();
    found
}

#[track_caller]
fn setup(world: &World, arguments: &[&str]) -> Ran {
    let ran = world.run(&[&["setup", "pi"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

#[track_caller]
fn refused(world: &World, arguments: &[&str], why: &str) {
    let before = below(&world.path(""));
    let ran = world.run(&[&["setup", "pi"], arguments].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(why) && ran.stderr.contains("hint: move it away"), "{ran:?}");
    assert_eq!(below(&world.path("")), before);
}

#[test]
fn the_extension_and_a_link_to_the_program_appear_in_the_agent_directory_only() {
    let world = world();
    let before = below(&world.path(""));
    let ran = setup(&world, &[]);
    let directory = extension(&world);
    assert_eq!(
        ran.stdout,
        format!("Installed pi-subagents {} for pi in {}\n", version(), directory.display())
    );
    assert!(ran.stderr.contains("hint: start pi, or type /reload"), "{ran:?}");
    assert_eq!(below(&directory), FILES);
    let link = fs::read_link(directory.join("pi-subagents")).unwrap();
    assert_eq!(link, fs::canonicalize(env!("CARGO_BIN_EXE_pi-subagents")).unwrap());
    let mode =
        |name: &str| fs::metadata(directory.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("index.ts"), mode("prompts")), (0o644, 0o755));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extension");
    for name in FILES.iter().filter(|name| name.contains('.')) {
        let text = |top: &Path| fs::read_to_string(top.join(name)).unwrap();
        assert_eq!(text(&directory), text(&source), "{name}");
    }
    let mut after = below(&world.path(""));
    after.retain(|path| !path.starts_with("home/.pi/agent/extensions"));
    assert_eq!(after, before);
}

#[test]
fn what_is_up_to_date_stays_and_what_is_old_is_replaced() {
    let world = world();
    setup(&world, &[]);
    let again = setup(&world, &[]);
    assert!(again.stdout.starts_with("Already up to date: pi-subagents "), "{again:?}");
    assert_eq!(again.stderr, "");

    let directory = extension(&world);
    fs::write(directory.join("index.ts"), "// old").unwrap();
    fs::remove_file(directory.join("pi-subagents")).unwrap();
    symlink("/old/pi-subagents", directory.join("pi-subagents")).unwrap();
    fs::remove_file(directory.join("prompts/implement.md")).unwrap();
    let updated = setup(&world, &["--json"]).json();
    assert_eq!(updated["version"], version());
    let change = |name: &str| -> Value {
        let path = directory.join(name);
        let mut files = updated["files"].as_array().unwrap().iter();
        files.find(|file| file["path"] == path.to_str().unwrap()).unwrap()["change"].clone()
    };
    assert_eq!(change("index.ts"), "replaced");
    assert_eq!(change("pi-subagents"), "replaced");
    assert_eq!(change("prompts/implement.md"), "created");
    assert_eq!(change("package.json"), "unchanged");
    assert_ne!(fs::read_to_string(directory.join("index.ts")).unwrap(), "// old");
    assert_eq!(below(&directory), FILES);

    fs::write(directory.join("render.ts"), "// old").unwrap();
    let updated = setup(&world, &[]);
    assert!(updated.stdout.starts_with("Updated pi-subagents "), "{updated:?}");
    let replaced = format!("replaced {}", directory.join("render.ts").display());
    assert_eq!(updated.stderr.lines().next(), Some(replaced.as_str()), "{updated:?}");
}

#[test]
fn removing_leaves_nothing_and_can_be_repeated() {
    let world = world();
    let before = below(&world.path(""));
    setup(&world, &[]);
    let removed = setup(&world, &["--remove"]);
    assert!(removed.stdout.starts_with("Removed pi-subagents from "), "{removed:?}");
    fs::remove_dir(world.agent_dir().join("extensions")).unwrap();
    assert_eq!(below(&world.path("")), before);
    let again = setup(&world, &["--remove"]);
    assert!(again.stdout.starts_with("Nothing to remove: "), "{again:?}");
    let directory = extension(&world);
    assert_eq!(
        setup(&world, &["--remove", "--json"]).json(),
        json!({"directory": directory, "dryRun": false, "removed": [], "kept": []})
    );
}

#[test]
fn a_dry_run_says_what_would_happen_and_changes_nothing() {
    let world = world();
    let directory = extension(&world);
    let dry = |arguments: &[&str], answer: &str, note: &str| {
        let before = below(&world.path(""));
        let ran = setup(&world, &[&["--dry-run"], arguments].concat());
        assert!(ran.stdout.starts_with(answer), "{ran:?}");
        let notes = ran.stderr.lines().filter(|line| line.starts_with(note));
        assert!(!ran.stderr.contains("hint: "), "there is nothing to do: {ran:?}");
        assert_eq!(below(&world.path("")), before);
        notes.count()
    };
    assert_eq!(dry(&[], "Would install pi-subagents ", "would create "), FILES.len() - 1);
    assert_eq!(dry(&["--remove"], "Nothing to remove: ", "would"), 0);
    setup(&world, &[]);
    assert_eq!(dry(&[], "Already up to date: ", "would"), 0);
    fs::write(directory.join("index.ts"), "old").unwrap();
    assert_eq!(dry(&[], "Would update pi-subagents ", "would replace "), 1);
    assert_eq!(dry(&["--remove"], "Would remove pi-subagents ", "would remove "), FILES.len() - 1);
    assert_eq!(fs::read_to_string(directory.join("index.ts")).unwrap(), "old");
    assert_eq!(setup(&world, &["--dry-run", "--json"]).json()["dryRun"], true);
}

#[test]
fn foreign_files_stay_and_are_named() {
    let world = world();
    setup(&world, &[]);
    let directory = extension(&world);
    let foreign = [directory.join("notes.txt"), directory.join("prompts/mine.md")];
    for path in &foreign {
        fs::write(path, "mine").unwrap();
    }
    assert_eq!(setup(&world, &["--json"]).json()["kept"], json!(foreign));
    let removed = setup(&world, &["--remove"]);
    for path in &foreign {
        let note = format!("kept {}, which is not part of the extension", path.display());
        assert!(removed.stderr.contains(&note), "{removed:?}");
    }
    assert_eq!(below(&directory), ["notes.txt", "prompts", "prompts/mine.md"]);
}

#[test]
fn what_is_not_ours_is_refused_and_not_touched() {
    let world = world();
    let directory = extension(&world);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("package.json"), r#"{"name": "another"}"#).unwrap();
    for arguments in [&[][..], &["--remove"]] {
        refused(&world, arguments, "holds something that is not pi-subagents");
    }
    fs::remove_dir_all(&directory).unwrap();

    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    for arguments in [&[][..], &["--remove"]] {
        refused(&world, arguments, "is not a directory of its own, but a link or a file");
    }
    fs::remove_file(&directory).unwrap();

    setup(&world, &[]);
    fs::remove_file(directory.join("pi-subagents")).unwrap();
    fs::write(directory.join("pi-subagents"), "a copy").unwrap();
    for arguments in [&[][..], &["--remove"]] {
        refused(&world, arguments, "is not a link, but something that was put there by hand");
    }
}

#[test]
fn an_agent_directory_that_pi_does_not_look_at_is_warned_about() {
    let world = world();
    let agent_dir = world.path("another");
    let run = |also: bool| -> Ran {
        let mut command = world.command(["setup", "pi"]);
        command.env("PI_AGENT_DIR", &agent_dir);
        if also {
            command.env("PI_CODING_AGENT_DIR", &agent_dir);
        }
        command.output().unwrap().into()
    };
    let ran = run(false);
    let needed = format!("only with PI_CODING_AGENT_DIR={}", agent_dir.display());
    assert!(ran.code == Some(0) && ran.stderr.contains(&needed), "{ran:?}");
    assert_eq!(below(&agent_dir.join("extensions/pi-subagents")), FILES);
    let ran = run(true);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
