//! One task, planned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use model::{
    Argument, FORMAT, InvalidId, Lifetime, Limits, Meta, Owner, Plan, RunId, Secrets, SessionId,
    variables,
};
use uuid::Uuid;

use crate::{Agent, Definition, DefinitionKind, Invocation, Settings, Surroundings};

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the task is called.
    pub name: String,
    /// What the agent is told.
    pub prompt: String,
    /// What the caller asked for, where the prompt holds more than that.
    pub task: Option<String>,
    /// Where it works; where the caller stands if absent.
    pub cwd: Option<String>,
    /// Seconds until it is stopped; no limit if absent.
    pub timeout: Option<f64>,
    /// The model, in the agent's words, unless what the task names knows one.
    pub model: Option<String>,
    /// The model as it was written, where that is not how it is spelled.
    pub requested_model: Option<String>,
    /// The profile or preset that it names, also if there is no such thing.
    pub named: Option<(DefinitionKind, String)>,
    /// What it names, made ready.
    pub definition: Option<AppliedDefinition>,
    /// The session that is continued; a new one if absent.
    pub session_id: Option<SessionId>,
    /// Who asks.
    pub owner: Owner,
    /// Whether it ends with its parent.
    pub lifetime: Lifetime,
    /// What is wrong with it already.
    pub refusal: Option<String>,
}

/// A definition as it is applied to one task.
#[derive(Clone, Debug)]
pub struct AppliedDefinition {
    /// The definition, with what the task has changed about it.
    pub definition: Definition,
    /// Its arguments and prompts.
    pub invocation: Invocation,
    /// The provider that its key is for, whatever model the task asks for. If absent, it is for
    /// the provider of the definition's own model.
    pub key_provider: Option<String>,
}

/// The names of the files in the run directory that a command refers to.
const SYSTEM_PROMPT: &str = "system-prompt.md";
const APPEND_SYSTEM_PROMPT: &str = "append-system-prompt.md";
const CHILD_SESSION: &str = "child-session.jsonl";
const CHILD_EXTENSION: &str = "child-extension.mjs";

