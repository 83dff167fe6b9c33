use std::path::Path;

use model::Access;
use proptest::prelude::*;

use super::*;
use crate::{ApiKey, Origin, Protocol, Version};

/// As in JSON mode, of which most of these tests are.
fn invocation(start: Start<'_>) -> Result<Invocation, StartError> {
    super::invocation(start, JSON_MODE)
}

const BEFORE: [&str; 5] = ["pi", "--mode", "json", "-p", "--no-session"];

fn start(configuration: &Configuration) -> Start<'_> {
    Start {
        agent: AgentKind::Pi,
        program: vec!["pi".to_owned()],
        version: None,
        configuration,
        origin: Origin { title: "Profile \"p\"".to_owned(), kind: "profile" },
        keeps_conversation: false,
        all_tools: None,
        agent_dir: Path::new("/home/me/.pi/agent"),
        home: None,
        variable: |_| None,
        access: Access::Full,
        ask: false,
        max_cost_usd: None,
        default_provider: None,
        schema: None,
    }
}

fn configured(change: impl FnOnce(&mut Configuration)) -> Configuration {
    let mut configuration = Configuration::default();
    change(&mut configuration);
    configuration
}

/// All arguments, with the files of the run directory below `/run`.
fn words(invocation: &Invocation) -> Vec<String> {
    let words = invocation.command.iter().map(|argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::File(name) => format!("/run/{name}"),
        Argument::Setting { name, file } => format!("{name}=/run/{file}"),
    });
    words.collect()
}

/// The arguments of a configuration, behind those that every child has.
fn try_arguments(change: impl FnOnce(&mut Configuration)) -> Result<Vec<String>, String> {
    let configuration = configured(change);
    let invocation = invocation(start(&configuration)).map_err(|error| error.to_string())?;
    let words = words(&invocation);
    assert_eq!(words[..5], BEFORE);
    Ok(words[5..].to_vec())
}

