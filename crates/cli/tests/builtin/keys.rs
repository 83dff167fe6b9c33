//! A key reaches its provider, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use test_support::{Running, marked_processes, wait_until};

use super::bash;
use super::harness::{Api, Builtin, KEY as KEY_OF_MODELS, Live, heard};

/// The key that the agent must use.
const KEY: &str = "sk-secret-0123456789abcdef";

/// A command that prints everything that it can see of keys, and waits to be examined.
const LOOK: &str = "env; cat /proc/self/environ | tr '\\0' '\\n'; \
    tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline; \
    touch looked; until [ -e go ]; do sleep 0.01; done";

/// Every file below a directory that has the key in it.
fn files_with_key(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_with_key(&path));
        } else if path.is_file() && contains(&fs::read(&path).unwrap()) {
            found.push(path);
        }
    }
    found
}

fn contains(bytes: &[u8]) -> bool {
    bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
}

/// Checks that the key is in this file only, or in none.
#[track_caller]
fn assert_stored_only_in(builtin: &Builtin, file: Option<&str>) {
    let path = file.map(|name| builtin.world.agent_dir().join(name));
    assert_eq!(files_with_key(&builtin.world.path("")), Vec::from_iter(path));
}

/// The processes of this world that have the key in their arguments or their environment.
fn holders(builtin: &Builtin) -> Vec<(u32, String)> {
    let ours = builtin.world.processes();
    let is_ours = |holder: &(u32, String)| ours.iter().any(|(pid, _)| *pid == holder.0);
    marked_processes(KEY).into_iter().filter(is_ours).collect()
}

fn profile(builtin: &Builtin) {
    let text = format!("---\nname: keyed\nmodel: fake/fake-1\napiKey: {KEY}\n---\n");
    builtin.agent_file("agent-profiles/keyed.md", &text);
}

#[test]
fn the_key_of_a_profile_is_seen_by_the_provider_alone() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([bash(LOOK), {"text": "{{result:0}}"}]));
        let auth = json!({"fake": {"type": "api_key", "key": "key-of-auth-json"}});
        builtin.agent_file("auth.json", &auth.to_string());
        profile(&builtin);
        let arguments = ["run", "--json", "--agent", "builtin", "--profile", "keyed", "do it"];
        let running = Running::start(builtin.world.command(arguments));
        wait_until(|| builtin.project("looked").exists());
        let processes = builtin.world.processes();
        assert!(processes.len() >= 4, "caller, supervisor, agent and bash: {processes:#?}");
        // Not even the agent itself shows it.
        assert_eq!(holders(&builtin), []);
        assert_stored_only_in(&builtin, Some("agent-profiles/keyed.md"));
        builtin.project_file("go", "");
        let ran = running.finish();
        builtin.world.assert_nothing_left();
        assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")), "{ran:#?}");
        assert_eq!(builtin.keys_seen(), [KEY, KEY]);
        let shown = ran.task()["output"].as_str().unwrap().to_owned();
        // The third environment is the agent's own, which it hides from all but root.
        let environments = shown.matches("PI_SUBAGENTS_CHILD=1").count();
        assert!((2..=3).contains(&environments), "{shown}");
        assert!(shown.contains(" agent --mode rpc"), "{shown}");
        for request in builtin.asked() {
            assert!(!contains(request.to_string().as_bytes()), "{request:#}");
        }
        assert!(!contains(ran.stdout.as_bytes()) && !contains(ran.stderr.as_bytes()), "{ran:#?}");
        assert_stored_only_in(&builtin, Some("agent-profiles/keyed.md"));
    }
}

/// A command that prints the key of the profile, plain and as `grep --color` prints it, and so much more
/// that its output becomes a file.
const TELL: &str = "cat ~/.pi/agent/agent-profiles/keyed.md; seq 6000; \
    printf 'sk-\\033[31msecret-\\033[0m0123456789abcdef\\n'; seq 30000";

#[test]
fn the_key_of_a_profile_is_in_no_file_with_the_output_of_a_command() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([bash(TELL), {"text": "done"}]));
        profile(&builtin);
        let ran = builtin.world.run(&[
            "run",
            "--json",
            "--agent",
            "builtin",
            "--profile",
            "keyed",
            "do it",
        ]);
        assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")), "{ran:#?}");
        assert_stored_only_in(&builtin, Some("agent-profiles/keyed.md"));
        let files = fs::read_dir(ran.run_dir()).unwrap().map(|file| file.unwrap().path());
        let is_output = |path: &PathBuf| path.to_string_lossy().contains("pi-bash-");
        let outputs: Vec<PathBuf> = files.filter(is_output).collect();
        assert_eq!(outputs.len(), 1, "{outputs:?}");
        let output = fs::read_to_string(&outputs[0]).unwrap();
        // Nor is it once the escape sequences are gone.
        assert!(!contains(model::clean(&output).as_bytes()));
        assert!(output.contains("apiKey: ****\n") && output.ends_with("\n30000\n"));
        assert_eq!(output.matches("****").count(), 2);
    }
}

