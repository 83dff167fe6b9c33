//! What the agent was asked to do, in pi's words.

use std::path::PathBuf;

use crate::tools::{self, Tool};

/// The command line, understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// What is printed.
    pub mode: Mode,
    /// The prompts, one after the other. `@path` stands for the content of a file.
    pub messages: Vec<String>,
    /// What came on standard input; it stands in front of the first prompt.
    pub piped: Option<String>,
    /// The provider, if it is not part of the model's name.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How much it should think.
    pub thinking: Option<String>,
    /// What replaces the system prompt: a text, or a file with it.
    pub system_prompt: Option<String>,
    /// What is added to the system prompt: texts, or files with them.
    pub append_system_prompt: Vec<String>,
    /// The tools.
    pub tools: ToolChoice,
    /// Files or directories of further skills.
    pub skills: Vec<PathBuf>,
    /// Do not look for skills.
    pub no_skills: bool,
    /// Do not look for `AGENTS.md` and its like.
    pub no_context_files: bool,
    /// Trust the project, this once.
    pub approve: bool,
    /// The file in which the conversation is kept.
    pub session: Option<PathBuf>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The answer.
    #[default]
    Text,
    /// Everything that happens, a JSON object on a line each.
    Json,
}

/// Which tools the model may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolChoice {
    /// Only these; the default ones if absent.
    pub only: Option<Vec<String>>,
    /// Not these.
    pub excluded: Vec<String>,
    /// None at all.
    pub none: bool,
}

impl ToolChoice {
    /// The tools, and the names that mean none. `default` are those that the settings name.
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
