use std::fs;

use super::*;
use crate::dialogs::testing::Answer::{self, No, Pick, Type, Yes};
use crate::dialogs::testing::Script;
use crate::testing::World;

fn surroundings(world: &World) -> Surroundings {
    Surroundings { home: Some(world.at("")), ..world.surroundings("project") }
}

fn run(world: &World, arguments: &str, answers: &[Answer]) -> Script {
    let mut script = Script::new(answers);
    profile_command(&surroundings(world), arguments, &mut script);
    assert!(script.is_used_up(), "{arguments}: {:?}", script.asked);
    script
}

/// The notices of a command that asks nothing.
fn told(world: &World, arguments: &str) -> Vec<(String, Level)> {
    let script = run(world, arguments, &[]);
    assert!(script.asked.is_empty(), "{arguments}: {:?}", script.asked);
    script.notices
}

fn notice(message: &str, level: Level) -> Vec<(String, Level)> {
    vec![(message.to_owned(), level)]
}

fn world() -> World {
    let world = World::new();
    world.profile("fast", "model: a/b\nthinkingLevel: low");
    world.profile("reviewer", "model: users");
    world.project_profile("reviewer", "tools: read, grep");
    world
}

#[test]
fn profiles_are_listed() {
    let list = "Subagent profiles:\n  profile: fast, model=a/b, thinking=low\n  \
                profile: reviewer, tools=[read,grep]";
    for arguments in ["", "  ", "list", " ls "] {
        assert_eq!(told(&world(), arguments), notice(list, Level::Info), "{arguments:?}");
    }
    assert_eq!(
        told(&World::new(), "list"),
        notice(
            "No subagent profiles found. Add .md files to ~/agent/agent-profiles/ or use /profile \
             create.",
            Level::Info
        )
    );
}

#[test]
fn a_list_tells_which_files_are_broken() {
    let world = world();
    fs::write(world.at("agent/agent-profiles/nameless.md"), "---\nmodel: x\n---\n").unwrap();
    world.profile("odd", "modle: x");
    let notices = told(&world, "list");
    assert_eq!(notices.len(), 2);
    let (warnings, level) = &notices[1];
    assert_eq!(*level, Level::Warning);
    let lines: Vec<&str> = warnings.lines().collect();
    assert_eq!(lines.len(), 2, "{warnings}");
    assert!(lines[0].contains("nameless.md:") && lines[0].contains("it is not loaded"));
    assert!(lines[1].contains("odd.md:3: "), "{warnings}");
}

