//! `models`, `doctor --ping`, and servers of models on this machine.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};
use test_support::{Ran, World, write_program};

use crate::world;

fn models(world: &World, arguments: &[&str], key: &str) -> Ran {
    let mut command = world.command([&["models"], arguments].concat());
    Ran::from(command.env(key, "planted-key").output().unwrap())
}

#[test]
fn what_can_be_asked_is_listed_with_the_default() {
    let world = world();
    let ran = models(&world, &[], "ANTHROPIC_API_KEY");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("  MODEL "), "{}", ran.stdout);
    let default: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with('*')).collect();
    assert_eq!(default.len(), 1, "{}", ran.stdout);
    let cells: Vec<&str> = default[0].split_whitespace().collect();
    assert_eq!(cells, ["*", "anthropic/claude-opus-4-8", "1M", "128K", "yes", "yes", "builtin"]);
    assert!(!ran.stdout.contains("openai/"), "there is no key for it: {}", ran.stdout);
    let why = "Default: anthropic/claude-opus-4-8 (anthropic is the first provider with a key)";
    assert!(ran.stderr.contains(why), "{ran:?}");
    let haiku = models(&world, &["HAIKU", "--json"], "ANTHROPIC_API_KEY").json();
    let listed = haiku["models"].as_array().unwrap();
    assert!(listed.len() >= 2 && listed.len() < 6, "{haiku:#}");
    assert_eq!(listed[0]["model"], "anthropic/claude-haiku-4-5");
    assert_eq!(listed[0]["contextWindow"], 200_000);
    assert_eq!(haiku["default"]["model"], "anthropic/claude-opus-4-8", "whatever the pattern");
    let none = models(&world, &["hiaku"], "ANTHROPIC_API_KEY");
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{none:?}");
    assert!(none.stderr.contains("No model matches \"hiaku\"."), "{none:?}");
    let unusable = models(&world, &[], "GOOGLE_CLOUD_API_KEY");
    assert_eq!(unusable.code, Some(1), "{unusable:?}");
    assert!(unusable.stderr.contains("Default: none. No model can be asked"), "{unusable:?}");
    let told =
        "GOOGLE_CLOUD_API_KEY is set for google-vertex, which the built-in agent cannot ask: ";
    assert!(unusable.stderr.contains(told), "{unusable:?}");
    // It is said also where another provider has a key.
    let mut command = world.command(["models"]);
    command.env("GOOGLE_CLOUD_API_KEY", "k").env("GEMINI_API_KEY", "k");
    let ran = Ran::from(command.output().unwrap());
    assert!(ran.stdout.contains("google/gemini-3.1-pro-preview"), "{ran:?}");
    assert!(ran.stderr.contains(told), "{ran:?}");
}

#[test]
fn a_key_that_only_pi_can_use_is_told_in_one_line_by_every_command() {
    for (variable, provider, reason) in [
        ("AWS_BEARER_TOKEN_BEDROCK", "amazon-bedrock", "Bedrock signs every request"),
        ("AWS_PROFILE", "amazon-bedrock", "Bedrock signs every request"),
        ("COPILOT_GITHUB_TOKEN", "github-copilot", "Copilot needs a sign-in"),
        ("GOOGLE_CLOUD_API_KEY", "google-vertex", "Vertex AI needs a sign-in"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "google-vertex", "Vertex AI needs a sign-in"),
        ("CLOUDFLARE_API_KEY", "cloudflare-ai-gateway", "its addresses and keys are"),
    ] {
        let world = world();
        let words = format!(
            "{variable} is set for {provider}, which the built-in agent cannot ask: {reason}"
        );
        for arguments in [&["models"][..], &["doctor"], &["run", "--agent", "builtin", "do it"]] {
            let mut command = world.command(arguments.iter().copied());
            let ran = Ran::from(command.env(variable, "planted-key").output().unwrap());
            let said = format!("{}{}", ran.stdout, ran.stderr);
            let line = said.lines().find(|line| line.contains(&words));
            assert!(line.is_some(), "{arguments:?} {variable}: {said}");
            assert!(!said.contains("planted-key"), "{said}");
        }
    }
}

#[test]
fn a_sign_in_that_only_pi_can_use_is_told_in_one_line_by_every_command() {
    for (provider, reason) in [
        ("anthropic", "its sign-in has expired, and only pi can renew it"),
        ("openai-codex", "a subscription to ChatGPT needs a sign-in that must be renewed"),
        ("github-copilot", "Copilot needs a sign-in"),
        ("google", "only pi can use its sign-in"),
    ] {
        let world = world();
        let sign_in = json!({"type": "oauth", "access": "planted-key", "refresh": "planted-key", "expires": 1});
        let auth = json!({ provider: sign_in }).to_string();
        fs::write(world.agent_dir().join("auth.json"), auth).unwrap();
        let words = format!(
            "auth.json has an entry for {provider}, which the built-in agent cannot ask: {reason}"
        );
        for arguments in [&["models"][..], &["doctor"], &["run", "--agent", "builtin", "do it"]] {
            let ran = world.run(arguments);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            let line = said.lines().find(|line| line.contains(&words));
            let line = line.unwrap_or_else(|| panic!("{arguments:?} {provider}: {said}"));
            assert!(line.contains("Use --agent pi for it"), "{said}");
            assert!(!said.contains("planted-key"), "{said}");
        }
    }
}

