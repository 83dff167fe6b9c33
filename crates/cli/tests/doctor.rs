//! `doctor`: what it finds in worlds in which something is wrong, and that it changes nothing.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::fake_agent::saying;
use test_support::{Ran, Running, World, wait_until, write_program};

use crate::world;

const PLANTED: &str = "sk-planted-0123456789";

/// `doctor --json` where there is a key, so that nothing is wrong but what the test adds.
fn doctor(world: &World) -> Ran {
    let mut command = world.command(["doctor", "--json"]);
    command.env("ANTHROPIC_API_KEY", PLANTED).output().unwrap().into()
}

/// The findings that are not fine: the level, the text and all remedies of each.
fn complaints(ran: &Ran) -> Vec<(String, String, String)> {
    let document = ran.json();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = document["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["level"] != "fine")
        .map(|finding| {
            let remedies = finding["remedies"].as_array().into_iter().flatten().map(word);
            let remedies: Vec<String> = remedies.collect();
            (word(&finding["level"]), word(&finding["text"]), remedies.join("; "))
        })
        .collect()
}

/// Checks that the only complaint has this level, text and remedy, and that the exit code follows from it.
#[track_caller]
fn complains(ran: &Ran, level: &str, text: &str, remedy: &str) {
    let complaints = complaints(ran);
    assert_eq!(complaints.len(), 1, "{complaints:#?}");
    let (found_level, found_text, found_remedy) = &complaints[0];
    assert_eq!(found_level, level, "{complaints:#?}");
    assert!(found_text.contains(text), "{complaints:#?}");
    assert!(found_remedy.contains(remedy), "{complaints:#?}");
    assert_eq!(ran.code, Some(if level == "problem" { 1 } else { 0 }), "{ran:?}");
}

#[test]
fn a_world_in_which_nothing_is_wrong() {
    let world = world();
    let ran = doctor(&world);
    assert_eq!((ran.code, complaints(&ran)), (Some(0), vec![]), "{ran:?}");
    let facts = &ran.json()["facts"];
    assert_eq!(facts["agents"]["chosen"]["kind"], "builtin");
    assert_eq!(facts["keys"]["keys"][0]["place"], "ANTHROPIC_API_KEY");
    assert!(!world.project().join(".pi").exists(), "it changes nothing");
    let mut command = world.command(["doctor"]);
    let ran = Ran::from(command.env("ANTHROPIC_API_KEY", PLANTED).output().unwrap());
    for line in ["Agents\n  ✓ built-in agent ", "Keys\n  ✓ anthropic: ANTHROPIC_API_KEY\n"] {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    assert!(ran.stdout.ends_with("\n0 problems, 0 warnings.\n"), "{}", ran.stdout);
}

#[test]
fn without_a_key_or_a_home_the_newcomer_is_told_what_to_do() {
    let world = world();
    let ran = world.run(&["doctor", "--json"]);
    complains(&ran, "problem", "there is no API key for any provider", "ANTHROPIC_API_KEY");
    let mut command = world.command(["doctor"]);
    command.env_remove("HOME").env("PI_SUBAGENTS_AGENT", "[").env("PI_AGENT_DIR", "/no/such");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("✗ PI_SUBAGENTS_AGENT does not name an agent"), "{ran:?}");
    assert!(ran.stdout.contains("/no/such, which does not exist yet"), "{ran:?}");
}

#[test]
fn no_key_is_ever_shown() {
    let world = world();
    let auth = json!({
        "groq": {"type": "api_key", "key": PLANTED},
        "openai": PLANTED,
        "xai": {"type": PLANTED},
        "google": {"type": "oauth", "access": PLANTED, "refresh": PLANTED, "expires": 1},
    });
    fs::write(world.agent_dir().join("auth.json"), auth.to_string()).unwrap();
    let models = json!({"providers": {"mine": {
        "baseUrl": "https://a.example/v1", "api": "openai-completions", "apiKey": PLANTED,
        "headers": {"x-key": PLANTED}, "models": [{"id": "m"}],
    }}});
    fs::write(world.agent_dir().join("models.json"), models.to_string()).unwrap();
    let profiles = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&profiles).unwrap();
    let profile = format!("---\nname: fast\nprovider: groq\napiKey: {PLANTED}\n---\n");
    fs::write(profiles.join("fast.md"), profile).unwrap();
    world.settings(&json!({"agent": ["my-agent", "--key", PLANTED]}));
    let broken = format!("[\"my-agent\", \"--key={PLANTED}");
    for (arguments, agent) in [
        (["doctor"].as_slice(), None),
        (&["doctor", "--json"], None),
        (&["doctor", "--json"], Some(&broken)),
    ] {
        let mut command = world.command(arguments);
        command.env("OPENAI_API_KEY", PLANTED).env("PI_API_KEY", PLANTED);
        command.envs(agent.map(|agent| ("PI_SUBAGENTS_AGENT", agent)));
        let ran = Ran::from(command.output().unwrap());
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains(PLANTED), "{all}");
        for name in ["groq", "openai", "xai", "google", "mine", "OPENAI_API_KEY", "fast"] {
            assert!(all.contains(name), "{name}: {all}");
        }
    }
}