#[test]
fn the_key_of_a_profile_is_not_in_the_session_file() {
    let builtin =
        Builtin::new(Api::Messages, &json!([bash("cat \"$FILE\""), {"text": "{{result:0}}"}]));
    builtin.agent_file("secret.txt", KEY);
    let mut command = builtin.agent(&["--session", "kept.jsonl", "do it"]);
    command.env("PI_API_KEY", KEY).env("FILE", builtin.world.agent_dir().join("secret.txt"));
    let heard = heard(&builtin.world, command);
    assert_eq!(heard.code, Some(0), "{heard:#?}");
    assert_stored_only_in(&builtin, Some("secret.txt"));
    let kept = fs::read_to_string(builtin.project("kept.jsonl")).unwrap();
    assert_eq!(kept.matches("****").count(), 2, "{kept}");
}

#[test]
fn the_key_of_a_file_is_seen_by_the_provider_alone() {
    for api in Api::ALL {
        for name in ["auth.json", "models.json"] {
            let builtin = Builtin::new(api, &json!([bash(LOOK), {"text": "{{result:0}}"}]));
            if name == "auth.json" {
                let auth = json!({"fake": {"type": "api_key", "key": KEY}});
                builtin.agent_file("auth.json", &auth.to_string());
            } else {
                builtin.models(&json!({"apiKey": KEY}), &json!({}));
            }
            let live = builtin.start(&["--session", "kept.jsonl", "do it"]);
            wait_until(|| builtin.project("looked").exists());
            assert_eq!(holders(&builtin), []);
            assert_stored_only_in(&builtin, Some(name));
            builtin.project_file("go", "");
            assert_unsaid(&builtin, live);
            assert_eq!(builtin.keys_seen(), [KEY, KEY], "{name}");
            assert_stored_only_in(&builtin, Some(name));
        }
    }
}

/// Checks that the stream and the messages of an agent are without the key.
#[track_caller]
fn assert_unsaid(builtin: &Builtin, live: Live) {
    let heard = live.finish();
    builtin.world.assert_nothing_left();
    assert_eq!(heard.code, Some(0), "{heard:#?}");
    assert!(!contains(heard.stderr.as_bytes()), "{}", heard.stderr);
    for record in &heard.records {
        assert!(!contains(record.to_string().as_bytes()), "{record:#}");
    }
}

#[test]
fn a_key_can_be_a_variable_or_the_output_of_a_command() {
    for api in Api::ALL {
        for (key, expected) in [
            ("$OWN_KEY", KEY),
            ("${OWN_KEY}-more", "sk-secret-0123456789abcdef-more"),
            ("!printf %s \"$OWN_KEY\"", KEY),
        ] {
            let builtin = Builtin::new(api, &json!([{"text": "done"}]));
            builtin.models(&json!({"apiKey": key}), &json!({}));
            let mut command = builtin.agent(&["do it"]);
            command.env("OWN_KEY", KEY);
            let heard = heard(&builtin.world, command);
            assert_eq!(heard.code, Some(0), "{key}: {heard:#?}");
            assert_eq!(builtin.keys_seen(), [expected]);
            assert_stored_only_in(&builtin, None);
        }
    }
}

#[test]
fn the_variable_of_a_known_provider_is_enough() {
    for (api, provider, variable) in [
        (Api::Completions, "openai", "OPENAI_API_KEY"),
        (Api::Messages, "anthropic", "ANTHROPIC_API_KEY"),
    ] {
        let builtin = Builtin::new(api, &json!([{"text": "done"}]));
        // Only the address is another one.
        let base_url =
            if api == Api::Completions { builtin.llm.base_url() } else { builtin.llm.root_url() };
        let models = json!({"providers": {provider: {"baseUrl": base_url}}});
        builtin.agent_file("models.json", &models.to_string());
        builtin.agent_file("settings.json", "{}");
        let mut command = builtin.agent(&["do it"]);
        command.env(variable, KEY);
        let heard = heard(&builtin.world, command);
        assert_eq!(heard.code, Some(0), "{heard:#?}");
        assert_eq!(heard.answer()["provider"], provider);
        assert_eq!(builtin.keys_seen(), [KEY]);
        assert_stored_only_in(&builtin, None);
    }
}

