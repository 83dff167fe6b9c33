//! Profiles as the child sees them.

use std::fs;

use serde_json::json;

use super::{delegate, profile, project_profile, world};

#[test]
fn a_profile_becomes_arguments_in_their_order() {
    let world = world();
    profile(
        &world,
        "reviewer",
        "---\nname: reviewer\nprovider: anthropic\nmodel: claude\nthinkingLevel: high\n\
         tools: read,bash\nnoExtensions: true\nnoContextFiles: true\nextraArgs: --verbose\n\
         appendSystemPrompt: Be brief.\n---\n\nYou are a reviewer.\n",
    );
    let ran = world.play(&json!([{"tell": "arguments"}]), &["--profile", "reviewer"]);
    let run_dir = ran.run_dir();
    let path = |name: &str| run_dir.join(name).display().to_string();
    assert_eq!(
        ran.task()["output"],
        format!(
            "--mode json -p --no-session --provider anthropic --model claude --system-prompt {} \
             --append-system-prompt {} --thinking high --tools read,bash --no-extensions \
             --no-context-files --verbose",
            path("system-prompt.md"),
            path("append-system-prompt.md")
        )
    );
    assert_eq!(fs::read_to_string(path("system-prompt.md")).unwrap(), "You are a reviewer.");
    assert_eq!(fs::read_to_string(path("append-system-prompt.md")).unwrap(), "Be brief.");
    assert_eq!(
        ran.task()["profile"],
        "profile: reviewer, model=claude, thinking=high, custom-system-prompt, \
         appended-system-prompt, tools=[read,bash]"
    );
}

#[test]
fn the_project_wins_and_a_flag_wins_over_both() {
    let world = world();
    profile(&world, "x", "---\nname: x\nmodel: global\n---\n");
    project_profile(&world, "x", "---\nname: x\nmodel: project\n---\n");
    let script = json!([{"tell": "arguments"}]);
    let model = |arguments: &[&str]| {
        let output = world.play(&script, arguments).task()["output"].clone();
        output.as_str().unwrap().split("--model ").nth(1).unwrap().to_owned()
    };
    assert_eq!(model(&["--profile", "x"]), "project");
    assert_eq!(model(&["--profile", "x", "--model", "flag"]), "flag");
}

#[test]
fn three_hundred_kilobytes_of_system_prompt_arrive_whole() {
    let world = world();
    let body = "Żółw. ".repeat(40_000);
    profile(&world, "long", &format!("---\nname: long\n---\n{body}\n"));
    let ran = world.play(&json!([{"say": "done"}]), &["--profile", "long"]);
    let stored = fs::read_to_string(ran.run_dir().join("system-prompt.md")).unwrap();
    assert!(stored.len() > 300_000);
    assert_eq!(stored, body.trim());
}

#[test]
fn a_hostile_project_runs_nothing_until_the_user_agrees() {
    let world = world();
    project_profile(
        &world,
        "evil",
        "---\nname: evil\nextensions: ./evil.js\nextraArgs: --evil\n---\n",
    );
    let script = json!([{"tell": "arguments"}]);
    let refused = world.play(&script, &["--profile", "evil"]);
    assert_eq!(refused.code, Some(2));
    let error = &refused.stderr;
    assert!(error.contains("the project is not trusted") && error.contains("--approve"), "{error}");
    assert!(world.runs().is_empty());
    let approved = world.play(&script, &["--profile", "evil", "--approve"]);
    let output = approved.task()["output"].as_str().unwrap().to_owned();
    assert!(output.contains("--extension") && output.ends_with("--evil"), "{output}");
}

#[test]
fn a_contradiction_refuses_the_whole_call() {
    let world = world();
    profile(&world, "both", "---\nname: both\ntools: read\nexcludeTools: bash\n---\n");
    let call = json!({"tasks": [
        {"name": "a", "prompt": "p"}, {"name": "b", "prompt": "p", "profile": "both"}]});
    let ran = delegate(&world, &json!([{"say": "never"}]), &call, &[]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains(
            "Profile \"both\" has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) set. \
             These are mutually exclusive — choose one or the other."
        ),
        "{ran:?}"
    );
    assert!(world.runs().is_empty(), "nothing was started");
}

#[test]
fn skills_are_suggested_loaded_and_missed() {
    let world = world();
    let skill = world.agent_dir().join("skills/greeting");
    fs::create_dir_all(&skill).unwrap();
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: greeting\ndescription: How to greet\n---\nSay hi.\n",
    )
    .unwrap();
    profile(&world, "suggests", "---\nname: suggests\nsuggestedSkills: greeting\n---\n");
    profile(&world, "loads", "---\nname: loads\nloadSkills: greeting\n---\n");
    profile(&world, "misses", "---\nname: misses\nloadSkills: [nope]\n---\n");
    let script = json!([{"tell": "arguments"}]);
    let suggested = world.play(&script, &["--profile", "suggests"]).task()["output"].clone();
    assert!(suggested.as_str().unwrap().ends_with("skills/greeting/SKILL.md"), "{suggested}");
    let loaded = world.play(&script, &["--profile", "loads"]);
    let appended = fs::read_to_string(loaded.run_dir().join("append-system-prompt.md")).unwrap();
    assert_eq!(appended.trim_start(), "<loaded_skill name=\"greeting\">\nSay hi.\n</loaded_skill>");
    let missed = world.play(&script, &["--profile", "misses"]);
    assert_eq!(missed.code, Some(2), "{missed:?}");
    let expected = "Unknown skills: \"nope\". Available skills: greeting";
    assert!(missed.stderr.contains(expected), "{missed:?}");
}

#[test]
fn profiles_are_listed_shown_and_deleted() {
    let world = world();
    let empty = world.run(&["profile", "list"]);
    assert!(empty.stderr.contains("No subagent profiles found."), "{empty:?}");
    profile(&world, "fast", "---\nname: fast\nmodel: x/y\napiKey: sk-test-abc123\n---\n");
    profile(&world, "broken", "---\nname: [broken\n---\n");
    let listed = world.run(&["profile", "list"]);
    assert_eq!(listed.stdout, "profile: fast, model=x/y\n");
    assert!(listed.stderr.contains("broken.md:2"), "a broken file names its line: {listed:?}");
    let shown = world.run(&["profile", "show", "fast"]);
    assert!(shown.stdout.contains("sk-t****c123") && !shown.stdout.contains("abc"), "{shown:?}");
    let shown = world.run(&["profile", "show", "fast", "--json"]).json();
    assert_eq!((&shown["apiKey"], &shown["scope"]), (&json!("sk-t****c123"), &json!("global")));
    let missing = world.run(&["profile", "show", "slow"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("Profile \"slow\" not found. Available: fast"), "{missing:?}");
    assert_eq!(world.run(&["profile", "delete", "fast"]).stdout, "Profile \"fast\" deleted.\n");
    assert!(!world.agent_dir().join("agent-profiles/fast.md").exists());
}

#[test]
fn copilot_models_are_announced_and_others_are_not() {
    let world = world();
    profile(&world, "pilot", "---\nname: pilot\nprovider: github-copilot\nmodel: gpt\n---\n");
    let script = json!([{"tell": {"variable": "PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR"}}]);
    let said = |arguments: &[&str]| world.play(&script, arguments).task()["output"].clone();
    assert_eq!(said(&["--profile", "pilot"]), "agent");
    assert_eq!(said(&["--model", "github-copilot/gpt"]), "agent");
    assert_eq!(said(&["--profile", "pilot", "--model", "openai/gpt"]), "(unset)");
}
