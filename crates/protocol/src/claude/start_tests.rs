use model::AgentKind;

use super::*;
use crate::{ApiKey, Origin};

fn start(configuration: &Configuration, access: Access) -> Start<'_> {
    Start {
        agent: AgentKind::Named("claude".to_owned()),
        program: vec!["claude".to_owned()],
        version: None,
        configuration,
        origin: Origin { title: "Profile \"p\"".to_owned(), kind: "profile" },
        keeps_conversation: false,
        all_tools: None,
        agent_dir: Path::new("/home/me/.pi/agent"),
        home: Some(Path::new("/home/me")),
        variable: |_| None,
        access,
        ask: false,
        max_cost_usd: None,
        default_provider: None,
        schema: None,
    }
}

fn invoke(change: impl FnOnce(&mut Configuration)) -> Result<Invocation, StartError> {
    let mut configuration = Configuration::default();
    change(&mut configuration);
    invocation(&start(&configuration, Access::Workspace))
}

/// The arguments behind those that every agent has.
fn words(invocation: &Invocation) -> String {
    let words = invocation.command.iter().map(|argument| match argument {
        Argument::Text(text) if text.is_empty() => "''".to_owned(),
        Argument::Text(text) => text.clone(),
        Argument::File(name) => format!("/run/{name}"),
        Argument::Setting { name, file } => format!("{name}=/run/{file}"),
    });
    words.skip(12).collect::<Vec<_>>().join(" ")
}

fn arguments(change: impl FnOnce(&mut Configuration)) -> String {
    words(&invoke(change).unwrap())
}

