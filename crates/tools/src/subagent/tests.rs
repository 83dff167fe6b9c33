use std::fs;

use serde_json::{Value, json};

use super::*;
use crate::testing::{World, options, planned, result};
use crate::{MOST_TASKS, PlannedTask, TaskArguments, inline_answers};

fn parse(value: &Value) -> Result<SubagentArguments, String> {
    SubagentArguments::parse(value, Some(MOST_TASKS)).map_err(|error| error.to_string())
}

fn single(value: &Value) -> SubagentArguments {
    parse(value).unwrap()
}

impl World {
    fn subagent(&self, value: &Value, models: Option<&[&str]>) -> Vec<PlannedTask> {
        let mut options = options();
        options.planning.models =
            models.map(|models| models.iter().map(ToString::to_string).collect());
        plan_subagent(&self.workspace(None), &single(value), &options).unwrap().tasks
    }

    /// The model of a single task, and how it was written, or why it must not start.
    fn model(&self, value: &Value, models: Option<&[&str]>) -> Result<String, String> {
        let plan = self.subagent(value, models).remove(0).plan;
        match plan.refusal {
            Some(refusal) => Err(refusal),
            None => {
                let [model, requested] = [&plan.meta.model, &plan.meta.requested_model]
                    .map(|word| word.as_deref().unwrap());
                let is_same = model == requested;
                Ok(if is_same { model.to_owned() } else { format!("{model} for {requested}") })
            }
        }
    }
}

fn command(task: &PlannedTask) -> Vec<String> {
    task.plan.meta_in(std::path::Path::new("/run")).command
}

#[test]
fn both_modes_are_read() {
    let whole = json!({"preset": "a", "task": "t", "model": "m", "cwd": "/x"});
    let task = |name: &str, preset: &str, prompt: &str| TaskArguments {
        name: name.into(),
        preset: Some(preset.into()),
        prompt: prompt.into(),
        ..TaskArguments::default()
    };
    let with_all = |name: &str| TaskArguments {
        model: Some("m".into()),
        cwd: Some("/x".into()),
        ..task(name, "a", "t")
    };
    let expected = SubagentArguments { tasks: vec![with_all("a")], is_single: true };
    assert_eq!(parse(&whole), Ok(expected));
    let least = json!({"preset": "b", "task": "u"});
    let expected = SubagentArguments { tasks: vec![task("b", "b", "u")], is_single: true };
    assert_eq!(parse(&least), Ok(expected));
    let several = parse(&json!({"tasks": [whole, least], "model": null})).unwrap();
    let tasks = vec![with_all("#1 a"), task("#2 b", "b", "u")];
    assert_eq!(several, SubagentArguments { tasks, is_single: false });
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let task = json!({"preset": "a", "task": "t"});
    for (value, expected) in [
        (json!("x"), "arguments: must be an object"),
        (json!({}), "arguments: must have preset and task, or tasks"),
        (json!({"task": "t"}), "preset: is missing"),
        (json!({"preset": "a"}), "task: is missing"),
        (json!({"preset": "a", "task": " "}), "task: must not be empty"),
        (json!({"preset": 5, "task": "t"}), "preset: must be a text"),
        (json!({"preset": "a", "task": "t", "model": 5}), "model: must be a text"),
        (
            json!({"preset": "a", "task": "t", "tools": "bash"}),
            "tools: is unknown; there are preset, task, model, cwd, tasks",
        ),
        (
            json!({"preset": "a", "tasks": [task]}),
            "preset: cannot stand beside tasks; every task has its own",
        ),
        (
            json!({"model": "m", "tasks": [task]}),
            "model: cannot stand beside tasks; every task has its own",
        ),
        (json!({"tasks": []}), "tasks: must hold at least one task"),
        (json!({"tasks": {}}), "tasks: must be a list of tasks"),
        (json!({"tasks": vec![task; 17]}), "tasks: must hold at most 16 tasks, but holds 17"),
        (json!({"tasks": [{"task": "t"}]}), "tasks[0].preset: is missing"),
        (
            json!({"tasks": [{"preset": "a", "task": "t", "timeout": 5}]}),
            "tasks[0].timeout: is unknown; there are preset, task, model, cwd",
        ),
        (
            json!({"chain": [{"preset": "a", "task": "t"}]}),
            "chain: is not supported; call subagent once for each step and put what the next step \
             needs into its task, or give tasks that run side by side",
        ),
    ] {
        assert_eq!(parse(&value).unwrap_err(), expected);
    }
}

