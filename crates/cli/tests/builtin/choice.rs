//! Which agent runs a task, and how that is reported.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Ran, write_program};

use super::harness::{Api, Builtin};

/// A world with a program called `pi` on its `PATH`, whose answer is `pi`.
struct Installed {
    builtin: Builtin,
}

impl Installed {
    fn new() -> Installed {
        let builtin = Builtin::new(Api::Completions, &json!(vec![json!({"text": "builtin"}); 9]));
        let program = builtin.world.path("bin/pi");
        let script = json!([{"say": "pi"}]).to_string();
        let text =
            format!("#!/bin/sh\nexec {} '{script}' \"$@\"\n", env!("CARGO_BIN_EXE_fake-agent"));
        write_program(&program, &text);
        Installed { builtin }
    }

    /// The agent of a task with these arguments, according to its answer and to `--json`.
    #[track_caller]
    fn agent(&self, has_pi: bool, arguments: &[&str], variable: Option<&str>) -> String {
        let task = self.task(has_pi, arguments, variable);
        assert_eq!(task["outcome"], "completed", "{task:#}");
        assert_eq!(task["output"], task["agent"], "{task:#}");
        let meta = Path::new(task["runDir"].as_str().unwrap()).join("meta.json");
        let meta: Value = serde_json::from_slice(&fs::read(meta).unwrap()).unwrap();
        assert_eq!(meta["agent"], task["agent"], "{meta:#}");
        task["agent"].as_str().unwrap().to_owned()
    }

    fn task(&self, has_pi: bool, arguments: &[&str], variable: Option<&str>) -> Value {
        self.run(has_pi, arguments, variable).task()
    }

    fn run(&self, has_pi: bool, arguments: &[&str], variable: Option<&str>) -> Ran {
        let mut command =
            self.builtin.world.command([&["run", "--json"], arguments, &["do it"]].concat());
        if has_pi {
            let bin = self.builtin.world.path("bin");
            command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        }
        if let Some(variable) = variable {
            command.env("PI_SUBAGENTS_AGENT", variable);
        }
        let ran: Ran = command.output().unwrap().into();
        self.builtin.world.assert_nothing_left();
        ran
    }

    fn profile(&self, name: &str, fields: &str) {
        let text = format!("---\nname: {name}\n{fields}\n---\n");
        self.builtin.agent_file(&format!("agent-profiles/{name}.md"), &text);
    }
}

#[test]
fn without_a_word_it_is_pi_where_that_is_installed() {
    let world = Installed::new();
    assert_eq!(world.agent(false, &[], None), "builtin");
    assert_eq!(world.agent(true, &[], None), "pi");
    let program = world.builtin.world.path("bin/pi");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(world.agent(true, &[], None), "builtin", "it cannot be executed");
}

#[test]
fn flags_profiles_presets_variables_and_settings_choose_in_this_order() {
    let world = Installed::new();
    world.profile("own", "agent: builtin");
    world.profile("theirs", "agent: pi");
    let preset =
        "---\nname: scout\ndescription: D.\nmodel: fake/fake-1\nagent: builtin\n---\nLook.\n";
    world.builtin.agent_file("subagents/scout.md", preset);
    let settings = |agent: &str| world.builtin.settings(&json!({"subagents": {"agent": agent}}));

    settings("builtin");
    assert_eq!(world.agent(true, &[], None), "builtin");
    assert_eq!(world.agent(true, &[], Some("pi")), "pi");
    assert_eq!(world.agent(true, &["--profile", "theirs"], None), "pi");
    settings("pi");
    assert_eq!(world.agent(true, &[], None), "pi");
    assert_eq!(world.agent(true, &[], Some("builtin")), "builtin");
    assert_eq!(world.agent(true, &["--profile", "own"], Some("pi")), "builtin");
    assert_eq!(world.agent(true, &["--preset", "scout"], Some("pi")), "builtin");
    assert_eq!(world.agent(true, &["--profile", "own", "--agent", "pi"], None), "pi");
    assert_eq!(world.agent(true, &["--profile", "theirs", "--agent", "builtin"], None), "builtin");
}

#[test]
fn tasks_of_one_call_can_have_different_agents() {
    let world = Installed::new();
    world.profile("own", "agent: builtin");
    world.profile("theirs", "agent: pi");
    let call = json!({"tasks": [
        {"name": "one", "prompt": "do it", "profile": "own"},
        {"name": "two", "prompt": "do it", "profile": "theirs"},
        {"name": "three", "prompt": "do it"},
    ]});
    let bin = world.builtin.world.path("bin");
    let mut command = world.builtin.world.command(["delegate", "--json", "-"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let ran = world.builtin.world.feed(command, &call.to_string());
    world.builtin.world.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap().iter();
    let agents: Vec<_> = tasks.map(|task| (&task["agent"], &task["output"])).collect();
    let (own, theirs) = (json!("builtin"), json!("pi"));
    assert_eq!(agents, [(&own, &own), (&theirs, &theirs), (&theirs, &theirs)]);
}

#[test]
fn extensions_need_pi() {
    let world = Installed::new();
    world.builtin.agent_file("my-extension.ts", "");
    let path = world.builtin.world.agent_dir().join("my-extension.ts");
    world.profile("extended", &format!("extensions: {}", path.display()));
    let ran = world.run(true, &["--profile", "extended", "--agent", "builtin"], None);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let expected = "\"extended\" asks for extensions, which only pi can load";
    assert!(ran.stderr.contains(expected), "{ran:?}");
    assert_eq!(world.builtin.asked().len(), 0);
    assert_eq!(world.agent(true, &["--profile", "extended"], None), "pi");
}