#[test]
fn a_profile_is_shown_also_by_its_bare_name() {
    let detail = "Profile: fast\n  model:             a/b\n  thinkingLevel:     low";
    for arguments in ["show fast", "fast", "  show   fast "] {
        assert_eq!(told(&world(), arguments), notice(detail, Level::Info), "{arguments}");
    }
    let world = world();
    world.profile("list", "model: x");
    assert_eq!(told(&world, "show list")[0].0, "Profile: list\n  model:             x");
    world.profile("keyed", "apiKey: sk-test-abc123");
    assert!(told(&world, "keyed")[0].0.ends_with("sk-t****c123"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let usage =
        "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>|import <name>]";
    let create = "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)";
    for (arguments, message, level) in [
        ("show", "Usage: /profile show <name>", Level::Warning),
        ("show slow", "Profile \"slow\" not found. Available: fast, reviewer", Level::Error),
        (
            "show fast reviewer",
            "Profile \"fast reviewer\" not found. Available: fast, reviewer",
            Level::Error,
        ),
        ("create", create, Level::Warning),
        ("new", create, Level::Warning),
        ("create a b", create, Level::Warning),
        ("create ../a", create, Level::Warning),
        (
            "create fast",
            "Profile \"fast\" already exists. Use /profile edit fast to modify it.",
            Level::Warning,
        ),
        ("edit", "Usage: /profile edit <name>", Level::Warning),
        (
            "edit slow",
            "Profile \"slow\" not found. Use /profile create slow to create it.",
            Level::Error,
        ),
        ("delete", "Usage: /profile delete <name>", Level::Warning),
        ("rm", "Usage: /profile delete <name>", Level::Warning),
        ("remove", "Usage: /profile delete <name>", Level::Warning),
        ("delete slow", "Profile \"slow\" not found.", Level::Error),
        ("delete ../project/x", "Profile \"../project/x\" not found.", Level::Error),
        ("slow", usage, Level::Warning),
        ("fast reviewer", usage, Level::Warning),
    ] {
        assert_eq!(told(&world(), arguments), notice(message, level), "{arguments}");
    }
    assert_eq!(
        told(&World::new(), "show fast"),
        notice("Profile \"fast\" not found. Available: (none)", Level::Error)
    );
}

#[test]
fn a_file_that_cannot_be_loaded_is_the_reason() {
    let world = world();
    let path = world.at("agent/agent-profiles/broken.md");
    fs::write(&path, "---\nname: broken\nnoTools: maybe\n---\n").unwrap();
    for arguments in ["show broken", "edit broken"] {
        let notices = told(&world, arguments);
        assert_eq!(notices[0].1, Level::Error);
        assert_eq!(notices[1].1, Level::Warning);
        assert!(notices[1].0.contains("it is not loaded"), "{notices:?}");
    }
    // Creating it would replace the file, so that is refused in the end, without losing a word.
    let answers = [Pick(0), Type(""), Type(""), No, No, No, No, No, No, No, Yes, Pick(1)];
    let notices = run(&world, "create broken", &answers).notices;
    let levels: Vec<Level> = notices.iter().map(|(_, level)| *level).collect();
    assert_eq!(levels, [Level::Warning, Level::Error, Level::Info]);
    assert!(world.at("project/.pi/agent-profiles/broken.md").exists());
    // And it can be deleted.
    run(&world, "delete broken", &[Yes]);
    assert!(!path.exists());
}

#[test]
fn a_profile_is_created_and_edited() {
    let world = World::new();
    let answers = |model| [Pick(0), Type(""), Type(model), No, No, No, No, No, No, No, Yes];
    let saved = notice("Profile \"quick\" saved to global agent-profiles.", Level::Info);
    assert_eq!(run(&world, "new quick", &answers("one")).notices, saved);
    assert_eq!(told(&world, "quick")[0].0, "Profile: quick\n  model:             one");
    assert_eq!(run(&world, "edit quick", &answers("two")).notices, saved);
    assert_eq!(told(&world, "quick")[0].0, "Profile: quick\n  model:             two");
    let cancelled = run(&world, "edit quick", &[&answers("three")[..10], &[No]].concat());
    assert_eq!(cancelled.notices, notice("Cancelled.", Level::Info));
    assert_eq!(told(&world, "quick")[0].0, "Profile: quick\n  model:             two");
    assert_eq!(run(&world, "edit quick", &[]).notices, []);
}

#[test]
fn whoever_edits_a_file_with_mistakes_is_told_about_them_first() {
    let world = World::new();
    world.project_profile("p", "apiKey: sk-test-abc123");
    world.project_profile("other", "modle: x");
    let notices = run(&world, "edit p", &[]).notices;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].1, Level::Warning);
    assert!(notices[0].0.contains("Refusing to load apiKey"), "{notices:?}");
    assert!(!notices[0].0.contains("other.md"), "{notices:?}");
}

