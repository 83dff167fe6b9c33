//! The arguments of the agent, which are pi's.

use std::path::PathBuf;

use crate::tools::{self, Tool};

/// The parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Invocation {
    pub mode: Mode,
    /// The prompts, one after the other. `@path` is replaced by the content of a file.
    pub messages: Vec<String>,
    /// The text from standard input, which comes before the first prompt.
    pub piped: Option<String>,
    /// `--provider`; a model's name can also begin with it.
    pub provider: Option<String>,
    /// A name, or a part of one.
    pub model: Option<String>,
    /// The models that continue the conversation when the one before has failed for good, in their order.
    pub fallback_models: Vec<String>,
    pub thinking: Option<String>,
    /// Replaces the system prompt: a text, or the path of a file.
    pub system_prompt: Option<String>,
    /// Added to the system prompt: texts, or paths of files.
    pub append_system_prompt: Vec<String>,
    pub tools: ToolChoice,
    /// Files or directories of further skills.
    pub skills: Vec<PathBuf>,
    /// Use only the skills that are named.
    pub no_skills: bool,
    /// Ignore `AGENTS.md` and the like.
    pub no_context_files: bool,
    /// Trust the project for this run.
    pub approve: bool,
    pub session: Option<PathBuf>,
}

/// What is written to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Only the answer.
    #[default]
    Text,
    /// Every event, as a JSON object on a line.
    Json,
    /// The same, and standard input has commands instead of a prompt.
    Rpc,
}

/// Which tools the model may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ToolChoice {
    /// Instead of the default tools.
    pub only: Option<Vec<String>>,
    /// Removed from the others.
    pub excluded: Vec<String>,
    pub none: bool,
}

impl ToolChoice {
    /// The tools, and the names of unknown ones. `default` comes from the settings.
    pub(crate) fn resolve<'a>(
        &'a self,
        default: Option<&'a [String]>,
    ) -> (Vec<Tool>, Vec<&'a str>) {
        if self.none {
            return (Vec::new(), Vec::new());
        }
        let only = self.only.as_deref().or(default);
        let is_wanted = |tool: &&Tool| match only {
            Some(only) => only.iter().any(|name| name == tool.name),
            None => tool.is_default,
        };
        let is_excluded = |tool: &&Tool| self.excluded.iter().any(|name| name == tool.name);
        let tools = tools::ALL.iter().filter(is_wanted).filter(|tool| !is_excluded(tool)).copied();
        let named = only.into_iter().flatten().map(String::as_str);
        let unknown = named.filter(|name| tools::ALL.iter().all(|tool| tool.name != *name));
        (tools.collect(), unknown.collect())
    }
}
