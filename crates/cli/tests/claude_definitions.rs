//! Definitions of Claude Code, offered as profiles.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{Ran, World, write_file};

use crate::world;

const REVIEWER: &str = "\
---
name: reviewer
description: Use this agent when: code has changed. <example>user: \"Look\"</example>
tools: Read, Glob, Bash, TodoWrite
model: sonnet
permissionMode: bypassPermissions
hooks:
  Stop: [{hooks: [{type: command, command: touch evil}]}]
color: red
---

You review code.
";

fn of_user(world: &World, name: &str) -> PathBuf {
    world.home().join(".claude/agents").join(format!("{name}.md"))
}

fn of_project(world: &World, name: &str) -> PathBuf {
    world.project().join(".claude/agents").join(format!("{name}.md"))
}

fn reviewing() -> World {
    let world = world();
    write_file(&of_user(&world, "reviewer"), REVIEWER);
    world
}

/// What an agent was told in its arguments, in words.
fn arguments(ran: &Ran) -> Vec<String> {
    let output = ran.task()["output"].as_str().unwrap_or_default().to_owned();
    output.split(' ').map(str::to_owned).collect()
}

fn after<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    let index = arguments.iter().position(|argument| argument == flag)?;
    arguments.get(index + 1).map(String::as_str)
}

#[test]
fn a_task_uses_one_with_the_tools_that_its_agent_has() {
    let world = reviewing();
    let ran = world.play(&json!([{"tell": "arguments"}]), &["--profile", "reviewer"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = arguments(&ran);
    assert_eq!(after(&told, "--tools"), Some("read,find,bash"), "{told:?}");
    assert_eq!(after(&told, "--model"), None, "{told:?}");
    let prompt = fs::read_to_string(ran.run_dir().join("system-prompt.md")).unwrap();
    assert_eq!(prompt, "You review code.");
    let profile = "profile: reviewer, custom-system-prompt, tools=[read,find,bash], origin=claude";
    assert_eq!(ran.task()["profile"], profile);
    for expected in [
        "profile \"reviewer\": not taken over from Claude Code: \"permissionMode\", \"hooks\"",
        "profile \"reviewer\": not among the tools of the agent: \"TodoWrite\"",
        "profile \"reviewer\": its model \"sonnet\" is Claude Code's and not known here; the agent uses \
         its default model",
    ] {
        assert!(ran.stderr.contains(expected), "{expected:?} is not in {}", ran.stderr);
    }
    world.assert_nothing_left();
    // A model of the task takes the place of its own.
    let ran = world
        .play(&json!([{"tell": "arguments"}]), &["--profile", "reviewer", "--model", "other/m"]);
    assert_eq!(after(&arguments(&ran), "--model"), Some("other/m"));
    assert!(!ran.stderr.contains("sonnet"), "{}", ran.stderr);
    // The user's provider has it.
    let settings = json!({"defaultProvider": "anthropic", "defaultModel": "claude-x"}).to_string();
    fs::write(world.agent_dir().join("settings.json"), settings).unwrap();
    let ran = world.play(&json!([{"tell": "arguments"}]), &["--profile", "reviewer"]);
    let told = arguments(&ran);
    assert_eq!(
        (after(&told, "--provider"), after(&told, "--model")),
        (Some("anthropic"), Some("sonnet"))
    );
    assert!(!world.project().join("evil").exists());
}

#[test]
fn claude_gets_its_own_names_and_its_own_model() {
    let world = reviewing();
    let script = json!([{"record": {"type": "result", "is_error": false, "result": "done"}}]);
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script.to_string()]);
    world.settings(&json!({"agents": {"claude": {"command": command, "protocol": "claude"}}}));
    let run = ["run", "--json", "--access", "full", "--agent", "claude", "--profile", "reviewer"];
    let ran = world.run(&[&run[..], &["do it"]].concat());
    let meta: Value =
        serde_json::from_slice(&fs::read(ran.run_dir().join("meta.json")).unwrap()).unwrap();
    let command: Vec<String> = serde_json::from_value(meta["command"].clone()).unwrap();
    assert_eq!(after(&command, "--tools"), Some("Read,Glob,Bash,TodoWrite"), "{command:?}");
    assert_eq!(after(&command, "--model"), Some("sonnet"), "{command:?}");
    assert_eq!(after(&command, "--permission-mode"), Some("bypassPermissions"), "our own choice");
    assert!(!ran.stderr.contains("not among the tools"), "{}", ran.stderr);
}

#[test]
fn a_task_without_one_hears_nothing_of_them() {
    let world = reviewing();
    write_file(&of_user(&world, "broken"), "---\nname: [\n---\n");
    write_file(&of_user(&world, "README"), "About my agents.");
    let ran = world.play(&json!([{"say": "done"}]), &[]);
    assert_eq!((ran.code, ran.stderr.contains("warning")), (Some(0), false), "{ran:#?}");
    // The list and the doctor tell which of them cannot be read, and where.
    let ran = world.run(&["profile", "list"]);
    let broken = format!("{}:2: its frontmatter cannot be", of_user(&world, "broken").display());
    assert!(ran.stderr.contains(&broken) && !ran.stderr.contains("README"), "{ran:#?}");
    let ran = world.run(&["doctor", "--json"]);
    assert!(ran.stdout.contains(&broken), "{}", ran.stdout);
}