fn refused(change: impl FnOnce(&mut Configuration)) -> String {
    invoke(change).unwrap_err().to_string()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const ADDED: &str = "--append-system-prompt-file /run/append-system-prompt.md";
const OWN: &str = "--disallowedTools mcp__pi-subagents";

#[test]
fn every_agent_prints_records_keeps_no_session_and_asks_nothing() {
    let invocation = invoke(|_| ()).unwrap();
    let first: Vec<&str> = invocation.command[..12]
        .iter()
        .map(|argument| match argument {
            Argument::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        first.join(" "),
        "claude -p --input-format stream-json --replay-user-messages --output-format stream-json \
         --verbose --include-partial-messages \
         --no-session-persistence --permission-mode bypassPermissions"
    );
    assert_eq!(words(&invocation), format!("{ADDED} {OWN}"));
    let set: Vec<&str> = invocation.environment.keys().map(String::as_str).collect();
    let expected = ["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "DISABLE_AUTOUPDATER", "IS_SANDBOX"];
    assert_eq!(set, expected);
}

#[test]
fn fields_become_flags_and_files() {
    for (arguments, expected) in [
        (arguments(|c| c.model = Some("opus".into())), format!("--model opus {ADDED} {OWN}")),
        (
            arguments(|c| c.model = Some("anthropic/claude-x".into())),
            format!("--model claude-x {ADDED} {OWN}"),
        ),
        (
            arguments(|c| c.thinking_level = Some(ThinkingLevel::Minimal)),
            format!("--effort low {ADDED} {OWN}"),
        ),
        (
            arguments(|c| c.thinking_level = Some(ThinkingLevel::Xhigh)),
            format!("--effort xhigh {ADDED} {OWN}"),
        ),
        (
            arguments(|c| c.system_prompt = Some("You.".into())),
            format!("--system-prompt-file /run/system-prompt.md {ADDED} {OWN}"),
        ),
        (arguments(|c| c.no_skills = true), format!("{ADDED} {OWN} --disable-slash-commands")),
        (
            arguments(|c| c.no_extensions = true),
            format!("{ADDED} --strict-mcp-config {OWN} --setting-sources ''"),
        ),
        (
            arguments(|c| c.extra_args = names(&["--max-turns", "3"])),
            format!("{ADDED} {OWN} --max-turns 3"),
        ),
    ] {
        assert_eq!(arguments, expected);
    }
    let off = invoke(|c| c.thinking_level = Some(ThinkingLevel::Off)).unwrap();
    assert!(off.environment.contains_key("CLAUDE_CODE_DISABLE_THINKING"));
    let without = invoke(|c| c.no_context_files = true).unwrap();
    assert!(without.environment.contains_key("CLAUDE_CODE_DISABLE_CLAUDE_MDS"));
}

#[test]
fn tools_are_restricted_in_the_agents_own_names() {
    for (arguments, expected) in [
        (arguments(|c| c.no_tools = true), format!("--strict-mcp-config --tools '' {OWN}")),
        (
            arguments(|c| c.tools = names(&["read", "find"])),
            format!("--strict-mcp-config --tools Read,Glob {OWN}"),
        ),
        (
            arguments(|c| c.tools = names(&["read", "mcp__docs__find"])),
            format!("--tools Read {OWN}"),
        ),
        (
            arguments(|c| c.exclude_tools = names(&["bash", "lsp"])),
            format!("{OWN},Bash,Monitor,PowerShell"),
        ),
    ] {
        assert_eq!(arguments, format!("{ADDED} {expected}"));
    }
    let read = Configuration::default();
    let read = invocation(&start(&read, Access::Read)).unwrap();
    assert!(words(&read).ends_with(&format!("{OWN},Edit,Write,NotebookEdit")));
    let warned = invoke(|c| c.tools = names(&["read", "lsp_diagnostics"])).unwrap().warnings;
    assert_eq!(warned, ["Claude Code has no tool like \"lsp_diagnostics\""]);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    for (refusal, expected) in [
        (
            refused(|c| c.extensions = names(&["x.ts"])),
            "which only pi can load, and not Claude Code",
        ),
        (refused(|c| c.model = Some("openai/gpt-5".into())), "asks for a model of \"openai\""),
        (refused(|c| c.provider = Some("google".into())), "asks for a model of \"google\""),
        (refused(|c| c.model = Some("-x".into())), "begins with a hyphen"),
        (
            refused(|c| {
                (c.no_tools, c.extra_args) = (true, names(&["--allowedTools=Bash"]));
            }),
            "would override profile tool restrictions",
        ),
        (
            refused(|c| {
                (c.no_extensions, c.extra_args) = (true, names(&["--settings", "x"]));
            }),
            "would override profile tool restrictions",
        ),
        (refused(|c| c.extra_args = names(&["a;b"])), "potentially unsafe"),
        (refused(|c| c.tools = names(&["A\0"])), "contains a null byte"),
        (
            refused(|c| {
                c.api_key = Some(ApiKey::new("sk-secret".into()));
                c.key_provider = Some("openai".into());
            }),
            "has a key for \"openai\", which cannot be handed to Claude Code",
        ),
    ] {
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_key_is_a_secret_and_stands_nowhere_else() {
    let invocation = invoke(|c| c.api_key = Some(ApiKey::new("sk-secret-key".into()))).unwrap();
    let secrets: Vec<(&str, &str)> = invocation.secrets.reveal().collect();
    assert_eq!(secrets, [("ANTHROPIC_API_KEY", "sk-secret-key")]);
    assert!(!format!("{invocation:?}").contains("sk-secret-key"));
}

#[test]
fn the_agent_is_told_what_it_may_change_and_where_skills_are() {
    let invocation = invoke(|c| {
        c.append_system_prompt = Some("Be brief.".into());
        c.skills = vec!["/skills/a/SKILL.md".into()];
    });
    let text = &invocation.unwrap().files["append-system-prompt.md"];
    let parts: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(parts[0], "Be brief.");
    assert!(parts[1].ends_with("\n- /skills/a/SKILL.md"), "{text}");
    assert!(parts[2].starts_with("You can change files in the working directory"), "{text}");
}

#[test]
fn its_state_is_writable_and_its_settings_are_not() {
    let configuration = Configuration::default();
    let plain = invocation(&start(&configuration, Access::Read)).unwrap().state;
    assert!(plain.paths.contains(&"/home/me/.claude/projects".into()));
    assert_eq!(plain.settings, [Path::new("/home/me/.claude"), Path::new("/home/me/.claude.json")]);
    let moved =
        Start { variable: |_| Some("/cfg".to_owned()), ..start(&configuration, Access::Read) };
    let moved = invocation(&moved).unwrap().state;
    assert_eq!(moved.settings, [Path::new("/cfg"), Path::new("/cfg/.claude.json")]);
    let homeless = Start { home: None, ..start(&configuration, Access::Read) };
    assert_eq!(invocation(&homeless).unwrap().state, AgentState::default());
}
