//! Runs the agent: from its arguments to the answer.

use std::env;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

use model::{Redactor, Secrets, paths};
use plan::Surroundings;
use process::{Notice, SignalPipe};
use rustix::event::{PollFd, PollFlags};

use crate::agent::{Agent, Ending, Setup};
use crate::calls::STOP_PATIENCE;
use crate::cancel::Cancel;
use crate::clock;
use crate::config::{self, ConfigError, ModelQuery, ProfileKey, Sources, process_variable};
use crate::event::{Event, Stream};
use crate::fallback::{self, Fallbacks};
use crate::history::History;
use crate::inbox::{Inbox, Input};
use crate::invocation::{Invocation, Mode};
use crate::message::Content;
use crate::prompt::{PromptInputs, system_prompt};
use crate::provider::{self, Options, ProviderError, ThinkingLevel};
use crate::rpc::listen_for_commands;
use crate::session_file::{self, SessionFile, SessionFileError};
use crate::text_file::read_whole;
use crate::tools::Shell;

/// What the agent needs beside its arguments.
#[expect(missing_docs, reason = "the names say the rest")]
pub struct RunInputs<'a, W> {
    pub surroundings: &'a Surroundings,
    pub profile_key: Option<ProfileKey>,
    /// For the records; it should have a buffer.
    pub output: W,
    pub warn: &'a mut dyn FnMut(&str),
    /// Called when the agent must stop and cannot, because its output blocks. It should end the
    /// process.
    pub give_up: Box<dyn FnOnce(Notice) + Send>,
    /// Where commands come from, in RPC mode.
    pub commands: Box<dyn BufRead + Send>,
}

/// How the run of the agent ended.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Report {
    pub ending: Ending,
    /// The signal that stopped the agent, if one did.
    pub stopped_by: Option<Notice>,
}

