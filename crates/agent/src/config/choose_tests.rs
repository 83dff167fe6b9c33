//! The choice of a model, from the files to the key.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::*;
use crate::provider::Api;
use plan::ThinkingLevel;

/// Every key in these tests has this in it, and nothing that people get to see may have.
const MARK: &str = "sk-never";

struct World {
    top: TempDir,
    environment: BTreeMap<String, String>,
    profile_key: Option<ProfileKey>,
    settings: AgentSettings,
}

impl World {
    fn new() -> World {
        World {
            top: tempfile::tempdir().unwrap(),
            environment: BTreeMap::new(),
            profile_key: None,
            settings: AgentSettings::default(),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn file(self, name: &str, text: &str) -> World {
        fs::write(self.at(name), text).unwrap();
        self
    }

    fn models(self, text: &str) -> World {
        self.file("models.json", text)
    }

    fn auth(self, text: &str) -> World {
        self.file("auth.json", text)
    }

    fn variable(mut self, name: &str, value: &str) -> World {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    fn profile_key(mut self, provider: Option<&str>, key: &str) -> World {
        let provider = provider.map(str::to_owned);
        self.profile_key = Some(ProfileKey { provider, key: Secret::new(key) });
        self
    }

    fn defaults(mut self, provider: &str, model: &str) -> World {
        self.settings.default_provider = Some(provider.to_owned());
        self.settings.default_model = Some(model.to_owned());
        self
    }

    fn try_choose(&self, query: &ModelQuery<'_>) -> Result<Choice, ConfigError> {
        let choice = choose_model(
            query,
            &Sources {
                agent_dir: self.top.path(),
                settings: &self.settings,
                profile_key: self.profile_key.as_ref(),
                environment: &|name| self.environment.get(name).cloned(),
                now: now(),
            },
        );
        let shown = match &choice {
            Ok(choice) => format!("{choice:?}"),
            Err(error) => format!("{error:?} {error}"),
        };
        assert!(!shown.contains(MARK), "{shown}");
        choice
    }

    fn choose(&self, query: &ModelQuery<'_>) -> Choice {
        self.try_choose(query).unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }

    /// The chosen model, as `provider/id`.
    fn model(&self, provider: &str, model: &str) -> Result<String, String> {
        self.try_choose(&query(provider, model))
            .map(|choice| format!("{}/{}", choice.model.provider, choice.model.id))
            .map_err(|error| error.to_string())
    }

    fn key(&self, provider: &str) -> Result<Option<String>, String> {
        self.try_choose(&query(provider, ""))
            .map(|choice| choice.key.map(|key| key.reveal().to_owned()))
            .map_err(|error| error.to_string())
    }
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_800_000_000_000)
}

fn query<'a>(provider: &'a str, model: &'a str) -> ModelQuery<'a> {
    let given = |text: &'a str| Some(text).filter(|text| !text.is_empty());
    ModelQuery { provider: given(provider), model: given(model), thinking: None }
}

fn key(name: &str) -> String {
    format!("{MARK}-{name}")
}

const LOCAL: &str = r#"{
    // A server of one's own.
    "providers": {
        "ollama": {
            "baseUrl": "http://localhost:11434/v1",
            "api": "openai-completions",
            "models": [{ "id": "qwen2.5-coder:7b" }, { "id": "vendor/deep:thought", "reasoning": true },],
        },
    },
}"#;

#[test]
fn names_lead_to_models() {
    let world = World::new()
        .models(LOCAL)
        .variable("ANTHROPIC_API_KEY", &key("a"))
        .variable("OPENROUTER_API_KEY", &key("o"))
        .variable("GROQ_API_KEY", &key("g"));
    for (provider, model, expected) in [
        ("", "anthropic/claude-opus-4-8", "anthropic/claude-opus-4-8"),
        ("Anthropic", "CLAUDE-OPUS-4-8", "anthropic/claude-opus-4-8"),
        ("anthropic", "anthropic/claude-opus-4-8", "anthropic/claude-opus-4-8"),
        ("anthropic", "haiku", "anthropic/claude-haiku-4-5"),
        ("anthropic", "claude-next", "anthropic/claude-next"),
        ("anthropic", "", "anthropic/claude-opus-4-8"),
        ("", "sonnet", "anthropic/claude-sonnet-5"),
        ("", "qwen2.5-coder:7b", "ollama/qwen2.5-coder:7b"),
        ("", "ollama/qwen2.5-coder:7b", "ollama/qwen2.5-coder:7b"),
        ("ollama", "coder", "ollama/qwen2.5-coder:7b"),
        ("", "vendor/deep:thought:low", "ollama/vendor/deep:thought"),
        ("ollama", "", "ollama/qwen2.5-coder:7b"),
        ("", "openrouter/z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"),
        ("", "z-ai/glm-5.3", "openrouter/z-ai/glm-5.3"),
        // Listed are others that begin like it.
        ("openrouter", "z-ai/glm-5", "openrouter/z-ai/glm-5"),
        ("openrouter", "anthropic/claude-9:free", "openrouter/anthropic/claude-9:free"),
        // No provider lists it, so that the named provider is asked.
        ("", "groq/something:high", "groq/something"),
        ("", "google/gemini-2.5-pro", "openrouter/google/gemini-2.5-pro"),
    ] {
        assert_eq!(world.model(provider, model).as_deref(), Ok(expected), "{provider} {model}");
    }
    let error = world.model("", "openai/gpt-oss-120b").unwrap_err();
    assert!(error.contains("groq/openai/gpt-oss-120b, "), "{error}");
    assert!(error.contains("keys for more than one of them"), "{error}");
    let one_key = World::new().variable("GROQ_API_KEY", &key("g"));
    let found = one_key.model("", "openai/gpt-oss-120b:low");
    assert_eq!(found.as_deref(), Ok("groq/openai/gpt-oss-120b"));
    let error = World::new().model("", "openai/gpt-oss-120b").unwrap_err();
    assert!(error.contains("no key for any of them"), "{error}");
}

#[test]
fn what_cannot_be_asked_says_why_and_what_to_do() {
    let world = World::new().models(LOCAL).variable("OPENAI_API_KEY", &key("o"));
    for (provider, model, parts) in [
        (
            "antropic",
            "",
            vec!["No provider \"antropic\".", "Did you mean \"anthropic\"?", "models.json"],
        ),
        (
            "ollama",
            "qwen9",
            vec!["Unknown model \"ollama/qwen9\"", "vendor/deep:thought", "models.json"],
        ),
        ("", "ollama/qwen2.5-coder:8b", vec!["Did you mean \"ollama/qwen2.5-coder:7b\"?"]),
        (
            "",
            "lmstudio/qwen3",
            vec![
                "No provider \"lmstudio\". Add it to ",
                "models.json: {\"providers\": {\"lmstudio\": {\"baseUrl\": \"http://127.0.0.1:1234/v1\"",
            ],
        ),
        ("", "gtp-5.5", vec!["Did you mean", "\"openai/gpt-5.5\""]),
        (
            "",
            "sonnet",
            vec!["No provider with an API key has a model \"sonnet\"", "anthropic/claude-sonnet-5"],
        ),
        ("", "nonsense-model", vec!["Unknown model \"nonsense-model\"", "--model PROVIDER/MODEL"]),
        (
            "anthropic",
            "",
            vec!["No API key for provider \"anthropic\"", "set ANTHROPIC_API_KEY", "auth.json"],
        ),
        ("google", "gemini-2.5-pro", vec!["No API key for provider \"google\"", "_API_KEY"]),
        ("azure-openai-responses", "", vec!["No API key for provider \"azure-openai-responses\""]),
        ("", "amazon-bedrock/x", vec!["Bedrock signs every request", "--agent pi"]),
        ("github-copilot", "gpt-5.4", vec!["a sign-in that must be renewed", "--agent pi"]),
        ("script", "", vec!["--model script/PATH"]),
        ("", "script/", vec!["--model script/PATH"]),
        ("", "openai/", vec!["Unknown model \"openai/\""]),
    ] {
        let error = world.model(provider, model).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{provider} {model}: {error}");
        }
    }
}

