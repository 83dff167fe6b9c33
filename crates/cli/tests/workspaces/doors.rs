//! `isolation: worktree` through every door, and what each of them says about the changes.

use test_support::{RpcClient, write_file};

use super::*;
use crate::live::terminal::Terminal;

/// Calls a tool of the MCP server.
fn call_tool(world: &World, tool: &str, arguments: &Value) -> Value {
    let mut command = world.command(["mcp"]);
    command.env("PI_SUBAGENTS_AGENT", prompted_agent(world));
    let mut server = RpcClient::start(command);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    });
    server.request("initialize", &hello);
    server.notify("notifications/initialized", &json!({}));
    let answer = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
    assert_eq!(server.close().code, Some(0), "{answer}");
    answer["result"].clone()
}

/// The file is in the result of the run, and not in the user's tree.
#[track_caller]
fn assert_apart(world: &World, task: &Value, text: &str) {
    let id = task["runId"].as_str().unwrap_or_else(|| panic!("{task}"));
    assert_eq!(task["changes"]["ref"], format!("refs/pi-subagents/{id}/result"), "{task}");
    assert_eq!(task["changes"]["files"], 1, "{task}");
    assert_eq!(kept(world, id, "made.txt"), text);
    assert!(!world.project().join("made.txt").exists(), "{task}");
    assert_eq!(left(world), Vec::<String>::new());
}

#[test]
fn a_task_of_a_call_is_isolated_by_its_own_field() {
    let world = repository();
    let tasks = json!({"tasks": [
        {"name": "apart", "isolation": "worktree", "prompt": prompt(&shell("echo apart > made.txt"))},
        {"name": "beside", "prompt": prompt(&shell("echo beside > beside.txt"))},
    ]});
    let command = world.command(["delegate", "--json", "--agent", &prompted_agent(&world)]);
    let ran = world.feed(command, &tasks.to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let tasks = &ran.json()["tasks"];
    assert_apart(&world, &tasks[0], "apart");
    assert_eq!(tasks[1].get("changes"), None, "{ran:?}");
    assert_eq!(fs::read_to_string(world.project().join("beside.txt")).unwrap(), "beside\n");
}

#[test]
fn a_preset_isolates_on_the_command_line_and_for_models() {
    let world = repository();
    let preset =
        "---\nname: apart\ndescription: Works apart.\nmodel: a/one\nisolation: worktree\n---\n";
    write_file(&world.agent_dir().join("subagents/apart.md"), preset);
    let script = shell("echo preset > made.txt");
    let task = world.play(&script, &["--preset", "apart"]).task();
    assert_apart(&world, &task, "preset");
    let arguments = json!({"preset": "apart", "task": prompt(&script)});
    let result = call_tool(&world, "subagent", &arguments);
    assert_apart(&world, &result["structuredContent"]["sessions"][0], "preset");
}

#[test]
fn programs_that_call_by_mcp_get_the_changes_and_the_value_of_a_task() {
    let world = repository();
    let script = json!([
        "start", {"shell": "echo 1 > made.txt"}, {"say": "{\"n\": 1}"}, {"end": false}, "settle",
    ]);
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let task = json!({
        "name": "t", "prompt": prompt(&script), "isolation": "worktree", "schema": schema,
    });
    let result = call_tool(&world, "delegate_to_subagents", &json!({"tasks": [task]}));
    let session = &result["structuredContent"]["sessions"][0];
    assert_eq!(session["value"], json!({"n": 1}), "{result}");
    assert_apart(&world, session, "1");
    let counted = ["insertions", "deletions"].map(|name| session["changes"][name].clone());
    assert_eq!(counted, [1, 0].map(Value::from), "{session}");
    // A client may show its model the text alone.
    let text = result["content"][0]["text"].as_str().unwrap();
    let line = text.lines().next().unwrap();
    assert!(line.starts_with("✓ t: completed ") && line.ends_with(", 1 file +1 −0"), "{text}");
}

#[test]
fn the_built_in_agent_works_in_a_worktree_with_all_its_tools() {
    let world = repository();
    let tool = |name: &str, args: Value| json!({"tools": [{"name": name, "args": args}]});
    let inside = world.project().join("a.txt");
    let turns = json!([
        tool("write", json!({"path": "made.txt", "content": "one\n"})),
        tool("edit", json!({"path": "made.txt", "edits": [{"oldText": "one", "newText": "built in"}]})),
        tool("bash", json!({"command": "pwd"})),
        {"text": "{{result:2}}"},
    ]);
    write_file(&world.path("turns.json"), &turns.to_string());
    let model = format!("script/{}", world.path("turns.json").display());
    let before = fs::read(&inside).unwrap();
    let ran =
        world.run(&["run", "--json", "--worktree", "--agent", "builtin", "--model", &model, "go"]);
    let task = ran.task();
    assert_eq!(task["outcome"], "completed", "{ran:?}");
    assert_apart(&world, &task, "built in");
    let tree = worktrees(&world).join(task["runId"].as_str().unwrap());
    assert!(task["output"].as_str().unwrap().contains(tree.to_str().unwrap()), "{task}");
    assert_eq!(fs::read(&inside).unwrap(), before);
}

#[test]
fn the_lines_and_the_table_of_a_call_say_what_each_agent_changed() {
    let world = repository();
    let change = "seq 40 > x.txt && seq 3 > y.txt && sed -i -e s/one/1/ -e s/two/2/ a.txt";
    let tasks = [("many", change), ("none", "true")];
    let ran = delegate(&world, &tasks, &["--quiet"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [many, none] = lines[..] else { panic!("{ran:?}") };
    assert!(many.starts_with("✓ many: completed (session: "), "{ran:?}");
    assert!(many.ends_with("), 3 files +45 −2") && none.ends_with("), no changes"), "{ran:?}");

    let input = world.path("tasks.json");
    fs::write(&input, call(&tasks).to_string()).unwrap();
    let agent = prompted_agent(&world);
    let words = ["delegate", "--worktree", "--agent", &agent, input.to_str().unwrap()];
    let mut command = world.command(words);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(&command, 120, 24);
    assert_eq!(terminal.finish(), Some(0));
    let record = terminal.record();
    for (name, words) in [("✓ many ", "3 files +45 −2"), ("✓ none ", "no changes")] {
        let line = record.lines().find(|line| line.starts_with(name));
        assert!(line.is_some_and(|line| line.contains(words)), "{record}");
    }
    world.assert_nothing_left();
}