/// The agent could not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AgentError {
    #[error("there is no prompt; give one as an argument or on standard input")]
    NoPrompt,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Session(#[from] SessionFileError),
    #[error("the file {path:?} cannot be read: {reason}")]
    File { path: String, reason: String },
    #[error("{0:?} is no level of thinking: use off, minimal, low, medium, high, xhigh or max")]
    Thinking(String),
    #[error("the system refused what the agent needs to start: {0}")]
    System(#[from] std::io::Error),
}

/// How long an agent that must stop may take to write its last records. A supervisor
/// kills later, and a busy machine needs less to end the tools.
pub const LAST_WORDS: Duration = STOP_PATIENCE.saturating_add(Duration::from_secs(1));

/// The largest file that is put into a prompt.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Answers the prompts of the invocation.
pub fn run<W: Write>(
    invocation: &Invocation,
    inputs: RunInputs<'_, W>,
) -> Result<Report, AgentError> {
    let RunInputs { surroundings, profile_key, output, warn, give_up, commands } = inputs;
    let cwd = surroundings.cwd.as_path();
    let prompts = if invocation.mode == Mode::Rpc { Vec::new() } else { prompts(invocation, cwd)? };
    let approval = invocation.approve.then_some(true);
    let (trust, warnings) =
        plan::project_trust(approval, &surroundings.agent_dir, surroundings.project_root());
    warnings.iter().for_each(|warning| warn(&warning.to_string()));
    let (settings, warnings) = config::load_agent_settings(surroundings, trust);
    warnings.iter().for_each(|warning| warn(warning));
    let thinking = asked_thinking(invocation)?;
    let query = ModelQuery {
        provider: invocation.provider.as_deref(),
        model: invocation.model.as_deref(),
        thinking,
    };
    let sources = Sources {
        agent_dir: &surroundings.agent_dir,
        settings: &settings,
        profile_key: profile_key.as_ref(),
        environment: &process_variable,
        now: SystemTime::now(),
    };
    let choice = config::choose_model(&query, &sources)?;
    choice.warnings.iter().for_each(|warning| warn(warning));
    let choices =
        fallback::choose(&invocation.fallback_models, &choice.model, thinking, &sources, warn);
    let (tools, unknown) = invocation.tools.resolve(settings.default_tools.as_deref());
    for name in unknown {
        warn(&format!("the built-in agent has no tool {name:?}"));
    }
    let system_prompt =
        system_prompt(&PromptInputs { surroundings, trust, tools: &tools, invocation });
    system_prompt.warnings.iter().for_each(|warning| warn(warning));

    let cancel = Cancel::new()?;
    let mut stream = Stream::new((invocation.mode != Mode::Text).then_some(output));
    let redactor = redactor(profile_key.as_ref());
    let (session_id, history) = open_history(invocation, cwd, &redactor)?;
    let options = Options {
        idle_timeout: settings.http_idle_timeout,
        session: Some(session_id.clone()),
        learned: Some(paths::learned(|name| env::var_os(name), &surroundings.agent_dir)),
        ..Options::default()
    };
    let provider = provider::connect(choice.model.clone(), choice.key, &options, cwd, &cancel)?;
    if invocation.mode != Mode::Rpc {
        stream.emit(&Event::Session {
            version: session_file::VERSION,
            id: &session_id,
            timestamp: &clock::now_as_text(),
            cwd: &cwd.to_string_lossy(),
        });
    }
    let inbox = Inbox::new();
    let stopped_by = listen(&inbox, &cancel, give_up)?;
    if invocation.mode == Mode::Rpc {
        listen_for_commands(&inbox, &cancel, commands)?;
    }
    let setup = Setup {
        compaction: settings.compaction_for(&choice.model),
        retry: settings.retry,
        model: choice.model,
        provider,
        thinking: choice.thinking,
        tools,
        system_prompt,
        cwd: cwd.to_owned(),
        shell: shell(settings.shell_path.clone(), settings.shell_command_prefix.clone(), redactor),
        fallbacks: Fallbacks { choices, options, settings },
        cancel,
    };
    let mut agent = Agent::new(setup, stream, history, inbox);
    let mut ending = Ending::Stopped;
    if invocation.mode == Mode::Rpc {
        ending = agent.serve(|agent| warn_of_lost_history(agent, warn));
    }
    for prompt in prompts {
        ending = agent.prompt(prompt);
        warn_of_lost_history(&mut agent, warn);
        if !matches!(ending, Ending::Answered(_)) {
            break;
        }
    }
    Ok(Report { ending, stopped_by: stopped_by.get().copied() })
}

fn warn_of_lost_history<W>(agent: &mut Agent<W>, warn: &mut dyn FnMut(&str)) {
    if let Some(error) = agent.history.failure.take() {
        warn(&format!("{error}; the conversation is not kept"));
    }
}

/// Hides the key of the profile in the files that the agent writes. What it prints is hidden by its
/// supervisor.
fn redactor(profile_key: Option<&ProfileKey>) -> Redactor {
    let mut secrets = Secrets::default();
    if let Some(ProfileKey { key, .. }) = profile_key {
        secrets.insert(model::variables::PI_API_KEY, key.reveal().to_owned());
    }
    Redactor::new(&secrets)
}

/// The long output of commands is kept in the run directory, if there is one, and removed with it.
fn shell(program: Option<PathBuf>, prefix: Option<String>, redactor: Redactor) -> Shell {
    let run_dir = process_variable(model::variables::RUN_DIR).map(PathBuf::from);
    // Where what it may change is limited, only a part of its run directory is its own.
    let own = run_dir.iter().flat_map(|dir| [dir.join(model::paths::OUTPUTS), dir.clone()]);
    let outputs = own.into_iter().find(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
    Shell { program, prefix, outputs, redactor }
}

fn asked_thinking(invocation: &Invocation) -> Result<Option<ThinkingLevel>, AgentError> {
    let level = invocation.thinking.as_deref().map(|level| {
        ThinkingLevel::parse(level).ok_or_else(|| AgentError::Thinking(level.to_owned()))
    });
    level.transpose()
}

/// The prompts in their order. Standard input and files belong to the first.
fn prompts(invocation: &Invocation, cwd: &Path) -> Result<Vec<Vec<Content>>, AgentError> {
    let mut first = invocation.piped.clone().unwrap_or_default();
    let mut others = Vec::new();
    let mut has_first = false;
    for message in &invocation.messages {
        match message.strip_prefix('@') {
            Some(path) => first.push_str(&file_block(path, cwd)?),
            None if has_first => others.push(vec![Content::text(message)]),
            None => {
                has_first = true;
                first.push_str(message);
            }
        }
    }
    if first.trim().is_empty() {
        return Err(AgentError::NoPrompt);
    }
    Ok([vec![Content::text(first)]].into_iter().chain(others).collect())
}

fn file_block(path: &str, cwd: &Path) -> Result<String, AgentError> {
    let failed = |reason: String| AgentError::File { path: path.to_owned(), reason };
    let file = cwd.join(path);
    let text = read_whole(&file, MAX_FILE_BYTES)
        .map_err(|error| failed(error.to_string()))?
        .ok_or_else(|| failed("there is no such file".to_owned()))?;
    Ok(format!("<file name=\"{}\">\n{text}\n</file>\n", file.display()))
}

/// Opens the session file, if there is one, with its conversation.
fn open_history(
    invocation: &Invocation,
    cwd: &Path,
    redactor: &Redactor,
) -> Result<(String, History), SessionFileError> {
    match &invocation.session {
        Some(path) => {
            let opened = SessionFile::open(&cwd.join(path), cwd)?;
            let file = opened.file.hiding(redactor.clone());
            Ok((opened.session_id, History::new(opened.entries, Some(file))))
        }
        None => Ok((plan::new_id().to_string(), History::default())),
    }
}

/// Waits for a signal on a thread of its own, and stops the tools at once, whatever the agent does.
/// Returns where the signal will be noted.
fn listen(
    inbox: &Inbox,
    cancel: &Cancel,
    give_up: Box<dyn FnOnce(Notice) + Send>,
) -> std::io::Result<Arc<OnceLock<Notice>>> {
    let mut signals = SignalPipe::for_quitting()?;
    let (sender, cancel) = (inbox.sender(), cancel.clone());
    let received = Arc::new(OnceLock::new());
    let stopped_by = Arc::clone(&received);
    let listen = move || {
        let notice = loop {
            let mut fds = [PollFd::new(&signals, PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, None);
            if let Some(notice) = signals.drain().next() {
                break notice;
            }
        };
        let _ = stopped_by.set(notice);
        cancel.cancel();
        // This blocks if the inbox is full, because the agent waits for its output.
        let tell = move || drop(sender.send(Input::Stop));
        let _ = thread::Builder::new().spawn(tell);
        thread::sleep(LAST_WORDS);
        give_up(notice);
    };
    thread::Builder::new().spawn(listen)?;
    Ok(received)
}