#[test]
fn a_key_that_only_pi_can_use_is_no_reason_to_ask_another_provider() {
    let world = World::new().variable("GOOGLE_CLOUD_API_KEY", &key("g"));
    for (provider, model) in
        [("", "google-vertex/gemini-2.5-pro"), ("google-vertex", ""), ("google-vertex", "x")]
    {
        let error = world.model(provider, model).unwrap_err();
        let words = "cannot ask the provider \"google-vertex\": Vertex AI needs a sign-in";
        assert!(error.contains(words), "{error}");
        assert!(error.ends_with("--agent pi for this provider, which takes GOOGLE_CLOUD_API_KEY"));
        assert!(!error.contains("openrouter"), "{error}");
    }
    for model in ["", "gemini"] {
        let error = world.model("", model).unwrap_err();
        let words =
            "GOOGLE_CLOUD_API_KEY is set for google-vertex, which the built-in agent cannot ask: ";
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn gemini_takes_two_keys_and_azure_needs_an_address() {
    for name in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        let world = World::new().variable(name, &key("g"));
        assert_eq!(world.model("", "").as_deref(), Ok("google/gemini-3.1-pro-preview"), "{name}");
        let choice = world.choose(&query("", "google/gemini-3.1-pro-preview"));
        assert_eq!(choice.key.unwrap().reveal(), key("g"));
        assert_eq!(choice.model.base_url, "https://generativelanguage.googleapis.com/v1beta");
    }
    let world = World::new().variable("AZURE_OPENAI_API_KEY", &key("a"));
    let error = world.model("azure-openai-responses", "gpt-5.4").unwrap_err();
    assert!(error.contains("has no address of its own: set AZURE_OPENAI_BASE_URL or "), "{error}");
    assert!(world.model("", "").unwrap_err().contains("No model can be asked"));
    let world = world.variable("AZURE_OPENAI_RESOURCE_NAME", "mine");
    let world = world.variable("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "gpt-5.4=own");
    let model = world.choose(&query("", "")).model;
    assert_eq!((model.provider.as_str(), model.id.as_str()), ("azure-openai-responses", "gpt-5.4"));
    assert_eq!(model.base_url, "https://mine.openai.azure.com/openai/v1");
    let azure = model.azure.unwrap();
    assert_eq!((azure.api_version.as_str(), azure.deployment.as_str()), ("v1", "own"));
    // An address in `models.json` is one as well.
    let models =
        r#"{"providers": {"azure-openai-responses": {"baseUrl": "https://r.openai.azure.com"}}}"#;
    let world = World::new().models(models).variable("AZURE_OPENAI_API_KEY", &key("a"));
    let model = world.choose(&query("", "azure-openai-responses/gpt-5.4")).model;
    assert_eq!(model.base_url, "https://r.openai.azure.com/openai/v1");
}

#[test]
fn the_models_of_openai_are_asked_by_its_newer_protocol() {
    let world = World::new().variable("OPENAI_API_KEY", &key("o"));
    for model in ["", "openai/gpt-5.5", "openai/gpt-5-pro", "openai/gpt-99"] {
        assert_eq!(world.choose(&query("", model)).model.api, Api::OpenAiResponses, "{model}");
    }
}

#[test]
fn the_cost_of_an_unknown_model_is_unknown() {
    let world = World::new().models(LOCAL).variable("OPENAI_API_KEY", &key("o"));
    let choice = world.choose(&query("", "openai/gpt-99"));
    assert_eq!(choice.model.rates, None);
    assert!(choice.warnings[0].ends_with("and its cost is unknown"), "{:?}", choice.warnings);
    let rates = world.choose(&query("", "openai/gpt-5.5")).model.rates.unwrap();
    assert_eq!(rates.above.map(|(limit, _)| limit), Some(272_000));
    assert!(world.choose(&query("ollama", "")).model.rates.is_some(), "it runs on this machine");
}

#[test]
fn the_environment_names_the_address_and_models_json_has_the_last_word() {
    let base_url =
        |world: &World, provider: &str| world.choose(&query(provider, "")).model.base_url;
    let world = World::new()
        .variable("OPENAI_API_KEY", &key("o"))
        .variable("ANTHROPIC_API_KEY", &key("a"))
        .variable("OPENAI_BASE_URL", " http://proxy.example/openai/v1/ ")
        .variable("ANTHROPIC_BASE_URL", "https://gateway.example");
    assert_eq!(base_url(&world, "openai"), "http://proxy.example/openai/v1");
    assert_eq!(base_url(&world, "anthropic"), "https://gateway.example");
    let custom = world.choose(&query("", "openai/another")).model;
    assert_eq!(custom.base_url, "http://proxy.example/openai/v1");
    let world =
        world.models(r#"{"providers": {"openai": {"baseUrl": "https://mine.example/v1"}}}"#);
    assert_eq!(base_url(&world, "openai"), "https://mine.example/v1");
    assert_eq!(base_url(&world, "anthropic"), "https://gateway.example");
    let empty = World::new().variable("OPENAI_API_KEY", &key("o")).variable("OPENAI_BASE_URL", " ");
    assert_eq!(base_url(&empty, "openai"), "https://api.openai.com/v1");
    let wrong = empty.variable("OPENAI_BASE_URL", &format!("http://me:{}@host", key("p")));
    let error = wrong.model("openai", "").unwrap_err();
    assert!(error.starts_with("OPENAI_BASE_URL must not have a password in it"), "{error}");
}

#[test]
fn what_can_be_asked_is_listed_with_the_default_and_its_reason() {
    let list = |world: &World| {
        let environment = |name: &str| world.environment.get(name).cloned();
        list_models(world.top.path(), &world.settings, &environment, now()).unwrap()
    };
    let none = list(&World::new());
    assert!(none.models.is_empty() && none.default.is_err(), "{none:?}");
    let world = World::new().models(LOCAL).variable("OPENAI_API_KEY", &key("o"));
    let listed = list(&world);
    let names: Vec<String> =
        listed.models.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
    assert!(names.contains(&"openai/gpt-5.5".to_owned()), "{names:?}");
    assert!(names.contains(&"ollama/vendor/deep:thought".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("anthropic/")), "{names:?}");
    assert!(names.contains(&"openai/gpt-5-pro".to_owned()), "{names:?}");
    let by_key = listed.default.unwrap();
    assert_eq!((by_key.model.as_str(), by_key.is_in_settings), ("openai/gpt-5.5", false));
    let world = world.defaults("ollama", "vendor/deep:thought");
    let chosen = list(&world).default.unwrap();
    let expected = ("ollama/vendor/deep:thought", true);
    assert_eq!((chosen.model.as_str(), chosen.is_in_settings), expected);
    let world = world.defaults("anthropic", "claude-opus-4-8");
    let instead = list(&world).default.unwrap();
    assert_eq!((instead.model.as_str(), instead.is_in_settings), ("openai/gpt-5.5", false));
    assert_eq!(instead.warnings.len(), 1, "{instead:?}");
    let world = world.defaults("script", "turns.json");
    assert_eq!(list(&world).default.unwrap().model, "script/turns.json");
}

#[test]
fn without_a_wish_the_settings_count_and_then_the_keys() {
    let model = |world: &World| world.model("", "");
    let with_key = || World::new().variable("GROQ_API_KEY", &key("g"));
    assert_eq!(model(&with_key()).as_deref(), Ok("groq/openai/gpt-oss-120b"));
    let both = with_key().variable("ANTHROPIC_API_KEY", &key("a"));
    assert_eq!(model(&both).as_deref(), Ok("anthropic/claude-opus-4-8"));
    let set = both.defaults("groq", "llama-3.3-70b-versatile");
    assert_eq!(model(&set).as_deref(), Ok("groq/llama-3.3-70b-versatile"));
    assert_eq!(set.model("groq", "").as_deref(), Ok("groq/llama-3.3-70b-versatile"));
    let without = with_key().defaults("anthropic", "claude-opus-5");
    let choice = without.choose(&query("", ""));
    assert_eq!(choice.model.provider, "groq");
    assert!(choice.warnings[0].contains("no API key for the default model"), "{choice:?}");
    assert_eq!(model(&World::new().models(LOCAL)).as_deref(), Ok("ollama/qwen2.5-coder:7b"));
    let with_profile_key = with_key().profile_key(Some("xai"), &key("x"));
    assert_eq!(model(&with_profile_key).as_deref(), Ok("xai/grok-4.7"));
    let for_any = World::new().defaults("xai", "grok-4.6").profile_key(None, &key("x"));
    assert_eq!(model(&for_any).as_deref(), Ok("xai/grok-4.6"));
    let error = model(&World::new()).unwrap_err();
    assert!(error.contains("ANTHROPIC_API_KEY") && error.contains("auth.json"), "{error}");
}

#[test]
fn keys_are_taken_in_the_order_of_pi() {
    let groq = |world: World| world.key("groq").map(Option::unwrap_or_default);
    let environment = || World::new().variable("GROQ_API_KEY", &key("environment"));
    assert_eq!(groq(environment()), Ok(key("environment")));
    let models = r#"{"providers": {"groq": {"apiKey": "${OTHER}"}}}"#;
    let configured = || environment().models(models).variable("OTHER", &key("models"));
    assert_eq!(groq(configured()), Ok(key("models")));
    let stored = || {
        configured()
            .auth(&format!(r#"{{"groq": {{"type": "api_key", "key": "{}"}}}}"#, key("auth")))
    };
    assert_eq!(groq(stored()), Ok(key("auth")));
    assert_eq!(groq(stored().profile_key(Some("groq"), &key("profile"))), Ok(key("profile")));
    assert_eq!(groq(stored().profile_key(None, &key("profile"))), Ok(key("profile")));
    assert_eq!(groq(stored().profile_key(Some("xai"), &key("profile"))), Ok(key("auth")));
    // The entry's own variables win, and a key that cannot be told leads on to the environment.
    let own = r#"{"groq": {"type": "api_key", "key": "$MINE", "env": {"MINE": "sk-never-own"}}}"#;
    assert_eq!(groq(environment().auth(own).variable("MINE", "other")), Ok(key("own")));
    let missing = r#"{"groq": {"type": "api_key", "key": "$MISSING"}}"#;
    assert_eq!(groq(environment().auth(missing)), Ok(key("environment")));
    let error = groq(World::new().auth(missing)).unwrap_err();
    assert!(error.contains("MISSING, which is not set"), "{error}");
    let command = r#"{"groq": {"type": "api_key", "key": "!echo sk-never-command"}}"#;
    assert_eq!(groq(World::new().auth(command)), Ok(key("command")));
    let failing = r#"{"groq": {"type": "api_key", "key": "!echo sk-never-out; exit 4"}}"#;
    let error = groq(World::new().auth(failing)).unwrap_err();
    assert!(error.contains("it exited with code 4"), "{error}");
    let unset = World::new().models(models);
    assert!(groq(unset).unwrap_err().contains("needs the environment variable OTHER"));
}

#[test]
fn a_sign_in_is_used_until_it_expires() {
    let auth = |provider: &str, expires: u64| {
        World::new().auth(&format!(
            r#"{{"{provider}": {{"type": "oauth", "access": "{}", "refresh": "{}", "expires": {expires}}}}}"#,
            key("oat"), key("refresh"),
        ))
    };
    let later = 1_800_000_000_000 + 3_600_000;
    assert_eq!(auth("anthropic", later).key("anthropic"), Ok(Some(key("oat"))));
    assert_eq!(auth("anthropic", later).model("", "").as_deref(), Ok("anthropic/claude-opus-4-8"));
    for expires in [0, 1_800_000_000_000, 1_800_000_030_000] {
        let error = auth("anthropic", expires).key("anthropic").unwrap_err();
        assert!(error.contains("has expired") && error.contains("/login"), "{error}");
    }
    let error = auth("xai", later).key("xai").unwrap_err();
    assert!(error.contains("can be used by pi only"), "{error}");
}

#[test]
fn headers_carry_what_they_are_told_to() {
    let world = World::new().variable("ANTHROPIC_AUTH_TOKEN", &key("token"));
    let choice = world.choose(&query("anthropic", ""));
    assert_eq!(choice.key, None);
    assert_eq!(choice.model.headers["Authorization"].reveal(), format!("Bearer {}", key("token")));
    let models = r#"{"providers": {"proxy": {"baseUrl": "https://proxy.example/v1", "api":
        "anthropic-messages", "apiKey": "$KEY", "authHeader": true, "headers": {"X-Team": "$TEAM"},
        "models": [{"id": "m", "headers": {"X-Model": "!echo sk-never-m"}}]}}}"#;
    let world = World::new().models(models).variable("KEY", &key("k"));
    let error = world.model("proxy", "m").unwrap_err();
    assert!(error.contains("\"X-Team\"") && error.contains("TEAM, which is not set"), "{error}");
    let choice = world.variable("TEAM", &key("t")).choose(&query("proxy", "m"));
    let headers: Vec<(&str, &str)> =
        choice.model.headers.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(
        headers,
        [
            ("Authorization", "Bearer sk-never-k"),
            ("X-Model", "sk-never-m"),
            ("X-Team", "sk-never-t")
        ]
    );
    assert_eq!(choice.key, Some(Secret::new(key("k"))));
}

#[test]
fn only_this_machine_and_headers_need_no_key() {
    let models = |url: &str, more: &str| {
        World::new().models(&format!(
            r#"{{"providers": {{"own": {{"baseUrl": "{url}", "api": "openai-completions", {more}
            "models": [{{"id": "m"}}]}}}}}}"#
        ))
    };
    assert_eq!(models("http://127.0.0.1:8080/v1", "").key("own"), Ok(None));
    let error = models("http://10.0.0.1:8080/v1", "").key("own").unwrap_err();
    assert!(error.contains("No API key for provider \"own\": put one into"), "{error}");
    let header = r#""headers": {"authorization": "Basic sk-never"},"#;
    assert_eq!(models("http://10.0.0.1:8080/v1", header).key("own"), Ok(None));
}