/// Decides everything about a task. What is wrong with the task alone becomes its refusal.
pub fn plan(
    request: Request,
    agent: &Agent,
    surroundings: &Surroundings,
    settings: &Settings,
) -> Result<Plan, InvalidId> {
    let run_id = RunId::parse(&Uuid::now_v7().to_string())?;
    let session_id = match request.session_id {
        Some(session_id) => session_id,
        None => SessionId::parse(&Uuid::new_v4().simple().to_string()[..16])?,
    };
    let refusal = request.refusal.or_else(|| check_cwd(request.cwd.as_deref()).err());
    let refusal = refusal.or_else(|| check_extensions(request.definition.as_ref(), agent).err());
    let cwd = request.cwd.map_or_else(|| surroundings.cwd.clone(), PathBuf::from);
    let mut command: Vec<Argument> =
        agent.command(surroundings).into_iter().map(Argument::from).collect();
    command.extend(["--mode", "json", "-p"].map(Argument::from));
    let mut files = BTreeMap::new();
    let mut secrets = Secrets::default();
    let definition = request.definition.as_ref().map(|applied| &applied.definition);
    let (profile, preset) = match request.named {
        Some((DefinitionKind::Profile, name)) => (Some(name), None),
        Some((DefinitionKind::Preset, name)) => (None, Some(name)),
        None => (None, None),
    };
    if preset.is_some() {
        command.extend([Argument::from("--session"), Argument::File(CHILD_SESSION.to_owned())]);
        // It is made here so that nobody else can read it, and pi takes an empty one for its own.
        files.insert(CHILD_SESSION.to_owned(), String::new());
    } else {
        command.push(Argument::from("--no-session"));
    }
    let model = definition.and_then(|definition| definition.model.clone()).or(request.model);
    let provider = definition.and_then(|definition| definition.provider.clone());
    let thinking = definition.and_then(|definition| definition.thinking_level);
    let thinking_level = thinking.map(|level| level.word().to_owned());
    match &request.definition {
        Some(applied) => {
            let invocation = &applied.invocation;
            // A preset has one prompt only.
            let append_name = match preset {
                Some(_) => SYSTEM_PROMPT,
                None => APPEND_SYSTEM_PROMPT,
            };
            command.extend(definition_arguments(invocation, append_name));
            for (name, text) in [
                (SYSTEM_PROMPT, &invocation.system_prompt),
                (append_name, &invocation.append_system_prompt),
            ] {
                files.extend(text.clone().map(|text| (name.to_owned(), text)));
            }
            if let Some(key) = &applied.definition.api_key {
                secrets.insert(variables::PI_API_KEY, key.reveal().to_owned());
            }
        }
        None => {
            command
                .extend(model.iter().flat_map(|model| ["--model".into(), model.as_str().into()]));
        }
    }
    let is_copilot = is_copilot(provider.as_deref(), model.as_deref());
    let has_key = secrets.reveal().next().is_some();
    // Our own agent takes the key from where it is, and does not speak to Copilot.
    if (has_key || is_copilot) && *agent != Agent::Builtin {
        command.extend([Argument::from("-e"), Argument::File(CHILD_EXTENSION.to_owned())]);
        let extension = include_str!("child-extension.mjs").to_owned();
        files.insert(CHILD_EXTENSION.to_owned(), extension);
    }
    let mut environment = environment(&run_id, is_copilot, &surroundings.agent_dir);
    // Whose key it is, for the extension that hands it over. Without a word about it, the extension
    // asks pi for the provider of the model: a slash in a model's name need not end a provider's.
    let key_provider = request.definition.as_ref().and_then(|applied| applied.key_provider.clone());
    environment.insert(variables::KEY_PROVIDER.to_owned(), key_provider.filter(|_| has_key));
    // A key that the caller happens to have is not meant for this child.
    environment.insert(variables::PI_API_KEY.to_owned(), None);
    let applied_preset = definition.filter(|_| preset.is_some());
    let preset_source = applied_preset.map(|preset| preset.scope.word().to_owned());
    let tools = applied_preset.map(|preset| preset.tools.clone()).unwrap_or_default();
    let meta = Meta {
        format: FORMAT,
        run_id,
        session_id,
        name: one_line(&request.name),
        owner: request.owner,
        lifetime: request.lifetime,
        agent: Some(agent.kind()),
        protocol: None,
        call_id: None,
        command: Vec::new(),
        cwd,
        environment,
        model,
        provider,
        thinking_level,
        requested_model: request.requested_model,
        profile,
        preset,
        preset_source,
        tools,
        task: request.task,
        limits: Limits {
            timeout_ms: request.timeout.map(to_ms),
            extend_timeout_debounce_ms: to_ms(settings.extend_timeout_debounce),
            looping_tool_count: settings.looping_tool_count,
            log_bytes: Limits::LOG_BYTES,
        },
        created_at: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
    };
    Ok(Plan { meta, prompt: request.prompt, command, files, secrets, refusal })
}

/// The definition's arguments, with the prompts as files of the run directory.
fn definition_arguments(
    invocation: &Invocation,
    append_name: &str,
) -> impl Iterator<Item = Argument> {
    // No argument can hold a null byte, so that these cannot be taken for one.
    let marks = [format!("\0{SYSTEM_PROMPT}"), format!("\0{append_name}")];
    let arguments = invocation.arguments(Path::new(&marks[0]), Path::new(&marks[1]));
    arguments.into_iter().map(|argument| match argument.strip_prefix('\0') {
        Some(name) => Argument::File(name.to_owned()),
        None => Argument::Text(argument),
    })
}

/// What every child finds in its environment, besides what the caller's has.
fn environment(
    run_id: &RunId,
    is_copilot: bool,
    agent_dir: &Path,
) -> BTreeMap<String, Option<String>> {
    let agent_dir = agent_dir.to_string_lossy().into_owned();
    BTreeMap::from([
        (variables::CHILD.to_owned(), Some("1".to_owned())),
        (variables::RUN.to_owned(), Some(run_id.to_string())),
        (variables::PI_CODING_AGENT_DIR.to_owned(), Some(agent_dir)),
        (variables::GITHUB_COPILOT_INITIATOR.to_owned(), is_copilot.then(|| "agent".to_owned())),
    ])
}

/// Whether the model is one of GitHub Copilot, which wants to know who begins a conversation.
fn is_copilot(provider: Option<&str>, model: Option<&str>) -> bool {
    provider == Some("github-copilot")
        || model.is_some_and(|model| model.starts_with("github-copilot/"))
}

/// A name is shown at the beginning of lines.
fn one_line(name: &str) -> String {
    name.split(|character: char| character.is_control()).collect::<Vec<_>>().join(" ")
}