#[test]
fn pis_models_are_listed_where_it_is_installed() {
    let world = world();
    let table = "provider   model            context  max-out  thinking  images\n\
                 anthropic  claude-opus-4-8  1M       128K     yes       yes\n\
                 google     gemini-2.5-pro   1.0M     65.5K    yes       yes\n";
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\n[ \"$1\" = --list-models ] && cat <<'X'\n{table}X\n");
    write_program(&bin.join("pi"), &script);
    let settings = r#"{"defaultProvider": "google", "defaultModel": "gemini-2.5-pro"}"#;
    fs::write(world.agent_dir().join("settings.json"), settings).unwrap();
    let list = |path: &str, arguments: &[&str]| {
        let mut command = world.command([&["models"], arguments].concat());
        let path = format!("{path}:/usr/bin:/bin");
        Ran::from(command.env("PATH", path).env("ANTHROPIC_API_KEY", "k").output().unwrap())
    };
    let document = list(bin.to_str().unwrap(), &["--json"]).json();
    let agents_of = |name: &str| -> Value {
        let models = document["models"].as_array().unwrap();
        let found = models.iter().find(|model| model["model"] == name);
        found.map(|model| model["agents"].clone()).unwrap()
    };
    assert_eq!(agents_of("anthropic/claude-opus-4-8"), json!(["builtin", "pi"]));
    assert_eq!(agents_of("anthropic/claude-haiku-4-5"), json!(["builtin"]));
    assert_eq!(agents_of("google/gemini-2.5-pro"), json!(["pi"]));
    assert_eq!(
        document["default"],
        json!({"model": "google/gemini-2.5-pro", "reason": "settings.json names it", "agent": "pi"})
    );
    write_program(&bin.join("pi"), "#!/bin/sh\necho needs Node 22 >&2\nexit 3\n");
    let ran = list(bin.to_str().unwrap(), &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = "warning: pi does not list its models: needs Node 22 (exit code 3)";
    assert!(ran.stderr.contains(told), "{ran:?}");
}

#[test]
fn a_ping_asks_the_default_model_and_says_how_long_it_took() {
    let world = world();
    let play = |turns: Value| {
        fs::write(world.path("turns.json"), turns.to_string()).unwrap();
        let path = world.path("turns.json");
        let settings = json!({"defaultProvider": "script", "defaultModel": path});
        fs::write(world.agent_dir().join("settings.json"), settings.to_string()).unwrap();
        let mut command = world.command(["doctor", "--ping", "--json"]);
        Ran::from(command.env("ANTHROPIC_API_KEY", "planted-key").output().unwrap())
    };
    let finding = |ran: &Ran| {
        let document = ran.json();
        let findings = document["findings"].as_array().unwrap().clone();
        let mut found = findings.into_iter().filter(|finding| finding["area"] == "models");
        found.find(|finding| finding["text"].as_str().unwrap().contains("answer")).unwrap()
    };
    let ran = play(json!([{"text": "pong"}]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = finding(&ran)["text"].as_str().unwrap().to_owned();
    assert!(text.contains("answered \"pong\" after 0."), "{text}");
    assert_eq!(ran.json()["facts"]["models"]["ping"]["answer"], "pong");
    assert_eq!(world.runs().len(), 1, "it is a run like any other");
    let ran = play(json!([{"error": "401 the key is \u{1b}[31mwrong"}]));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = finding(&ran);
    assert_eq!(told["level"], "problem");
    let text = told["text"].as_str().unwrap();
    assert_eq!(text, "the default model did not answer: 401 the key is wrong");
    let ran = Ran::from(
        world.command(["doctor", "--ping"]).env("PI_SUBAGENTS_CHILD", "1").output().unwrap(),
    );
    assert!(ran.stderr.contains("a sub-agent cannot start sub-agents"), "{ran:?}");
    assert_eq!(world.run(&["doctor", "--json"]).json()["facts"]["models"]["ping"], json!(null));
    assert_eq!(world.runs().len(), 2, "nothing is asked without the option");
    world.assert_nothing_left();
}

#[test]
fn a_server_on_this_machine_is_found_with_the_lines_that_it_needs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = r#"{"object": "list", "data": [{"id": "qwen3:8b"}]}"#;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    let world = world();
    let doctor = || {
        let mut command = world.command(["doctor", "--json"]);
        let host = format!("127.0.0.1:{port}");
        let command = command.env("OLLAMA_HOST", host).env("ANTHROPIC_API_KEY", "k");
        let document = Ran::from(command.output().unwrap()).json();
        let findings = document["findings"].as_array().unwrap().clone();
        let is_meant = |finding: &&Value| finding["text"].as_str().unwrap().starts_with("Ollama");
        findings.iter().find(is_meant).unwrap().clone()
    };
    let found = doctor();
    let base_url = format!("http://127.0.0.1:{port}/v1");
    assert_eq!(found["text"], format!("Ollama runs at {base_url} with qwen3:8b"));
    let remedy = found["remedies"][0].as_str().unwrap();
    let (file, entry) =
        remedy.strip_prefix("put into ").and_then(|rest| rest.split_once(": ")).unwrap();
    assert_eq!(file, world.agent_dir().join("models.json").to_str().unwrap());
    assert!(found["remedies"][1].as_str().unwrap().contains("--model ollama/qwen3:8b"), "{found}");
    // The lines are what they are said to be.
    fs::write(file, entry).unwrap();
    let found = doctor();
    let told = format!("Ollama runs at {base_url} with qwen3:8b; models.json has it");
    assert_eq!((&found["text"], &found["remedies"]), (&json!(told), &Value::Null));
    let listed = world.run(&["models", "qwen3", "--json"]).json();
    assert_eq!(listed["models"][0]["model"], "ollama/qwen3:8b");
}
