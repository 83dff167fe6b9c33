use model::{Access, AgentKind};

use super::*;
use crate::{ApiKey, Origin};

fn start(configuration: &Configuration) -> Start<'_> {
    Start {
        agent: AgentKind::Named("codex".to_owned()),
        program: vec!["codex".to_owned()],
        version: None,
        configuration,
        origin: Origin { title: "Profile \"p\"".to_owned(), kind: "profile" },
        keeps_conversation: false,
        all_tools: None,
        agent_dir: Path::new("/home/me/.pi/agent"),
        home: Some(Path::new("/home/me")),
        variable: |_| None,
        access: Access::Workspace,
        ask: false,
        max_cost_usd: None,
        default_provider: None,
        schema: None,
    }
}

fn invoke(change: impl FnOnce(&mut Configuration)) -> Result<Invocation, StartError> {
    let mut configuration = Configuration::default();
    change(&mut configuration);
    invocation(&start(&configuration))
}

fn words(invocation: &Invocation) -> String {
    let words = invocation.command.iter().map(|argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::File(name) => format!("/run/{name}"),
        Argument::Setting { name, file } => format!("{name}=/run/{file}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The arguments between those that every agent has.
fn arguments(change: impl FnOnce(&mut Configuration)) -> String {
    let words = words(&invoke(change).unwrap());
    let before = "codex exec --json --color never --ephemeral --skip-git-repo-check --sandbox \
                  danger-full-access";
    let inner = words.strip_prefix(before).and_then(|words| words.strip_suffix(" -")).unwrap();
    inner.replacen(&format!(" -c {OWN_SERVER}"), "", 1).trim().to_owned()
}

fn refused(change: impl FnOnce(&mut Configuration)) -> String {
    invoke(change).unwrap_err().to_string()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn fields_become_flags_settings_and_files() {
    assert!(words(&invoke(|_| ()).unwrap()).contains(OWN_SERVER));
    for (arguments, expected) in [
        (arguments(|_| ()), ""),
        (arguments(|c| c.model = Some("gpt-5".into())), "--model gpt-5"),
        (arguments(|c| c.model = Some("openai/gpt-5".into())), "--model gpt-5"),
        (arguments(|c| c.model = Some("openai-codex/gpt-5".into())), "--model gpt-5"),
        (
            arguments(|c| c.model = Some("openrouter/x/y".into())),
            "--model x/y -c model_provider=\"openrouter\"",
        ),
        (
            arguments(|c| {
                (c.provider, c.model) = (Some("azure".into()), Some("gpt-5".into()));
            }),
            "--model gpt-5 -c model_provider=\"azure\"",
        ),
        (
            arguments(|c| c.thinking_level = Some(ThinkingLevel::Off)),
            "-c model_reasoning_effort=\"none\"",
        ),
        (
            arguments(|c| c.thinking_level = Some(ThinkingLevel::Max)),
            "-c model_reasoning_effort=\"xhigh\"",
        ),
        (arguments(|c| c.no_skills = true), "-c skills.include_instructions=false"),
        (arguments(|c| c.exclude_tools = names(&["web_search"])), "-c web_search=\"disabled\""),
        (
            arguments(|c| c.no_extensions = true),
            "--ignore-user-config -c features.plugins=false -c features.apps=false -c \
             features.hooks=false",
        ),
        (
            arguments(|c| c.system_prompt = Some("You.".into())),
            "-c model_instructions_file=/run/system-prompt.md",
        ),
        (arguments(|c| c.extra_args = names(&["--strict-config"])), "--strict-config"),
    ] {
        assert_eq!(arguments, expected);
    }
}

#[test]
fn what_is_added_to_the_system_prompt_stands_in_front_of_the_prompt() {
    let invocation = invoke(|c| c.append_system_prompt = Some("Be brief.".into())).unwrap();
    let preamble = invocation.preamble.unwrap();
    assert!(preamble.starts_with("Be brief.\n\nYou can change files"), "{preamble}");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    for (refusal, expected) in [
        (refused(|c| c.extensions = names(&["x.ts"])), "only pi can load, and not Codex"),
        (
            refused(|c| c.no_tools = true),
            "sets \"noTools\", which Codex cannot keep: it always has",
        ),
        (refused(|c| c.tools = names(&["read"])), "sets \"tools\", which Codex cannot keep"),
        (refused(|c| c.exclude_tools = names(&["edit"])), "sets \"excludeTools\""),
        (refused(|c| c.no_context_files = true), "sets \"noContextFiles\""),
        (refused(|c| c.provider = Some("a\"b".into())), "asks for a model of"),
        (
            refused(|c| {
                (c.no_skills, c.extra_args) = (true, names(&["-c", "skills.x=1"]));
            }),
            "would override profile tool restrictions",
        ),
        (
            refused(|c| {
                c.api_key = Some(ApiKey::new("sk-secret".into()));
                c.model = Some("azure/gpt".into());
            }),
            "has a key for \"azure\", which cannot be handed to Codex",
        ),
    ] {
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_key_is_a_secret_and_stands_nowhere_else() {
    let invocation = invoke(|c| c.api_key = Some(ApiKey::new("sk-secret-key".into()))).unwrap();
    let secrets: Vec<(&str, &str)> = invocation.secrets.reveal().collect();
    assert_eq!(secrets, [("CODEX_API_KEY", "sk-secret-key")]);
    assert!(!format!("{invocation:?}").contains("sk-secret-key"));
}

#[test]
fn its_state_is_writable_and_its_settings_are_not() {
    let configuration = Configuration::default();
    let plain = invocation(&start(&configuration)).unwrap().state;
    assert_eq!((plain.paths.len(), &plain.settings[..]), (0, &["/home/me/.codex".into()][..]));
    let mirror = plain.mirror.unwrap();
    assert_eq!((mirror.directory, mirror.variable), ("/home/me/.codex".into(), STATE.to_owned()));
    assert!(mirror.entries.unwrap().contains(&"config.toml".to_owned()));
    let moved = Start { variable: |_| Some("/cfg".to_owned()), ..start(&configuration) };
    assert_eq!(invocation(&moved).unwrap().state.settings, [Path::new("/cfg")]);
}
