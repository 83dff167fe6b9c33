//! Which agent of another make works, and how it is named.

use std::fs;

use serde_json::json;
use test_support::{write_file, write_program};

use super::{outcome, playing, run};
use crate::world;

#[test]
fn an_agent_of_the_settings_is_named_everywhere() {
    let script = json!([{"say": "mine"}]).to_string();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script]);
    let world = world();
    world.settings(
        &json!({"agent": "mine", "agents": {"mine": {"command": command, "protocol": "pi"}}}),
    );
    let agent = |arguments: &[&str]| {
        let ran = world.run(&[&["run", "--json"], arguments, &["do it"]].concat());
        assert_eq!(ran.task()["output"], "mine", "{ran:#?}");
        ran.task()["agent"].clone()
    };
    assert_eq!(agent(&[]), "mine");
    assert_eq!(agent(&["--agent", "mine"]), "mine");
    let directory = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("p.md"), "---\nname: p\nagent: mine\n---\n").unwrap();
    assert_eq!(agent(&["--profile", "p"]), "mine");
    let preset = "---\nname: q\ndescription: D.\nmodel: a/b\nagent: mine\n---\n";
    write_file(&world.agent_dir().join("subagents/q.md"), preset);
    world.settings(&json!({"agents": {"mine": {"command": command, "protocol": "pi"}}}));
    assert_eq!(agent(&["--preset", "q"]), "mine", "no setting names it");
    let call = json!({"tasks": [{"name": "one", "prompt": "do it", "agent": "mine"}]}).to_string();
    let ran = world.feed(world.command(["delegate", "--json", "-"]), &call);
    assert_eq!(ran.json()["tasks"][0]["agent"], "mine", "{ran:#?}");
}

