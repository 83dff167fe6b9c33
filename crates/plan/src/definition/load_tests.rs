use std::fs;

use proptest::prelude::*;
use protocol::{ApiKey, Configuration, ThinkingLevel};
use tempfile::TempDir;

use super::super::DefinitionOrigin;
use super::super::testing::{any_text, directories, strings};
use super::*;

/// Directories of definitions with these files.
struct World {
    top: TempDir,
    directories: DefinitionDirectories,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let top = tempfile::tempdir().unwrap();
        let directories = DefinitionDirectories {
            kind: DefinitionKind::Profile,
            global: top.path().join("global"),
            project: top.path().join("project"),
            claude: Vec::new(),
        };
        fs::create_dir(&directories.global).unwrap();
        fs::create_dir(&directories.project).unwrap();
        for (path, text) in files {
            fs::write(top.path().join(path), text).unwrap();
        }
        World { top, directories }
    }

    /// The definitions, and the warnings without the directory that everything is in.
    fn load(&self) -> (Definitions, Vec<String>) {
        let definitions = load_definitions(&self.directories);
        let top = format!("{}/", self.top.path().display());
        let warnings =
            definitions.warnings.iter().map(|w| w.to_string().replace(&top, "")).collect();
        (definitions, warnings)
    }
}

fn load(files: &[(&str, &str)]) -> (Definitions, Vec<String>) {
    World::new(files).load()
}

/// The only definition there is, and the warnings.
fn load_one(text: &str) -> (Definition, Vec<String>) {
    let (definitions, warnings) = load(&[("global/p.md", text)]);
    (definitions.get("p").unwrap().clone(), warnings)
}

/// The definition that says nothing.
fn empty(path: &Path) -> Definition {
    Definition::at(DefinitionKind::Profile, "p", Scope::Global, path.to_owned())
}

const NOTHING: [&str; 0] = [];

#[test]
fn every_field_is_read() {
    let (definition, warnings) = load_one(
        "---\nname: p\ndescription: Reviews.\nprovider: anthropic\nmodel: sonnet:high\n\
         fallbackModels: [openai/gpt-5, haiku]\nthinkingLevel: off\n\
         appendSystemPrompt: Be brief.\napiKey: sk-123\nnoTools: true\ntools: read, bash\n\
         excludeTools: [write]\nnoExtensions: true\nextensions: /a.js,/b.js\nnoSkills: true\n\
         suggestedSkills:\n  - one\n  - two\nloadSkills: three\nnoContextFiles: true\n\
         extraArgs: [--verbose, 'a,b']\nagent: builtin\naccess: read\n---\n\nYou are.\n\nReally.\n",
    );
    assert_eq!(warnings, NOTHING);
    let expected = Definition {
        kind: DefinitionKind::Profile,
        name: "p".into(),
        scope: Scope::Global,
        origin: DefinitionOrigin::Own,
        path: definition.path.clone(),
        description: Some("Reviews.".into()),
        isolation: None,
        on: None,
        budget: None,
        configuration: Configuration {
            provider: Some("anthropic".into()),
            model: Some("sonnet:high".into()),
            fallback_models: strings(&["openai/gpt-5", "haiku"]),
            thinking_level: Some(ThinkingLevel::Off),
            system_prompt: Some("You are.\n\nReally.".into()),
            append_system_prompt: Some("Be brief.".into()),
            no_tools: true,
            tools: strings(&["read", "bash"]),
            exclude_tools: strings(&["write"]),
            no_extensions: true,
            extensions: strings(&["/a.js", "/b.js"]),
            no_skills: true,
            skills: Vec::new(),
            no_context_files: true,
            extra_args: strings(&["--verbose", "a,b"]),
            api_key: Some(ApiKey::new("sk-123".into())),
            key_provider: None,
        },
        suggested_skills: strings(&["one", "two"]),
        load_skills: strings(&["three"]),
        agent: Some("builtin".to_owned()),
        access: Some(model::Access::Read),
        timeout: None,
        prepare: None,
        prepare_timeout: None,
        check: None,
        check_timeout: None,
    };
    assert_eq!(definition, expected);
    assert!(definition.path.ends_with("global/p.md"));
}

#[test]
fn the_least_definition_is_a_name() {
    let (definition, warnings) = load_one("---\nname: p\n---\n");
    assert_eq!(warnings, NOTHING);
    assert_eq!(definition, empty(&definition.path));
}