#[test]
fn known_models_can_be_changed_and_added_to() {
    let world = World::new().variable("ANTHROPIC_API_KEY", &key("a")).models(
        r#"{"providers": {"anthropic": {"baseUrl": "http://localhost:9/proxy/", "compat": {"allowEmptySignature": true},
            "modelOverrides": {"claude-opus-5": {"contextWindow": 1000, "cost": {"input": 7}, "samplingParams": {"top_k": 1}},
                "no-such-model": {"maxTokens": 1}},
            "models": [{"id": "claude-own", "contextWindow": 5000, "input": ["text"]}]}}}"#,
    );
    let opus = world.choose(&query("", "anthropic/claude-opus-5")).model;
    assert_eq!(opus.base_url, "http://localhost:9/proxy");
    assert_eq!((opus.context_window, opus.max_tokens), (1000, 1000));
    let rates = opus.rates.unwrap();
    assert_eq!((rates.input, rates.output), (7.0, 25.0));
    assert_eq!(opus.sampling["top_k"], 1);
    assert_eq!(opus.compat.allow_empty_signature, Some(true));
    assert_eq!(opus.compat.force_adaptive_thinking, Some(true));
    let own = world.choose(&query("", "claude-own")).model;
    assert_eq!((own.api, own.context_window, own.images), (Api::AnthropicMessages, 5000, false));
    assert_eq!((own.reasoning, own.max_tokens), (false, 5000));
    assert_eq!(own.compat.allow_empty_signature, Some(true));
}