/// Extensions are programs for pi.
fn check_extensions(applied: Option<&AppliedDefinition>, agent: &Agent) -> Result<(), String> {
    match applied {
        Some(applied) if *agent == Agent::Builtin && !applied.definition.extensions.is_empty() => {
            Err(format!(
                "{} asks for extensions, which only pi can load, and not the built-in agent; use pi \
                 for it (`--agent pi`, `agent: pi`), or leave the extensions out",
                applied.definition.label()
            ))
        }
        _ => Ok(()),
    }
}

/// A working directory is taken as it was given, never resolved first.
pub fn check_cwd(cwd: Option<&str>) -> Result<(), String> {
    let Some(cwd) = cwd else {
        return Ok(());
    };
    if !cwd.starts_with('/') {
        Err("cwd must be an absolute path".to_owned())
    } else if cwd.split('/').any(|segment| segment == "..") {
        Err("cwd must not contain '..' path segments".to_owned())
    } else {
        Ok(())
    }
}

/// A cast of a float to an integer saturates, so that every number of seconds is safe.
fn to_ms(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

#[cfg(test)]
mod tests {
    use model::OwnerKind;

    use super::*;

    fn planned(change: impl FnOnce(&mut Request)) -> Plan {
        let mut request = Request {
            name: "task".to_owned(),
            prompt: "-x @file".to_owned(),
            task: None,
            cwd: None,
            timeout: Some(1.5),
            model: None,
            requested_model: None,
            named: None,
            definition: None,
            session_id: None,
            refusal: None,
            owner: Owner { kind: OwnerKind::Shell, id: None },
            lifetime: Lifetime::Foreground,
        };
        change(&mut request);
        let surroundings = Surroundings {
            cwd: "/work".into(),
            home: None,
            agent_dir: "/home/me/.pi/agent".into(),
            agent: None,
            pi: None,
            search_path: Vec::new(),
        };
        plan(request, &Agent::Pi, &surroundings, &Settings::default()).unwrap()
    }

    fn command(plan: &Plan) -> Vec<String> {
        plan.meta_in(Path::new("/run")).command
    }

    #[test]
    fn the_prompt_is_never_an_argument() {
        let plan = planned(|_| ());
        assert_eq!(command(&plan), ["pi", "--mode", "json", "-p", "--no-session"]);
        assert_eq!((plan.prompt.as_str(), plan.meta.limits.timeout_ms), ("-x @file", Some(1_500)));
        assert_eq!(plan.meta.cwd, Path::new("/work"));
    }

    #[test]
    fn children_know_that_they_are_children() {
        let plan = planned(|request| request.model = Some("github-copilot/gpt".to_owned()));
        let value = |name: &str| plan.meta.environment[name].clone();
        assert_eq!(value("PI_SUBAGENTS_CHILD").as_deref(), Some("1"));
        assert_eq!(value("PI_SUBAGENTS_RUN").as_deref(), Some(plan.meta.run_id.as_str()));
        assert_eq!(value("PI_CODING_AGENT_DIR").as_deref(), Some("/home/me/.pi/agent"));
        assert_eq!(value("PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR").as_deref(), Some("agent"));
        let arguments = &command(&plan)[5..];
        assert_eq!(arguments[..3], ["--model", "github-copilot/gpt", "-e"]);
        assert!(arguments[3].ends_with("child-extension.mjs"), "{arguments:?}");
        let other = planned(|request| request.model = Some("x/github-copilot/".to_owned()));
        assert_eq!(other.meta.environment["PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR"], None);
    }

    #[test]
    fn a_bad_cwd_refuses_the_task() {
        for (cwd, refusal) in [
            ("/a..b", None),
            ("/", None),
            ("sub", Some("cwd must be an absolute path")),
            ("", Some("cwd must be an absolute path")),
            ("../x", Some("cwd must be an absolute path")),
            ("/a/../b", Some("cwd must not contain '..' path segments")),
            ("/a/..", Some("cwd must not contain '..' path segments")),
        ] {
            let plan = planned(|request| request.cwd = Some(cwd.to_owned()));
            assert_eq!(plan.refusal.as_deref(), refusal, "{cwd}");
        }
    }

    #[test]
    fn ids_are_new_every_time_and_sort_by_time() {
        let plans: Vec<Plan> = (0..100).map(|_| planned(|_| ())).collect();
        assert!(plans.windows(2).all(|pair| pair[0].meta.run_id < pair[1].meta.run_id));
        assert_ne!(plans[0].meta.session_id, plans[1].meta.session_id);
    }
}
