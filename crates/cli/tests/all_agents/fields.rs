//! What the agents make of a profile: what their model is offered and told.

use serde_json::{Value, json};
use test_support::{Ran, write_file};

use super::{Agent, COPILOT, GEMINI, OPENCODE, Scene};

/// A task with a profile of these fields.
fn with_profile(agent: &'static Agent, fields: &str, body: &str) -> (Scene, Ran) {
    let scene = Scene::new(agent, &json!([{"text": "Hello"}]));
    let path = scene.world.agent_dir().join("agent-profiles/p.md");
    write_file(&path, &format!("---\nname: p\n{fields}\n---\n{body}"));
    let ran = scene.run(&["--profile", "p"]);
    (scene, ran)
}

/// What the model was asked, as text, and the names of its tools.
fn asked(scene: &Scene, ran: &Ran) -> (String, Vec<String>) {
    assert_eq!(ran.task()["outcome"], "completed", "{ran:#?}");
    let mut requests = scene.llm.requests().into_iter().map(|request| request.body);
    let request = requests.rfind(|body| body.to_string().contains("do it")).unwrap();
    let declared = |tool: &Value| match tool["functionDeclarations"].as_array() {
        Some(tools) => tools.iter().map(|tool| tool["name"].clone()).collect(),
        None => vec![tool["function"]["name"].clone()],
    };
    let tools = request["tools"].as_array().into_iter().flatten().flat_map(declared);
    let names = tools.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    (request.to_string(), names)
}

#[test]
fn tools_are_restricted() {
    for (agent, read, others) in [
        (&GEMINI, "read_file", &["run_shell_command", "write_file", "replace"][..]),
        (&OPENCODE, "read", &["bash", "write", "edit"]),
        (&COPILOT, "view", &["bash", "create", "edit"]),
    ] {
        let (scene, ran) = with_profile(agent, "tools: read", "");
        let (_, tools) = asked(&scene, &ran);
        assert!(tools.contains(&read.to_owned()), "{}: {tools:?}", agent.name);
        for other in others {
            assert!(!tools.contains(&(*other).to_owned()), "{}: {tools:?}", agent.name);
        }
        let (scene, ran) = with_profile(agent, "excludeTools: write", "");
        let (_, tools) = asked(&scene, &ran);
        assert!(tools.contains(&read.to_owned()), "{}: {tools:?}", agent.name);
        assert!(!tools.contains(&others[1].to_owned()), "{}: {tools:?}", agent.name);
        let (scene, ran) = with_profile(agent, "noTools: true", "");
        let (_, tools) = asked(&scene, &ran);
        for other in others.iter().chain(&[read]) {
            assert!(!tools.contains(&(*other).to_owned()), "{}: {tools:?}", agent.name);
        }
    }
}

#[test]
fn prompts_reach_the_model() {
    for agent in [&GEMINI, &OPENCODE, &COPILOT] {
        let (scene, ran) = with_profile(agent, "appendSystemPrompt: Be brief.", "You are a cat.");
        let (request, _) = asked(&scene, &ran);
        for words in ["You are a cat.", "Be brief."] {
            assert!(request.contains(words), "{}: {words}", agent.name);
        }
    }
}

#[test]
fn skills_are_left_out() {
    for (agent, tool) in [(&GEMINI, "activate_skill"), (&OPENCODE, "skill"), (&COPILOT, "skill")] {
        let (scene, ran) = with_profile(agent, "noSkills: true", "");
        let (_, tools) = asked(&scene, &ran);
        assert!(!tools.contains(&tool.to_owned()), "{}: {tools:?}", agent.name);
    }
}

#[test]
fn our_own_server_is_not_offered() {
    for agent in [&GEMINI, &OPENCODE, &COPILOT] {
        let scene = Scene::new(agent, &json!([{"text": "Hello"}]));
        if agent.name == COPILOT.name {
            // `setup` does not know it, so that its user has written the entry.
            let server = json!({"type": "local", "command": env!("CARGO_BIN_EXE_pi-subagents"),
                "args": ["mcp"], "tools": ["*"]});
            let path = scene.world.home().join(".copilot/mcp-config.json");
            write_file(&path, &json!({"mcpServers": {"pi-subagents": server}}).to_string());
        } else {
            assert_eq!(scene.world.run(&["setup", agent.name]).code, Some(0));
        }
        for arguments in [&[][..], &["--access", "full"]] {
            let ran = scene.run(arguments);
            let (request, _) = asked(&scene, &ran);
            assert!(!request.contains("delegate_to_subagents"), "{}", agent.name);
        }
    }
}
