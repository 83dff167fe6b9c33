//! Keys reach the child and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use test_support::{Ran, wait_until};

use super::{profile, project_profile, world};

const KEY: &str = "sk-secret-0123456789\"\\quoted";

fn keyed_profile() -> String {
    format!(
        "---\nname: keyed\nprovider: acme\nmodel: acme/one\napiKey: {}\n---\n",
        Value::from(KEY)
    )
}

/// A record in which the key begins with an escaped letter.
fn spelled(record: &Value) -> String {
    record.to_string().replace("sk-secret", "\\u0073k-secret")
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_key_is_in_no_argument_file_or_message_even_if_the_child_prints_it() {
    let world = world();
    profile(&world, "keyed", &keyed_profile());
    // As `grep --color` prints it, behind a carriage return, and so on; and cut off.
    let broken = ["\u{1b}[31m", "\r", "\u{202e}", "\u{200e}", "\u{e0041}", "\u{200b}", "\u{ad}"];
    let mut broken =
        broken.map(|between| KEY.replacen("sk-secret", &format!("sk-secret{between}"), 1)).to_vec();
    broken.push(KEY[..KEY.len() - 1].to_owned());
    broken.push(format!("{}... [truncated]", &KEY[..KEY.len() - 1]));
    let broken: Vec<Value> = broken
        .iter()
        .flat_map(|key| {
            // It ends where a result is cut.
            let long = format!("{}{key}", "x".repeat((64 << 10) - key.len() + 1));
            [
                json!({"stderr": format!("the key is {key}")}),
                json!({"line": format!("plain {key}")}),
                json!({"tool": {"name": "bash", "args": {"command": "env"}, "result": key}}),
                json!({"tool": {"name": "bash", "args": {"command": key}, "result": long}}),
                json!({"message": {"text": key, "stop": "toolUse"}}),
            ]
        })
        .collect();
    let mut script = json!([
        {"touch": world.path("working")},
        {"await": world.path("go")},
        {"tell": {"variable": "PI_API_KEY"}},
        {"stderr": format!("the key is {KEY}")},
        {"tool": {"name": "bash", "args": {"command": "env"}, "result": format!("PI_API_KEY={KEY}")}},
        {"line": format!("plain {KEY}")},
        // The first letter in another spelling, in the text, the arguments and the complaint.
        {"line": spelled(&json!({"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {"command": KEY}}))},
        {"line": spelled(&json!({"type": "message_end", "message": {"role": "assistant", "content": KEY, "stopReason": "toolUse", "model": KEY, "errorMessage": KEY}}))},
        {"tell": {"variable": "PI_API_KEY"}},
    ]);
    let steps = script.as_array_mut().unwrap();
    let last = steps.len() - 1;
    steps.splice(last..last, broken);
    // The script holds the key, so that it must not be an argument itself.
    fs::write(world.path("script.json"), script.to_string()).unwrap();
    let file = format!("@{}", world.path("script.json").display());
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), file]).to_string();
    let mut command =
        world.command(["run", "--json", "--agent", &agent, "--profile", "keyed", "do it"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| world.path("working").exists());
    for (pid, command_line) in world.processes() {
        assert!(!command_line.contains("sk-secret"), "{command_line}");
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has_key = String::from_utf8_lossy(&environment).contains("sk-secret-0123");
        let is_child = command_line.contains("--mode json") && !command_line.contains(" run ");
        assert_eq!(has_key, is_child, "{command_line}");
    }
    fs::write(world.path("go"), "").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    world.assert_nothing_left();
    assert_eq!(ran.task()["output"], "****", "the child had the key, and it was hidden");
    assert!(!ran.stdout.contains("sk-secret") && !ran.stderr.contains("sk-secret"), "{ran:?}");
    let files = files_below(&world.project());
    assert!(files.iter().any(|path| path.ends_with("child-extension.mjs")));
    for path in files {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let is_clean = !text.contains("sk-secret") && !text.contains("u0073k");
        assert!(is_clean, "{} holds the key", path.display());
    }
    let command = fs::read_to_string(ran.run_dir().join("meta.json")).unwrap();
    assert!(command.contains("child-extension.mjs"), "{command}");
}

/// What is kept of an error, the name of a model, a retry and an unreadable line.
const KEPT: usize = 4 << 10;

#[test]
fn a_key_where_an_error_a_model_a_retry_or_a_line_is_cut_is_not_kept_in_part() {
    let world = world();
    profile(&world, "keyed", &keyed_profile());
    let straddling = |inside: usize| format!("{}{KEY} and more", "x".repeat(KEPT - inside));
    let texts = [
        straddling(KEY.len() - 1),
        straddling(KEY.len() / 2),
        straddling(1),
        // The agent has cut it, before we do or instead of us.
        format!("{}{}", "x".repeat(KEPT - 20), &KEY[..20]),
        format!("{}{}", "x".repeat(100), &KEY[..KEY.len() - 1]),
        format!("{}{}", &KEY[1..], "x".repeat(KEPT)),
        format!("{}{}… [truncated] and {}.", "x".repeat(100), &KEY[..KEY.len() - 1], &KEY[1..]),
    ];
    for text in texts {
        let failed = json!({"type": "message_end", "message": {
            "role": "assistant", "content": "", "stopReason": "error", "model": text, "errorMessage": text,
        }});
        let retry = json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 1,
            "errorMessage": text});
        let script = json!([
            "start",
            {"line": text},
            {"stderr": text},
            {"record": failed},
            {"record": retry},
            {"record": failed},
            {"end": false},
            "settle",
        ]);
        let file = world.path("script.json");
        fs::write(&file, script.to_string()).unwrap();
        let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), format!("@{}", file.display())]);
        let agent = agent.to_string();
        let ran = world.run(&["run", "--json", "--agent", &agent, "--profile", "keyed", "do it"]);
        assert_eq!(ran.task()["outcome"], "provider_error", "{ran:?}");
        let run_dir = ran.run_dir();
        for name in ["events.jsonl", "result.json"] {
            let kept = fs::read_to_string(run_dir.join(name)).unwrap();
            assert!(kept.contains("xxx*") || kept.contains("****xxx"), "{name}: {kept}");
        }
        let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
        for kind in
            ["unreadable_line", "stderr", "assistant_message", "retry_scheduled", "run_ended"]
        {
            assert!(events.contains(&format!("\"type\":\"{kind}\"")), "{kind}: {events}");
        }
        for path in files_below(&run_dir) {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            for part in ["sk-", "xs", "0123456789", "quoted"] {
                assert!(!text.contains(part), "{part} in {}: {text}", path.display());
            }
        }
        assert!(!ran.stdout.contains("sk-") && !ran.stderr.contains("sk-"), "{ran:?}");
    }
    world.assert_nothing_left();
}