#[test]
fn a_broken_file_of_keys_is_a_problem_for_the_built_in_agent() {
    let world = world();
    fs::write(world.agent_dir().join("auth.json"), "{").unwrap();
    complains(&doctor(&world), "problem", "auth.json", "fix the file");
}

#[test]
fn fields_that_contradict_each_other_are_told_before_a_task_is_refused() {
    let profile = "---\nname: odd\ntools: read\nexcludeTools: bash\n---\n";
    let world = world().with_agent_file("agent-profiles/odd.md", profile);
    complains(&doctor(&world), "warning", "mutually exclusive", "remove one of the two");
}

#[test]
fn agents_are_looked_for_and_asked_for_their_version() {
    let world = world();
    let bin = world.path("bin");
    let look = |arguments: &[&str], setting: Option<Value>| -> Ran {
        if let Some(setting) = setting {
            world.settings(&json!({ "agent": setting }));
        }
        let mut command = world.command(arguments);
        command.env("ANTHROPIC_API_KEY", PLANTED);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.output().unwrap().into()
    };
    let json = ["doctor", "--json"];
    complains(
        &look(&json, Some(json!("pi"))),
        "problem",
        "pi, which is not installed",
        "npm install",
    );
    complains(&look(&json, Some(json!(["no-such"]))), "problem", "\"no-such\"", "on PATH");
    world.settings(&json!({}));
    write_program(&bin.join("pi"), "#!/bin/sh\necho 0.87.1\n");
    let ran = look(&json, None);
    assert_eq!(complaints(&ran), []);
    assert_eq!(ran.json()["facts"]["agents"]["pi"]["version"], "0.87.1");
    assert_eq!(ran.json()["facts"]["agents"]["chosen"]["kind"], "pi");
    write_program(&bin.join("pi"), "#!/bin/sh\necho 'needs Node 22' >&2; exit 3\n");
    complains(&look(&json, None), "problem", "it exited with code 3: needs Node 22", "--version");
    write_program(&bin.join("pi"), "#!/bin/sh\nexec sleep 600\n");
    complains(&look(&json, None), "problem", "it took longer than 5 seconds", "--agent builtin");
}

#[test]
fn a_program_of_the_same_name_is_told_apart() {
    let world = world();
    let bin = world.path("bin");
    let look = || -> Ran {
        let mut command = world.command(["doctor", "--json"]);
        command.env("ANTHROPIC_API_KEY", PLANTED);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).output().unwrap().into()
    };
    fs::create_dir_all(&bin).unwrap();
    let own = bin.join("pi-subagents");
    symlink(env!("CARGO_BIN_EXE_pi-subagents"), &own).unwrap();
    assert_eq!(complaints(&look()), []);
    fs::remove_file(&own).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_pi-subagents"), &own).unwrap();
    let ran = look();
    assert_eq!(complaints(&ran), [], "another file with the same program");
    let named = &ran.json()["facts"]["environment"]["namedProgram"];
    assert_eq!(named["version"], env!("CARGO_PKG_VERSION"), "{named}");
    // A program of the system is asked for its version, and says something else.
    fs::remove_file(&own).unwrap();
    fs::copy("/bin/sleep", &own).unwrap();
    complains(&look(), "warning", "is the program of another project", "before it on your PATH");
    fs::remove_file(&own).unwrap();
    let package = |name: &str, version: &str| {
        let bins = json!({"pi-subagents": "pi-subagents"});
        let manifest = json!({"name": name, "version": version, "bin": bins});
        fs::write(bin.join("package.json"), manifest.to_string()).unwrap();
    };
    write_program(&own, "#!/usr/bin/env node\n");
    package("pi-subagents", "0.67.0");
    complains(&look(), "warning", "(npm package pi-subagents 0.67.0)", "by its path");
    package("@pi-subagents/cli", "0.0.1");
    complains(&look(), "warning", "is version 0.0.1", "update one of the two");
}