#[test]
fn a_preset_is_started_with_its_body_its_tools_and_a_session_of_its_own() {
    let world = World::new();
    fs::write(
        world.at("agent/subagents/scout.md"),
        "---\nname: scout\ndescription: D.\nmodel: a/b\ntools: [read, ls]\n---\nYou are a scout.\n",
    )
    .unwrap();
    let planned = world.subagent(&json!({"preset": "scout", "task": "Look."}), None).remove(0);
    assert_eq!(
        command(&planned),
        [
            "pi",
            "--mode",
            "rpc",
            "--session",
            "/run/child-session.jsonl",
            "--model",
            "a/b",
            "--append-system-prompt",
            "/run/system-prompt.md",
            "--tools",
            "read,ls",
        ]
    );
    let plan = &planned.plan;
    assert_eq!(plan.files["system-prompt.md"], "You are a scout.");
    assert_eq!(plan.files["child-session.jsonl"], "");
    assert_eq!(plan.files.len(), 2);
    assert_eq!((plan.prompt.as_str(), plan.meta.name.as_str()), ("Look.", "scout"));
    assert_eq!(plan.meta.limits.timeout_ms, None);
    assert_eq!(plan.meta.limits.looping_tool_count, 5, "the loop rule holds");
    assert_eq!(plan.meta.profile, None);
    assert_eq!(plan.meta.preset.as_deref(), Some("scout"));
    assert_eq!(plan.meta.preset_source.as_deref(), Some("global"));
    assert_eq!(plan.meta.tools, ["read", "ls"]);
    let summary = "preset: scout, model=a/b, appended-system-prompt, tools=[read,ls]";
    assert_eq!(planned.definition.as_deref(), Some(summary));
}

#[test]
fn the_model_is_that_of_the_call_else_of_the_preset_else_an_error() {
    let world = World::new();
    world.preset("has", "model: a/preset");
    world.preset("with-provider", "provider: a\nmodel: preset");
    world.preset("none", "provider: a");
    let path = world.at("agent/subagents/none.md");
    let none = format!(
        "No model resolved: the call names no model, and neither does Preset \"none\" ({}).",
        path.display()
    );
    let known: &[&str] = &["a/preset", "a/CALL", "b/call-two"];
    for (preset, model, models, expected) in [
        ("has", None, None, Ok("a/preset")),
        ("has", Some("x/call"), None, Ok("x/call")),
        ("none", Some("call"), None, Ok("call")),
        ("none", None, None, Err(none.as_str())),
        ("none", None, Some(known), Err(none.as_str())),
        ("has", None, Some(known), Ok("a/preset")),
        ("with-provider", None, None, Ok("preset")),
        ("with-provider", None, Some(known), Ok("a/preset")),
        ("has", Some("A/call"), Some(known), Ok("a/CALL for A/call")),
        ("has", Some("call-two"), Some(known), Ok("b/call-two for call-two")),
        (
            "has",
            Some("b/call-tow"),
            Some(known),
            Err("Unknown model: \"b/call-tow\". Did you mean b/call-two?"),
        ),
        (
            "has",
            None,
            Some(&["z/other"]),
            Err("Unknown model: \"a/preset\". Available models: z/other"),
        ),
    ] {
        let call = json!({"preset": preset, "task": "t", "model": model});
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(world.model(&call, models), expected, "{preset} {model:?}");
    }
}

#[test]
fn models_of_copilot_are_announced_and_others_are_not() {
    let world = World::new();
    world.preset("pilot", "model: github-copilot/gpt");
    world.preset("by-provider", "provider: github-copilot\nmodel: gpt");
    world.preset("other", "model: openai/gpt");
    let known: &[&str] = &["github-copilot/gpt", "openai/gpt"];
    for (preset, model, models, expected) in [
        ("pilot", None, None, true),
        ("by-provider", None, None, true),
        ("by-provider", None, Some(known), true),
        ("other", None, None, false),
        ("other", Some("github-copilot/gpt"), None, true),
        ("other", Some("GitHub-Copilot/GPT"), Some(known), true),
        ("pilot", Some("OpenAI/gpt"), Some(known), false),
        ("by-provider", Some("openai/gpt"), None, false),
    ] {
        let call = json!({"preset": preset, "task": "t", "model": model});
        let plan = world.subagent(&call, models).remove(0).plan;
        let initiator = &plan.meta.environment["PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR"];
        let expected = expected.then_some("agent");
        assert_eq!(initiator.as_deref(), expected, "{preset} {model:?}");
    }
}

