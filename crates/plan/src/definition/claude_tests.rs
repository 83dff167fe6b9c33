use std::fs;

use tempfile::TempDir;

use super::super::load_definitions;
use super::super::testing::{directories, strings};
use super::*;
use crate::{DefinitionDirectories, Definitions, NamedAgent};

const PATH: &str = "/home/me/.claude/agents/p.md";

/// What a file with these lines describes, and what is wrong with it.
fn read_lines(lines: &str) -> (Option<Definition>, Vec<String>) {
    let text = format!("---\nname: p\n{lines}---\nYou are.\n");
    let document = Document::parse(text.as_bytes()).unwrap();
    let (definition, warnings) = from_document(document, Path::new(PATH), Scope::Global);
    let warnings = warnings.iter().map(|warning| warning.to_string().replace(PATH, "p"));
    (definition, warnings.collect())
}

/// The same where nothing is wrong.
fn definition(lines: &str) -> Definition {
    let (definition, warnings) = read_lines(lines);
    assert_eq!(warnings, [""; 0], "{lines}");
    definition.unwrap()
}

#[test]
fn what_describes_an_agent_is_taken_over() {
    let read = definition(
        "description: Use it when: needed\ntools: Read, Grep\nmodel: sonnet\neffort: high\n\
         skills:\n  - one\n  - two\n",
    );
    let mut expected = Definition::new("p", Scope::Global, &directories());
    expected.path = PATH.into();
    expected.origin = DefinitionOrigin::ClaudeCode { left_out: Vec::new() };
    expected.description = Some("Use it when: needed".to_owned());
    expected.configuration.tools = strings(&["read", "grep"]);
    expected.configuration.model = Some("sonnet".to_owned());
    expected.configuration.thinking_level = Some(ThinkingLevel::High);
    expected.configuration.system_prompt = Some("You are.".to_owned());
    expected.load_skills = strings(&["one", "two"]);
    assert_eq!(read, expected);
    for model in NO_MODELS {
        assert_eq!(definition(&format!("model: {model}\n")).configuration.model, None);
    }
}

#[test]
fn what_starts_programs_or_decides_about_permissions_is_left_out() {
    let read = definition(
        "permissionMode: bypassPermissions\nhooks:\n  Stop: [{hooks: [{command: evil}]}]\n\
         mcpServers: [{x: {command: evil}}]\nmaxTurns: 3\nmemory: user\nisolation: worktree\n\
         color: red\nbackground: true\ninitialPrompt: Hello\nversion: 3\n\
         apiKey: sk-1\nextensions: /evil.js\nextraArgs: --evil\nagent: evil\nprovider: evil\n\
         access: full\n",
    );
    assert_eq!(read.origin.left_out(), LEFT_OUT);
    let mut bare = definition("");
    bare.origin = read.origin.clone();
    assert_eq!(read, bare, "nothing of it is used");
}

#[test]
fn tools_have_our_names_and_restrict_as_much_as_they_did() {
    // The lines, the tools, whether there are none, and the excluded tools.
    for (lines, tools, none, excluded) in [
        ("", "", false, ""),
        ("tools: Read, Glob, Grep, LS, Bash\n", "read find grep ls bash", false, ""),
        ("tools: [Edit, MultiEdit, Write]\n", "edit write", false, ""),
        ("tools: WebFetch, Task, mcp__a__b\n", "fetch_content Task mcp__a__b", false, ""),
        ("tools: \"*\"\n", "", false, ""),
        ("tools: []\n", "", true, ""),
        ("tools:\n", "", true, ""),
        ("disallowedTools: Write, Edit, Task\n", "", false, "write edit Task"),
        ("tools: \"*\"\ndisallowedTools: Bash\n", "", false, "bash"),
        ("tools: Read, Bash\ndisallowedTools: Bash\n", "read", false, ""),
        ("tools: Bash\ndisallowedTools: Bash\n", "", true, ""),
    ] {
        let configuration = definition(lines).configuration;
        let found = (
            configuration.tools.join(" "),
            configuration.no_tools,
            configuration.exclude_tools.join(" "),
        );
        assert_eq!(found, (tools.to_owned(), none, excluded.to_owned()), "{lines}");
    }
}

