//! What a profile says reaches the provider, and our own server does not.

use serde_json::{Value, json};
use test_support::Ran;

use crate::{BOTH, Claude, Codex, Scene, story};

/// The names of the tools that the model was offered, in order.
fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap().iter();
    let mut names: Vec<String> = tools
        .map(|tool| tool["name"].as_str().or(tool["type"].as_str()).unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_profile_reaches_claude_code() {
    let scene = Scene::new(Claude, &json!([{"text": "done"}]));
    scene.worker(
        "model: anthropic/claude-opus-4-5\nthinkingLevel: high\ntools: [read, bash]\n\
         appendSystemPrompt: Be brief.\naccess: full",
        "You count words.",
    );
    scene.complete(&["--profile", "worker"]);
    let request = &scene.asked()[0];
    assert_eq!(request["model"], "claude-opus-4-5");
    assert_eq!(tools(request), ["Bash", "Read"], "{request:#}");
    let system = request["system"].to_string();
    assert!(system.contains("You count words.") && system.contains("Be brief."), "{system}");
    assert_eq!(request["output_config"]["effort"], "high", "{request:#}");
}

#[test]
fn a_profile_reaches_codex() {
    let scene = Scene::new(Codex, &json!([{"text": "done"}]));
    scene.worker(
        "model: gpt-5.5\nthinkingLevel: high\nexcludeTools: [bash, web_search]\n\
         appendSystemPrompt: Be brief.\naccess: full",
        "You count words.",
    );
    scene.complete(&["--profile", "worker"]);
    let request = &scene.asked()[0];
    assert_eq!(request["model"], "gpt-5.5");
    let first = &request["input"][0];
    assert_eq!(first["content"], json!([{"type": "input_text", "text": "You count words."}]));
    assert_eq!(request["reasoning"]["effort"], "high", "{request:#}");
    let names = tools(request);
    assert!(names.contains(&"apply_patch".to_owned()), "{names:?}");
    for gone in ["exec_command", "write_stdin", "web_search"] {
        assert!(!names.contains(&gone.to_owned()), "{names:?}");
    }
    let input = request["input"].to_string();
    assert!(input.contains("Be brief.\\n\\ndo it"), "{input}");
}

/// The newer models of Codex have one tool, which runs a program that calls the others.
#[test]
fn what_codex_may_not_use_is_not_there_for_programs_either() {
    let program =
        |code: &str| json!({"tools": [{"name": "exec", "namespace": "functions", "input": code}]});
    let turns = json!([
        program("text(JSON.stringify(Object.keys(tools)));"),
        program("text(await tools.exec_command({cmd: 'touch made'}));"),
        {"text": "{{result:0}} {{result:1}}"},
    ]);
    for (fields, has_bash) in [("", true), ("excludeTools: [bash]", false)] {
        let scene = Scene::new(Codex, &turns);
        scene.worker(&format!("model: gpt-6.1-sol\naccess: full\n{fields}"), "");
        let ran = scene.run(&["--profile", "worker"]);
        let task = ran.task();
        assert_eq!(task["outcome"], "completed", "{ran:#?}");
        let said = task["output"].as_str().unwrap();
        assert!(said.contains("\"apply_patch\""), "{said}");
        assert_eq!(said.contains("\"exec_command\""), has_bash, "{said}");
        assert_eq!(scene.world.project().join("made").exists(), has_bash);
        let call = "call bash {\"command\":\"touch made\"}".to_owned();
        assert_eq!(story(&ran).contains(&call), has_bash, "{:#?}", story(&ran));
    }
}

#[test]
fn no_tools_are_no_tools() {
    let scene = Scene::new(Claude, &json!([{"text": "done"}]));
    scene.worker("noTools: true\naccess: full", "");
    scene.complete(&["--profile", "worker"]);
    let requests = scene.llm.requests();
    let last = &requests.iter().rfind(|request| request.method == "POST").unwrap().body;
    assert_eq!(last["tools"].as_array().map_or(0, Vec::len), 0, "{last:#}");
}

#[test]
fn our_own_server_is_not_offered() {
    for agent in BOTH {
        let scene = Scene::new(agent, &json!([{"text": "done"}]));
        let ran = Ran::from(scene.command(&["setup", agent.name()]).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let restricted = process::landlock_version().is_ok().then_some("workspace");
        for access in ["full"].into_iter().chain(restricted) {
            scene.complete(&["--access", access]);
        }
        for request in scene.asked() {
            assert!(!tools(&request).is_empty());
            for word in ["pi-subagents", "pi_subagents", "delegate_to_subagents"] {
                let tools = request["tools"].to_string();
                assert!(!tools.contains(word), "{tools}");
            }
        }
    }
}