#[test]
fn thinking_is_what_was_asked_for_as_far_as_the_model_can() {
    let mut world =
        World::new().variable("ANTHROPIC_API_KEY", &key("a")).variable("OPENAI_API_KEY", &key("o"));
    let thinking = |world: &World, model, thinking| {
        let choice = world.choose(&ModelQuery { thinking, ..query("", model) });
        (choice.thinking, choice.warnings)
    };
    let opus = "anthropic/claude-opus-4-8";
    assert_eq!(thinking(&world, opus, None), (ThinkingLevel::Medium, vec![]));
    assert_eq!(thinking(&world, "anthropic/claude-opus-4-8:low", None).0, ThinkingLevel::Low);
    let asked = Some(ThinkingLevel::High);
    assert_eq!(thinking(&world, "anthropic/claude-opus-4-8:low", asked).0, ThinkingLevel::High);
    assert_eq!(thinking(&world, "openai/gpt-5.5", asked), (ThinkingLevel::High, vec![]));
    let (level, warnings) = thinking(&world, "openai/gpt-4.1", asked);
    assert_eq!(level, ThinkingLevel::Off);
    assert!(warnings[0].contains("cannot think at the level \"high\""), "{warnings:?}");
    assert_eq!(thinking(&world, "openai/gpt-4.1", None), (ThinkingLevel::Off, vec![]));
    world.settings.default_thinking = ThinkingLevel::Minimal;
    assert_eq!(thinking(&world, opus, None).0, ThinkingLevel::Minimal);
    world.settings.model_thinking.insert(opus.to_owned(), ThinkingLevel::Max);
    assert_eq!(thinking(&world, opus, None).0, ThinkingLevel::Max);
}