#[test]
fn settings_that_mean_nothing_are_told_with_what_was_meant() {
    let world = world();
    world.settings(&json!({"loopingToolCount": 3}));
    complains(&doctor(&world), "warning", "Did you mean looping_tool_count?", "rename it");
    world.settings(&json!({"maxConcurrency": "4"}));
    complains(&doctor(&world), "warning", "must be a number", "until then it is ignored");
    world.settings(&json!({}));
    fs::write(world.agent_dir().join("subagents.json"), r#"{"runner": "screen"}"#).unwrap();
    complains(&doctor(&world), "problem", "not \"screen\"", "fix the file");
    fs::write(world.agent_dir().join("subagents.json"), r#"{"runner": "tmux"}"#).unwrap();
    complains(&doctor(&world), "problem", "does not run inside tmux", "start tmux");
}

#[test]
fn profiles_and_presets_are_counted_and_their_warnings_told() {
    let world = world();
    let directory = world.agent_dir().join("agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("good.md"), "---\nname: good\n---\n").unwrap();
    fs::write(directory.join("odd.md"), "---\nname: odd\nmodle: x/y\n---\n").unwrap();
    let ran = doctor(&world);
    complains(&ran, "warning", "odd.md", "fix the file");
    assert_eq!(ran.json()["facts"]["profiles"]["global"], 2);
}

#[test]
fn an_extension_that_does_not_fit_is_told() {
    let world = world();
    assert_eq!(world.run(&["setup", "pi"]).code, Some(0));
    assert_eq!(complaints(&doctor(&world)), []);
    let directory = world.agent_dir().join("extensions/pi-subagents");
    fs::write(directory.join("index.ts"), "// changed").unwrap();
    complains(&doctor(&world), "warning", "1 of its files", "setup pi");
    let manifest = fs::read_to_string(directory.join("package.json")).unwrap();
    let other = manifest.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    fs::write(directory.join("package.json"), other).unwrap();
    complains(&doctor(&world), "warning", "0.0.1 in ", "setup pi");
    fs::remove_file(directory.join("pi-subagents")).unwrap();
    symlink("/no/such/program", directory.join("pi-subagents")).unwrap();
    complains(&doctor(&world), "problem", "starts a program that does not exist", "setup pi");
}

#[test]
fn a_store_that_is_a_link_or_damaged_is_told() {
    let world = world();
    assert_eq!(world.play(&saying("a"), &[]).code, Some(0));
    let ran = doctor(&world);
    assert_eq!(complaints(&ran), []);
    let store = &ran.json()["facts"]["store"];
    assert_eq!((&store["runs"], &store["sessions"]), (&json!(1), &json!(1)));
    assert!(store["bytes"].as_u64().unwrap() > 0, "{store}");
    fs::write(world.only_run().join("meta.json"), "{").unwrap();
    complains(&doctor(&world), "warning", "meta.json is damaged", "remove it");
    let runs = world.project().join(".pi/subagents/runs");
    fs::rename(&runs, world.path("elsewhere")).unwrap();
    symlink(world.path("nowhere"), &runs).unwrap();
    complains(&doctor(&world), "problem", "it is a symbolic link", "make the directory writable");
}

#[test]
fn what_a_crash_has_left_is_found_and_left_alone() {
    let world = world();
    // What the agent leaves running must outlive it: the program, its supervisor and the agent die.
    let steps = json!(["setsid", {"touch": world.path("there")}, "hang"]);
    let spawn = json!({"steps": steps, "holds_stdout": false, "empty_environment": false});
    let script = json!(["start", {"spawn": spawn}, "hang"]);
    let running = Running::start(world.play_command(&script, &[]));
    wait_until(|| world.path("there").exists());
    let ran = doctor(&world);
    assert_eq!(complaints(&ran), [], "it runs");
    assert_eq!(ran.json()["facts"]["store"]["running"].as_array().unwrap().len(), 1);
    let supervisor = world.processes().into_iter().find(|(_, words)| words.contains(" supervise "));
    let supervisor = i32::try_from(supervisor.unwrap().0).unwrap();
    // The one that is killed later must not be able to clean up after the other.
    running.signal(Signal::STOP);
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    running.finish();
    let ran = doctor(&world);
    complains(&ran, "problem", "lost its supervisor", "`pi-subagents sessions list`");
    assert!(!world.processes().is_empty(), "only looking stops nothing");
    assert_eq!(world.run(&["sessions", "list"]).code, Some(0));
    world.wait_until_nothing_is_left();
    assert_eq!(complaints(&doctor(&world)), []);
}

#[test]
fn temporary_stores_and_half_made_runs_are_told() {
    let world = world();
    fs::create_dir_all(world.project().join(".pi")).unwrap();
    fs::write(world.project().join(".pi/subagents"), "in the way").unwrap();
    let script = saying("a");
    assert_eq!(world.play(&script, &[]).code, Some(0));
    fs::remove_file(world.project().join(".pi/subagents")).unwrap();
    complains(&doctor(&world), "warning", "their project could not be written", "`rm -r ");
    let temporary = doctor(&world).json()["facts"]["store"]["temporaryStores"][0]["path"].clone();
    fs::remove_dir_all(temporary.as_str().unwrap()).unwrap();
    let half = world.project().join(".pi/subagents/runs/.new-019a0000-0000-7000-8000-000000000000");
    fs::create_dir_all(half).unwrap();
    complains(&doctor(&world), "warning", "was left by a program that died", "sessions prune");
}