#[test]
fn the_key_of_the_caller_is_not_handed_down() {
    let world = world();
    let mut command = world.play_command(&json!([{"tell": {"variable": "PI_API_KEY"}}]), &[]);
    let ran = Ran::from(command.env("PI_API_KEY", "sk-of-the-caller").output().unwrap());
    assert_eq!(ran.task()["output"], "(unset)");
}

#[test]
fn a_key_in_a_project_is_refused_with_a_warning() {
    let world = world();
    project_profile(&world, "keyed", &keyed_profile());
    let ran = world.play(&json!([{"tell": {"variable": "PI_API_KEY"}}]), &["--profile", "keyed"]);
    assert_eq!(ran.task()["output"], "(unset)");
    assert!(
        ran.stderr.contains("Refusing to load apiKey from project-local profile \"keyed\""),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("sk-secret"));
}

#[test]
fn a_key_in_an_argument_is_refused() {
    let world = world();
    profile(&world, "shows", "---\nname: shows\nextraArgs: [--api-key, sk-secret-1]\n---\n");
    let ran = world.play(&json!([{"say": "never"}]), &["--profile", "shows"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("Use the field apiKey instead"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("sk-secret"), "{ran:?}");
}

#[test]
fn a_key_stays_with_its_provider_whatever_model_is_asked_for() {
    let world = world();
    profile(&world, "keyed", &keyed_profile());
    profile(&world, "vague", "---\nname: vague\nmodel: one\napiKey: sk-secret-0123\n---\n");
    let script = json!([{"tell": {"variable": "PI_SUBAGENTS_KEY_PROVIDER"}}]);
    let owner = |arguments: &[&str]| world.play(&script, arguments).task();
    assert_eq!(owner(&["--profile", "keyed"])["output"], "acme");
    assert_eq!(owner(&["--profile", "keyed", "--model", "other/x"])["output"], "acme");
    assert_eq!(owner(&["--profile", "vague"])["output"], "(unset)", "pi knows whose model it is");
    let refused = world.play(&script, &["--profile", "vague", "--model", "other/x"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("names no provider"), "{refused:?}");
}