#[test]
fn a_problem_of_one_task_fails_that_task_alone() {
    let world = World::new();
    world.preset("good", "model: a/b\ntimeout: 30");
    let call = json!({"tasks": [
        {"preset": "bad", "task": "t"},
        {"preset": "good", "task": "t"},
        {"preset": "good", "task": "t", "cwd": "relative"},
    ]});
    let planned = world.subagent(&call, None);
    let refusals: Vec<Option<&str>> =
        planned.iter().map(|task| task.plan.refusal.as_deref()).collect();
    let unknown = "Unknown preset: \"bad\". Available presets: good";
    assert_eq!(refusals, [Some(unknown), None, Some("cwd must be an absolute path")]);
    let names: Vec<&str> = planned.iter().map(|task| task.plan.meta.name.as_str()).collect();
    assert_eq!(names, ["#1 bad", "#2 good", "#3 good"]);
    assert_eq!(planned[0].plan.meta.preset.as_deref(), Some("bad"));
    assert_eq!(planned[1].plan.meta.limits.timeout_ms, Some(30_000));
}

#[test]
fn a_contradiction_in_a_preset_refuses_the_call() {
    let world = World::new();
    world.preset("both", "model: a/b\ntools: read\nexcludeTools: bash");
    let call = single(&json!({"preset": "both", "task": "t"}));
    let refused = plan_subagent(&world.workspace(None), &call, &options()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Preset \"both\" has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) set. \
         These are mutually exclusive — choose one or the other."
    );
}

/// Trust in a project says nothing about a directory above it.
#[test]
fn a_preset_of_a_directory_above_runs_code_only_if_that_is_trusted() {
    let world = World::new();
    fs::create_dir_all(world.at("project/.pi/subagents")).unwrap();
    fs::create_dir_all(world.at("project/inner/.git")).unwrap();
    world.write(
        "project/.pi/subagents/evil.md",
        "evil",
        "description: D.\nmodel: a/b\nextensions: ./evil.js",
    );
    let top = fs::canonicalize(world.at("")).unwrap();
    let trust = |directory: &str| {
        let store = json!({ (top.join(directory).to_str().unwrap()): true });
        fs::write(world.at("agent/trust.json"), store.to_string()).unwrap();
    };
    let call = single(&json!({"preset": "evil", "task": "t"}));
    let refusal = |approval| {
        let workspace = world.workspace_at("project/inner", approval);
        plan_subagent(&workspace, &call, &options()).unwrap().tasks.remove(0).plan.refusal
    };
    trust("project/inner");
    let refused = refusal(None).unwrap();
    assert!(refused.starts_with("Preset \"evil\" belongs to this project and sets"), "{refused}");
    assert_eq!(refusal(Some(true)), None);
    trust("project");
    assert_eq!(refusal(None), None);
    assert!(refusal(Some(false)).is_some());
}

#[test]
fn a_single_answer_is_what_the_agent_said() {
    let call = single(&json!({"preset": "a", "task": "t"}));
    let meta = &planned(1, 1, "t", None).meta;
    let answer = |output, error| {
        let result = result(meta, output, error);
        subagent_answer(&call, &[&result], &inline_answers([output], |_| "ask".to_owned()))
    };
    assert_eq!(answer("Found it.\n", None), "Found it.");
    assert_eq!(answer(" ", None), "(no text output from sub-agent)");
    assert_eq!(answer("", Some("Timed out after 5s.")), "Timed out after 5s.");
    assert_eq!(
        answer("Half.", Some("Timed out after 5s.")),
        "Timed out after 5s.\nBefore that it said:\nHalf."
    );
    let long = answer(&"ż".repeat(40_000), None);
    assert!(long.contains("ż\n[16000 of 40000 characters are left out here; ask]\nż"), "{long}");
}

#[test]
fn several_answers_name_place_and_preset() {
    let task = json!({"preset": "scout", "task": "t"});
    let call = single(&json!({"tasks": [task, task]}));
    let results: Vec<RunResult> = (1..)
        .zip(call.tasks.iter().map(|task| task.name.clone()))
        .zip([("One.", None), ("", Some("Timed out after 5s."))])
        .map(|((number, name), (output, error))| {
            let mut result = result(&planned(number, number, "t", None).meta, output, error);
            result.name = name;
            result
        })
        .collect();
    let outputs = results.iter().map(|result| result.output.as_str());
    let answers = inline_answers(outputs, |_| unreachable!("they are short"));
    let results: Vec<&RunResult> = results.iter().collect();
    assert_eq!(
        subagent_answer(&call, &results, &answers),
        "Parallel: 1/2 succeeded\n\n[#1 scout] completed (session: 0000000000000001):\nOne.\n\n\
         [#2 scout] failed (session: 0000000000000002): Timed out after 5s."
    );
}