#[test]
fn a_name_that_is_none_is_refused_with_those_that_are() {
    let world = world();
    let ran = world.run(&["run", "--agent", "cluade", "do it"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("Did you mean claude?"), "{}", ran.stderr);
    let call = json!({"tasks": [{"name": "one", "prompt": "do it", "agent": "codx"}]}).to_string();
    let ran = world.feed(world.command(["delegate", "--json", "-"]), &call);
    let error = ran.json()["tasks"][0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("Unknown agent: \"codx\"") && error.contains("codex?"), "{error}");
}

#[test]
fn an_agent_that_is_not_installed_says_how_to_install_it() {
    let world = world();
    let ran = world.run(&["run", "--agent", "codex", "--access", "full", "do it"]);
    assert!(ran.stderr.contains("npm install -g @openai/codex"), "{}", ran.stderr);
    // Of several tasks, that one fails.
    let call = json!({"tasks": [{"name": "one", "prompt": "do it", "agent": "codex"},
        {"name": "two", "prompt": "do it"}]});
    let agent = world.agent(&json!([{"say": "done"}]));
    let mut command = world.command(["delegate", "--json", "-"]);
    command.env("PI_SUBAGENTS_AGENT", &agent);
    let ran = world.feed(command, &call.to_string());
    let tasks = &ran.json()["tasks"];
    let error = "Codex is not installed: install it with `npm install -g @openai/codex`";
    assert_eq!((&tasks[0]["error"], &tasks[1]["output"]), (&json!(error), &json!("done")));
    world.assert_nothing_left();
}

#[test]
fn a_resumed_session_goes_on_with_its_agent() {
    let said = json!({"type": "assistant", "message": {"model": "m",
        "content": [{"type": "text", "text": "done"}]}});
    let ended = json!({"type": "result", "is_error": false, "result": "done"});
    let world = playing("claude", &json!([{"record": said}, {"record": ended}]));
    let first = run(&world, "claude", &["--name", "look"]);
    assert_eq!(outcome(&first).0, "completed", "{first:#?}");
    let resume = ["run", "--json", "--access", "full", "--resume", "look", "go on"];
    let ran = world.run(&resume);
    assert_eq!((ran.code, &ran.task()["agent"]), (Some(0), &json!("claude")), "{ran:#?}");
    assert!(!ran.stderr.contains("continues a session"), "{}", ran.stderr);
    let other = world.agent(&json!([{"say": "other"}]));
    let ran = world.run(&[&resume[..4], &["--agent", &other], &resume[4..]].concat());
    assert_eq!((ran.code, &ran.task()["agent"]), (Some(0), &json!("program")), "{ran:#?}");
    let warning = "Task \"look\" continues a session of the agent \"claude\" with \"program\"";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    world.assert_nothing_left();
}

#[test]
fn a_project_names_an_agent_but_no_program() {
    let world = playing("codex", &json!([{"exit": 0}]));
    let settings = json!({"subagents": {"agent": "codex",
        "agents": {"codex": {"command": ["/bin/evil"], "protocol": "pi"}}}});
    fs::create_dir_all(world.project().join(".pi")).unwrap();
    fs::write(world.project().join(".pi/settings.json"), settings.to_string()).unwrap();
    let ran = world.run(&["run", "--json", "--access", "full", "do it"]);
    assert_eq!(ran.task()["agent"], "codex", "{ran:#?}");
    assert_eq!(outcome(&ran).0, "no_assistant_message", "it is the user's program: {ran:#?}");
    assert!(ran.stderr.contains("a project cannot set \"subagents.agents\""), "{}", ran.stderr);
}

#[test]
fn without_pi_and_a_key_it_is_the_first_that_is_installed() {
    let world = world();
    let bin = world.path("bin");
    let agent = |key: Option<&str>| {
        let mut command = world.command(["run", "--json", "--access", "full", "do it"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        if let Some(key) = key {
            command.env("ANTHROPIC_API_KEY", key).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
        }
        let ran: test_support::Ran = command.args(["--timeout", "1"]).output().unwrap().into();
        ran.task()["agent"].clone()
    };
    assert_eq!(agent(None), "builtin");
    write_program(&bin.join("codex"), "#!/bin/sh\nexit 0\n");
    assert_eq!(agent(None), "codex");
    write_program(&bin.join("claude"), "#!/bin/sh\nexit 0\n");
    assert_eq!(agent(None), "claude");
    let auth = json!({"anthropic": {"type": "api_key", "key": "sk-test-key"}}).to_string();
    fs::write(world.agent_dir().join("auth.json"), auth).unwrap();
    assert_eq!(agent(None), "builtin");
}

#[test]
fn doctor_finds_agents_and_their_sign_in() {
    let world = world();
    let bin = world.path("bin");
    write_program(&bin.join("claude"), "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
    let doctor = |sign_in: bool| {
        let mut command = world.command(["doctor"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        if sign_in {
            command.env("ANTHROPIC_API_KEY", "sk-secret-value");
        }
        let ran: test_support::Ran = command.output().unwrap().into();
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let told = doctor(false);
    assert!(told.contains("Claude Code 2.1.325"), "{told}");
    assert!(told.contains("no sign-in can be seen") && told.contains("type /login"), "{told}");
    assert!(told.contains("tasks use claude"), "{told}");
    let told = doctor(true);
    assert!(told.contains("signed in (ANTHROPIC_API_KEY)"), "{told}");
    assert!(!told.contains("sk-secret-value"), "{told}");
}

#[test]
fn doctor_sees_the_sign_in_of_every_agent_and_says_what_to_do_without_one() {
    let world = world();
    let bin = world.path("bin");
    let doctor = |variable: Option<&str>| {
        let mut command = world.command(["doctor"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.envs(variable.map(|name| (name, "sk-secret-value")));
        let ran: test_support::Ran = command.output().unwrap().into();
        assert!(!ran.stdout.contains("sk-secret-value"), "{ran:?}");
        ran.stdout
    };
    for (name, title, variable, state, remedy) in [
        ("codex", "Codex", "CODEX_API_KEY", Some(".codex/auth.json"), "run `codex login`"),
        (
            "gemini",
            "Gemini CLI",
            "GEMINI_API_KEY",
            Some(".gemini/oauth_creds.json"),
            "start `gemini` and choose how to sign in",
        ),
        (
            "opencode",
            "opencode",
            "OPENCODE_API_KEY",
            Some(".local/share/opencode/auth.json"),
            "run `opencode auth login`",
        ),
        // What it keeps of a sign-in is in the keyring of the system.
        ("copilot", "GitHub Copilot", "COPILOT_GITHUB_TOKEN", None, "run `copilot login`"),
    ] {
        let program = bin.join(name);
        write_program(&program, "#!/bin/sh\necho 1.2.3\n");
        let line = format!("{title} 1.2.3: {}", program.display());
        let told = doctor(None);
        let unseen = format!("{line}; no sign-in can be seen, which need not be wrong");
        assert!(told.contains(&unseen) && told.contains(remedy), "{told}");
        let told = doctor(Some(variable));
        assert!(told.contains(&format!("{line}, signed in ({variable})")), "{told}");
        if let Some(state) = state {
            let state = world.home().join(state);
            write_file(&state, "{}");
            let told = doctor(None);
            let seen = format!("{line}, signed in ({})", state.display());
            assert!(told.contains(&seen), "{told}");
        }
    }
}