#[test]
fn deleting_asks_first_and_removes_from_both_scopes() {
    let world = world();
    let names = ["agent/agent-profiles/reviewer.md", "project/.pi/agent-profiles/reviewer.md"];
    let script = run(&world, "delete reviewer", &[No]);
    assert_eq!(script.asked, ["Delete profile? Delete subagent profile \"reviewer\"?"]);
    assert_eq!(script.notices, []);
    assert!(names.iter().all(|name| world.at(name).exists()));
    let script = run(&world, "rm reviewer", &[Yes]);
    assert_eq!(script.notices, notice("Profile \"reviewer\" deleted.", Level::Info));
    assert!(!names.iter().any(|name| world.at(name).exists()));
    run(&world, "remove fast", &[Yes]);
    assert!(!world.at("agent/agent-profiles/fast.md").exists());
}

#[test]
fn a_definition_of_claude_code_is_shown_and_copied_but_not_changed() {
    let world = World::new();
    world.profile("fast", "");
    fs::create_dir_all(world.at("project/.claude/agents")).unwrap();
    let path = world.at("project/.claude/agents/critic.md");
    let text = "---\nname: critic\ntools: Read, Task\nhooks: {}\n---\nYou criticise.\n";
    fs::write(&path, text).unwrap();
    let list = "Subagent profiles:\n  profile: critic, custom-system-prompt, tools=[read,Task], \
                origin=claude\n  profile: fast";
    assert_eq!(told(&world, "list"), notice(list, Level::Info));
    let detail = format!(
        "Profile: critic\n  systemPrompt:      You criticise.\n  tools:             [read, Task]\n  \
         origin:            claude, {}\n  notTakenOver:      [hooks]",
        path.display()
    );
    assert_eq!(told(&world, "critic"), notice(&detail, Level::Info));
    let refused = "Profile \"critic\" belongs to Claude Code (.claude/agents/critic.md). \
                   Use /profile import critic to make a copy of your own.";
    for arguments in ["edit critic", "delete critic", "rm critic"] {
        assert_eq!(told(&world, arguments), notice(refused, Level::Warning), "{arguments}");
    }
    let completed = |prefix| complete_profile_command(&surroundings(&world), prefix);
    assert_eq!(completed("import "), ["import critic"]);
    assert_eq!(completed("edit "), ["edit fast"]);
    assert_eq!(completed("show "), ["show critic", "show fast"]);
    let saved = notice("Profile \"critic\" saved to global agent-profiles.", Level::Info);
    assert_eq!(told(&world, "import critic"), saved);
    let copy = fs::read_to_string(world.at("agent/agent-profiles/critic.md")).unwrap();
    assert_eq!(copy, "---\nname: critic\ntools: read,Task\n---\n\nYou criticise.\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // From now on, the copy is meant.
    let own = notice("Profile \"critic\" is your own already.", Level::Warning);
    assert_eq!(told(&world, "import critic"), own);
    run(&world, "delete critic", &[Yes]);
    assert!(path.exists() && !world.at("agent/agent-profiles/critic.md").exists());
    assert_eq!(told(&world, "critic"), notice(&detail, Level::Info));
}

#[test]
fn arguments_are_completed() {
    let world = world();
    world.profile("listing", "");
    world.profile("show", "");
    for (prefix, expected) in [
        (
            "",
            &["list", "show", "create", "edit", "delete", "import", "fast", "listing", "reviewer"]
                [..],
        ),
        ("li", &["list", "listing"]),
        ("re", &["reviewer"]),
        ("x", &[]),
        ("show ", &["show fast", "show listing", "show reviewer", "show show"]),
        ("show re", &["show reviewer"]),
        ("  edit   fa", &["edit fast"]),
        ("rm l", &["rm listing"]),
        ("delete x", &[]),
        ("create f", &[]),
        ("list f", &[]),
        ("fast f", &[]),
        ("show fast f", &[]),
        // Enter runs what is complete, also if it is the beginning of another name.
        ("list", &[]),
        ("fast", &[]),
        ("show fast", &[]),
        (" edit  listing ", &[]),
    ] {
        let completed = complete_profile_command(&surroundings(&world), prefix);
        assert_eq!(completed, expected, "{prefix:?}");
    }
}
