//! The arguments that models give to our tools, and the plans that are made of them.

use model::{Lifetime, Owner, OwnerKind};
use plan::{Agent, AgentChoice, PlanOptions};
use serde_json::Value;
use session::view::call_line;
use tools::{
    ArgumentError, BackgroundArguments, CallError, CallOptions, DelegateArguments, MOST_TASKS,
    NoArguments, PlannedCall, SessionArguments, StatusArguments, SubagentArguments, Workspace,
};

use crate::assertions::{assert_reads_back, assert_row};
use crate::scratch::Scratch;

thread_local! {
    static WORKSPACE: (Scratch, Workspace) = prepared();
}

/// A directory with a file, a profile and a preset.
fn prepared() -> (Scratch, Workspace) {
    let scratch = Scratch::new();
    scratch.write("project/file", b"one\ntwo\nthree\n");
    scratch
        .write("agent/agent-profiles/fast.md", b"---\nname: fast\ntools: [read]\n---\nBe fast.\n");
    scratch
        .write("agent/subagents/scout.md", b"---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    let workspace = Workspace::load(scratch.surroundings(), Some(true));
    (scratch, workspace)
}

pub(super) fn check(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<Value>(data) {
        WORKSPACE.with(|(_, workspace)| check_call(workspace, &value));
    }
}

fn check_call(workspace: &Workspace, value: &Value) {
    for tool in ["delegate_to_subagents", "subagent", "background_agent", "get_subagent_output"] {
        assert_row("the line of a call", &call_line(tool, value).text());
    }
    let options = options();
    if let Some(arguments) = read(DelegateArguments::parse(value, Some(MOST_TASKS))) {
        let count = arguments.tasks.len();
        // Only files of the project may be read here.
        let files = arguments.tasks.iter().flat_map(|task| &task.files);
        if files.clone().all(|file| !file.path.contains('/') && !file.path.contains('\0')) {
            let prompts: Vec<String> =
                arguments.tasks.iter().map(|task| task.prompt.clone()).collect();
            assert_planned(tools::plan_delegation(workspace, arguments, &options), count, &prompts);
        }
    }
    if let Some(arguments) = read(SubagentArguments::parse(value, Some(MOST_TASKS))) {
        let prompts: Vec<String> = arguments.tasks.iter().map(|task| task.prompt.clone()).collect();
        let planned = tools::plan_subagent(workspace, &arguments, &options);
        assert_planned(planned, prompts.len(), &prompts);
    }
    if let Some(arguments) = read(BackgroundArguments::parse(value)) {
        let prompts = [arguments.task.prompt.clone()];
        assert_planned(tools::plan_background(workspace, arguments, &options), 1, &prompts);
    }
    if let Some(arguments) = read(StatusArguments::parse(value)) {
        assert!(
            tools::background_status(&tools::project_store(workspace), Vec::new(), &arguments)
                .is_ok()
        );
    }
    read(SessionArguments::parse(value));
    read(NoArguments::parse(value));
}

/// Checks that a refusal says what is wrong and where.
fn read<T>(parsed: Result<T, ArgumentError>) -> Option<T> {
    if let Err(error) = &parsed {
        assert!(!error.field.is_empty() && !error.problem.is_empty(), "{error:?}");
    }
    parsed.ok()
}

fn assert_planned(planned: Result<PlannedCall, CallError>, count: usize, prompts: &[String]) {
    let call = match planned {
        Ok(call) => call,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(call.tasks.len(), count, "not every task was planned");
    for (task, prompt) in call.tasks.iter().zip(prompts) {
        assert_reads_back(&task.plan.meta);
        assert!(task.plan.prompt.ends_with(prompt.as_str()), "the prompt was lost");
    }
}

fn options() -> CallOptions<'static> {
    let planning = PlanOptions {
        all_tools: Some(vec!["read".to_owned(), "bash".to_owned()]),
        models: Some(vec!["anthropic/claude-haiku-4-5".to_owned(), "openai/gpt-5".to_owned()]),
        ..PlanOptions::new(
            AgentChoice::by_default(Agent::Pi),
            Owner { kind: OwnerKind::Pi, id: Some("session".to_owned()) },
            Lifetime::Foreground,
        )
    };
    CallOptions { planning, book: None }
}
