//! A task that is ready to run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{FallbackStart, Meta, paths, variables};

/// Everything about a run that has been decided, before it has a directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What will be run, except for the command, which is completed by [`Plan::meta_in`].
    /// Shared with what shows the task: thousands of them can wait.
    pub meta: Arc<Meta>,
    /// What the agent is told.
    pub prompt: String,
    /// The child's program and all its arguments.
    pub command: Arc<Vec<Argument>>,
    /// The commands and environments with the fallback models of an agent that must be started anew for them.
    pub fallbacks: Vec<PlannedFallback>,
    /// Files that the commands refer to, by their names in the run directory.
    pub files: BTreeMap<String, String>,
    /// Variables for the child whose value is the path of such a file.
    pub file_variables: BTreeMap<String, String>,
    /// Variables for the child that are written nowhere.
    pub secrets: Secrets,
    /// Why it must not be started, if it must not: the task fails with this message, and others
    /// are not affected.
    pub refusal: Option<String>,
}

impl Plan {
    /// The same to be changed: who shares it keeps what it was.
    pub fn meta_mut(&mut self) -> &mut Meta {
        Arc::make_mut(&mut self.meta)
    }

    /// The meta of the run once it is known where its directory is.
    pub fn meta_in(&self, run_dir: &Path) -> Meta {
        let mut meta = Meta { command: completed(&self.command, run_dir), ..(*self.meta).clone() };
        if let Some(text) = self.files.get(paths::SYSTEM_PROMPT) {
            meta.system_prompt = Some(text.clone());
            meta.system_prompt_path = Some(run_dir.join(paths::SYSTEM_PROMPT));
        }
        self.complete_environment(Arc::make_mut(&mut meta.environment), run_dir);
        let starts = self.fallbacks.iter().map(|fallback| {
            let PlannedFallback { model, command, environment } = fallback;
            let mut environment = environment.clone();
            self.complete_environment(&mut environment, run_dir);
            FallbackStart {
                model: model.clone(),
                command: completed(command, run_dir),
                environment,
            }
        });
        meta.fallback_starts = starts.collect();
        meta
    }

    fn complete_environment(
        &self,
        environment: &mut BTreeMap<String, Option<String>>,
        run_dir: &Path,
    ) {
        let path = |path: &Path| Some(path.to_string_lossy().into_owned());
        for (variable, name) in &self.file_variables {
            environment.insert(variable.clone(), path(&run_dir.join(name)));
        }
        environment.insert(variables::CHILD.to_owned(), Some("1".to_owned()));
        environment.insert(variables::RUN.to_owned(), Some(self.meta.run_id.to_string()));
        environment.insert(variables::RUN_DIR.to_owned(), path(run_dir));
    }
}

fn completed(command: &[Argument], run_dir: &Path) -> Vec<String> {
    let words = command.iter().map(|argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::File(name) => run_dir.join(name).to_string_lossy().into_owned(),
        Argument::Setting { name, file } => format!("{name}={}", run_dir.join(file).display()),
    });
    words.collect()
}

/// An agent with another model, before the run has a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of `Plan` and `Meta`")]
pub struct PlannedFallback {
    pub model: String,
    pub command: Vec<Argument>,
    pub environment: BTreeMap<String, Option<String>>,
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The word itself.
    Text(String),
    /// The path of a file in the run directory: what is too long for an argument.
    File(String),
    /// A setting that names such a file: `NAME=PATH`.
    #[expect(missing_docs, reason = "the names say it")]
    Setting { name: String, file: String },
}

impl From<&str> for Argument {
    fn from(text: &str) -> Argument {
        Argument::Text(text.to_owned())
    }
}

impl From<String> for Argument {
    fn from(text: String) -> Argument {
        Argument::Text(text)
    }
}

/// Environment variables that no file, log, argument or message may show.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// Adds a variable.
    pub fn insert(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    /// The names and the values, for the one place that hands them to the child.
    pub fn reveal(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
