use crate::Configuration;
use std::path::Path;

use model::{Access, AgentKind};
use serde_json::{Value, json};

use super::*;
use crate::{ApiKey, Origin, ThinkingLevel};

type Change = fn(&mut Configuration);

fn start<'a>(agent: &str, configuration: &'a Configuration, access: Access) -> Start<'a> {
    Start {
        agent: AgentKind::Named(agent.to_owned()),
        version: None,
        program: vec![agent.to_owned()],
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

fn invoke(agent: &str, change: impl FnOnce(&mut Configuration)) -> Result<Invocation, StartError> {
    let mut configuration = Configuration::default();
    change(&mut configuration);
    invocation(&start(agent, &configuration, Access::Full))
}

fn words(invocation: &Invocation) -> String {
    let words = invocation.command.iter().map(|argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::File(name) => format!("/run/{name}"),
        Argument::Setting { name, file } => format!("{name}=/run/{file}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn settings(invocation: &Invocation) -> Value {
    let text = invocation.environment["OPENCODE_CONFIG_CONTENT"].clone().unwrap();
    serde_json::from_str(&text).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_agent_is_started_in_its_own_way() {
    let plain = |agent: &str| words(&invoke(agent, |_| ()).unwrap());
    assert_eq!(plain("gemini"), "gemini --acp");
    assert_eq!(plain("opencode"), "opencode acp");
    let own = "--no-auto-update --no-ask-user --disable-mcp-server pi-subagents";
    assert_eq!(plain("copilot"), format!("copilot --acp {own}"));
    assert_eq!(plain("oracle"), "oracle", "nothing is known of it");
    let own = settings(&invoke("opencode", |_| ()).unwrap());
    assert_eq!(own["mcp"], json!({"pi-subagents": {"enabled": false}}));
}

#[test]
fn models_and_thinking_are_flags_where_there_are_flags() {
    let wish = |agent: &str, model: &str| {
        let (model, thinking_level) = (Some(model.to_owned()), Some(ThinkingLevel::Off));
        invoke(agent, |c| *c = Configuration { model, thinking_level, ..Configuration::default() })
    };
    let gemini = wish("gemini", "google/gemini-x").unwrap();
    assert_eq!(words(&gemini), "gemini --acp --model gemini-x");
    assert!(gemini.warnings[0].contains("thinkingLevel \"off\" has no effect"), "{gemini:?}");
    let copilot = words(&wish("copilot", "github-copilot/gpt-x").unwrap());
    assert!(copilot.ends_with("--model gpt-x --reasoning-effort none"), "{copilot}");
    assert_eq!(words(&wish("opencode", "a/b").unwrap()), "opencode acp", "it is chosen later");
    for agent in ["gemini", "copilot"] {
        let error = invoke(agent, |c| c.provider = Some("anthropic".to_owned())).unwrap_err();
        assert!(matches!(error, StartError::OtherProvider { .. }), "{error}");
    }
    assert!(matches!(wish("gemini", "openai/gpt-x"), Err(StartError::OtherProvider { .. })));
}

#[test]
fn tools_are_restricted_or_the_task_is_refused() {
    let gemini = invoke("gemini", |c| c.tools = names(&["read", "lsp_diagnostics"])).unwrap();
    assert_eq!(
        words(&gemini),
        "gemini --acp --admin-policy /run/gemini-policy.toml --policy /run/gemini-policy.toml \
         --allowed-mcp-server-names pi-subagents-nothing"
    );
    let policy = &gemini.files["gemini-policy.toml"];
    assert!(policy.contains("toolName = \"*\"\ndecision = \"deny\"\npriority = 900"), "{policy}");
    assert!(
        policy.contains("[\"read_file\", \"read_many_files\"]\ndecision = \"ask_user\""),
        "{policy}"
    );
    assert_eq!(gemini.warnings, ["Gemini CLI has no tool like \"lsp_diagnostics\""]);
    let excluded = |agent: &str| invoke(agent, |c| c.exclude_tools = names(&["write"])).unwrap();
    let policy = &excluded("gemini").files["gemini-policy.toml"];
    assert_eq!(
        policy,
        "[[rule]]\ntoolName = [\"write_file\"]\ndecision = \"deny\"\npriority = 990\n"
    );
    assert_eq!(settings(&excluded("opencode"))["permission"], json!({"edit": "deny"}));
    assert!(words(&excluded("copilot")).ends_with("--excluded-tools=create"));
    let only = invoke("opencode", |c| c.tools = names(&["read", "docs_search"])).unwrap();
    assert_eq!(
        settings(&only)["permission"],
        json!({"*": "deny", "read": "allow", "docs_search": "allow"})
    );
    let none = invoke("copilot", |c| c.no_tools = true).unwrap();
    assert!(words(&none).ends_with("--available-tools=none"));
    let fields: [(&str, Change); 6] = [
        ("noTools", |c| c.no_tools = true),
        ("tools", |c| c.tools = names(&["read"])),
        ("excludeTools", |c| c.exclude_tools = names(&["read"])),
        ("noExtensions", |c| c.no_extensions = true),
        ("noSkills", |c| c.no_skills = true),
        ("noContextFiles", |c| c.no_context_files = true),
    ];
    for (field, set) in fields {
        let error = invoke("oracle", set).unwrap_err().to_string();
        assert!(
            error.contains(&format!("sets \"{field}\", which the agent cannot keep")),
            "{error}"
        );
        for agent in ["gemini", "opencode", "copilot"] {
            let is_kept = invoke(agent, set).is_ok();
            assert_eq!(is_kept, !["noExtensions", "noContextFiles"].contains(&field), "{agent}");
        }
    }
    let quoted = invoke("gemini", |c| c.exclude_tools = names(&["a\"]\n[[rule"])).unwrap_err();
    assert!(matches!(quoted, StartError::CannotRestrict { .. }), "{quoted}");
}

#[test]
fn extra_arguments_do_not_undo_a_restriction() {
    let extra = |agent: &str, argument: &str, is_restricted: bool| {
        invoke(agent, |c| {
            c.extra_args = names(&[argument]);
            c.no_skills = is_restricted;
        })
    };
    for (agent, argument) in [("gemini", "--policy=/x"), ("copilot", "--available-tools=bash")] {
        assert!(words(&extra(agent, argument, false).unwrap()).ends_with(argument));
        let error = extra(agent, argument, true).unwrap_err();
        assert!(matches!(error, StartError::OverridesTools { .. }), "{error}");
    }
}

#[test]
fn prompts_are_kept_as_far_as_the_agent_can() {
    let prompted = |agent: &str| {
        invoke(agent, |c| {
            c.system_prompt = Some("You are a cat.".to_owned());
            c.append_system_prompt = Some("Be brief.".to_owned());
        })
        .unwrap()
    };
    let gemini = prompted("gemini");
    assert_eq!(gemini.file_variables["GEMINI_SYSTEM_MD"], "system-prompt.md");
    assert_eq!(gemini.preamble.as_deref(), Some("Be brief."));
    let opencode = prompted("opencode");
    assert_eq!(settings(&opencode)["agent"]["build"]["prompt"], "You are a cat.");
    assert_eq!(opencode.preamble.as_deref(), Some("Be brief."));
    for agent in ["copilot", "oracle"] {
        let invocation = prompted(agent);
        assert_eq!(invocation.preamble.as_deref(), Some("You are a cat.\n\nBe brief."));
        assert!(invocation.warnings[0].contains("keeps its own system prompt"), "{invocation:?}");
    }
}

#[test]
fn keys_are_variables_of_the_agent() {
    let keyed = |agent: &str, provider: Option<&str>| {
        invoke(agent, |c| {
            c.api_key = Some(ApiKey::new("sk-secret".to_owned()));
            c.key_provider = provider.map(str::to_owned);
        })
    };
    let secret = |invocation: Invocation| -> Vec<(String, String)> {
        let secrets = invocation.secrets.reveal();
        secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let pair = |name: &str| vec![(name.to_owned(), "sk-secret".to_owned())];
    assert_eq!(secret(keyed("gemini", None).unwrap()), pair("GEMINI_API_KEY"));
    assert_eq!(secret(keyed("copilot", None).unwrap()), pair("COPILOT_GITHUB_TOKEN"));
    let opencode = keyed("opencode", Some("openai")).unwrap();
    let key = &settings(&opencode)["provider"]["openai"]["options"]["apiKey"];
    assert_eq!(key, "{env:PI_API_KEY}");
    assert_eq!(secret(opencode), pair("PI_API_KEY"));
    assert!(matches!(keyed("opencode", None), Err(StartError::KeyWithoutProvider { .. })));
    assert!(matches!(keyed("gemini", Some("openai")), Err(StartError::OtherKey { .. })));
    assert!(matches!(keyed("copilot", Some("openai")), Err(StartError::OtherKey { .. })));
    assert!(matches!(keyed("oracle", None), Err(StartError::NoKey { .. })));
}

#[test]
fn the_settings_that_the_user_has_in_the_environment_stay_and_are_written_nowhere() {
    let configuration = Configuration::default();
    let mut start = start("opencode", &configuration, Access::Read);
    start.variable = |name| {
        (name == "OPENCODE_CONFIG_CONTENT").then(|| r#"{"model":"a/b","mcp":{"x":{}}}"#.to_owned())
    };
    let found = invocation(&start).unwrap();
    assert!(!found.environment.contains_key("OPENCODE_CONFIG_CONTENT"));
    let secrets: Vec<(&str, &str)> = found.secrets.reveal().collect();
    let settings: Value = serde_json::from_str(secrets[0].1).unwrap();
    assert_eq!(settings["model"], "a/b");
    assert_eq!(settings["mcp"], json!({"x": {}, "pi-subagents": {"enabled": false}}));
    assert_eq!(settings["permission"], json!({"edit": "deny"}), "the access is `read`");
    start.variable = |_| Some("{".to_owned());
    assert!(matches!(invocation(&start), Err(StartError::NotJson { .. })));
}

#[test]
fn what_they_write_for_themselves_goes_to_a_directory_of_the_run() {
    for (agent, variable, beneath, directory) in [
        ("gemini", "GEMINI_CLI_HOME", Some(".gemini"), "/home/me/.gemini"),
        ("opencode", "XDG_DATA_HOME", Some("opencode"), "/home/me/.local/share/opencode"),
        ("copilot", "COPILOT_HOME", None, "/home/me/.copilot"),
    ] {
        let state = invoke(agent, |_| ()).unwrap().state;
        let mirror = state.mirror.unwrap();
        assert_eq!((mirror.variable.as_str(), mirror.beneath.as_deref()), (variable, beneath));
        assert_eq!(mirror.directory, Path::new(directory));
        assert!(state.settings.contains(&mirror.directory) && state.paths.is_empty());
    }
}
