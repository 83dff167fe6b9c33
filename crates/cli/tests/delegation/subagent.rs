//! The tool `subagent`, from its arguments to its answer, as a door with JSON calls it.

use std::collections::BTreeMap;
use std::fs;

use model::{Lifetime, Outcome, Owner, OwnerKind, RunResult};
use plan::{Agent, AgentChoice, PlanOptions, Surroundings};
use runner::{Change, Dispatcher, Launcher};
use serde_json::{Value, json};
use test_support::{World, marked_processes};
use tools::{
    CallOptions, MOST_TASKS, SubagentArguments, Workspace, plan_subagent, subagent_answer,
};

use super::{preset, world};

/// Plans the call, runs it four at a time, and returns the results and the answer.
fn call(world: &World, arguments: &Value) -> (Vec<RunResult>, String) {
    let surroundings = Surroundings {
        home: Some(world.home()),
        ..Surroundings::new(world.project(), world.agent_dir())
    };
    let workspace = Workspace::load(surroundings, None);
    let models = ["a/one".to_owned(), "github-copilot/gpt-4o".to_owned()];
    let planning = PlanOptions {
        models: Some(models.into()),
        ..PlanOptions::new(
            AgentChoice::by_default(Agent::Program(vec![
                env!("CARGO_BIN_EXE_fake-agent").to_owned(),
            ])),
            Owner { kind: OwnerKind::Mcp, id: None },
            Lifetime::Foreground,
        )
    };
    let options = CallOptions { planning, book: None };
    let arguments = SubagentArguments::parse(arguments, Some(MOST_TASKS)).unwrap();
    let planned = plan_subagent(&workspace, &arguments, &options).unwrap();
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_pi-subagents").into());
    let concurrency = workspace.settings.max_concurrency;
    let mut dispatcher = Dispatcher::new(tools::project_store(&workspace));
    let plans = planned.tasks.into_iter().map(|task| task.plan);
    dispatcher.submit(launcher, concurrency, plans);
    let mut results = BTreeMap::new();
    while !dispatcher.is_idle() {
        for update in dispatcher.wait(&[], None) {
            if let Change::Ended(report) = update.change {
                results.insert(update.task, report.result);
            }
        }
    }
    let results: Vec<RunResult> = results.into_values().collect();
    let said = tools::inline_answers(results.iter().map(|result| result.output.as_str()), |_| {
        unreachable!("the answers are short")
    });
    let answer = subagent_answer(&arguments, &results.iter().collect::<Vec<_>>(), &said);
    // Every process of a run has the path of its directory in its arguments or its environment.
    let left = marked_processes(world.project().to_str().unwrap());
    assert!(left.is_empty(), "{left:#?}");
    (results, answer)
}

#[test]
fn one_task_answers_what_its_agent_said() {
    let world = world();
    preset(&world, "scout", "---\nname: scout\ndescription: D.\nmodel: A/One\n---\nLook.\n");
    let (results, answer) = call(&world, &json!({"preset": "scout", "task": "Find it."}));
    assert_eq!(answer, "You said: Find it.");
    assert_eq!(results[0].name, "scout");
    let run_dir = world.only_run();
    let meta = fs::read(run_dir.join("meta.json")).unwrap();
    let meta: Value = serde_json::from_slice(&meta).unwrap();
    assert_eq!(
        (&meta["resolvedModel"], &meta["requestedModel"]),
        (&json!("a/one"), &json!("A/One"))
    );
    assert_eq!(meta["owner"]["kind"], "mcp");
    assert_eq!(fs::read_to_string(run_dir.join("system-prompt.md")).unwrap(), "Look.");
}

#[test]
fn several_tasks_keep_their_order_and_fail_alone() {
    let world = world();
    preset(&world, "scout", "---\nname: scout\ndescription: D.\nmodel: a/one\n---\n");
    preset(&world, "review", "---\nname: review\ndescription: D.\n---\n");
    let arguments = json!({"tasks": [
        {"preset": "scout", "task": "One."},
        {"preset": "review", "task": "Two."},
        {"preset": "review", "task": "Three.", "model": "gpt-4o"},
        {"preset": "nobody", "task": "Four."},
        {"preset": "scout", "task": "Five.", "model": "a/on"},
    ]});
    let (results, answer) = call(&world, &arguments);
    let outcomes: Vec<(&str, Outcome)> =
        results.iter().map(|result| (result.name.as_str(), result.outcome)).collect();
    assert_eq!(
        outcomes,
        [
            ("#1 scout", Outcome::Completed),
            ("#2 review", Outcome::SpawnFailure),
            ("#3 review", Outcome::Completed),
            ("#4 nobody", Outcome::SpawnFailure),
            ("#5 scout", Outcome::SpawnFailure),
        ]
    );
    let id = |index: usize| results[index].session_id.to_string();
    let path = world.agent_dir().join("subagents/review.md");
    assert_eq!(
        answer,
        format!(
            "Parallel: 2/5 succeeded\n\n\
             [#1 scout] completed (session: {}):\nYou said: One.\n\n\
             [#2 review] failed (session: {}): No model resolved: the call names no model, and \
             neither does Preset \"review\" ({}).\n\n\
             [#3 review] completed (session: {}):\nYou said: Three.\n\n\
             [#4 nobody] failed (session: {}): Unknown preset: \"nobody\". Available presets: \
             review, scout\n\n\
             [#5 scout] failed (session: {}): Unknown model: \"a/on\". Did you mean a/one?",
            id(0),
            id(1),
            path.display(),
            id(2),
            id(3),
            id(4)
        )
    );
}