#[test]
fn a_provider_that_quotes_the_key_is_not_repeated() {
    for api in Api::ALL {
        for turn in [
            json!({"error": 401, "error_message": "the key {{key}} is not valid, {{key}}"}),
            json!({"error": 500, "error_message": "lost {{key}}"}),
        ] {
            // Through the agent itself, and through the supervisor, with the key of a profile.
            let turns = json!(vec![turn; 4]);
            let direct = Builtin::new(api, &turns);
            direct.models(&json!({"apiKey": KEY}), &json!({}));
            let heard = direct.ask(&["--session", "kept.jsonl", "do it"]);
            let said = heard.answer()["errorMessage"].as_str().unwrap().to_owned();
            assert!(said.contains("the key ") || said.contains("lost "), "{said}");
            assert!(!contains(heard.stderr.as_bytes()), "{}", heard.stderr);
            for record in &heard.records {
                assert!(!contains(record.to_string().as_bytes()), "{record:#}");
            }
            assert_stored_only_in(&direct, Some("models.json"));
            assert!(direct.keys_seen().iter().all(|seen| seen == KEY));

            let supervised = Builtin::new(api, &turns);
            profile(&supervised);
            let ran = supervised.run(&["--profile", "keyed", "do it"]);
            assert_eq!(ran.task()["outcome"], "provider_error", "{ran:#?}");
            assert!(!contains(ran.stdout.as_bytes()) && !contains(ran.stderr.as_bytes()));
            assert_stored_only_in(&supervised, Some("agent-profiles/keyed.md"));
            assert!(supervised.keys_seen().iter().all(|seen| seen == KEY));
        }
    }
}

#[test]
fn not_even_half_of_a_key_is_quoted() {
    // Wherever an excerpt of this ends, the keys before it are taken out.
    let keys = format!("{KEY} ").repeat(400);
    for api in Api::ALL {
        let turn = json!({"garbage": format!("data: {{{keys}\n\n")});
        let builtin = Builtin::new(api, &json!(vec![turn; 4]));
        builtin.models(&json!({"apiKey": KEY}), &json!({}));
        let heard = builtin.ask(&["do it"]);
        let said = heard.answer()["errorMessage"].as_str().unwrap().to_owned();
        assert!(said.contains("[redacted]") && !said.contains("sk-"), "{said}");
    }
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_without_being_shown() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"text": "?"}]));
        builtin.models(&json!({"apiKey": format!("{KEY}\nmore")}), &json!({}));
        let heard = builtin.ask(&["do it"]);
        assert_eq!((heard.code, heard.records.len()), (Some(2), 0), "{heard:#?}");
        assert!(heard.stderr.contains("The API key of provider \"fake\" cannot be sent"));
        assert!(!contains(heard.stderr.as_bytes()), "{}", heard.stderr);
        assert_eq!(builtin.asked().len(), 0);
    }
}

#[test]
fn a_profile_without_a_key_leaves_the_agent_its_own() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"text": "done"}]));
        builtin.agent_file("agent-profiles/plain.md", "---\nname: plain\n---\n");
        let mut command = builtin.world.command([
            "run",
            "--json",
            "--agent",
            "builtin",
            "--profile",
            "plain",
            "do it",
        ]);
        // The value that the caller has in this variable is for another program.
        let output = command.env("PI_API_KEY", "key-of-the-caller").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        builtin.world.assert_nothing_left();
        assert_eq!(builtin.keys_seen(), [KEY_OF_MODELS]);
    }
}

#[test]
fn files_of_a_project_have_no_say_in_where_a_key_is_sent() {
    for api in Api::ALL {
        let builtin = Builtin::new(api, &json!([{"text": "done"}]));
        let elsewhere = json!({"providers": {"fake": {"baseUrl": "http://127.0.0.1:9/v1"}}});
        for name in [".pi/models.json", ".pi/agent/models.json", "models.json"] {
            builtin.project_file(name, &elsewhere.to_string());
        }
        let settings = json!({"defaultProvider": "other", "defaultModel": "evil"});
        builtin.project_file(".pi/settings.json", &settings.to_string());
        let ran = builtin.run(&["do it"]);
        assert_eq!(ran.task()["output"], "done", "{ran:#?}");
        assert_eq!(builtin.asked().len(), 1);
    }
}