#[test]
fn every_thinking_level_is_a_word() {
    for (word, level) in ThinkingLevel::WORDS {
        let (definition, warnings) =
            load_one(&format!("---\nname: p\nthinkingLevel: {word}\n---\n"));
        assert_eq!(
            (definition.configuration.thinking_level, warnings),
            (Some(level), vec![]),
            "{word}"
        );
    }
    let (definition, warnings) = load_one("---\nname: p\nthinkingLevel: huge\n---\n");
    assert_eq!(definition.configuration.thinking_level, None);
    assert_eq!(
        warnings,
        [
            "global/p.md:3: \"thinkingLevel\" must be one of off, minimal, low, medium, high, xhigh, \
          max; it is ignored"
        ]
    );
}

#[test]
fn the_project_wins_by_name_and_file_names_do_not_matter() {
    let (definitions, warnings) = load(&[
        ("global/one.md", "---\nname: a\nmodel: global\n---\n"),
        ("global/two.md", "---\nname: b\nmodel: global\n---\n"),
        ("project/three.md", "---\nname: a\nmodel: project\n---\n"),
        ("project/readme.txt", "not a definition"),
    ]);
    assert_eq!(warnings, NOTHING);
    let found: Vec<(&str, Scope)> =
        definitions.iter().map(|definition| (definition.name.as_str(), definition.scope)).collect();
    assert_eq!(found, [("a", Scope::Project), ("b", Scope::Global)]);
    assert_eq!(definitions.get("a").unwrap().configuration.model.as_deref(), Some("project"));
}

#[test]
fn a_projects_definition_keeps_the_access_of_the_users() {
    use model::Access;
    let text = |access: &str| format!("---\nname: p\n{access}\n---\n");
    for (user, project, expected) in [
        ("access: read", "", Some(Access::Read)),
        ("access: read", "access: full", Some(Access::Read)),
        ("access: workspace", "access: read", Some(Access::Read)),
        ("", "access: read", Some(Access::Read)),
        ("", "", None),
    ] {
        let (definitions, warnings) =
            load(&[("global/p.md", &text(user)), ("project/p.md", &text(project))]);
        let found = definitions.get("p").unwrap();
        assert_eq!((found.scope, found.access), (Scope::Project, expected), "{user} {project}");
        assert_eq!(warnings, NOTHING);
    }
}

#[test]
fn two_files_with_one_name_are_a_warning() {
    let (definitions, warnings) = load(&[
        ("global/a.md", "---\nname: p\nmodel: first\n---\n"),
        ("global/b.md", "---\nname: p\nmodel: second\n---\n"),
    ]);
    assert_eq!(definitions.get("p").unwrap().configuration.model.as_deref(), Some("second"));
    assert_eq!(
        warnings,
        ["global/b.md: it defines profile \"p\" again and is used instead of global/a.md"]
    );
}

#[test]
fn an_unknown_definition_is_told_with_the_known_ones() {
    let message = |files: &[(&str, &str)]| load(files).0.get("x").unwrap_err().to_string();
    assert_eq!(message(&[]), "Unknown profile: \"x\". Available profiles: (none)");
    let files = [("project/1.md", "---\nname: b\n---\n"), ("global/2.md", "---\nname: a\n---\n")];
    assert_eq!(message(&files), "Unknown profile: \"x\". Available profiles: a, b");
    let unknown = UnknownDefinition {
        kind: DefinitionKind::Preset,
        name: "scuot".to_owned(),
        available: vec!["planner".to_owned(), "scout".to_owned()],
    };
    assert_eq!(
        unknown.to_string(),
        "Unknown preset: \"scuot\". Available presets: planner, scout. Did you mean scout?"
    );
}

#[test]
fn absent_directories_have_no_profiles() {
    let loaded = load_definitions(&directories());
    assert_eq!(loaded.iter().len(), 0);
    assert_eq!(loaded.warnings, []);
}