#[test]
fn a_tool_for_some_arguments_is_never_more_than_was_meant() {
    let allowed = "p:3: \"tools\" names a tool for some arguments only, as in `Bash(git log:*)`, which \
                   cannot be kept; the whole tool is left out";
    let excluded = "p:3: \"disallowedTools\" names a tool for some arguments only, as in `Bash(git \
                    log:*)`, which cannot be kept; the whole tool is excluded";
    for (line, tools, exclude_tools, warning) in [
        ("tools: Read, Bash(git log:*)", "read", "", allowed),
        ("tools: Agent(one, two), Read", "read", "", allowed),
        ("disallowedTools: Bash(rm *)", "", "bash", excluded),
    ] {
        let (definition, warnings) = read_lines(&format!("{line}\n"));
        let configuration = definition.unwrap().configuration;
        assert_eq!(warnings, [warning]);
        assert_eq!(configuration.tools.join(" "), tools, "{line}");
        assert_eq!(configuration.exclude_tools.join(" "), exclude_tools, "{line}");
    }
    let (definition, _) = read_lines("tools: Bash(git log:*)\n");
    assert!(definition.unwrap().configuration.no_tools);
}

#[test]
fn what_cannot_be_understood_is_told_with_its_line() {
    for (lines, is_loaded, expected) in [
        ("tools: {a: b}\n", false, "p:2: it is not loaded: what should restrict the agent cannot"),
        ("disallowed-tools: Bash\n", false, "p:2: it is not loaded: what should restrict"),
        ("model: [a]\n", true, "p:3: \"model\" is ignored: it must be text"),
        ("effort: 7\n", true, "p:3: \"effort\" must be one of low, medium, high, xhigh, max"),
    ] {
        let (definition, warnings) = read_lines(lines);
        assert_eq!(definition.is_some(), is_loaded, "{lines}");
        assert!(warnings.iter().any(|warning| warning.starts_with(expected)), "{warnings:?}");
    }
    for (text, expected) in [
        ("---\ndescription: x\n---\n", "it is not loaded: it has no \"name\""),
        ("---\nname: a b\n---\n", "it is not loaded: its name may have only letters"),
    ] {
        let document = Document::parse(text.as_bytes()).unwrap();
        let (definition, warnings) = from_document(document, Path::new(PATH), Scope::Global);
        assert_eq!((definition, warnings.len()), (None, 1));
        assert!(warnings[0].problem.starts_with(expected), "{warnings:?}");
    }
}

/// Directories of definitions, of ours and of Claude Code's.
struct World {
    top: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let top = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        World { top }
    }

    fn load(&self) -> Definitions {
        let at = |path: &str| self.top.path().join(path);
        load_definitions(&DefinitionDirectories {
            kind: DefinitionKind::Profile,
            global: at("global"),
            project: at("project"),
            claude: vec![(Scope::Global, at("users")), (Scope::Project, at("projects"))],
        })
    }
}

