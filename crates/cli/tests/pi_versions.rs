//! pi of several versions, played by a program in pi's package: what it is given, and what its later versions say.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Ran, World, write_file, write_program};

use crate::world;

/// A world with a `pi` on `PATH` that plays the script, in a package of this version.
struct Installed {
    world: World,
}

impl Installed {
    fn new(version: &str, script: &Value) -> Installed {
        let world = world();
        let package = world.path("lib/node_modules/@earendil-works/pi-coding-agent");
        let json = json!({"name": "@earendil-works/pi-coding-agent", "version": version});
        write_file(&package.join("package.json"), &json.to_string());
        write_pi(&world, &package.join("dist/cli.js"), script);
        fs::create_dir(world.path("bin")).unwrap();
        symlink(package.join("dist/cli.js"), world.path("bin/pi")).unwrap();
        Installed { world }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        run(&self.world, arguments)
    }

    fn profile(&self, fields: &str) {
        let path = self.world.agent_dir().join("agent-profiles/p.md");
        write_file(&path, &format!("---\nname: p\n{fields}\n---\n"));
    }
}

/// Writes a `pi` that says its version if it is asked, writes down that it was, and plays the script otherwise.
fn write_pi(world: &World, path: &Path, script: &Value) {
    let (asked, agent) = (world.path("asked"), env!("CARGO_BIN_EXE_fake-agent"));
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo x >> {asked}; cat {says}; exit; fi\n\
         exec {agent} '{script}' \"$@\"\n",
        asked = asked.display(),
        says = world.path("says").display()
    );
    write_program(path, &text);
}

fn run(world: &World, arguments: &[&str]) -> Ran {
    let mut path = OsString::from(world.path("bin"));
    path.push(":/usr/bin:/bin");
    let all = [&["run", "--json", "--agent", "pi"], arguments, &["do it"]].concat();
    let ran = Ran::from(world.command(all).env("PATH", path).output().unwrap());
    world.assert_nothing_left();
    ran
}

fn told(ran: &Ran) -> String {
    let arguments = ran.task()["output"].as_str().unwrap_or_default().to_owned();
    arguments.replace("--mode rpc --no-session", "")
}

#[test]
fn restricted_tools_close_the_servers_of_a_pi_that_has_them() {
    let script = json!([{"tell": "arguments"}]);
    for (version, restricted) in [
        ("1.5.0", " --tools read --no-mcp"),
        ("1.0.4", " --tools read --no-mcp"),
        ("1.0.3", " --tools read"),
        ("0.87.1", " --tools read"),
    ] {
        let pi = Installed::new(version, &script);
        pi.profile("tools: read");
        assert_eq!(told(&pi.run(&["--profile", "p"])), restricted, "{version}");
        pi.profile("noTools: true");
        let none = restricted.replace("--tools read", "--no-tools");
        assert_eq!(told(&pi.run(&["--profile", "p"])), none, "{version}");
        assert_eq!(told(&pi.run(&[])), "", "{version}");
        assert!(!pi.world.path("asked").exists(), "its package says the version");
    }
}

#[test]
fn a_pi_without_a_package_is_asked_once_and_only_where_it_matters() {
    let world = world();
    write_pi(&world, &world.path("bin/pi"), &json!([{"tell": "arguments"}]));
    fs::write(world.path("says"), "1.5.0\n").unwrap();
    let times = || fs::read_to_string(world.path("asked")).map_or(0, |text| text.lines().count());
    let profile = world.agent_dir().join("agent-profiles/p.md");
    write_file(&profile, "---\nname: p\nmodel: a/b\n---\n");
    assert_eq!((told(&run(&world, &["--profile", "p"])).as_str(), times()), (" --model a/b", 0));
    write_file(&profile, "---\nname: p\ntools: read\n---\n");
    for _ in 0..2 {
        let arguments = told(&run(&world, &["--profile", "p"]));
        assert_eq!((arguments.as_str(), times()), (" --tools read --no-mcp", 1));
    }
    let remembered = fs::read_to_string(world.agent_dir().join("agent-versions.json")).unwrap();
    assert!(remembered.contains("\"version\": \"1.5.0\""), "{remembered}");
    // Another program of that name.
    fs::write(world.path("says"), "0.87.1\n").unwrap();
    write_pi(&world, &world.path("bin/pi"), &json!([{"tell": "arguments"}, {"exit": 0}]));
    let arguments = told(&run(&world, &["--profile", "p"]));
    assert_eq!((arguments.as_str(), times()), (" --tools read", 2));
}

#[test]
fn a_provider_without_a_model_is_refused_before_pi_starts() {
    let pi = Installed::new("1.5.0", &json!([{"say": "done"}]));
    pi.profile("provider: openai");
    let ran = pi.run(&["--profile", "p"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    let message =
        "Profile \"p\" names the provider \"openai\" and no model, which pi 1.5.0 refuses.";
    assert!(ran.stderr.contains(message), "{ran:#?}");
    assert!(pi.world.runs().is_empty());
    let old = Installed::new("0.87.1", &json!([{"say": "done"}]));
    old.profile("provider: openai");
    assert_eq!(old.run(&["--profile", "p"]).code, Some(0));
}

#[test]
fn what_later_versions_say_is_understood() {
    let cut = json!(["start", {"message": {"text": "First,", "stop": "length"}}, {"end": false},
        {"record": {"type": "agent_settled", "aborted": false}}, {"exit": 1}]);
    let ran = Installed::new("1.5.0", &cut).run(&[]);
    let task = ran.task();
    assert_eq!((&task["outcome"], &task["output"]), (&json!("completed"), &json!("First,")));
    let warning = "The answer was cut off at the model's limit of length";
    assert_eq!(task["warnings"], json!([warning]));
    let aborted = json!(["start", {"message": {"text": "Half", "stop": "toolUse"}}, {"end": false},
        {"record": {"type": "agent_settled", "aborted": true}}, {"exit": 0}]);
    let ran = Installed::new("1.5.0", &aborted).run(&[]);
    let task = ran.task();
    assert_eq!(task["outcome"], "cancelled", "{ran:#?}");
    assert_eq!(task["error"], "Sub-agent says that it was aborted");
    let reason =
        "Model \"m\" is ambiguous across providers: a/m, b/m. Use --provider or provider/model.";
    let ambiguous = json!([{"stderr": format!("Error: {reason}")}, {"exit": 1}]);
    let ran = Installed::new("1.5.0", &ambiguous).run(&["--model", "m"]);
    assert_eq!(ran.task()["outcome"], "non_zero_exit", "{ran:#?}");
    assert_eq!(ran.task()["error"], format!("{reason} (exit code 1)"));
}
