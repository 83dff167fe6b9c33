use std::fs;

use super::*;
use crate::testing::{World, ended, options, planned, running, said, session_id, told};

impl World {
    fn plan(&self, tasks: Vec<TaskArguments>) -> Result<Vec<PlannedTask>, String> {
        self.plan_with(tasks, None)
    }

    fn plan_with(
        &self,
        tasks: Vec<TaskArguments>,
        default_profile: Option<&str>,
    ) -> Result<Vec<PlannedTask>, String> {
        let arguments = DelegateArguments { tasks, profile: default_profile.map(str::to_owned) };
        plan_delegation(&self.workspace(None), arguments, &options())
            .map(|call| call.tasks)
            .map_err(|error| error.to_string())
    }

    /// Why the tasks of a call that is not refused must not start.
    fn refusals(&self, tasks: Vec<TaskArguments>) -> Vec<Option<String>> {
        self.plan(tasks).unwrap().into_iter().map(|task| task.plan.refusal).collect()
    }
}

fn task() -> TaskArguments {
    TaskArguments { name: "t".to_owned(), prompt: "Go.".to_owned(), ..TaskArguments::default() }
}

fn with_profile(name: &str) -> TaskArguments {
    TaskArguments { profile: Some(name.to_owned()), ..task() }
}

fn resuming(session: u64) -> TaskArguments {
    TaskArguments { resume: Some(session_id(session).to_string()), ..task() }
}

fn in_directory(cwd: &str) -> TaskArguments {
    TaskArguments { cwd: Some(cwd.to_owned()), ..task() }
}

#[test]
fn a_plain_task_has_a_session_of_its_own_and_ten_minutes() {
    let world = World::new();
    let planned = world.plan(vec![task(), task()]).unwrap();
    let [one, other] = &planned[..] else { panic!("{planned:?}") };
    assert_eq!(one.plan.refusal, None);
    assert_eq!(one.plan.meta.limits.timeout_ms, Some(600_000));
    assert_eq!(one.plan.meta.cwd, world.at("project"));
    assert_eq!((one.plan.prompt.as_str(), &one.plan.meta.task), ("Go.", &Some("Go.".to_owned())));
    assert_ne!(one.plan.meta.session_id, other.plan.meta.session_id);
    assert_ne!(one.plan.meta.run_id, other.plan.meta.run_id);
}

#[test]
fn an_unknown_profile_fails_its_task_alone() {
    let world = World::new();
    let refusals = world.refusals(vec![with_profile("nope"), task()]);
    let expected = "Unknown profile: \"nope\". Available profiles: (none)";
    assert_eq!(refusals, [Some(expected.to_owned()), None]);
    world.profile("fast", "model: x/y");
    world.profile("slow", "");
    let planned = world.plan_with(vec![task(), with_profile("fast")], Some("nope")).unwrap();
    let expected = "Unknown profile: \"nope\". Available profiles: fast, slow";
    assert_eq!(planned[0].plan.refusal.as_deref(), Some(expected));
    assert_eq!(planned[0].definition.as_deref(), Some("nope"));
    assert_eq!(planned[1].plan.refusal, None);
    assert_eq!(planned[1].plan.meta.profile.as_deref(), Some("fast"));
    assert_eq!(planned[1].plan.meta.model.as_deref(), Some("x/y"));
}

#[test]
fn a_contradiction_in_a_profile_refuses_the_call() {
    for (fields, expected) in [
        (
            "tools: read\nexcludeTools: bash",
            "Profile \"p\" has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) set. \
             These are mutually exclusive — choose one or the other.",
        ),
        (
            "noSkills: true\nsuggestedSkills: a",
            "Profile \"p\" has both \"suggestedSkills\" and \"noSkills\" set. These are mutually \
             exclusive — --no-skills would override --skill flags.",
        ),
        (
            "noSkills: true\nloadSkills: a",
            "Profile \"p\" has both \"loadSkills\" and \"noSkills\" set. These are mutually \
             exclusive — --no-skills disables skill discovery.",
        ),
    ] {
        let world = World::new();
        world.profile("p", fields);
        for (tasks, default_profile) in
            [(vec![task(), with_profile("p")], None), (vec![with_profile("x"), task()], Some("p"))]
        {
            assert_eq!(world.plan_with(tasks, default_profile).unwrap_err(), expected);
        }
        // A profile that no task uses does no harm.
        assert!(world.plan_with(vec![with_profile("x")], Some("p")).is_ok());
    }
}

