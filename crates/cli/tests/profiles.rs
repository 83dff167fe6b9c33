//! `profile create` and `profile edit` on the command line, without a question.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use test_support::{Ran, World, write_program};

use crate::world;

fn file(world: &World, name: &str) -> PathBuf {
    world.agent_dir().join("agent-profiles").join(format!("{name}.md"))
}

#[test]
fn options_make_a_profile_without_questions() {
    let world = world();
    let ran = world.run(&[
        "profile",
        "create",
        "fast",
        "--provider",
        "anthropic",
        "--model",
        "claude-haiku-4-5",
        "--thinking-level",
        "low",
        "--tools",
        "read, grep",
        "--no-skills",
        "--agent",
        "builtin",
        "--append-system-prompt",
        "Be brief.",
        "--system-prompt",
        "You review code.",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "Profile \"fast\" saved to global agent-profiles.\n");
    let text = fs::read_to_string(file(&world, "fast")).unwrap();
    for line in [
        "name: fast",
        "provider: anthropic",
        "model: claude-haiku-4-5",
        "thinkingLevel: low",
        "tools: read,grep",
        "noSkills: true",
        "agent: builtin",
        "appendSystemPrompt: Be brief.",
        "\n---\n\nYou review code.\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let ran = world.run(&["profile", "create", "fast", "--model", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("already exists") && ran.stderr.contains("profile edit fast"));
    assert_eq!(fs::read_to_string(file(&world, "fast")).unwrap(), text, "nothing was changed");
}

#[test]
fn options_change_what_they_name_and_an_empty_one_takes_away() {
    let world = world();
    let directory = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    let text = "---\nname: fast\nmodel: one\nnoTools: true\napiKey: sk-secret-1234\n---\n\nBody.\n";
    fs::write(file(&world, "fast"), text).unwrap();
    let ran =
        world.run(&["profile", "edit", "fast", "--model", "two", "--no-tools=false", "--json"]);
    assert_eq!(ran.json(), json!({"saved": file(&world, "fast").to_str().unwrap()}));
    let text = fs::read_to_string(file(&world, "fast")).unwrap();
    assert!(text.contains("model: two") && !text.contains("noTools") && text.contains("Body."));
    assert!(text.contains("apiKey: sk-secret-1234"), "what has no option stays: {text}");
    let ran = world.run(&["profile", "edit", "fast", "--model", ""]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!fs::read_to_string(file(&world, "fast")).unwrap().contains("model:"));
    // A key does not get into a project, where others would find it.
    let ran = world.run(&["profile", "edit", "fast", "--project"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("apiKey") && !ran.stderr.contains("sk-secret"), "{ran:?}");
    assert!(!world.project().join(".pi").exists());
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let world = world();
    for (arguments, expected) in [
        (vec!["create", "a b", "--model", "x"], "a b"),
        (vec!["create", "x"], "there is no terminal to ask in"),
        (vec!["create", "x", "--thinking-level", "huge"], "not one of off, minimal, low"),
        (vec!["create", "x", "--agent", "cluade"], "Did you mean claude?"),
        (vec!["create", "x", "--no-skills", "--load-skills", "a"], "mutually exclusive"),
        (vec!["create", "x", "--global", "--project"], "cannot be used with"),
        (vec!["edit", "x", "--model", "y"], "Profile \"x\" not found"),
        (vec!["edit", "x", "--editor", "--model", "y"], "cannot be used with"),
    ] {
        let arguments: Vec<&str> = ["profile"].into_iter().chain(arguments).collect();
        let ran = world.run(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
    }
    assert!(!world.agent_dir().join("agent-profiles").exists());
}

#[test]
fn an_editor_changes_the_file_and_its_mistakes_are_told() {
    let world = world();
    world.run(&["profile", "create", "fast", "--model", "one"]);
    let editor = world.path("my editor");
    let script = "#!/bin/sh\n[ \"$1\" = --wait ] && sed -i \"s/one/$WORD/\" \"$2\"\n";
    write_program(&editor, script);
    let edit = |editor: String, word: &str| -> Ran {
        let mut command = world.command(["profile", "edit", "fast", "--editor"]);
        command.env("EDITOR", editor).env("WORD", word).output().unwrap().into()
    };
    let with_argument = format!("'{}' --wait", editor.display());
    let ran = edit(with_argument.clone(), "two");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(fs::read_to_string(file(&world, "fast")).unwrap().contains("model: two"));
    let ran = edit("false".to_owned(), "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("exited with an error"), "{ran:?}");
    fs::write(file(&world, "fast"), "---\nname: fast\nmodel: one\n---\n").unwrap();
    let ran = edit(with_argument, "[");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is no longer a valid profile"), "{ran:?}");
}