#[test]
fn what_cannot_be_loaded_is_a_warning_with_path_line_and_reason() {
    for (text, expected) in [
        ("", "global/p.md:1: it does not begin with frontmatter, a line `---`"),
        ("---\nname: p\n", "global/p.md:1: its frontmatter is not closed by a line `---`"),
        ("---\nmodel: m\n---\n", "global/p.md: it is not loaded: it has no \"name\""),
        (
            "---\nmodel: m\nname: a b\n---\n",
            "global/p.md:3: it is not loaded: its name may have only letters, digits, \"_\" and \"-\"",
        ),
        (
            "---\nname: p\ntools: [a\n---\n",
            "global/p.md:3: its frontmatter cannot be understood: unclosed bracket '['",
        ),
        (
            "---\nname: p\nmodel: a\nmodel: b\n---\n",
            "global/p.md:4: its frontmatter cannot be understood: \"model\" is there twice",
        ),
    ] {
        let (definitions, warnings) =
            load(&[("global/p.md", text), ("global/other.md", "---\nname: other\n---\n")]);
        assert_eq!(warnings, [expected], "{text:?}");
        assert_eq!(definitions.iter().len(), 1, "the others are loaded: {text:?}");
    }
    let (_, warnings) = load(&[("global/p.md", "---\nname: 7\n---\n")]);
    assert_eq!(
        warnings,
        [
            "global/p.md:2: \"name\" is ignored: it must be text; put quotes around it",
            "global/p.md:2: it is not loaded: it has no \"name\"",
        ]
    );
}

#[test]
fn what_is_not_a_file_or_not_readable_is_a_warning() {
    let world = World::new(&[]);
    fs::create_dir(world.directories.global.join("directory.md")).unwrap();
    std::os::unix::fs::symlink("/nowhere", world.directories.global.join("link.md")).unwrap();
    fs::write(world.directories.global.join("bytes.md"), b"---\nname: p\nmodel: \xff\n---")
        .unwrap();
    fs::remove_dir(&world.directories.project).unwrap();
    fs::write(&world.directories.project, "a file").unwrap();
    let (_, warnings) = world.load();
    assert_eq!(warnings[0], "global/bytes.md:3: it is not UTF-8");
    assert_eq!(warnings[1], "global/directory.md: it cannot be read: it is not a plain file");
    assert!(warnings[2].starts_with("global/link.md: it cannot be read: "), "{warnings:?}");
    assert!(warnings[3].starts_with("project: its profiles cannot be read: "), "{warnings:?}");
    assert_eq!(warnings.len(), 4);
}

#[test]
fn wrong_types_and_unknown_fields_are_warnings_and_ignored() {
    let text = "a list, or text with commas";
    for (field, expected) in [
        ("provider: [a]", "\"provider\" is ignored: it must be text".to_owned()),
        ("model: 4", "\"model\" is ignored: it must be text; put quotes around it".to_owned()),
        (
            "appendSystemPrompt: {a: b}",
            "\"appendSystemPrompt\" is ignored: it must be text".to_owned(),
        ),
        ("apiKey: [sk-secret1]", "\"apiKey\" is ignored: it must be text".to_owned()),
        (
            "apiKey: 123456789",
            "\"apiKey\" is ignored: it must be text; put quotes around it".to_owned(),
        ),
        ("extensions: 7", format!("\"extensions\" is ignored: it must be {text}")),
        ("suggestedSkills: [[a]]", format!("\"suggestedSkills\" is ignored: it must be {text}")),
        ("loadSkills: [null]", format!("\"loadSkills\" is ignored: it must be {text}")),
        ("extraArgs: false", format!("\"extraArgs\" is ignored: it must be {text}")),
        ("agent: [/bin/evil]", "\"agent\" is ignored: it must be text".to_owned()),
        ("color: red", "\"color\" is unknown and ignored".to_owned()),
        (
            "thinking_level: low",
            "\"thinking_level\" is unknown and ignored, did you mean \"thinkingLevel\"?".to_owned(),
        ),
    ] {
        let (definition, warnings) = load_one(&format!("---\nname: p\n{field}\n---\n"));
        assert_eq!(warnings, [format!("global/p.md:3: {expected}")], "{field}");
        assert_eq!(definition, empty(&definition.path), "{field}");
    }
}

/// An agent must not get more than its user wanted because of a slip of the pen.
#[test]
fn a_restriction_that_cannot_be_understood_keeps_the_definition_from_being_loaded() {
    for field in [
        "noTools: yes",
        "noExtensions: 1",
        "noSkills: \"true\"",
        "noContextFiles: on",
        "tools: true",
        "excludeTools: {a: b}",
    ] {
        let (definitions, warnings) =
            load(&[("global/p.md", &format!("---\nname: p\n{field}\n---\n"))]);
        assert_eq!(definitions.iter().len(), 0, "{field}");
        let warnings = warnings.join("\n");
        assert!(warnings.contains("is ignored: it must be"), "{warnings}");
        assert!(
            warnings.contains("it is not loaded: what should restrict the agent"),
            "{warnings}"
        );
    }
}