fn arguments(change: impl FnOnce(&mut Configuration)) -> Vec<String> {
    try_arguments(change).unwrap()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn only_the_built_in_agent_is_told_of_fallback_models() {
    let configuration = configured(|c| c.fallback_models = strings(&["a/b", "c"]));
    let of = |agent: AgentKind| invocation(Start { agent, ..start(&configuration) }).unwrap();
    let builtin = of(AgentKind::Builtin);
    let expected = ["--fallback-model", "a/b", "--fallback-model", "c"];
    assert_eq!(words(&builtin)[5..], expected);
    for agent in [AgentKind::Pi, AgentKind::Program] {
        assert_eq!(words(&of(agent)).len(), 5, "it is started once more for them");
    }
    let option = configured(|c| c.fallback_models = strings(&["--no-tools"]));
    let refused = invocation(Start { agent: AgentKind::Builtin, ..start(&option) });
    assert!(refused.unwrap_err().to_string().contains("\"fallbackModels\" begins with a hyphen"));
}

#[test]
fn every_field_has_its_arguments() {
    assert_eq!(arguments(|_| ()), Vec::<String>::new());
    assert_eq!(arguments(|c| c.provider = Some("a".into())), ["--provider", "a"]);
    assert_eq!(arguments(|c| c.model = Some("a/b:high".into())), ["--model", "a/b:high"]);
    assert_eq!(
        arguments(|c| c.system_prompt = Some("s".into())),
        ["--system-prompt", "/run/system-prompt.md"]
    );
    assert_eq!(
        arguments(|c| c.append_system_prompt = Some("s".into())),
        ["--append-system-prompt", "/run/append-system-prompt.md"]
    );
    for (word, level) in ThinkingLevel::WORDS {
        assert_eq!(arguments(|c| c.thinking_level = Some(level)), ["--thinking", word]);
    }
    assert_eq!(arguments(|c| c.tools = strings(&["read", "bash"])), ["--tools", "read,bash"]);
    assert_eq!(arguments(|c| c.no_tools = true), ["--no-tools"]);
    assert_eq!(
        arguments(|c| c.exclude_tools = strings(&["write", "edit"])),
        ["--exclude-tools", "write,edit"]
    );
    assert_eq!(arguments(|c| c.no_extensions = true), ["--no-extensions"]);
    assert_eq!(
        arguments(|c| c.extensions = strings(&["/a.js", "b.js"])),
        ["--extension", "/a.js", "--extension", "b.js"]
    );
    assert_eq!(arguments(|c| c.no_skills = true), ["--no-skills"]);
    assert_eq!(arguments(|c| c.no_context_files = true), ["--no-context-files"]);
    assert_eq!(arguments(|c| c.extra_args = strings(&["--verbose", ""])), ["--verbose", ""]);
}

#[test]
fn only_a_pi_with_servers_is_told_to_close_them() {
    let all = strings(&["read", "bash", "mcp__a__b"]);
    let words_of = |change: fn(&mut Configuration), version: Option<Version>, knows_all: bool| {
        let configuration = configured(change);
        let all_tools = knows_all.then_some(all.as_slice());
        let start = Start { version, all_tools, ..start(&configuration) };
        words(&invocation(start).unwrap())[5..].join(" ")
    };
    let (old, new) = (Some(Version::new(1, 0, 3)), Some(Version::new(1, 0, 4)));
    type Change = fn(&mut Configuration);
    let only: Change = |c| c.tools = strings(&["read"]);
    let with_server: Change = |c| c.tools = strings(&["read", "mcp__a__b"]);
    let excluding: Change = |c| c.exclude_tools = strings(&["bash"]);
    let excluding_server: Change = |c| c.exclude_tools = strings(&["mcp__a__b"]);
    for (change, knows_all, without, with) in [
        ((|_| ()) as Change, false, "", ""),
        (|c| c.no_tools = true, false, "--no-tools", "--no-tools --no-mcp"),
        (only, false, "--tools read", "--tools read --no-mcp"),
        // Only the tools that are named are left.
        (with_server, false, "--tools read,mcp__a__b", "--tools read,mcp__a__b"),
        // What is not excluded stays.
        (excluding, false, "--exclude-tools bash", "--exclude-tools bash"),
        (excluding, true, "--tools read,mcp__a__b", "--tools read,mcp__a__b"),
        (excluding_server, true, "--tools read,bash", "--tools read,bash --no-mcp"),
    ] {
        for version in [None, old] {
            assert_eq!(words_of(change, version, knows_all), without, "{version:?}");
        }
        for version in [new, Some(Version::new(1, 5, 0))] {
            assert_eq!(words_of(change, version, knows_all), with, "{version:?}");
        }
    }
}

#[test]
fn a_provider_without_a_model_is_refused_where_pi_refuses_it() {
    let configuration = configured(|c| c.provider = Some("openai".into()));
    let started = |version| {
        let start = Start { version, ..start(&configuration) };
        invocation(start).map(|invoked| words(&invoked)[5..].join(" "))
    };
    for version in [None, Some(Version::new(0, 87, 1))] {
        assert_eq!(started(version).as_deref(), Ok("--provider openai"));
    }
    assert_eq!(
        started(Some(Version::new(1, 5, 0))).unwrap_err().to_string(),
        "Profile \"p\" names the provider \"openai\" and no model, which pi 1.5.0 refuses. Add the \
         model, such as `model: openai/ID`."
    );
    assert!(arguments(|c| (c.provider, c.model) = (Some("a".into()), Some("b".into()))).len() == 4);
}

#[test]
fn the_arguments_depend_on_the_version_only_where_they_differ() {
    type Change = fn(&mut Configuration);
    for (change, expected) in [
        ((|_| ()) as Change, false),
        (|c| c.model = Some("a/b".into()), false),
        (|c| (c.provider, c.model) = (Some("a".into()), Some("b".into())), false),
        (|c| c.no_extensions = true, false),
        (|c| c.provider = Some("a".into()), true),
        (|c| c.no_tools = true, true),
        (|c| c.tools = strings(&["read"]), true),
        (|c| c.exclude_tools = strings(&["read"]), true),
    ] {
        let configuration = configured(change);
        assert_eq!(Protocol::Pi.depends_on_version(&configuration), expected);
        assert!(!Protocol::Claude.depends_on_version(&configuration));
    }
}

#[test]
fn the_arguments_are_in_their_order() {
    let configuration = Configuration {
        provider: Some("anthropic".into()),
        model: Some("sonnet".into()),
        system_prompt: Some("You are.".into()),
        append_system_prompt: Some("Be brief.".into()),
        thinking_level: Some(ThinkingLevel::High),
        tools: strings(&["read"]),
        no_extensions: true,
        no_skills: true,
        no_context_files: true,
        extensions: strings(&["/a.js"]),
        skills: vec!["/skills/a/SKILL.md".into(), "/skills/b/SKILL.md".into()],
        extra_args: strings(&["--verbose"]),
        api_key: Some(ApiKey::new("a key".to_owned())),
        ..Configuration::default()
    };
    let invocation = invocation(start(&configuration)).unwrap();
    assert_eq!(
        words(&invocation).join(" "),
        "pi --mode json -p --no-session --provider anthropic --model sonnet \
         --system-prompt /run/system-prompt.md --append-system-prompt /run/append-system-prompt.md \
         --thinking high --tools read --no-extensions --no-skills --no-context-files \
         --extension /a.js --skill /skills/a/SKILL.md --skill /skills/b/SKILL.md --verbose \
         -e /run/child-extension.mjs"
    );
    assert_eq!(invocation.files["system-prompt.md"], "You are.");
    assert_eq!(invocation.files["append-system-prompt.md"], "Be brief.");
}

#[test]
fn a_restricted_agent_is_told_what_it_may_change_and_has_its_state() {
    let configuration = configured(|c| c.append_system_prompt = Some("Be brief.".into()));
    let read = Start { access: Access::Read, ..start(&configuration) };
    let invoked = invocation(Start { keeps_conversation: true, ..read.clone() }).unwrap();
    let prompt = &invoked.files["system-prompt.md"];
    assert!(prompt.starts_with("Be brief.\n\nYou can read everything"), "{prompt}");
    let state = AgentState {
        run_files: vec!["child-session.jsonl".to_owned()],
        paths: vec!["/home/me/.pi/agent/sessions".into()],
        mirror: Some(Mirror {
            directory: "/home/me/.pi/agent".into(),
            variable: "PI_CODING_AGENT_DIR".to_owned(),
            beneath: None,
            entries: None,
            mounted: vec!["auth.json".to_owned()],
        }),
        ..AgentState::default()
    };
    assert_eq!(invoked.state, state);
    let plain = Configuration::default();
    let builtin = Start {
        agent: AgentKind::Builtin,
        access: Access::Workspace,
        configuration: &plain,
        ..read
    };
    let invoked = invocation(builtin).unwrap();
    let prompt = &invoked.files["append-system-prompt.md"];
    assert!(prompt.starts_with("You can change files in the working directory"), "{prompt}");
    assert_eq!(invoked.state, AgentState::default());
    assert_eq!(invocation(start(&plain)).unwrap().files.len(), 0, "nothing is said of full access");
}

#[test]
fn a_conversation_that_is_kept_has_its_file_and_one_prompt() {
    let configuration = configured(|c| c.append_system_prompt = Some("Be brief.".into()));
    let start = Start { keeps_conversation: true, ..start(&configuration) };
    let invocation = invocation(start).unwrap();
    assert_eq!(
        words(&invocation)[4..],
        [
            "--session",
            "/run/child-session.jsonl",
            "--append-system-prompt",
            "/run/system-prompt.md"
        ]
    );
    assert_eq!(invocation.files["child-session.jsonl"], "");
    assert_eq!(invocation.files["system-prompt.md"], "Be brief.");
}

#[test]
fn the_strongest_restriction_of_tools_counts() {
    let all = strings(&["read", "bash", "edit", "write"]);
    // noTools, tools, excludeTools, whether all tools are known
    for (no_tools, tools, excluded, is_known, expected) in [
        (true, "read", "bash", true, "--no-tools"),
        (false, "read", "bash", true, "--tools read"),
        (false, "", "write,edit", true, "--tools read,bash"),
        (false, "", "write,edit", false, "--exclude-tools write,edit"),
        (false, "", "unknown", true, "--tools read,bash,edit,write"),
        (false, "", "read,bash,edit,write", true, "--no-tools"),
        (false, "", "", true, ""),
    ] {
        let list = |text: &str| strings(&text.split_terminator(',').collect::<Vec<_>>());
        let configuration = configured(|c| {
            c.no_tools = no_tools;
            c.tools = list(tools);
            c.exclude_tools = list(excluded);
        });
        let all_tools = is_known.then_some(&all[..]);
        let found = invocation(Start { all_tools, ..start(&configuration) }).unwrap();
        let found = words(&found)[5..].join(" ");
        assert_eq!(found, expected, "{no_tools} {tools} {excluded} {is_known}");
    }
}

#[test]
fn extra_arguments_cannot_override_the_restriction_of_tools() {
    let restrictions: [fn(&mut Configuration); 3] = [
        |c| c.no_tools = true,
        |c| c.tools = strings(&["read"]),
        |c| c.exclude_tools = strings(&["write"]),
    ];
    for flag in ["--tools", "-t", "--no-tools", "-nt", "--exclude-tools", "-xt"] {
        for argument in [flag.to_owned(), format!("{flag}="), format!("{flag}=read")] {
            for restriction in restrictions {
                let refusal = try_arguments(|c| {
                    restriction(c);
                    c.extra_args = strings(&["--verbose", &argument]);
                });
                let expected = format!(
                    "Refusing extraArg \"{argument}\" which would override profile tool \
                     restrictions. Use the dedicated profile fields instead."
                );
                assert_eq!(refusal, Err(expected));
            }
            let allowed = arguments(|c| c.extra_args = vec![argument.clone()]);
            assert_eq!(allowed, [argument]);
        }
    }
    for argument in ["--tool", "--tools-of-mine", "-tx", "--theme", "tools"] {
        let allowed = arguments(|c| {
            c.no_tools = true;
            c.extra_args = strings(&[argument]);
        });
        assert_eq!(allowed, ["--no-tools", argument]);
    }
}

#[test]
fn null_bytes_are_refused_and_the_checks_have_an_order() {
    let refusal = |argument: &str, no_tools: bool| {
        let result = try_arguments(|c| {
            c.no_tools = no_tools;
            c.extra_args = strings(&[argument]);
        });
        result.unwrap_err()
    };
    assert_eq!(refusal("test\0arg", false), "Invalid extraArg: contains null byte");
    assert!(refusal("--tools=\0;", true).starts_with("Refusing extraArg \"--tools="));
    assert!(refusal("--api-key=\0", false).starts_with("Refusing extraArg \"--api-key\":"));
    let refusal = try_arguments(|c| c.model = Some("a\0b".into())).unwrap_err();
    assert_eq!(refusal, "Profile \"p\" cannot be used: \"model\" contains a null byte");
}

#[test]
fn no_field_can_be_an_option() {
    let changes: [fn(&mut Configuration); 5] = [
        |c| c.provider = Some("--extension=/evil.js".into()),
        |c| c.model = Some("-e".into()),
        |c| c.tools = strings(&["--extension", "/evil.js"]),
        |c| c.exclude_tools = strings(&["-e"]),
        |c| c.extensions = strings(&["--approve"]),
    ];
    for (field, change) in
        ["provider", "model", "tools", "excludeTools", "extensions"].into_iter().zip(changes)
    {
        let expected = format!("\"{field}\" begins with a hyphen, as an option does");
        let refusal = try_arguments(change).unwrap_err();
        assert!(refusal.ends_with(&expected), "{refusal}");
    }
}

#[test]
fn a_key_is_in_the_secrets_alone_and_handed_over_by_the_extension() {
    let configuration = configured(|c| {
        c.api_key = Some(ApiKey::new("a key like no other".to_owned()));
        c.key_provider = Some("anthropic".to_owned());
    });
    let of_pi = invocation(start(&configuration)).unwrap();
    assert_eq!(of_pi.secrets.reveal().collect::<Vec<_>>(), [("PI_API_KEY", "a key like no other")]);
    assert_eq!(of_pi.environment["PI_API_KEY"], None);
    assert_eq!(of_pi.environment["PI_SUBAGENTS_KEY_PROVIDER"].as_deref(), Some("anthropic"));
    assert!(of_pi.files.contains_key(EXTENSION));
    let builtin = Start { agent: AgentKind::Builtin, ..start(&configuration) };
    let of_builtin = invocation(builtin).unwrap();
    assert_eq!(words(&of_builtin), BEFORE);
    assert_eq!(of_builtin.secrets, of_pi.secrets);
    let without = configured(|c| c.key_provider = Some("anthropic".to_owned()));
    let without = invocation(start(&without)).unwrap();
    assert_eq!(without.environment["PI_SUBAGENTS_KEY_PROVIDER"], None);
}

#[test]
fn copilot_is_told_that_an_agent_begins_the_conversation() {
    let told = |provider: Option<&str>, model: Option<&str>, default: Option<&str>| {
        let configuration = configured(|c| {
            c.provider = provider.map(str::to_owned);
            c.model = model.map(str::to_owned);
        });
        let start = Start { default_provider: default, ..start(&configuration) };
        let invocation = invocation(start).unwrap();
        let value = invocation.environment["PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR"].clone();
        assert_eq!(invocation.files.contains_key(EXTENSION), value.is_some());
        value
    };
    let initiator = |provider, model| told(provider, model, None);
    assert_eq!(initiator(Some("github-copilot"), None).as_deref(), Some("agent"));
    assert_eq!(initiator(None, Some("github-copilot/gpt")).as_deref(), Some("agent"));
    assert_eq!(initiator(None, Some("x/github-copilot/")), None);
    assert_eq!(initiator(None, None), None);
    // The default counts only where nothing else is asked for.
    let by_default = |provider, model| told(provider, model, Some("github-copilot"));
    assert_eq!(by_default(None, None).as_deref(), Some("agent"));
    assert_eq!(by_default(Some("openai"), None), None);
    assert_eq!(by_default(None, Some("openai/gpt")), None);
    assert_eq!(told(None, None, Some("openai")), None);
}

#[test]
fn the_built_in_agent_loads_no_extensions() {
    let configuration = configured(|c| c.extensions = strings(&["/a.js"]));
    let builtin = Start { agent: AgentKind::Builtin, ..start(&configuration) };
    assert_eq!(
        invocation(builtin).unwrap_err().to_string(),
        "Profile \"p\" asks for extensions, which only pi can load, and not the built-in agent; \
         use pi for it (`--agent pi`, `agent: pi`), or leave the extensions out"
    );
}

proptest! {
    #[test]
    fn any_texts_are_arguments_without_null_bytes_or_a_refusal(
        model in proptest::option::of(any::<String>()),
        tools in proptest::collection::vec(any::<String>(), 0..3),
        extra_args in proptest::collection::vec(any::<String>(), 0..3),
    ) {
        let configuration = Configuration {
            model,
            tools,
            extra_args,
            api_key: Some(ApiKey::new("a key like no other".to_owned())),
            ..Configuration::default()
        };
        if let Ok(invocation) = invocation(start(&configuration)) {
            let shown = format!("{invocation:?}");
            prop_assert!(!shown.contains("a key like no other"));
            prop_assert!(words(&invocation).iter().all(|word| !word.contains('\0')));
        }
    }
}

#[test]
fn some_arguments_mean_something_in_json_mode_only() {
    for (arguments, needs_json_mode) in [
        (&[][..], false),
        (&["--verbose"], false),
        (&["--flag", "value", "--other=value"], false),
        (&["--mode", "text"], true),
        (&["--mode=json"], true),
        (&["-p"], true),
        (&["--verbose", "--print"], true),
        (&["Also count them"], true),
        (&["--flag", "value", "a prompt"], true),
        (&["--flag", "@notes.md"], true),
    ] {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        assert_eq!(need_json_mode(&arguments), needs_json_mode, "{arguments:?}");
    }
    let started = super::invocation(start(&Configuration::default()), RPC_MODE).unwrap();
    assert_eq!(started.command[1..3], ["--mode", "rpc"].map(Argument::from));
}