#[test]
fn ours_win_and_then_those_of_the_project() {
    let text = |name: &str, body: &str| format!("---\nname: {name}\n---\n{body}");
    let world = World::new(&[
        ("global/a.md", &text("a", "global")),
        ("users/a.md", &text("a", "users")),
        ("projects/a.md", &text("a", "projects")),
        ("users/b.md", &text("b", "users")),
        ("projects/b.md", &text("b", "projects")),
        ("users/c.md", &text("c", "users")),
        ("project/c.md", &text("c", "project")),
        ("users/README.md", "About these files."),
        ("users/broken.md", "---\nname: [\n---\n"),
        ("users/d1.md", &text("d", "first")),
        ("users/d2.md", &text("d", "second")),
    ]);
    let loaded = world.load();
    let found: Vec<(&str, &str, Scope, &str)> = loaded
        .iter()
        .map(|definition| {
            let body = definition.configuration.system_prompt.as_deref().unwrap();
            (definition.name.as_str(), body, definition.scope, definition.origin.word())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a", "global", Scope::Global, "own"),
            ("b", "projects", Scope::Project, "claude"),
            ("c", "project", Scope::Project, "own"),
            ("d", "second", Scope::Global, "claude"),
        ]
    );
    assert_eq!(loaded.warnings, []);
    let warned: Vec<&str> = loaded
        .foreign_warnings()
        .iter()
        .map(|warning| warning.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(warned, ["broken.md", "d2.md"]);
    assert_eq!(loaded.foreign_warnings()[0].line, Some(2));
}

#[test]
fn they_are_read_when_one_is_asked_for() {
    let world = World::new(&[("global/own.md", "---\nname: own\n---\n")]);
    let loaded = world.load();
    assert!(loaded.get("own").is_ok());
    // Nothing was read so far, so that what is written now is found.
    fs::create_dir(world.top.path().join("users")).unwrap();
    fs::write(world.top.path().join("users/late.md"), "---\nname: late\n---\n").unwrap();
    assert!(loaded.get("late").is_ok());
    assert_eq!(loaded.iter().len(), 2);
}

#[test]
fn a_copy_is_a_profile_of_ours() {
    let world = World::new(&[(
        "users/p.md",
        "---\nname: p\ndescription: D.\ntools: Read, Task\nmodel: opus\nhooks: {}\n---\nYou are.\n",
    )]);
    let definition = world.load().get("p").unwrap().clone();
    let mut directories = directories();
    directories.global = world.top.path().join("global");
    let copy = super::super::import_definition(&directories, &definition, Scope::Global).unwrap();
    assert_eq!(copy.path, directories.global.join("p.md"));
    let text = "---\nname: p\ndescription: D.\nmodel: opus\ntools: read,Task\n---\n\nYou are.\n";
    assert_eq!(fs::read_to_string(&copy.path).unwrap(), text);
    assert_eq!(world.load().get("p"), Ok(&copy));
    let again = super::super::import_definition(&directories, &definition, Scope::Global);
    assert!(again.unwrap_err().to_string().contains("already exists"));
}

/// What is left of the definition on an agent, and what is lost.
fn adapted(
    lines: &str,
    agent: &Agent,
    models: Option<&[&str]>,
    default_provider: Option<&str>,
) -> (Definition, Vec<String>) {
    let models: Option<Vec<String>> = models.map(strings);
    let mut definition = definition(lines);
    let target =
        Target { agent, models: models.as_deref(), default_provider, has_other_model: false };
    let lost = adapt(&mut definition, &target);
    (definition, lost)
}

fn agent(name: &str) -> Agent {
    let known = protocol::KnownAgent::named(name).unwrap();
    Agent::Named(NamedAgent::from(known))
}

#[test]
fn claude_gets_everything_and_others_what_they_have() {
    let lines = "tools: Read, Task, TodoWrite\nmodel: sonnet\nhooks: {}\n";
    let not_taken = "not taken over from Claude Code: \"hooks\"";
    let (kept, lost) = adapted(lines, &agent("claude"), None, None);
    assert_eq!(kept.configuration.tools, strings(&["read", "Task", "TodoWrite"]));
    assert_eq!(kept.configuration.model.as_deref(), Some("sonnet"));
    assert_eq!(lost, [not_taken]);
    for (agent, word) in
        [(Agent::Pi, "pi"), (Agent::Builtin, "the built-in agent"), (agent("codex"), "codex")]
    {
        let (kept, lost) = adapted(lines, &agent, None, None);
        assert_eq!(kept.configuration.tools, strings(&["read"]));
        assert_eq!((kept.configuration.model, kept.configuration.no_tools), (None, false));
        let tools = format!("not among the tools of {word}: \"Task\", \"TodoWrite\"");
        let model = format!(
            "its model \"sonnet\" is Claude Code's and not known here; {word} uses its default model"
        );
        assert_eq!(lost, [not_taken.to_owned(), tools, model]);
    }
    let (kept, _) = adapted("tools: Task\n", &Agent::Pi, None, None);
    assert!(kept.configuration.no_tools, "a list of which nothing is left allows nothing");
    let (kept, lost) = adapted("disallowedTools: Task, Bash\n", &Agent::Pi, None, None);
    assert_eq!((kept.configuration.exclude_tools, lost), (strings(&["bash"]), vec![]));
}

#[test]
fn a_model_is_the_latest_that_it_can_mean() {
    const MODELS: &[&str] = &[
        "github-copilot/claude-sonnet-9",
        "anthropic/claude-3-7-sonnet-20250219",
        "anthropic/claude-sonnet-4-20250514",
        "anthropic/claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4-5",
        "openrouter/anthropic/claude-opus-4.1",
        "openai/gpt-5",
    ];
    for (model, expected) in [
        ("sonnet", Some("anthropic/claude-sonnet-4-5")),
        ("opus", Some("openrouter/anthropic/claude-opus-4.1")),
        ("claude-sonnet-4-20250514", Some("anthropic/claude-sonnet-4-20250514")),
        ("haiku", None),
        ("opusplan", None),
        ("script/evil.json", None),
    ] {
        let (kept, lost) = adapted(&format!("model: {model}\n"), &Agent::Pi, Some(MODELS), None);
        assert_eq!(kept.configuration.model.as_deref(), expected, "{model}");
        assert_eq!((kept.configuration.provider, lost.is_empty()), (None, expected.is_some()));
    }
    // Where the models are not known, the provider that is used anyway has it.
    let (kept, lost) = adapted("model: haiku\n", &Agent::Pi, None, Some("anthropic"));
    assert_eq!(kept.configuration.provider.as_deref(), Some("anthropic"));
    assert_eq!((kept.configuration.model.as_deref(), lost.len()), (Some("haiku"), 0));
    let (kept, lost) = adapted("model: haiku\n", &Agent::Pi, None, Some("openai"));
    assert_eq!((kept.configuration.model, lost.len()), (None, 1));
}