#[test]
fn they_are_listed_and_shown_with_their_origin() {
    let world = reviewing();
    write_file(&of_project(&world, "critic"), "---\nname: critic\n---\nYou criticise.\n");
    let ran = world.run(&["profile", "list"]);
    assert_eq!(
        ran.stdout,
        "profile: critic, custom-system-prompt, origin=claude\n\
         profile: reviewer, model=sonnet, custom-system-prompt, tools=[read,find,bash,TodoWrite], \
         origin=claude\n"
    );
    let listed = world.run(&["profile", "list", "--json"]).json();
    let origins: Vec<(&Value, &Value, &Value)> = listed["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|profile| (&profile["name"], &profile["origin"], &profile["scope"]))
        .collect();
    assert_eq!(
        origins,
        [
            (&json!("critic"), &json!("claude"), &json!("project")),
            (&json!("reviewer"), &json!("claude"), &json!("global")),
        ]
    );
    let ran = world.run(&["profile", "show", "reviewer"]);
    let path = of_user(&world, "reviewer");
    let origin = format!(
        "  origin:            claude, {}\n  notTakenOver:      [permissionMode, hooks]\n",
        path.display()
    );
    assert!(ran.stdout.ends_with(&origin), "{}", ran.stdout);
    let shown = world.run(&["profile", "show", "reviewer", "--json"]).json();
    assert_eq!(shown["notTakenOver"], json!(["permissionMode", "hooks"]));
    assert_eq!(shown["path"], json!(path.to_str().unwrap()));
    let ran = world.run(&["doctor"]);
    let count = format!(
        "2 more profiles of Claude Code, in {} and {}",
        path.parent().unwrap().display(),
        of_project(&world, "x").parent().unwrap().display()
    );
    assert!(ran.stdout.contains(&count), "{}", ran.stdout);
    // Another directory of Claude Code's own.
    let elsewhere = world.path("elsewhere");
    write_file(&elsewhere.join("agents/far.md"), "---\nname: far\n---\n");
    let mut command = world.command(["profile", "list"]);
    let ran = Ran::from(command.env("CLAUDE_CONFIG_DIR", &elsewhere).output().unwrap());
    assert_eq!(
        ran.stdout,
        "profile: critic, custom-system-prompt, origin=claude\nprofile: far, origin=claude\n"
    );
}

fn saved(world: &World, directory: &Path) -> String {
    fs::read_to_string(directory.join("agent-profiles/reviewer.md"))
        .unwrap_or_else(|error| panic!("{error}: {:?}", world.project()))
}

#[test]
fn one_is_copied_but_neither_changed_nor_deleted() {
    let world = reviewing();
    for arguments in [
        &["profile", "edit", "reviewer", "--model", "x"][..],
        &["profile", "edit", "reviewer", "--editor"],
        &["profile", "delete", "reviewer"],
    ] {
        let ran = world.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        let path = of_user(&world, "reviewer");
        let message = format!("Profile \"reviewer\" belongs to Claude Code: {}", path.display());
        assert!(ran.stderr.contains(&message), "{ran:#?}");
        assert!(ran.stderr.contains("`pi-subagents profile import reviewer`"), "{ran:#?}");
        assert_eq!(fs::read_to_string(path).unwrap(), REVIEWER);
    }
    let ran = world.run(&["profile", "import", "reviewer"]);
    assert_eq!(ran.stdout, "Profile \"reviewer\" saved to global agent-profiles.\n", "{ran:#?}");
    assert!(ran.stderr.contains("not taken over from Claude Code: permissionMode, hooks"));
    let copy = saved(&world, &world.agent_dir());
    for line in ["name: reviewer\n", "model: sonnet\n", "tools: read,find,bash,TodoWrite\n"] {
        assert!(copy.contains(line), "{line:?} is not in {copy}");
    }
    assert!(!copy.contains("hooks") && !copy.contains("permissionMode"), "{copy}");
    // The copy takes its place, and can be changed.
    let shown = world.run(&["profile", "show", "reviewer", "--json"]).json();
    assert_eq!(shown["origin"], "own");
    assert_eq!(world.run(&["profile", "edit", "reviewer", "--model", "x"]).code, Some(0));
    let ran = world.run(&["profile", "import", "reviewer"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("is your own already"), "{ran:#?}");
    assert_eq!(world.run(&["profile", "delete", "reviewer"]).code, Some(0));
    let shown = world.run(&["profile", "show", "reviewer", "--json"]).json();
    assert_eq!(
        (&shown["origin"], fs::read_to_string(of_user(&world, "reviewer")).unwrap()),
        (&json!("claude"), REVIEWER.to_owned())
    );
    // Or with the project; and a new one of that name can be created beside it.
    assert_eq!(world.run(&["profile", "import", "reviewer", "--project"]).code, Some(0));
    assert_eq!(saved(&world, &world.project().join(".pi")), copy);
    let ran = world.run(&["profile", "import", "nobody"]);
    assert_eq!((ran.code, ran.stderr.contains("not found")), (Some(2), true), "{ran:#?}");
    fs::remove_dir_all(world.project().join(".pi")).unwrap();
    let ran = world.run(&["profile", "create", "reviewer", "--model", "own"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[test]
fn a_cloned_project_chooses_no_program_and_no_key() {
    let world = world();
    let text = "---\nname: evil\nmodel: script/evil.json\napiKey: sk-evil-1234\nprovider: script\n\
                agent: evil\nextensions: /evil.js\nextraArgs: --evil\n\
                mcpServers: [{evil: {command: touch, args: [evil]}}]\n---\nYou are evil.\n";
    write_file(&of_project(&world, "evil"), text);
    let ran = world.play(&json!([{"tell": "arguments"}]), &["--profile", "evil"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = arguments(&ran).join(" ");
    let run_dir = ran.run_dir();
    let prompt = run_dir.join("system-prompt.md");
    assert_eq!(told, format!("--mode json -p --no-session --system-prompt {}", prompt.display()));
    assert!(!world.project().join("evil").exists());
}
