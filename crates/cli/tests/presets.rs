//! `preset create`, `edit` and `delete` on the command line, and `init`.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use test_support::{Ran, World, write_program};

use crate::world;

fn file(world: &World, name: &str) -> PathBuf {
    world.agent_dir().join("subagents").join(format!("{name}.md"))
}

#[test]
fn options_make_change_and_delete_a_preset() {
    let world = world();
    let options = ["--description", "Looks: around", "--model", "a/one", "--tools", "read, grep"];
    let more = ["--timeout", "5m", "--append-system-prompt", "You are a scout."];
    let ran = world.run(&[&["preset", "create", "scout"], &options[..], &more[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "Preset \"scout\" saved to global subagents.\n");
    assert_eq!(
        fs::read_to_string(file(&world, "scout")).unwrap(),
        "---\nname: scout\ndescription: \"Looks: around\"\nmodel: a/one\ntimeout: 300\n\
         tools: read,grep\n---\n\nYou are a scout.\n"
    );
    let shown = world.run(&["preset", "show", "scout", "--json"]).json();
    assert_eq!(
        (&shown["timeout"], &shown["description"]),
        (&json!(300.0), &json!("Looks: around"))
    );
    let ran =
        world.run(&["preset", "edit", "scout", "--timeout", "", "--model", "b/two", "--json"]);
    assert_eq!(ran.json(), json!({"saved": file(&world, "scout").to_str().unwrap()}));
    let text = fs::read_to_string(file(&world, "scout")).unwrap();
    assert!(text.contains("model: b/two") && !text.contains("timeout"), "{text}");
    let ran = world.run(&["preset", "delete", "scout"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Preset \"scout\" deleted.\n"));
    assert!(!file(&world, "scout").exists());
    assert_eq!(world.run(&["preset", "delete", "scout"]).code, Some(2));
}

#[test]
fn what_is_wrong_with_a_preset_is_said_and_nothing_is_written() {
    let world = world();
    for (arguments, expected) in [
        (&["create", "a b", "--description", "x"][..], "a b"),
        (&["create", "x"], "there is no terminal to ask in"),
        (&["create", "x", "--model", "a/b"], "Preset \"x\" needs a description"),
        (
            &["create", "x", "--description", "d", "--timeout", "soon"],
            "--timeout: \"soon\" must be",
        ),
        (&["create", "x", "--description", "d", "--timeout", "20ms"], "is less than a second"),
        (&["create", "x", "--description", "d", "--system-prompt", "s"], "--system-prompt"),
        (&["edit", "x", "--model", "y"], "Preset \"x\" not found"),
        (&["edit", "x", "--editor", "--model", "y"], "cannot be used with"),
    ] {
        let ran = world.run(&[&["preset"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
    }
    assert!(!world.agent_dir().join("subagents").exists());
    let world = world.with_scout();
    let ran = world.run(&["preset", "edit", "scout", "--description", ""]);
    assert!(ran.code == Some(2) && ran.stderr.contains("needs a description"), "{ran:?}");
    let ran = world.run(&["preset", "create", "scout", "--description", "again"]);
    assert!(ran.stderr.contains("already exists"), "{ran:?}");
    assert!(ran.stderr.contains("preset edit scout"), "{ran:?}");
    let editor = world.path("editor");
    write_program(&editor, "#!/bin/sh\nsed -i /description/d \"$1\"\n");
    let mut command = world.command(["preset", "edit", "scout", "--editor"]);
    let ran = Ran::from(command.env("EDITOR", &editor).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is no longer a valid preset"), "{ran:?}");
}

#[test]
fn init_writes_what_is_asked_for_with_the_current_model_and_replaces_nothing() {
    let world = world();
    assert!(!world.agent_dir().join("subagents").exists(), "nothing is there by itself");
    assert_eq!(world.run(&["preset", "list", "--json"]).json()["presets"], json!([]));
    let init = |arguments: &[&str]| {
        let mut command = world.command([&["init"], arguments].concat());
        Ran::from(command.env("ANTHROPIC_API_KEY", "planted").output().unwrap())
    };
    let ran = init(&[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("or use --all: scout, reviewer, worker, planner"), "{ran:?}");
    let ran = init(&["scuot"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("Did you mean scout?"), "{ran:?}");
    let ran = init(&["scout", "planner"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let paths = ["scout", "planner"].map(|name| file(&world, name).display().to_string());
    assert_eq!(ran.stdout, format!("{}\n{}\n", paths[0], paths[1]));
    assert!(ran.stderr.contains("They use anthropic/claude-opus-4-8"), "{ran:?}");
    assert!(ran.stderr.contains("Try: pi-subagents run --preset scout \"Where are"), "{ran:?}");
    let shown = world.run(&["preset", "show", "scout", "--json"]).json();
    assert_eq!(shown["model"], "anthropic/claude-opus-4-8");
    fs::write(file(&world, "scout"), "my own").unwrap();
    let document = init(&["--all", "--model", "x/y", "--json"]).json();
    let written = ["reviewer", "worker"].map(|name| file(&world, name).display().to_string());
    assert_eq!(document, json!({"written": written, "kept": paths, "model": "x/y"}));
    assert_eq!(fs::read_to_string(file(&world, "scout")).unwrap(), "my own");
    assert!(fs::read_to_string(file(&world, "worker")).unwrap().contains("model: x/y"));
    // Without a model they are written, too, and the user is told what to do.
    let world = crate::world();
    let ran = world.run(&["init", "worker"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("there is no default model"), "{ran:?}");
    assert!(ran.stderr.contains("run --preset worker --model MODEL "), "{ran:?}");
    assert!(!fs::read_to_string(file(&world, "worker")).unwrap().contains("model:"));
}
