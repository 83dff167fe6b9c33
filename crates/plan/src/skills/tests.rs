use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};

use super::testing::World;
use super::*;
use crate::{DefinitionDirectories, Trust};

fn names(skills: &Skills) -> Vec<&str> {
    skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn problems(skills: &Skills) -> Vec<&str> {
    skills.warnings.iter().map(|warning| warning.problem.as_str()).collect()
}

fn definition(suggested: &[&str], loaded: &[&str]) -> Definition {
    let directories = DefinitionDirectories {
        kind: crate::DefinitionKind::Profile,
        global: "/g".into(),
        project: "/p".into(),
        claude: Vec::new(),
    };
    let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut definition = Definition::new("p", Scope::Global, &directories);
    definition.suggested_skills = strings(suggested);
    definition.load_skills = strings(loaded);
    definition
}

#[test]
fn what_another_user_put_into_a_directory_for_everybody_is_no_skill() {
    let world = World::new();
    world.skill("home/repo/.agents/skills/planted", "planted");
    world.skill("home/repo/project/.agents/skills/ours", "ours");
    fs::set_permissions(world.at("home/repo"), fs::Permissions::from_mode(0o1777)).unwrap();
    // Only root can give a file to another user; for other users it stays their own directory.
    let is_planted = lchown(world.at("home/repo/.agents"), Some(12_345), None).is_ok();
    let skills = world.discover(Trust::Trusted);
    let expected: &[&str] = if is_planted { &["ours"] } else { &["ours", "planted"] };
    assert_eq!(names(&skills), expected);
}

#[test]
fn skills_are_found_wherever_pi_looks() {
    let world = World::new();
    for (directory, name) in [
        ("home/agent/skills/user", "user"),
        ("home/agent/skills/group/nested", "nested"),
        ("home/.agents/skills/shared", "shared"),
        ("home/repo/project/.pi/skills/project", "project"),
        ("home/repo/project/.agents/skills/standard", "standard"),
        ("home/repo/.agents/skills/repository", "repository"),
        ("home/repo/project/.pi/skills/project/below", "hidden-below-a-skill"),
        ("home/agent/skills/node_modules/package", "of-a-package"),
        ("home/agent/skills/.hidden/skill", "hidden"),
        (".agents/skills/above", "above-the-repository"),
    ] {
        world.skill(directory, name);
    }
    let skills = world.discover(Trust::Trusted);
    assert_eq!(names(&skills), ["nested", "project", "repository", "shared", "standard", "user"]);
    assert_eq!(problems(&skills), Vec::<&str>::new());
    let project = skills.iter().find(|skill| skill.name == "project").unwrap();
    assert_eq!(project.path, world.at("home/repo/project/.pi/skills/project/SKILL.md"));
    assert_eq!((project.description.as_str(), project.scope), ("About project.", Scope::Project));
}

#[test]
fn outside_of_a_repository_all_directories_above_count() {
    let world = World::new();
    fs::remove_dir(world.at("home/repo/.git")).unwrap();
    world.skill(".agents/skills/above", "above");
    world.skill("home/.agents/skills/shared", "shared");
    let skills = world.discover(Trust::Trusted);
    assert_eq!(names(&skills), ["above", "shared"]);
    let shared = skills.iter().find(|skill| skill.name == "shared").unwrap();
    assert_eq!(shared.scope, Scope::Global);
}

#[test]
fn some_other_markdown_files_are_skills_too() {
    let world = World::new();
    let contents = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
    for (path, name) in [
        ("home/agent/skills/file.md", "in-the-directory"),
        ("home/agent/skills/deep/file.md", "no"),
        ("home/repo/.agents/skills/file.md", "no"),
        ("home/repo/.agents/skills/deep/file.md", "below-the-directory"),
    ] {
        world.write(path, &contents(name));
    }
    world.write("home/agent/skills/README.md", "# No skill at all");
    world.write("home/agent/skills/notes.md", "---\nname: notes\n---\n");
    let skills = world.discover(Trust::Trusted);
    assert_eq!(names(&skills), ["below-the-directory", "in-the-directory"]);
    assert_eq!(problems(&skills), Vec::<&str>::new());
}

#[test]
fn a_skill_without_a_name_is_called_as_its_directory() {
    let world = World::new();
    world.write("home/agent/skills/one/SKILL.md", "---\ndescription: d\n---\n");
    world.write("home/agent/skills/two/SKILL.md", "---\nname: 2\ndescription: d\n---\n");
    assert_eq!(names(&world.discover(Trust::Undecided)), ["one", "two"]);
}

#[test]
fn what_is_wrong_with_a_skill_is_a_warning() {
    let world = World::new();
    world.write("home/agent/skills/a/SKILL.md", "---\nname: a\n---\n");
    world.write("home/agent/skills/b/SKILL.md", "---\nname: [\n---\n");
    world.write("home/agent/skills/c/SKILL.md", "no frontmatter");
    world.skill("home/agent/skills/d", "d");
    world.skill("home/agent/skills/e", "d");
    world.write("home/agent/skills/f/SKILL.md", "---\ndescription: Use it: now\n---\n");
    let skills = world.discover(Trust::Undecided);
    assert_eq!(names(&skills), ["d", "f"]);
    let found = problems(&skills);
    assert_eq!(found.len(), 5);
    assert!(found[4].ends_with("pi cannot read this skill"), "{found:?}");
    assert_eq!(found[0], "the skill has no \"description\" and is not used");
    assert!(found[1].starts_with("its frontmatter cannot be understood"), "{found:?}");
    assert!(found[2].starts_with("it does not begin with frontmatter"), "{found:?}");
    assert!(found[3].starts_with("the skill \"d\" is not used"), "{found:?}");
}

#[test]
fn a_project_that_is_not_trusted_has_no_skills() {
    let world = World::new();
    world.skill("home/agent/skills/a", "same");
    world.skill("home/repo/project/.pi/skills/a", "same");
    world.skill("home/repo/.agents/skills/b", "other");
    for trust in [Trust::Undecided, Trust::Refused] {
        let skills = world.discover(trust);
        assert_eq!(names(&skills), ["same"]);
        assert_eq!(skills.iter().next().unwrap().scope, Scope::Global);
        assert_eq!(skills.warnings.len(), 2);
        assert!(problems(&skills)[0].contains("--approve"), "{:?}", skills.warnings);
    }
    for trust in [Trust::Trusted, Trust::Approved] {
        let skills = world.discover(trust);
        assert_eq!(names(&skills), ["other", "same"]);
        assert_eq!(skills.iter().nth(1).unwrap().scope, Scope::Project, "the nearest wins");
    }
}

#[test]
fn links_in_circles_end_and_a_file_counts_once() {
    let world = World::new();
    world.skill("home/agent/skills/group/a", "a");
    symlink(world.at("home/agent/skills"), world.at("home/agent/skills/group/circle")).unwrap();
    fs::create_dir_all(world.at("home/.agents")).unwrap();
    symlink(world.at("home/agent/skills"), world.at("home/.agents/skills")).unwrap();
    let skills = world.discover(Trust::Undecided);
    assert_eq!(names(&skills), ["a"]);
    assert_eq!(problems(&skills), Vec::<&str>::new());
}

#[test]
fn names_become_paths_and_texts() {
    let world = World::new();
    world.skill("home/agent/skills/a", "a");
    world.skill("home/agent/skills/b", "b");
    world.write("home/agent/skills/empty/SKILL.md", "---\ndescription: d\n---\n\n");
    let skills = world.discover(Trust::Undecided);
    let mut named = definition(&["b", "a", "b"], &["a", "empty"]);
    skills.add_to(&mut named, Path::new("/")).unwrap();
    let path = |name: &str| world.at(&format!("home/agent/skills/{name}/SKILL.md"));
    assert_eq!(named.configuration.skills, [path("b"), path("a")]);
    let appended = format!("\n\n{}", block("a", "Do a."));
    assert_eq!(named.configuration.append_system_prompt, Some(appended));
    let mut named = definition(&[], &[]);
    skills.add_to(&mut named, Path::new("/")).unwrap();
    assert_eq!(named, definition(&[], &[]));
}

#[test]
fn loaded_skills_follow_what_is_appended() {
    let world = World::new();
    world.skill("home/agent/skills/a", "a");
    world.skill("home/agent/skills/b", "b");
    let skills = world.discover(Trust::Undecided);
    let mut named = definition(&[], &["a", "b"]);
    named.configuration.append_system_prompt = Some("Own.".to_owned());
    skills.add_to(&mut named, Path::new("/")).unwrap();
    let expected = format!("Own.\n\n{}\n\n{}", block("a", "Do a."), block("b", "Do b."));
    assert_eq!(named.configuration.append_system_prompt, Some(expected));
}

#[test]
fn a_loaded_skill_is_a_block() {
    let block = |name: &str| block(name, "Do\nit.");
    assert_eq!(block("a"), "<loaded_skill name=\"a\">\nDo\nit.\n</loaded_skill>");
    assert!(block("a\"<&>").starts_with("<loaded_skill name=\"a&quot;&lt;&amp;>\">\n"));
}

#[test]
fn unknown_skills_are_listed_with_the_known_ones() {
    let world = World::new();
    let message = |suggested: &[&str], loaded: &[&str]| {
        let skills = world.discover(Trust::Undecided);
        let mut named = definition(suggested, loaded);
        skills.add_to(&mut named, Path::new("/")).unwrap_err().to_string()
    };
    assert_eq!(message(&["a"], &[]), "Unknown skills: \"a\". Available skills: (none)");
    world.skill("home/agent/skills/y", "y");
    world.skill("home/agent/skills/x", "x");
    assert_eq!(
        message(&["a", "x"], &["b", "a"]),
        "Unknown skills: \"a\", \"b\". Available skills: x, y"
    );
    assert_eq!(message(&[], &["b"]), "Unknown skills: \"b\". Available skills: x, y");
}

#[test]
fn a_skill_of_a_project_cannot_lead_elsewhere() {
    let world = World::new();
    world.skill("outside/evil", "evil");
    world.skill("home/repo/project/docs/inner", "inner");
    world.skill("outside/own", "own");
    world.skill("home/repo/.agents/skills/above", "above");
    for directory in ["home/repo/project/.pi/skills", "home/agent/skills"] {
        fs::create_dir_all(world.at(directory)).unwrap();
    }
    for (target, link) in [
        ("outside/evil", "home/repo/project/.pi/skills/evil"),
        ("home/repo/project/docs/inner", "home/repo/project/.pi/skills/inner"),
        ("outside/own", "home/agent/skills/own"),
    ] {
        symlink(world.at(target), world.at(link)).unwrap();
    }
    let skills = world.discover(Trust::Trusted);
    let resolve = |name: &str, cwd: &str| {
        for mut definition in [definition(&[name], &[]), definition(&[], &[name])] {
            skills.add_to(&mut definition, &world.at(cwd)).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    let real = fs::canonicalize(world.at("outside/evil/SKILL.md")).unwrap();
    let refusal = format!("Refusing skill path outside allowed directories: {}", real.display());
    assert_eq!(resolve("evil", "home/repo/project"), Err(refusal));
    assert_eq!(resolve("evil", "outside"), Ok(()), "the task's own directory is allowed");
    for name in ["inner", "own", "above"] {
        assert_eq!(resolve(name, "home/repo/project"), Ok(()), "{name}");
    }
}

#[test]
fn a_skill_that_vanished_is_an_error() {
    let world = World::new();
    world.skill("home/agent/skills/a", "a");
    let skills = world.discover(Trust::Undecided);
    fs::remove_file(world.at("home/agent/skills/a/SKILL.md")).unwrap();
    let mut named = definition(&[], &["a"]);
    let error = skills.add_to(&mut named, Path::new("/")).unwrap_err().to_string();
    assert!(error.starts_with("Skill \"a\" cannot be loaded: "), "{error}");
}

#[test]
fn skills_can_be_named_by_their_paths() {
    let world = World::new();
    world.skill("home/agent/skills/known", "known");
    world.skill("outside/group/deep/one", "one");
    world.skill("outside/same", "known");
    world.skill("outside/named", "named");
    world.write("outside/file.md", "---\nname: file\ndescription: A file.\n---\n");
    world.write("outside/text.txt", "no skill");
    let paths = [
        "home/agent/skills/known/SKILL.md",
        "outside/group",
        "outside/same",
        "outside/named/SKILL.md",
        "outside/file.md",
        "outside/text.txt",
        "outside/missing",
    ]
    .map(|path| world.at(path));
    let skills = with_skill_paths(world.discover(Trust::Undecided), &paths);
    assert_eq!(names(&skills), ["file", "known", "named", "one"]);
    assert_eq!(skills.skills["known"].path, world.at("home/agent/skills/known/SKILL.md"));
    let problems = problems(&skills);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].contains("has the same name"));
    assert_eq!(problems[1], "it is neither a directory nor a Markdown file");
    assert_eq!(problems[2], "there is no such skill");
}

#[test]
fn a_skill_can_be_kept_from_the_model() {
    let world = World::new();
    world.skill("home/agent/skills/open", "open");
    world.write(
        "home/agent/skills/closed/SKILL.md",
        "---\nname: closed\ndescription: For people.\ndisable-model-invocation: true\n---\n",
    );
    let skills = world.discover(Trust::Undecided);
    let offered: Vec<bool> = skills.iter().map(|skill| skill.is_offered).collect();
    assert_eq!((names(&skills), offered), (vec!["closed", "open"], vec![false, true]));
}
