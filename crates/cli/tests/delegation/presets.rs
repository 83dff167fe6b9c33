//! Presets as the child sees them, and as the command line shows them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{delegate, preset, project_preset, world};

const SCOUT: &str = "---\nname: scout\ndescription: Fast repo exploration\n\
                     model: github-copilot/gpt-4o\ntools: read,grep,find,ls\n---\n\
                     You are a scout. Explore quickly.\n";

#[test]
fn a_preset_becomes_arguments_files_and_a_record_of_itself() {
    let world = world();
    preset(&world, "scout", SCOUT);
    let ran = world.play(&json!([{"tell": "arguments"}]), &["--preset", "scout"]);
    world.assert_nothing_left();
    let (task, run_dir) = (ran.task(), ran.run_dir());
    let path = |name: &str| run_dir.join(name).display().to_string();
    assert_eq!(
        (ran.code, &task["outcome"], &task["error"]),
        (Some(0), &json!("completed"), &Value::Null)
    );
    assert_eq!(
        task["output"],
        format!(
            "--mode json -p --session {} --model github-copilot/gpt-4o --append-system-prompt {} \
             --tools read,grep,find,ls -e {}",
            path("child-session.jsonl"),
            path("system-prompt.md"),
            path("child-extension.mjs")
        )
    );
    assert_eq!(task["name"], "scout");
    assert_eq!(task["profile"], Value::Null);
    assert_eq!(
        task["preset"],
        "preset: scout, model=github-copilot/gpt-4o, appended-system-prompt, \
         tools=[read,grep,find,ls]"
    );
    let prompt = fs::read_to_string(path("system-prompt.md")).unwrap();
    assert_eq!(prompt, "You are a scout. Explore quickly.");
    assert!(!run_dir.join("append-system-prompt.md").exists());
    let session = fs::metadata(path("child-session.jsonl")).unwrap();
    assert_eq!((session.permissions().mode() & 0o777, session.len()), (0o600, 0));
    let meta: Value = serde_json::from_slice(&fs::read(path("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["preset"], "scout");
    assert_eq!(meta["presetSource"], "global");
    assert_eq!(meta["tools"], json!(["read", "grep", "find", "ls"]));
    assert_eq!(meta["resolvedModel"], "github-copilot/gpt-4o");
    assert_eq!(meta["requestedModel"], "github-copilot/gpt-4o");
    assert_eq!(meta["task"], "do it");
    assert_eq!(meta["systemPrompt"], prompt.as_str());
    assert_eq!(meta["systemPromptPath"], path("system-prompt.md"));
    assert_eq!(meta["limits"]["timeoutMs"], Value::Null);
    let shown = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(shown["sessions"][0]["runs"][0]["preset"], "scout", "{shown}");
}

#[test]
fn the_nearest_project_wins_and_a_flag_wins_over_both() {
    let world = world();
    let model = |name: &str| format!("---\nname: x\ndescription: D.\nmodel: {name}\n---\n");
    preset(&world, "x", &model("global"));
    project_preset(&world, "x", &model("project"));
    let below = world.project().join("crates/one");
    fs::create_dir_all(below.join(".git")).unwrap();
    let chosen = |arguments: &[&str]| {
        let script = json!([{"tell": "arguments"}]);
        let mut command = world.play_command(&script, arguments);
        let ran = test_support::Ran::from(command.current_dir(&below).output().unwrap());
        let output = ran.task()["output"].as_str().unwrap().to_owned();
        output.split("--model ").nth(1).unwrap().to_owned()
    };
    assert_eq!(chosen(&["--preset", "x"]), "project");
    assert_eq!(chosen(&["--preset", "x", "--model", "flag"]), "flag");
    fs::remove_file(world.project().join(".pi/subagents/x.md")).unwrap();
    assert_eq!(chosen(&["--preset", "x"]), "global");
}

#[test]
fn without_a_model_or_a_preset_nothing_is_started_and_it_says_what_to_do() {
    let world = world();
    preset(&world, "vague", "---\nname: vague\ndescription: D.\n---\n");
    let script = json!([{"say": "never"}]);
    let path = world.agent_dir().join("subagents/vague.md");
    let none = format!(
        "No model resolved: the call names no model, and neither does Preset \"vague\" ({}).",
        path.display()
    );
    for (name, error, hint) in [
        ("vague", none.as_str(), "name one with --model"),
        ("nope", "Unknown preset: \"nope\". Available presets: vague", "preset list"),
    ] {
        let agent = world.agent(&script);
        for command in [["run"].as_slice(), &["bg", "start"]] {
            let arguments = ["--agent", &agent, "--preset", name, "do it"];
            let ran = world.run(&[command, &arguments].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
            assert!(ran.stderr.contains(error) && ran.stderr.contains(hint), "{ran:?}");
        }
    }
    assert!(world.runs().is_empty(), "a mistake leaves no session");
    // Of many tasks, the one that is wrong fails.
    let call = json!([{"name": "a", "prompt": "p"}]);
    let ran = delegate(&world, &script, &call, &["--preset", "vague"]);
    assert_eq!((ran.code, &ran.task()["error"]), (Some(1), &json!(none)));
    assert_eq!(ran.task()["outcome"], "spawn_failure");
    world.assert_nothing_left();
    let both = world.run(&["run", "--preset", "vague", "--profile", "x", "do it"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn copilot_models_are_announced_and_others_are_not() {
    let world = world();
    preset(&world, "scout", SCOUT);
    let script = json!([{"tell": {"variable": "PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR"}}]);
    let said = |arguments: &[&str]| {
        let mut command = world.play_command(&script, arguments);
        // The value that the caller has is not for this child.
        command.env("PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR", "agent");
        test_support::Ran::from(command.output().unwrap()).task()["output"].clone()
    };
    assert_eq!(said(&["--preset", "scout"]), "agent");
    assert_eq!(said(&["--preset", "scout", "--model", "openai/gpt-4o"]), "(unset)");
}

#[test]
fn a_hostile_project_runs_nothing_until_the_user_agrees() {
    let world = world();
    project_preset(
        &world,
        "evil",
        "---\nname: evil\ndescription: D.\nmodel: a/b\nextensions: ./evil.js\nextraArgs: --evil\n\
         apiKey: sk-secret-0123\nagent: [./evil.sh]\n---\n",
    );
    let script = json!([{"tell": "arguments"}]);
    let refused = world.play(&script, &["--preset", "evil"]);
    assert_eq!(refused.code, Some(2));
    let error = &refused.stderr;
    assert!(error.contains("the project is not trusted") && error.contains("--approve"), "{error}");
    assert!(refused.stderr.contains("evil.md:7: Refusing to load apiKey"), "{refused:?}");
    assert!(
        refused.stderr.contains("evil.md:8: \"agent\" is ignored: it must be text"),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains("secret"), "{refused:?}");
    let approved = world.play(&script, &["--preset", "evil", "--approve"]);
    let output = approved.task()["output"].as_str().unwrap().to_owned();
    assert!(output.contains("--extension") && output.ends_with("--evil"), "{output}");
}

#[test]
fn only_the_preset_limits_the_time_and_the_loop_rule_holds() {
    let world = world();
    world.settings(&json!({"extend_timeout_debounce": 0}));
    preset(&world, "short", "---\nname: short\ndescription: D.\nmodel: a/b\ntimeout: 1\n---\n");
    preset(&world, "long", "---\nname: long\ndescription: D.\nmodel: a/b\n---\n");
    let timed_out = world.play(&json!(["start", "hang"]), &["--preset", "short"]);
    assert_eq!(timed_out.task()["outcome"], "timeout");
    assert_eq!(
        timed_out.task()["error"],
        "Timed out after 1s. Consider resuming with a longer timeout."
    );
    let call = json!({"tool": {"name": "read", "args": {"path": "a"}}});
    let looping = json!(["start", {"repeat": {"times": 9, "steps": [call]}}, "hang"]);
    let looped = world.play(&looping, &["--preset", "long"]);
    assert_eq!(looped.task()["outcome"], "loop");
    world.assert_nothing_left();
}

/// What each tool is called with, and the words for its call, its success and its failure.
const PROGRESS: [(&str, &str, &str, [&str; 3]); 8] = [
    ("read", "path", "src/a.ts", ["Reading {}", "Finished reading {}", "Read failed: {}"]),
    ("grep", "pattern", "auth", ["Searching code for {}", "Search finished", "Search failed: {}"]),
    ("find", "pattern", "*.ts", ["Scanning for {}", "Scan finished", "Scan failed: {}"]),
    ("ls", "path", "src/", ["Listing {}", "Finished listing {}", "Listing failed: {}"]),
    ("edit", "path", "src/b.ts", ["Editing {}", "Finished editing {}", "Edit failed: {}"]),
    ("write", "path", "c.md", ["Writing {}", "Finished writing {}", "Write failed: {}"]),
    ("bash", "command", "npm test", ["{}", "Command finished: {}", "Command failed: {}"]),
    ("deploy", "to", "mars", ["Running deploy", "deploy finished", "deploy failed"]),
];

#[test]
fn progress_is_in_the_same_words_live_and_in_the_transcript() {
    let world = world();
    preset(&world, "scout", SCOUT);
    let intent = "I’m inspecting the auth flow now.";
    let mut script = vec![json!("start"), json!({"message": {"text": intent, "stop": "toolUse"}})];
    let mut words = vec![intent.to_owned()];
    for (tool, key, subject, said) in PROGRESS {
        let [call, success, failure] = said.map(|said| said.replace("{}", subject));
        for (id, is_error, end) in [("good", false, success), ("bad", true, failure)] {
            let id = format!("{tool}-{id}");
            let args = json!({key: subject});
            script.push(
                json!({"tool": {"id": id, "name": tool, "args": args, "is_error": is_error}}),
            );
            words.extend([call.clone(), end]);
        }
    }
    script.extend([json!({"say": "Done."}), json!({"end": false}), json!("settle")]);
    let agent = world.agent(&Value::Array(script));
    let ran = world.run(&["run", "--agent", &agent, "--preset", "scout", "do it"]);
    let live: Vec<&str> =
        ran.stderr.lines().filter_map(|line| line.strip_prefix("scout: ")).collect();
    assert_eq!(live, words, "{ran:?}");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"));
    let transcript = fs::read_to_string(world.only_run().join("transcript.log")).unwrap();
    // After a header, with the answer at the end.
    let (_, told) = transcript.split_once("\n\n").unwrap();
    let told: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
    let (last, told) = told.split_last().unwrap();
    assert_eq!((told, *last), (live.as_slice(), "Done."), "{transcript}");
    world.assert_nothing_left();
}

#[test]
fn presets_are_listed_and_shown() {
    let world = world();
    let empty = world.run(&["preset", "list"]);
    assert!(empty.stderr.contains("No subagent presets found."), "{empty:?}");
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    preset(&world, "scout", SCOUT);
    project_preset(&world, "nameless", "---\ndescription: D.\n---\n");
    project_preset(&world, "broken", "---\nname: [broken\n---\n");
    let listed = world.run(&["preset", "list"]);
    assert_eq!(
        listed.stdout,
        "preset: scout, model=github-copilot/gpt-4o, appended-system-prompt, \
         tools=[read,grep,find,ls] — Fast repo exploration\n"
    );
    assert!(listed.stderr.contains("broken.md:2"), "a broken file names its line: {listed:?}");
    assert!(
        listed.stderr.contains("nameless.md: it is not loaded: it has no \"name\""),
        "{listed:?}"
    );
    let document = world.run(&["preset", "list", "--json"]).json();
    assert_eq!(document["presets"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["warnings"].as_array().map(Vec::len), Some(2));
    let shown = world.run(&["preset", "show", "scout"]);
    assert!(shown.stdout.starts_with("Preset: scout\n  description:       Fast repo"), "{shown:?}");
    let shown = world.run(&["preset", "show", "scout", "--json"]).json();
    assert_eq!(shown, document["presets"][0]);
    assert_eq!(shown["description"], "Fast repo exploration");
    assert_eq!(shown["scope"], "global");
    assert_eq!(shown["tools"], json!(["read", "grep", "find", "ls"]));
    assert_eq!(shown["appendSystemPrompt"], "You are a scout. Explore quickly.");
    let missing = world.run(&["preset", "show", "slow"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("Preset \"slow\" not found. Available: scout"), "{missing:?}");
}
