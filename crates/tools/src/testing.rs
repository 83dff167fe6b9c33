//! A world for tests, and runs in it: on the disk as the supervisor leaves them, and as plain data.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use model::{
    Argument, Event, FORMAT, Lifetime, Limits, Meta, Outcome, Owner, OwnerKind, Plan, Record,
    RunId, RunResult, Secrets, SessionId, StopReason, Usage,
};
use plan::{Agent, AgentChoice, PlanOptions, Surroundings};
use serde_json::Value;
use store::{Journal, NewRun, Store};
use tempfile::TempDir;

use crate::{CallOptions, Workspace};

/// A user with an agent directory, and a project in which nothing has been decided about trust.
pub(crate) struct World {
    top: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        let world = World { top: tempfile::tempdir().unwrap() };
        for directory in [
            "agent/agent-profiles",
            "agent/skills",
            "agent/subagents",
            "project/.pi/agent-profiles",
        ] {
            fs::create_dir_all(world.at(directory)).unwrap();
        }
        world
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    pub(crate) fn profile(&self, name: &str, fields: &str) {
        self.write(&format!("agent/agent-profiles/{name}.md"), name, fields);
    }

    pub(crate) fn project_profile(&self, name: &str, fields: &str) {
        self.write(&format!("project/.pi/agent-profiles/{name}.md"), name, fields);
    }

    pub(crate) fn preset(&self, name: &str, fields: &str) {
        let fields = format!("description: D.\n{fields}");
        self.write(&format!("agent/subagents/{name}.md"), name, &fields);
    }

    pub(crate) fn write(&self, path: &str, name: &str, fields: &str) {
        fs::write(self.at(path), format!("---\nname: {name}\n{fields}\n---\n")).unwrap();
    }

    pub(crate) fn workspace(&self, approval: Option<bool>) -> Workspace {
        self.workspace_at("project", approval)
    }

    pub(crate) fn workspace_at(&self, cwd: &str, approval: Option<bool>) -> Workspace {
        Workspace::load(self.surroundings(cwd), approval)
    }

    pub(crate) fn surroundings(&self, cwd: &str) -> Surroundings {
        Surroundings::new(self.at(cwd), self.at("agent"))
    }
}

pub(crate) fn options() -> CallOptions<'static> {
    let planning = PlanOptions::new(
        AgentChoice::by_default(Agent::Pi),
        Owner { kind: OwnerKind::Pi, id: None },
        Lifetime::Foreground,
    );
    CallOptions { planning, book: None }
}

pub(crate) fn session_id(number: u64) -> SessionId {
    SessionId::parse(&format!("{number:016x}")).unwrap()
}

pub(crate) fn run_id(number: u64) -> RunId {
    RunId::parse(&format!("run-{number:06}")).unwrap()
}

/// The run of that number in the session of that number.
pub(crate) fn planned(run: u64, session: u64, prompt: &str, task: Option<&str>) -> Plan {
    let meta = Meta {
        format: FORMAT,
        run_id: run_id(run),
        session_id: session_id(session),
        name: format!("task {run}"),
        owner: Owner { kind: OwnerKind::Pi, id: None },
        lifetime: Lifetime::Foreground,
        agent: None,
        protocol: None,
        call_id: None,
        command: Vec::new(),
        cwd: "/work".into(),
        cgroup: None,
        environment: Arc::default(),
        access: model::Access::Full,
        access_paths: None,
        model: Some("asked/for".to_owned()),
        profile: Some("fast".to_owned()),
        preset: None,
        preset_source: None,
        system_prompt: None,
        system_prompt_path: None,
        tools: Vec::new(),
        provider: None,
        thinking_level: None,
        fallback_models: Vec::new(),
        fallback_starts: Vec::new(),
        requested_model: None,
        task: task.map(str::to_owned),
        limits: Limits::default(),
        check: None,
        schema: None,
        worktree: None,
        ledger: None,
        admission: None,
        takes_messages: false,
        ask: false,
        created_at: run,
    };
    Plan {
        meta: Arc::new(meta),
        prompt: prompt.to_owned(),
        command: Arc::new(vec![Argument::from("true")]),
        fallbacks: Vec::new(),
        files: BTreeMap::new(),
        file_variables: Default::default(),
        secrets: Secrets::default(),
        refusal: None,
    }
}

pub(crate) fn told(text: &str) -> Event {
    Event::UserMessage { text: text.to_owned() }
}

pub(crate) fn said(text: &str) -> Event {
    Event::AssistantMessage {
        text: text.to_owned(),
        model: Some("real/model".to_owned()),
        stop_reason: Some(StopReason::Stop),
        error: None,
        usage: Usage::default(),
    }
}

pub(crate) fn called(id: &str, args: Value) -> Event {
    Event::ToolCall { id: id.to_owned(), tool: "read".to_owned(), args }
}

pub(crate) fn answered(id: &str, text: &str) -> Event {
    Event::ToolResult {
        id: id.to_owned(),
        tool: "read".to_owned(),
        is_error: false,
        text: text.to_owned(),
        limit_reached: false,
    }
}

pub(crate) fn record(event: Event) -> Record {
    Record { seq: 1, at: 1, event }
}

/// Completed, or failed with that error.
pub(crate) fn result(meta: &Meta, output: &str, error: Option<&str>) -> RunResult {
    let outcome = if error.is_some() { Outcome::Timeout } else { Outcome::Completed };
    RunResult {
        format: FORMAT,
        run_id: meta.run_id.clone(),
        session_id: meta.session_id.clone(),
        name: meta.name.clone(),
        status: outcome.status(),
        outcome,
        error: error.map(str::to_owned),
        output: output.to_owned(),
        exit_code: error.is_none().then_some(0),
        signal: None,
        model: Some("real/model".to_owned()),
        stop_reason: Some(StopReason::Stop),
        usage: Usage::default(),
        budget: Default::default(),
        tool_calls: 0,
        started_at: Some(1),
        ended_at: 2,
        duration_ms: 1,
        warnings: Vec::new(),
        leftovers: None,
        value: None,
        check: None,
        changes: None,
        resources: None,
    }
}

/// A run in the store that lives as long as what is returned.
pub(crate) fn running(store: &Store, plan: &Plan, events: &[Event]) -> (NewRun, Journal) {
    let new_run = store.create(plan).unwrap();
    let mut journal = Journal::begin(&new_run.dir, &plan.meta.limits).unwrap();
    for event in events {
        journal.record(1, event.clone());
    }
    journal.flush();
    (new_run, journal)
}

/// A run in the store that has ended, with the last text of its events as output.
pub(crate) fn ended(store: &Store, plan: &Plan, events: &[Event], error: Option<&str>) {
    let (_new_run, journal) = running(store, plan, events);
    let records = events.iter().cloned().map(record);
    let output = session::Facts::replay(records).output;
    journal.finish(&result(&plan.meta, &output, error)).unwrap();
}
