use std::fs;

use model::{AgentKind, Isolation, Lifetime, Meta, Owner, OwnerKind, SessionId};
use tempfile::TempDir;

use super::*;
use crate::{AgentChoice, FileSpec, NamedAgent, Settings, Surroundings};

/// A user with an agent directory, and a project.
struct World {
    top: TempDir,
}

impl World {
    fn new() -> World {
        let world = World { top: tempfile::tempdir().unwrap() };
        for directory in ["agent/agent-profiles", "agent/subagents", "agent/skills/good", "project"]
        {
            fs::create_dir_all(world.at(directory)).unwrap();
        }
        let skill = "---\nname: good\ndescription: Good.\n---\nBe good.\n";
        fs::write(world.at("agent/skills/good/SKILL.md"), skill).unwrap();
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    fn profile(&self, name: &str, fields: &str) {
        let text = format!("---\nname: {name}\n{fields}\n---\n");
        fs::write(self.at(&format!("agent/agent-profiles/{name}.md")), text).unwrap();
    }

    fn plan_all(&self, agent: Agent, tasks: Vec<Task>) -> PlannedTasks {
        self.plan_continuing(agent, tasks.into_iter().map(|task| (task, None)).collect())
    }

    fn plan_continuing(
        &self,
        agent: Agent,
        tasks: Vec<(Task, Option<ContinuedSession>)>,
    ) -> PlannedTasks {
        self.plan_for(OwnerKind::Shell, agent, tasks)
    }

    fn plan_for(
        &self,
        kind: OwnerKind,
        agent: Agent,
        tasks: Vec<(Task, Option<ContinuedSession>)>,
    ) -> PlannedTasks {
        self.plan_living(Lifetime::Foreground, kind, agent, tasks)
    }

    fn plan_living(
        &self,
        lifetime: Lifetime,
        kind: OwnerKind,
        agent: Agent,
        tasks: Vec<(Task, Option<ContinuedSession>)>,
    ) -> PlannedTasks {
        let surroundings = Surroundings::new(self.at("project"), self.at("agent"));
        let options =
            PlanOptions::new(AgentChoice::by_default(agent), Owner { kind, id: None }, lifetime);
        plan_tasks(&Workspace::load(surroundings, None), &options, tasks).unwrap()
    }

    fn plan(&self, task: Task) -> PlannedTask {
        self.plan_all(Agent::Pi, vec![task]).tasks.remove(0)
    }
}

fn task() -> Task {
    Task { name: "task".to_owned(), prompt: "-x @file".to_owned(), ..Task::default() }
}

fn with_profile(name: &str) -> Task {
    Task { profile: Some(name.to_owned()), ..task() }
}

fn command(plan: &Plan) -> Vec<String> {
    plan.meta_in(Path::new("/run")).command
}

#[test]
fn the_prompt_is_never_an_argument() {
    let world = World::new();
    let plan = world.plan(Task { timeout: Some(1.5), ..task() }).plan;
    assert_eq!(command(&plan), ["pi", "--mode", "rpc", "--no-session"]);
    assert_eq!((plan.prompt.as_str(), plan.meta.limits.timeout_ms), ("-x @file", Some(1_500)));
    assert_eq!(plan.meta.cwd, world.at("project"));
    assert_eq!(plan.meta.protocol.as_deref(), Some("pi-rpc"));
    assert!(plan.meta.takes_messages);
    // What its arguments say about the mode counts.
    world.profile("p", "extraArgs: --print");
    let plan = world.plan(with_profile("p")).plan;
    assert_eq!(command(&plan), ["pi", "--mode", "json", "-p", "--no-session", "--print"]);
    assert_eq!(plan.meta.protocol.as_deref(), Some("pi"));
}

#[test]
fn the_default_model_of_copilot_is_announced() {
    let world = World::new();
    let initiator = |task| {
        let plan = world.plan(task).plan;
        plan.meta.environment["PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR"].clone()
    };
    assert_eq!(initiator(task()), None);
    let settings = r#"{"defaultProvider": "github-copilot", "defaultModel": "gpt-4o"}"#;
    fs::write(world.at("agent/settings.json"), settings).unwrap();
    assert_eq!(initiator(task()).as_deref(), Some("agent"));
    world.profile("plain", "");
    assert_eq!(initiator(with_profile("plain")).as_deref(), Some("agent"));
    assert_eq!(initiator(Task { model: Some("openai/gpt-4o".to_owned()), ..task() }), None);
}

#[test]
fn files_that_a_task_does_not_name_are_one_line() {
    let world = World::new();
    let warnings = |task| world.plan_all(Agent::Pi, vec![task]).warnings;
    world.profile("good", "");
    world.profile("odd", "wrong: 1");
    let one = warnings(with_profile("good"));
    assert!(one.len() == 1 && one[0].contains("odd.md"), "{one:?}");
    fs::write(world.at("agent/agent-profiles/broken.md"), "no frontmatter").unwrap();
    fs::write(world.at("agent/subagents/odd.md"), "---\nname: odd\n---\n").unwrap();
    let told = warnings(with_profile("good"));
    let all = "There are 3 warnings about the files of other profiles and presets, such as ";
    assert!(told.len() == 1 && told[0].starts_with(all), "{told:?}");
    // What is named is told in full, also if it cannot be loaded.
    for (name, path) in [("odd", "agent-profiles/odd.md"), ("broken", "agent-profiles/broken.md")] {
        let told = warnings(with_profile(name));
        assert!(told.len() == 2 && told[0].contains(path), "{told:?}");
        assert!(told[1].starts_with("There are 2 warnings"), "{told:?}");
    }
}

#[test]
fn children_know_that_they_are_children() {
    let world = World::new();
    let plan = world.plan(Task { model: Some("github-copilot/gpt".to_owned()), ..task() }).plan;
    let meta = plan.meta_in(&world.at("run"));
    let value = |name: &str| meta.environment[name].clone();
    assert_eq!(value("PI_SUBAGENTS_CHILD").as_deref(), Some("1"));
    assert_eq!(value("PI_SUBAGENTS_RUN").as_deref(), Some(plan.meta.run_id.as_str()));
    assert_eq!(value("PI_CODING_AGENT_DIR").as_deref(), world.at("agent").to_str());
    assert_eq!(value("PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR").as_deref(), Some("agent"));
    let arguments = &command(&plan)[4..];
    assert_eq!(arguments[..3], ["--model", "github-copilot/gpt", "-e"]);
    assert!(arguments[3].ends_with("child-extension.mjs"), "{arguments:?}");
}

/// To choose the workspace is to choose what can be changed.
#[test]
fn a_model_cannot_lead_a_workspace_out_of_the_project() {
    let world = World::new();
    fs::create_dir_all(world.at("project/inner")).unwrap();
    fs::create_dir_all(world.at("elsewhere")).unwrap();
    std::os::unix::fs::symlink(world.at("elsewhere"), world.at("project/link")).unwrap();
    let refusal = |kind, cwd: &str, access| {
        let cwd = Some(world.at(cwd).display().to_string());
        let task = Task { cwd, access: Some(access), ..task() };
        world.plan_for(kind, Agent::Pi, vec![(task, None)]).tasks.remove(0).refusal
    };
    for (kind, cwd, access, is_refused) in [
        (OwnerKind::Mcp, "project", Access::Workspace, false),
        (OwnerKind::Mcp, "project/inner", Access::Workspace, false),
        (OwnerKind::Mcp, "elsewhere", Access::Workspace, true),
        (OwnerKind::Pi, "elsewhere", Access::Workspace, true),
        (OwnerKind::Mcp, "project/link", Access::Workspace, true),
        (OwnerKind::Mcp, "elsewhere", Access::Read, false),
        (OwnerKind::Shell, "elsewhere", Access::Workspace, false),
    ] {
        let expected = is_refused.then_some(Refusal::WorkspaceElsewhere);
        assert_eq!(refusal(kind, cwd, access), expected, "{kind:?} {cwd} {access:?}");
    }
}

#[test]
fn a_directory_that_does_not_exist_refuses_only_what_runs_in_the_background() {
    let world = World::new();
    for (lifetime, cwd, is_refused) in [
        (Lifetime::Background, world.at("nowhere"), true),
        (Lifetime::Background, world.at("project"), false),
        // It fails when it is started, and is recorded.
        (Lifetime::Foreground, world.at("nowhere"), false),
    ] {
        let task = Task { cwd: Some(cwd.display().to_string()), ..task() };
        let tasks = vec![(task, None)];
        let planned = world.plan_living(lifetime, OwnerKind::Shell, Agent::Pi, tasks);
        let expected = is_refused.then_some(Refusal::NoDirectory(cwd));
        assert_eq!(planned.tasks[0].refusal, expected, "{lifetime:?}");
    }
}

#[test]
fn a_bad_cwd_refuses_the_task() {
    let world = World::new();
    for (cwd, refusal) in [
        ("/a..b", None),
        ("/", None),
        ("sub", Some(Refusal::RelativeDirectory)),
        ("", Some(Refusal::RelativeDirectory)),
        ("../x", Some(Refusal::RelativeDirectory)),
        ("/a/../b", Some(Refusal::AscendingDirectory)),
        ("/a/..", Some(Refusal::AscendingDirectory)),
    ] {
        let planned = world.plan(Task { cwd: Some(cwd.to_owned()), ..task() });
        assert_eq!(planned.plan.refusal, refusal.as_ref().map(ToString::to_string), "{cwd}");
        assert_eq!(planned.refusal, refusal, "{cwd}");
    }
}

#[test]
fn ids_are_new_every_time_and_sort_by_time() {
    let planned = World::new().plan_all(Agent::Pi, vec![task(); 100]).tasks;
    let metas: Vec<&Meta> = planned.iter().map(|task| &*task.plan.meta).collect();
    assert!(metas.windows(2).all(|pair| pair[0].run_id < pair[1].run_id));
    assert_ne!(metas[0].session_id, metas[1].session_id);
}

#[test]
fn the_runs_of_one_call_share_its_id_and_other_calls_have_another() {
    let world = World::new();
    let calls = [2, 3].map(|count| world.plan_all(Agent::Pi, vec![task(); count]).tasks);
    let [one, other] = calls.map(|tasks| {
        let ids: Vec<CallId> =
            tasks.iter().map(|task| task.plan.meta.call_id.clone().unwrap()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
        ids[0].clone()
    });
    assert!(one < other, "a later call sorts behind an earlier one");
}

#[test]
fn a_session_that_is_continued_keeps_its_id_and_what_was_asked() {
    let world = World::new();
    let id = SessionId::parse("0123456789abcdef").unwrap();
    let session = ContinuedSession {
        id: id.clone(),
        prompt: "Before. -x @file".to_owned(),
        access: None,
        agent: None,
        worktree: None,
    };
    let planned = world.plan_continuing(Agent::Pi, vec![(task(), Some(session))]);
    let plan = &planned.tasks[0].plan;
    assert_eq!((&plan.meta.session_id, plan.prompt.as_str()), (&id, "Before. -x @file"));
    assert_eq!(plan.meta.task.as_deref(), Some("-x @file"));
}

#[test]
fn skills_become_arguments_and_text_behind_what_is_appended() {
    let world = World::new();
    let block = "<loaded_skill name=\"good\">\nBe good.\n</loaded_skill>";
    for (fields, appended) in [
        ("loadSkills: good", format!("\n\n{block}")),
        ("loadSkills: good\nappendSystemPrompt: Own.", format!("Own.\n\n{block}")),
    ] {
        world.profile("p", fields);
        let planned = world.plan(with_profile("p"));
        assert_eq!(planned.plan.files["append-system-prompt.md"], appended);
        // What the profile says is shown, and not what comes of it.
        let own = fields.contains("append");
        assert_eq!(planned.definition.unwrap().contains("appended-system-prompt"), own);
    }
    world.profile("p", "suggestedSkills: good");
    let skill = world.at("agent/skills/good/SKILL.md");
    let skill = fs::canonicalize(&skill).unwrap_or(skill);
    let planned = world.plan(with_profile("p")).plan;
    let words = command(&planned);
    assert_eq!(words[4], "--skill");
    assert_eq!(fs::canonicalize(&words[5]).unwrap(), skill);
}

#[test]
fn what_cannot_be_started_is_refused_before_anything_is_read() {
    let world = World::new();
    fs::write(world.at("project/a.txt"), "contents\n").unwrap();
    world.profile("p", "extensions: ./x.ts");
    let file = FileSpec { path: "a.txt".to_owned(), lines: crate::Lines::All };
    let task = Task { files: vec![file], ..with_profile("p") };
    let planned = world.plan_all(Agent::Builtin, vec![task.clone()]).tasks.remove(0);
    assert!(matches!(planned.refusal, Some(Refusal::Start(_))), "{planned:?}");
    assert_eq!((planned.plan.prompt.as_str(), planned.plan.command.len()), ("-x @file", 0));
    let planned = world.plan(task);
    assert_eq!(planned.refusal, None);
    assert!(planned.plan.prompt.starts_with("=== a.txt ===\ncontents\n"));
}

#[test]
fn an_agent_with_a_name_that_is_missing_is_refused_with_what_to_do() {
    let world = World::new();
    let refused = |agent: Agent| {
        let mut planned = world.plan_all(agent, vec![task()]).tasks.remove(0);
        planned.refuse_missing_agent();
        assert_eq!(planned.plan.refusal, planned.refusal.map(|refusal| refusal.to_string()));
        planned.plan.refusal.unwrap_or_default()
    };
    let own = NamedAgent {
        name: "work".to_owned(),
        command: vec!["/no/such/program".to_owned()],
        protocol: protocol::Protocol::Claude,
    };
    for (agent, expected) in [
        (Agent::Pi, "pi is not installed: install it with `npm install -g @earendil-works/"),
        (
            Agent::named("claude", &Settings::default()).unwrap(),
            "Claude Code is not installed: install it with `npm install -g @anthropic-ai/",
        ),
        (Agent::Named(own), "The program of the agent \"work\" was not found: name a program on"),
    ] {
        let found = refused(agent);
        assert!(found.starts_with(expected), "{found}");
    }
    // Starting it says what is wrong with it.
    assert_eq!(refused(Agent::Program(vec!["/no/such/program".to_owned()])), "");
    assert_eq!(refused(Agent::Builtin), "");
}

#[test]
fn a_session_keeps_its_agent_unless_the_user_names_another() {
    let world = World::new();
    world.profile("own", "agent: codex");
    world.profile("plain", "");
    let past = |kind| ContinuedSession {
        id: SessionId::parse("0123456789abcdef").unwrap(),
        prompt: "Before.".to_owned(),
        access: None,
        agent: Some(kind),
        worktree: None,
    };
    let claude = AgentKind::Named("claude".to_owned());
    for (task, kind, expected, is_warned) in [
        (task(), claude.clone(), "claude", false),
        (with_profile("plain"), claude.clone(), "claude", false),
        (task(), AgentKind::Builtin, "builtin", false),
        (task(), AgentKind::Pi, "pi", false),
        (Task { agent: Some("builtin".to_owned()), ..task() }, claude.clone(), "builtin", true),
        (with_profile("own"), claude, "codex", true),
        // Its name does not say what it was, and the other one is not known any more.
        (task(), AgentKind::Program, "pi", true),
        (task(), AgentKind::Named("gone".to_owned()), "pi", true),
    ] {
        let planned = world.plan_continuing(Agent::Pi, vec![(task, Some(past(kind.clone())))]);
        let agent = planned.tasks[0].plan.meta.agent.clone().unwrap();
        assert_eq!(agent.word(), expected, "{kind:?}");
        let warning = format!(
            "Task \"task\" continues a session of the agent \"{}\" with \"{expected}\"",
            kind.word()
        );
        assert_eq!(planned.warnings.contains(&warning), is_warned, "{:?}", planned.warnings);
    }
}

/// A task of this world, on the machines that it names itself.
fn plan_on(world: &World, on: Option<&str>, task: Task) -> PlannedTask {
    let surroundings = Surroundings {
        home: Some(world.at("home")),
        ..Surroundings::new(world.at("project"), world.at("agent"))
    };
    let agent = AgentChoice::by_default(Agent::Pi);
    let options = PlanOptions {
        fleet: Some("nats://127.0.0.1:1".to_owned()),
        ..PlanOptions::new(agent, Owner { kind: OwnerKind::Shell, id: None }, Lifetime::Foreground)
    };
    let task = Task { on: on.map(str::to_owned), ..task };
    let workspace = Workspace::load(surroundings, None);
    plan_tasks(&workspace, &options, [(task, None)]).unwrap().tasks.remove(0)
}

#[test]
fn a_task_of_the_fleet_is_ruled_where_its_agent_works() {
    let world = World::new();
    let asked = Task {
        schema: Some(serde_json::json!({"type": "object"})),
        access: Some(Access::Read),
        timeout: Some(7.0),
        ..task()
    };
    let here = plan_on(&world, None, asked.clone());
    let there = plan_on(&world, Some("fleet:big"), asked);
    assert_eq!((&here.refusal, &there.refusal), (&None, &None));
    let (local, relayed) = (&here.plan.meta, &there.plan.meta);
    assert_eq!(local.protocol.as_deref(), Some("pi-rpc"));
    assert_eq!(relayed.protocol.as_deref(), Some("events"));
    assert_eq!((local.limits.timeout_ms, relayed.limits.timeout_ms), (Some(7_000), None));
    assert!(local.admission.is_some() && relayed.admission.is_none());
    assert!(local.access_paths.is_some() && relayed.access_paths.is_none());
    assert!(here.plan.prompt.contains("JSON Schema") && !there.plan.prompt.contains("JSON Schema"));
    // There is no program anywhere in this world.
    assert_eq!((here.missing_agent, there.missing_agent), (Some(AgentKind::Pi), None));
    assert_eq!((&local.agent, &relayed.agent), (&Some(AgentKind::Pi), &Some(AgentKind::Pi)));
    let (pool, sent) = *there.remote.unwrap();
    assert_eq!((pool.name(), sent.limits.timeout_ms), ("big", Some(7_000)));
    assert!(here.remote.is_none());
}

#[test]
fn what_an_agent_elsewhere_changes_comes_back_only_into_a_repository() {
    let world = World::new();
    let has_worktree = |on, isolation| {
        let planned = plan_on(&world, on, Task { isolation, ..task() });
        planned.plan.meta.worktree.is_some()
    };
    let asked = Some(Isolation::Worktree);
    assert!(has_worktree(None, asked) && !has_worktree(None, None));
    assert!(!has_worktree(Some("fleet"), asked), "there is nothing to which they could come");
    fs::create_dir(world.at("project/.git")).unwrap();
    assert!(has_worktree(Some("fleet"), None) && !has_worktree(None, None));
}

/// It must not be carried out here instead.
#[test]
fn a_pool_that_cannot_be_understood_refuses_the_task() {
    let planned = plan_on(&World::new(), Some("fleet:not a name"), task());
    assert!(matches!(planned.refusal, Some(Refusal::Pool(_))), "{:?}", planned.refusal);
    let meta = &planned.plan.meta;
    assert_eq!((meta.protocol.as_deref(), &meta.admission), (Some("events"), &None));
    assert_eq!((&meta.agent, planned.missing_agent), (&Some(AgentKind::Pi), None));
    assert!(planned.remote.is_none() && planned.plan.command.is_empty());
}

#[test]
fn hints_come_from_what_is_wrong() {
    let world = World::new();
    let hint = |agent: Agent, task: Task| {
        world.plan_all(agent, vec![task]).tasks.remove(0).start_hint().unwrap_or_default()
    };
    let preset = Task { preset: Some("nope".to_owned()), ..task() };
    for (task, expected) in [
        (Task { cwd: Some("src".to_owned()), ..task() }, "give the whole path"),
        (with_profile("nope"), "`pi-subagents profile list` lists"),
        (preset, "`pi-subagents preset list` lists"),
        // There is no program anywhere in this world.
        (task(), "see --agent"),
    ] {
        let found = hint(Agent::Pi, task);
        assert!(found.starts_with(expected), "{found}");
    }
    assert_eq!(hint(Agent::Builtin, task()), "");
    let program = Agent::Program(vec!["/no/such/program".to_owned()]);
    assert!(hint(program, task()).starts_with("see --agent"));
    let program = Agent::Program(vec!["/bin/sh".to_owned()]);
    assert_eq!(hint(program, task()), "");
}