#[test]
fn scripts_need_nothing_but_a_path() {
    let world = World::new().models("{broken").auth("{broken");
    for (provider, model, path) in [
        ("", "script/a/turns:high.jsonl", "a/turns:high.jsonl"),
        ("script", "/abs/turns.jsonl", "/abs/turns.jsonl"),
        ("script", "script/turns.jsonl", "turns.jsonl"),
    ] {
        let choice = world
            .choose(&ModelQuery { thinking: Some(ThinkingLevel::Max), ..query(provider, model) });
        assert_eq!((choice.model.api, choice.model.id.as_str()), (Api::Script, path));
        assert_eq!((choice.key, choice.thinking), (None, ThinkingLevel::Max));
        assert_eq!(
            choice.model.rates, None,
            "its tokens have no price, not even in an answer that is cut off"
        );
    }
}

#[test]
fn broken_files_are_named_with_their_lines() {
    for (name, text, expected) in [
        (
            "models.json",
            "{\n  \"providers\": {\n    \"x\": sk-never\n",
            "models.json:3: it is not JSON",
        ),
        ("models.json", "[]", "\"the file\" must be an object"),
        ("models.json", r#"{"providers": {"x": {"models": [{"id": "m"}]}}}"#, "has no \"api\""),
        ("auth.json", "{\n\"anthropic\": \"sk-never\n", "auth.json:"),
        ("auth.json", r#"["sk-never"]"#, "must be an object"),
    ] {
        let world = World::new().variable("ANTHROPIC_API_KEY", &key("a")).file(name, text);
        let error = world.model("", "").unwrap_err();
        assert!(error.contains(name) && error.contains(expected), "{text}: {error}");
    }
    for bytes in [vec![0xff, 0xfe], vec![b' '; 5 * 1024 * 1024]] {
        let world = World::new();
        fs::write(world.at("models.json"), bytes).unwrap();
        let error = world.model("", "").unwrap_err();
        assert!(error.contains("models.json: it "), "{error}");
    }
    let world = World::new();
    process::make_named_pipe(&world.at("auth.json")).unwrap();
    assert!(world.model("", "").unwrap_err().contains("it is not a regular file"));
}

#[test]
fn keys_are_trimmed_and_must_be_fit_for_a_header() {
    let padded = World::new().variable("GROQ_API_KEY", &format!(" {}\n", key("g")));
    assert_eq!(padded.key("groq"), Ok(Some(key("g"))));
    let models = r#"{"providers": {"groq": {"headers": {"X-Team": "$TEAM"}}}}"#;
    for world in [
        World::new().variable("GROQ_API_KEY", &format!("{}\nX: y", key("g"))),
        World::new().profile_key(None, &format!("{}é", key("h"))),
        World::new().auth(r#"{"groq": {"type": "api_key", "key": "sk-never\u0000"}}"#),
    ] {
        let error = world.key("groq").unwrap_err();
        assert!(error.contains("The API key of provider \"groq\" cannot be sent"), "{error}");
    }
    let world = World::new().models(models).profile_key(Some("GROQ"), &key("h"));
    let error = world.variable("TEAM", "sk-never\r\nHost: evil").key("groq").unwrap_err();
    assert!(error.contains("header \"X-Team\""), "{error}");
}

#[test]
fn a_wrong_entry_matters_only_to_those_who_need_it() {
    let world = World::new()
        .auth(r#"{"anthropic": {"type": "sk-never"}, "openai": "sk-never", "groq": {"type": "api_key", "key": "sk-never-g"}}"#);
    assert_eq!(world.key("groq"), Ok(Some(key("g"))));
    let error = world.key("anthropic").unwrap_err();
    assert!(error.contains("\"the file.anthropic.type\" must be"), "{error}");
    assert!(world.key("openai").unwrap_err().contains("must be an object"));
}
