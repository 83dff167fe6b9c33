//! What agents of other makes are given, and what of a profile they cannot keep.

use std::fs;

use serde_json::{Value, json};
use test_support::{World, write_file};

use super::{meta, outcome, playing, run};

/// A claude that says what it was given, and ends well.
fn telling(what: &Value) -> World {
    let ended = json!({"type": "result", "is_error": false, "result": "done"});
    playing("claude", &json!([{"tell": what}, {"record": ended}]))
}

fn profile(world: &World, fields: &str, body: &str) {
    let directory = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("p.md"), format!("---\nname: p\n{fields}\n---\n{body}")).unwrap();
}

fn said() -> Value {
    let said = json!({"type": "assistant", "message": {"model": "m",
        "content": [{"type": "text", "text": "done"}]}});
    let ended = json!({"type": "result", "is_error": false, "result": "done"});
    json!([{"record": said}, {"record": ended}])
}

#[test]
fn prompts_are_files_and_keys_are_variables() {
    let world = playing("claude", &said());
    profile(
        &world,
        "model: anthropic/claude-x\nprovider: anthropic\napiKey: sk-very-secret-key",
        "You are X.",
    );
    let ran = run(&world, "claude", &["--profile", "p"]);
    assert_eq!(outcome(&ran).0, "completed", "{ran:#?}");
    let run_dir = ran.run_dir();
    let command = meta(&run_dir)["command"].to_string();
    assert!(command.contains("\"--model\",\"claude-x\""), "{command}");
    assert_eq!(fs::read_to_string(run_dir.join("system-prompt.md")).unwrap().trim(), "You are X.");
    for entry in fs::read_dir(&run_dir).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("sk-very-secret-key"));
    }
    assert!(!command.contains("do it"), "the prompt is on standard input: {command}");
}

#[test]
fn a_key_reaches_the_agent_in_its_own_variable_and_is_hidden_when_it_prints_it() {
    let world = telling(&json!({"variable": "ANTHROPIC_API_KEY"}));
    profile(&world, "apiKey: sk-very-secret-key", "");
    let ran = run(&world, "claude", &["--profile", "p"]);
    let stdout = fs::read_to_string(ran.run_dir().join("stdout.log")).unwrap();
    assert!(!stdout.contains("sk-very-secret-key"), "{stdout}");
    let without = telling(&json!({"variable": "ANTHROPIC_API_KEY"}));
    let ran = run(&without, "claude", &[]);
    let plain = fs::read_to_string(ran.run_dir().join("stdout.log")).unwrap();
    assert_ne!(stdout, plain, "the variable is set only by the profile");
}

#[test]
fn what_restricts_and_cannot_be_kept_is_refused() {
    let world = playing("codex", &json!([{"exit": 0}]));
    for (fields, field) in [
        ("tools: read, grep", "tools"),
        ("noTools: true", "noTools"),
        ("excludeTools: edit", "excludeTools"),
        ("noContextFiles: true", "noContextFiles"),
    ] {
        profile(&world, fields, "");
        let ran = run(&world, "codex", &["--profile", "p"]);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        let expected = format!("Profile \"p\" sets \"{field}\", which Codex cannot keep");
        assert!(ran.stderr.contains(&expected), "{ran:#?}");
    }
    assert!(world.runs().is_empty());
}

#[test]
fn a_fallback_model_that_the_agent_cannot_use_is_refused_as_a_model_is() {
    let world = playing("claude", &said());
    let ran = run(&world, "claude", &["--fallback-model", "openai/gpt-5"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("asks for a model of \"openai\""), "{ran:#?}");
}

#[test]
fn what_only_helps_is_a_warning() {
    let world = playing("claude", &said());
    profile(&world, "tools: read, lsp_diagnostics", "");
    let ran = run(&world, "claude", &["--profile", "p"]);
    assert_eq!(outcome(&ran).0, "completed", "{ran:#?}");
    assert!(ran.stderr.contains("Claude Code has no tool like \"lsp_diagnostics\""), "{ran:#?}");
}

#[test]
fn an_added_prompt_stands_in_front_of_the_prompt_where_there_is_no_other_way() {
    let world = playing("codex", &json!([{"exit": 0}]));
    profile(&world, "appendSystemPrompt: Be brief.", "");
    let ran = run(&world, "codex", &["--profile", "p"]);
    let prompt = fs::read_to_string(ran.run_dir().join("prompt.md")).unwrap();
    assert_eq!(prompt, "Be brief.\n\ndo it");
    assert_eq!(meta(&ran.run_dir())["task"], "do it");
}

#[test]
fn agents_of_other_makes_change_only_their_workspace_unless_the_user_says_more() {
    let world = playing("claude", &said());
    let access = |arguments: &[&str]| {
        let all = [&["run", "--json", "--agent", "claude"], arguments, &["do it"]].concat();
        world.run(&all).task()["access"].clone()
    };
    assert_eq!(access(&[]), "workspace");
    assert_eq!(access(&["--access", "full"]), "full");
    profile(&world, "access: full", "");
    assert_eq!(access(&["--profile", "p"]), "full", "it is the user's own");
    let project = world.project().join(".pi/agent-profiles");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("q.md"), "---\nname: q\naccess: full\n---\n").unwrap();
    assert_eq!(access(&["--profile", "q"]), "workspace", "it is the project's");
}

/// All agents of other makes.
const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "copilot"];

/// A world with an agent that says nothing, so that only what it is started with matters.
fn silent(agent: &str) -> World {
    let world = crate::world();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), json!([{"exit": 0}]).to_string()]);
    let protocol = if matches!(agent, "claude" | "codex") { agent } else { "acp" };
    world.settings(&json!({"agents": {agent: {"command": command, "protocol": protocol}}}));
    world
}

#[test]
fn arguments_of_a_project_need_the_same_trust_with_every_agent() {
    for agent in AGENTS {
        let world = silent(agent);
        let project = world.project().join(".pi/agent-profiles/evil.md");
        write_file(&project, "---\nname: evil\nextraArgs: --evil\n---\n");
        let refused = run(&world, agent, &["--profile", "evil"]);
        assert_eq!(refused.code, Some(2), "{agent}: {refused:#?}");
        let error = &refused.stderr;
        assert!(error.contains("the project is not trusted"), "{agent}: {error}");
        assert!(world.runs().is_empty(), "{agent}");
        let approved = run(&world, agent, &["--profile", "evil", "--approve"]);
        let command = meta(&approved.run_dir())["command"].clone();
        let words = command.as_array().unwrap();
        assert!(words.contains(&json!("--evil")), "{agent}: {words:?}");
    }
}

#[test]
fn files_stand_in_front_of_the_prompt_of_every_agent() {
    for agent in AGENTS {
        let world = silent(agent);
        fs::write(world.project().join("notes.txt"), "one\ntwo\n").unwrap();
        let ran = run(&world, agent, &["--file", "notes.txt:2"]);
        let prompt = fs::read_to_string(ran.run_dir().join("prompt.md")).unwrap();
        assert_eq!(prompt, "=== notes.txt ===\ntwo\n\ndo it", "{agent}");
    }
}