#[test]
fn a_session_that_cannot_be_resumed_refuses_the_call() {
    let world = World::new();
    let store = project_store(&world.workspace(None));
    let id = session_id(1);
    assert_eq!(
        world.plan(vec![task(), resuming(1)]).unwrap_err(),
        format!(
            "Cannot resume: session \"{id}\" not found. The session may have expired or the ID is \
             incorrect."
        )
    );
    let alive = running(&store, &planned(1, 1, "Look.", None), &[told("Look.")]);
    assert_eq!(
        world.plan(vec![task(), resuming(1)]).unwrap_err(),
        format!(
            "Cannot resume: session \"{id}\" is still running. Wait for it to complete before \
             resuming."
        )
    );
    drop(alive);
    assert!(world.plan(vec![resuming(1)]).is_ok());
    assert_eq!(
        world.plan(vec![resuming(1), task(), resuming(1)]).unwrap_err(),
        format!("Cannot resume: session \"{id}\" is continued by another task of the same call.")
    );
    let resuming = |id: &str| TaskArguments { resume: Some(id.to_owned()), ..task() };
    assert!(world.plan(vec![resuming("run-000001")]).is_ok(), "a run leads to its session");
    // Only the whole id: the beginning of one could be that of another session.
    for other in ["run-00000", &id.as_str()[..8]] {
        assert!(world.plan(vec![resuming(other)]).unwrap_err().contains("not found"), "{other}");
    }
}

#[test]
fn a_resumed_task_is_told_the_past_and_remembers_what_was_asked() {
    let world = World::new();
    let store = project_store(&world.workspace(None));
    ended(&store, &planned(1, 1, "Look.", None), &[told("Look."), said("A.")], None);
    fs::write(world.at("project/a.txt"), "contents\n").unwrap();
    let file = plan::FileSpec { path: "a.txt".to_owned(), lines: plan::Lines::All };
    let planned = world.plan(vec![TaskArguments { files: vec![file], ..resuming(1) }]).unwrap();
    let plan = &planned[0].plan;
    assert_eq!(plan.meta.session_id, session_id(1));
    assert_eq!(plan.meta.task.as_deref(), Some("Go."));
    assert!(plan.prompt.starts_with("=== a.txt ===\ncontents\n"), "{}", plan.prompt);
    let past = "Previously:\n\n--- Run 1 (completed, 2 messages) ---\n\nUser: Look.\n\nAssistant: A.\n\n\
                Instructions:\n\nGo.";
    assert!(plan.prompt.ends_with(past), "{}", plan.prompt);
}

#[test]
fn an_unknown_skill_fails_its_task_alone() {
    let world = World::new();
    world.profile("p", "suggestedSkills: good, bad\nloadSkills: worse");
    let expected = "Unknown skills: \"good\", \"bad\", \"worse\". Available skills: (none)";
    let refusals = world.refusals(vec![with_profile("p"), task()]);
    assert_eq!(refusals, [Some(expected.to_owned()), None]);
    let skill = world.at("agent/skills/good");
    fs::create_dir(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: good\ndescription: Good.\n---\nBe good.\n")
        .unwrap();
    let expected = "Unknown skills: \"bad\", \"worse\". Available skills: good";
    assert_eq!(world.refusals(vec![with_profile("p")]), [Some(expected.to_owned())]);
}

#[test]
fn extensions_of_a_project_that_is_not_trusted_fail_their_task_alone() {
    let world = World::new();
    world.project_profile("p", "extensions: ./x.ts");
    let path = world.at("project/.pi/agent-profiles/p.md");
    let expected = format!(
        "Profile \"p\" belongs to this project and sets \"extensions\", which can run any program, \
         but the project is not trusted. Look at {}, then trust the project with /trust in pi, or \
         run with --approve.",
        path.display()
    );
    assert_eq!(world.refusals(vec![with_profile("p"), task()]), [Some(expected), None]);
    let arguments = DelegateArguments::of(vec![with_profile("p")]);
    let planned = plan_delegation(&world.workspace(Some(true)), arguments, &options()).unwrap();
    assert_eq!(planned.tasks[0].plan.refusal, None);
}

#[test]
fn a_bad_working_directory_fails_its_task_alone() {
    let world = World::new();
    let fine = world.at("project");
    let tasks = ["src", "", "/a/../b", "/a..b", fine.to_str().unwrap()].map(in_directory);
    let relative = Some("cwd must be an absolute path".to_owned());
    let ascending = Some("cwd must not contain '..' path segments".to_owned());
    assert_eq!(world.refusals(tasks.into()), [relative.clone(), relative, ascending, None, None]);
}