#[test]
fn a_restriction_that_is_misspelt_keeps_the_definition_from_being_loaded() {
    for field in ["toolz: read", "exclude-tools: bash", "NoTools: true", "noExtentions: true"] {
        let (definitions, warnings) =
            load(&[("global/p.md", &format!("---\nname: p\n{field}\n---\n"))]);
        assert_eq!(definitions.iter().len(), 0, "{field}");
        let warnings = warnings.join("\n");
        assert!(warnings.contains("did you mean \""), "{warnings}");
        assert!(warnings.contains("it is not loaded: what should"), "{warnings}");
    }
}

#[test]
fn a_plain_value_with_a_colon_is_accepted_with_a_warning() {
    let (definition, warnings) =
        load_one("---\nname: p\nappendSystemPrompt: Use it: when needed\n---\n");
    assert_eq!(
        definition.configuration.append_system_prompt.as_deref(),
        Some("Use it: when needed")
    );
    assert_eq!(
        warnings,
        ["global/p.md:3: a value with a colon in it was taken as it stands; put quotes around it"]
    );
}

#[test]
fn a_project_cannot_bring_a_key() {
    let world = World::new(&[("project/p.md", "---\nname: p\napiKey: sk-secret1\n---\n")]);
    let (definitions, warnings) = world.load();
    assert_eq!(definitions.get("p").unwrap().configuration.api_key, None);
    assert_eq!(
        warnings,
        ["project/p.md:3: Refusing to load apiKey from project-local profile \"p\". Move the \
          profile to the global directory (global/) or use environment variables."]
    );
}

#[test]
fn an_agent_directory_inside_the_project_is_the_users() {
    let mut world = World::new(&[("global/p.md", "---\nname: p\napiKey: sk-secret1\n---\n")]);
    world.directories.project = world.top.path().join("project/../global");
    let (definitions, warnings) = world.load();
    assert_eq!(warnings, NOTHING);
    let definition = definitions.get("p").unwrap();
    assert_eq!(
        (definition.scope, definition.configuration.api_key.is_some()),
        (Scope::Global, true)
    );
}

#[test]
fn a_changed_file_counts_at_once() {
    let world = World::new(&[("global/p.md", "---\nname: p\nmodel: a\n---\n")]);
    assert_eq!(world.load().0.get("p").unwrap().configuration.model.as_deref(), Some("a"));
    fs::write(world.top.path().join("global/p.md"), "---\nname: p\nmodel: b\n---\n").unwrap();
    assert_eq!(world.load().0.get("p").unwrap().configuration.model.as_deref(), Some("b"));
}

proptest! {
    #[test]
    fn any_text_in_any_field_is_a_definition_or_a_warning(
        field in proptest::sample::select(vec![
            "name", "provider", "model", "fallbackModels", "thinkingLevel", "appendSystemPrompt", "apiKey",
            "noTools", "tools", "excludeTools", "noExtensions", "extensions", "noSkills",
            "suggestedSkills", "loadSkills", "noContextFiles", "extraArgs", "agent", "x",
        ]),
        text in any_text(),
    ) {
        let text = format!("---\nname: p\n{field}: {text}\n---\n");
        let path = Path::new("p.md");
        let (definition, warnings) = match Document::parse(text.as_bytes()) {
            Ok(document) => from_document(document, path, Scope::Project, &directories()),
            Err(error) => (None, vec![error.into_warning(path)]),
        };
        prop_assert!(definition.is_some() || !warnings.is_empty());
    }

    #[test]
    fn no_warning_shows_a_key(
        before in "[-a-z:#'\"|>&*!%@`{}\\[\\],? \n]{0,20}",
        after in "[-a-z:#'\"|>&*!%@`{}\\[\\],? \n]{0,20}",
        colon in prop_oneof![Just(": "), Just(":"), Just(" ")],
    ) {
        let text = format!("---\nname: p\napiKey{colon}{before}sk-0secret0{after}\n---\n");
        let path = Path::new("p.md");
        let (_, warnings) = match Document::parse(text.as_bytes()) {
            Ok(document) => from_document(document, path, Scope::Project, &directories()),
            Err(error) => (None, vec![error.into_warning(path)]),
        };
        for warning in warnings {
            prop_assert!(!warning.to_string().contains("secret"), "{}", warning);
        }
    }
}
