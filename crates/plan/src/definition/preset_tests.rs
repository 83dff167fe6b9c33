//! What is different about presets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::Surroundings;

/// A user with a home, and a project below it. Nothing has any presets.
struct World {
    top: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let world = World { top: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            let path = world.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    fn directories(&self, cwd: &str) -> DefinitionDirectories {
        DefinitionDirectories::of_presets(&Surroundings {
            home: Some(self.at("home")),
            ..Surroundings::new(self.at(cwd), self.at("home/.pi/agent"))
        })
    }

    fn load(&self, cwd: &str) -> Definitions {
        load_definitions(&self.directories(cwd))
    }

    /// The warnings without the directory that everything is in.
    fn warnings(&self, definitions: &Definitions) -> Vec<String> {
        let top = format!("{}/", self.top.path().display());
        definitions.warnings.iter().map(|warning| warning.to_string().replace(&top, "")).collect()
    }
}

const GLOBAL: &str = "home/.pi/agent/subagents/p.md";

/// The preset of this text, and the warnings.
fn load_one(text: &str) -> (Option<Definition>, Vec<String>) {
    let world = World::new(&[(GLOBAL, text)]);
    let presets = world.load("home/repo");
    let warnings = world.warnings(&presets);
    (presets.get("p").ok().cloned(), warnings)
}

fn model(text: &str) -> String {
    format!("---\nname: p\ndescription: D.\nmodel: {text}\n---\n")
}

#[test]
fn every_field_of_the_specification_is_read_and_the_body_is_appended() {
    let (preset, warnings) = load_one(
        "---\nname: p\ndescription: Fast repo exploration\nmodel: github-copilot/gpt-4o\n\
         tools: read,grep,find,ls\nagent: builtin\ntimeout: 90.5\n---\nYou are a scout.\n",
    );
    assert_eq!(warnings, [""; 0]);
    let preset = preset.unwrap();
    let mut expected =
        Definition::at(DefinitionKind::Preset, "p", Scope::Global, preset.path.clone());
    expected.description = Some("Fast repo exploration".into());
    expected.configuration.model = Some("github-copilot/gpt-4o".into());
    expected.configuration.tools = ["read", "grep", "find", "ls"].map(str::to_owned).into();
    expected.agent = Some("builtin".to_owned());
    expected.timeout = Some(90.5);
    expected.configuration.append_system_prompt = Some("You are a scout.".into());
    assert_eq!(preset, expected);
    assert_eq!(
        definition_summary(&preset),
        "preset: p, model=github-copilot/gpt-4o, appended-system-prompt, tools=[read,grep,find,ls]"
    );
    assert_eq!(
        definition_detail(&preset),
        "Preset: p\n  description:       Fast repo exploration\n  \
         model:             github-copilot/gpt-4o\n  agent:             builtin\n  \
         timeout:           90.5s\n  appendSystemPrompt: You are a scout.\n  \
         tools:             [read, grep, find, ls]"
    );
}

#[test]
fn name_and_description_are_required() {
    for (fields, expected) in [
        (
            "description: D.",
            vec!["home/.pi/agent/subagents/p.md: it is not loaded: it has no \"name\""],
        ),
        (
            "name: p",
            vec!["home/.pi/agent/subagents/p.md: it is not loaded: it has no \"description\""],
        ),
        (
            "name: p\ndescription: ''",
            vec!["home/.pi/agent/subagents/p.md:3: it is not loaded: it has no \"description\""],
        ),
        (
            "model: x",
            vec![
                "home/.pi/agent/subagents/p.md: it is not loaded: it has no \"name\"",
                "home/.pi/agent/subagents/p.md: it is not loaded: it has no \"description\"",
            ],
        ),
        (
            "description: D.\nname: a b",
            vec![
                "home/.pi/agent/subagents/p.md:3: it is not loaded: its name may have only \
                 letters, digits, \"_\" and \"-\"",
            ],
        ),
    ] {
        let (preset, warnings) = load_one(&format!("---\n{fields}\n---\n"));
        assert_eq!((preset, warnings), (None, expected.into_iter().map(str::to_owned).collect()));
    }
}

#[test]
fn what_restricts_must_be_understood_and_what_is_not_a_field_is_told() {
    for (field, is_loaded, expected) in [
        ("timeout: soon", false, "\"timeout\" is ignored: it must be a number of seconds"),
        ("timeout: 0", false, "\"timeout\" is ignored: it must be a number of seconds"),
        ("timeout: .inf", false, "\"timeout\" is ignored: it must be a number of seconds"),
        ("timeout: '5'", false, "\"timeout\" is ignored: it must be a number of seconds"),
        ("tools: {a: b}", false, "\"tools\" is ignored: it must be a list"),
        ("agent: [/bin/evil]", true, "\"agent\" is ignored: it must be text"),
        ("appendSystemPrompt: x", true, "\"appendSystemPrompt\" is unknown and ignored"),
        ("apiKey: sk-secret1", true, "Refusing to load apiKey from preset \"p\"."),
    ] {
        let (preset, warnings) =
            load_one(&format!("---\nname: p\ndescription: D.\n{field}\n---\nBody.\n"));
        assert_eq!(preset.is_some(), is_loaded, "{field}");
        let place = "home/.pi/agent/subagents/p.md:4: ";
        let is_told = |warning: &String| warning.starts_with(&format!("{place}{expected}"));
        assert!(warnings.iter().any(is_told), "{field}: {warnings:?}");
        assert!(!warnings.join("").contains("secret"), "{warnings:?}");
        if let Some(preset) = preset {
            assert_eq!(preset.configuration.append_system_prompt.as_deref(), Some("Body."));
            assert_eq!((preset.agent, preset.configuration.api_key), (None, None));
        }
    }
    let (preset, warnings) = load_one("---\nname: p\ndescription: D.\ntimeout:\n---\n");
    assert_eq!((preset.unwrap().timeout, warnings), (None, vec![]));
}

#[test]
fn the_nearest_directory_with_presets_wins_over_the_users_by_name() {
    let repo = model("repo");
    let world = World::new(&[
        (GLOBAL, &model("global")),
        ("home/.pi/agent/subagents/q.md", &model("global").replace("name: p", "name: q")),
        ("home/repo/.pi/subagents/any-name.md", &repo),
        ("home/repo/sub/.pi/subagents/runs/.gitignore", "*\n"),
        ("home/repo/sub/.pi/subagents/notes.txt", "no preset"),
        ("home/repo/other/.pi/subagents/p.md", &model("other")),
        ("home/empty/.git/HEAD", ""),
    ]);
    for (cwd, expected, root) in [
        ("home/repo", "repo", "home/repo"),
        // Its own directory holds runs only.
        ("home/repo/sub/deep", "repo", "home/repo"),
        ("home/repo/other/deep", "other", "home/repo/other"),
        ("home/empty/deep", "global", "home/empty"),
    ] {
        let presets = world.load(cwd);
        assert_eq!(presets.warnings, []);
        assert_eq!(
            presets.get("p").unwrap().configuration.model.as_deref(),
            Some(expected),
            "{cwd}"
        );
        assert_eq!(
            presets.get("q").unwrap().configuration.model.as_deref(),
            Some("global"),
            "{cwd}"
        );
        assert_eq!(world.directories(cwd).project_root(), world.at(root), "{cwd}");
    }
    assert_eq!(
        world.load("home/empty").get("x").unwrap_err().to_string(),
        "Unknown preset: \"x\". Available presets: p, q"
    );
}

#[test]
fn a_project_preset_that_cannot_be_loaded_leaves_the_users_and_is_told() {
    let world = World::new(&[
        (GLOBAL, &model("global")),
        ("home/repo/.pi/subagents/p.md", "---\nname: p\ndescription: [D\n---\n"),
    ]);
    let presets = world.load("home/repo");
    assert_eq!(presets.get("p").unwrap().scope, Scope::Global);
    let warnings = world.warnings(&presets);
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("home/repo/.pi/subagents/p.md:3: "),
        "{warnings:?}"
    );
}

#[test]
fn what_another_user_put_into_a_directory_for_everybody_is_no_preset() {
    let world =
        World::new(&[("shared/.pi/subagents/p.md", "---\nname: p\ndescription: P.\n---\n")]);
    fs::create_dir_all(world.at("shared/below")).unwrap();
    fs::set_permissions(world.at("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    // Only root can give a file to another user; for other users it stays their own directory.
    let is_planted = lchown(world.at("shared/.pi"), Some(12_345), None).is_ok();
    assert_eq!(world.load("shared/below").get("p").is_ok(), !is_planted);
}

#[test]
fn profiles_and_presets_have_their_own_directories() {
    let surroundings = Surroundings::new("/nowhere/project".into(), "/nowhere/agent".into());
    let profiles = DefinitionDirectories::of_profiles(&surroundings);
    assert_eq!(profiles.global, Path::new("/nowhere/agent/agent-profiles"));
    assert_eq!(profiles.project, Path::new("/nowhere/project/.pi/agent-profiles"));
    let presets = DefinitionDirectories::of_presets(&surroundings);
    assert_eq!(presets.global, Path::new("/nowhere/agent/subagents"));
    assert_eq!(presets.project, Path::new("/nowhere/project/.pi/subagents"));
}
