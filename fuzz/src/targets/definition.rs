//! Profiles, presets and skills: Markdown files that begin with YAML.

use model::{AgentKind, Argument};
use plan::{Definition, DefinitionDirectories, DefinitionKind, Skills, Surroundings, Trust};
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
        program: vec!["pi".to_owned()],
        configuration: &definition.configuration,
        origin: Origin { title: definition.label(), kind: definition.kind.word() },
        keeps_conversation: definition.kind == DefinitionKind::Preset,
        all_tools: None,
        agent_dir: "/".as_ref(),
    };
    if let Ok(invocation) = Protocol::Pi.invocation(start) {
        let has_null =
            |word: &Argument| matches!(word, Argument::Text(text) if text.contains('\0'));
        assert!(!invocation.command.iter().any(has_null), "{:?}", invocation.command);
    }
}
