//! Profiles, presets, skills, and the definitions of Claude Code: Markdown files that begin with YAML.

use std::fs;

use model::{AgentKind, Argument};
use plan::{Definition, DefinitionDirectories, DefinitionKind, Scope, Skills, Surroundings, Trust};
use protocol::{Origin, Protocol, Start};

use crate::scratch::Scratch;

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

const FILES: [&str; 4] = [
    "agent/agent-profiles/a.md",
    "project/.pi/agent-profiles/a.md",
    "agent/subagents/a.md",
    "project/.pi/subagents/a.md",
];

pub(super) fn check(data: &[u8]) {
    SCRATCH.with(|scratch| check_files(scratch, &scratch.surroundings(), data));
}

fn check_files(scratch: &Scratch, surroundings: &Surroundings, data: &[u8]) {
    for file in FILES.iter().chain(&["agent/skills/a/SKILL.md"]) {
        scratch.write(file, data);
    }
    let skills = plan::discover_skills(surroundings, Trust::Trusted);
    check_claude(scratch, data, &skills);
    let lines = data.split(|byte| matches!(byte, b'\n' | b'\r')).count();
    for kind in [DefinitionKind::Profile, DefinitionKind::Preset] {
        let directories = match kind {
            DefinitionKind::Profile => DefinitionDirectories::of_profiles(surroundings),
            DefinitionKind::Preset => DefinitionDirectories::of_presets(surroundings),
        };
        let loaded = plan::load_definitions(&directories);
        for warning in &loaded.warnings {
            assert!(warning.line.is_none_or(|line| (1..=lines).contains(&line)), "{warning}");
            assert!(!warning.problem.is_empty());
        }
        if loaded.iter().len() == 0 {
            assert!(!loaded.warnings.is_empty(), "a file was left out without a warning");
        }
        for definition in loaded.iter() {
            assert_reads_back(scratch, definition, &directories);
            assert_key_hidden(definition);
            check_start(definition, &skills);
        }
    }
}

/// A definition of Claude Code restricts tools, if it is loaded, and its copy says the same.
fn check_claude(scratch: &Scratch, data: &[u8], skills: &Skills) {
    let file = scratch.write("claude/agents/a.md", data);
    let nowhere = || scratch.path().join("imported");
    let directories = DefinitionDirectories {
        kind: DefinitionKind::Profile,
        global: nowhere(),
        project: nowhere(),
        claude: vec![(Scope::Project, file.parent().unwrap_or(&file).to_owned())],
    };
    let loaded = plan::load_definitions(&directories);
    assert_eq!(loaded.warnings, []);
    for definition in loaded.iter() {
        assert!(!definition.is_own());
        let configuration = &definition.configuration;
        assert!(configuration.api_key.is_none() && configuration.provider.is_none());
        assert!(configuration.extensions.is_empty() && configuration.extra_args.is_empty());
        assert!(plan::check_definition(definition).is_ok(), "it cannot contradict itself");
        check_start(definition, skills);
        let copied = plan::import_definition(&directories, definition, Scope::Global);
        assert!(copied.is_ok(), "{copied:?}");
        let Ok(copy) = copied else { return };
        assert_eq!(plan::load_definitions(&directories).get(&copy.name), Ok(&copy));
        assert!(fs::remove_file(&copy.path).is_ok());
    }
}

/// Checks that what is written is read back unchanged.
fn assert_reads_back(
    scratch: &Scratch,
    definition: &Definition,
    directories: &DefinitionDirectories,
) {
    let written = plan::to_markdown(definition);
    let name = definition.path.strip_prefix(scratch.path()).unwrap_or(&definition.path);
    scratch.write(&name.to_string_lossy(), written.as_bytes());
    let loaded = plan::load_definitions(directories);
    assert_eq!(loaded.get(&definition.name), Ok(definition), "as it is written: {written}");
    assert_eq!(plan::to_markdown(definition), written);
}

fn assert_key_hidden(definition: &Definition) {
    let Some(key) = definition.configuration.api_key.as_ref().map(plan::ApiKey::reveal) else {
        return;
    };
    let mut public = definition.clone();
    public.configuration.api_key = None;
    let elsewhere = format!("{public:?}{}", plan::definition_detail(&public));
    // A short key can be part of another text by chance.
    if key.len() < 8 || elsewhere.contains(key) {
        return;
    }
    let shown = [
        format!("{definition:?}"),
        plan::definition_detail(definition),
        plan::definition_summary(definition),
    ];
    for text in shown {
        assert!(!text.contains(key), "the key is shown: {text}");
    }
}

fn check_start(definition: &Definition, skills: &Skills) {
    let _ = plan::check_definition(definition);
    let mut definition = definition.clone();
    if skills.add_to(&mut definition, "/".as_ref()).is_err() {
        return;
    }
    let start = Start {
        agent: AgentKind::Pi,
        program: vec!["agent".to_owned()],
        version: None,
        configuration: &definition.configuration,
        origin: Origin { title: definition.label(), kind: definition.kind.word() },
        keeps_conversation: definition.kind == DefinitionKind::Preset,
        all_tools: None,
        agent_dir: "/".as_ref(),
        home: Some("/home".as_ref()),
        variable: |_| None,
        access: model::Access::Read,
        max_cost_usd: None,
        default_provider: None,
        schema: None,
        ask: false,
    };
    for protocol in Protocol::OF_PROGRAMS {
        if let Ok(invocation) = protocol.invocation(start.clone()) {
            let has_null =
                |word: &Argument| matches!(word, Argument::Text(text) if text.contains('\0'));
            assert!(!invocation.command.iter().any(has_null), "{:?}", invocation.command);
        }
    }
}
