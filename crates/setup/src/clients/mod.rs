//! Clients of the Model Context Protocol, which start this program as a server if their
//! configuration names it.
//!
//! That configuration is the user's: only one entry in it is changed. `table` describes the clients,
//! `decision` decides how a file changes, from texts alone, and this module reads and writes files.

mod config_file;
mod decision;
mod diff;
mod table;

#[cfg(test)]
mod property_tests;

use std::path::{Path, PathBuf};

use crate::SetupError;
use crate::config::ConfigError;
use crate::files::{self, Original};

use config_file::ConfigFile;
use decision::{Installation, Removal};

pub use config_file::{Environment, Variable};
pub use table::{CLIENTS, Client};

/// Whose configuration is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for every project.
    User,
    /// The project's, for all who work on it.
    Project,
}

/// Connects one client with this program.
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Setup {
    pub client: &'static Client,
    pub scope: Scope,
    pub environment: Environment,
    /// The absolute path of this program.
    pub program: String,
    /// Whether the name of this program, looked up on `PATH`, leads to it.
    pub is_found_by_name: bool,
    /// Only report what would be done.
    pub is_dry_run: bool,
}

/// What was done, or would be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Report {
    pub path: PathBuf,
    pub outcome: Outcome,
    /// The program that the entry names, or has named.
    pub program: Option<String>,
    /// A copy from before our entry. It also stays if the user has removed the entry by hand.
    pub backup: Option<PathBuf>,
    /// Empty if nothing changes.
    pub diff: String,
}

/// What became of the file, or of our entry in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Outcome {
    Created,
    Added,
    /// The entry names another program now, or has what an earlier version did not write.
    Updated,
    Unchanged,
    /// It is again as it was before the entry, byte for byte.
    Restored,
    /// It had nothing but our entry, and is gone.
    Deleted,
    /// It has changed since our entry was added, so that only the entry was removed.
    TakenOut,
    Nothing,
}

/// Added to the name of a file for its backup.
const BACKUP: &str = ".pi-subagents-backup";

impl Setup {
    /// Adds our entry to the client's configuration, or updates it.
    pub fn install(&self) -> Result<Report, SetupError> {
        let path = self.path()?;
        let original = Original::read(&path)?;
        let program = self.program_to_write();
        let is_project = self.scope == Scope::Project;
        let decided = decision::installation(self.client, original.text(), program, is_project)
            .map_err(in_file(&path))?;
        let (text, outcome, program) = match decided {
            Installation::Unchanged { program } => {
                return Ok(Report {
                    backup: existing(backup_of(&path)),
                    program: Some(program),
                    outcome: Outcome::Unchanged,
                    diff: String::new(),
                    path,
                });
            }
            Installation::Foreign { line } => {
                return Err(SetupError::AnotherServer { path, line });
            }
            Installation::Add { text } if original.text().is_none() => {
                (text, Outcome::Created, program.to_owned())
            }
            Installation::Add { text } => (text, Outcome::Added, program.to_owned()),
            Installation::Update { text, program } => (text, Outcome::Updated, program),
        };
        let backup = backup_of(&path);
        let diff = self.diff(&path, original.text(), Some(&text));
        // The backup is the last text without our entry.
        let is_backed_up = match outcome {
            Outcome::Created => false,
            Outcome::Updated => existing(backup.clone()).is_none(),
            _ => true,
        };
        if !self.is_dry_run {
            if let Some(directory) = path.parent() {
                files::make_directory(directory)?;
            }
            if is_backed_up {
                original.back_up(&backup)?;
            }
            let is_private = self.scope == Scope::User;
            if let Err(error) = original.replace(&text, is_private) {
                // If another program has added the entry meanwhile, the copy is its backup, too.
                if is_backed_up && !self.has_entry(&path) {
                    files::remove(&backup)?;
                }
                return Err(error);
            }
        }
        Ok(Report {
            backup: (outcome != Outcome::Created).then_some(backup),
            program: Some(program),
            outcome,
            diff,
            path,
        })
    }

    /// Removes our entry from the client's configuration.
    pub fn remove(&self) -> Result<Report, SetupError> {
        let ConfigFile { path, directories } = self.config_file()?;
        let original = Original::read(&path)?;
        let backup = backup_of(&path);
        let kept = files::text_of(&backup);
        let text = original.text().unwrap_or_default();
        let is_linked = original.is_linked(&path);
        let decided = decision::removal(self.client, text, kept.as_deref(), is_linked)
            .map_err(in_file(&path))?;
        let (after, outcome) = match decided {
            Removal::Nothing => (None, Outcome::Nothing),
            Removal::Restore { text } => (Some(text), Outcome::Restored),
            Removal::DropFile => (None, Outcome::Deleted),
            Removal::TakeOut { text } => (Some(text), Outcome::TakenOut),
            Removal::Foreign { line } => {
                return Err(SetupError::AnotherServer { path, line });
            }
        };
        let diff = match outcome {
            Outcome::Nothing => String::new(),
            _ => self.diff(&path, Some(text), after.as_deref()),
        };
        if !self.is_dry_run && outcome != Outcome::Nothing {
            match &after {
                Some(after) => original.replace(after, self.scope == Scope::User)?,
                None => original.remove()?,
            }
            files::remove(&backup)?;
            if outcome == Outcome::Deleted {
                for directory in &directories {
                    if !files::drop_directory(directory)? {
                        break;
                    }
                }
            }
        }
        let backup = existing(backup).filter(|_| outcome == Outcome::Nothing);
        Ok(Report { path, outcome, program: None, backup, diff })
    }

    /// What the user can put into the file by hand if this program cannot.
    pub fn snippet(&self) -> String {
        let form = &self.client.form;
        let entry = form.entry(self.program_to_write());
        self.client.format.insert("", form.entry_path(), &entry).unwrap_or_default()
    }

    /// The path of the client's configuration file.
    pub fn path(&self) -> Result<PathBuf, SetupError> {
        Ok(self.config_file()?.path)
    }

    /// The configuration of a project is shared, and a path on this machine is of no use to others.
    fn program_to_write(&self) -> &str {
        match self.scope {
            Scope::Project if self.is_found_by_name => table::NAME,
            _ => &self.program,
        }
    }

    fn config_file(&self) -> Result<ConfigFile, SetupError> {
        config_file::locate(self.client, self.scope, &self.environment, |path| self.has_entry(path))
    }

    fn has_entry(&self, path: &Path) -> bool {
        let text = Original::read(path).ok();
        let text = text.as_ref().and_then(Original::text);
        text.is_some_and(|text| {
            let path = self.client.form(text).entry_path();
            matches!(self.client.format.entry(text, path), Ok(Some(_)))
        })
    }

    /// A file that is created or deleted is shown whole: all of it is ours.
    fn diff(&self, path: &Path, before: Option<&str>, after: Option<&str>) -> String {
        let is_whole_file = before.is_none() || after.is_none();
        let format = self.client.format;
        let shown = |text: &str| {
            let form = self.client.form(text);
            let entry = format.entry(text, form.entry_path()).ok().flatten()?;
            format.shown(text, form.entry_path(), &form.own_fields(&entry), is_whole_file)
        };
        let (text, other) = (after.unwrap_or_default(), before.unwrap_or_default());
        let text = if shown(text).is_some() { text } else { other };
        let entry_path = self.client.form(text).entry_path();
        let line = if is_whole_file { 1 } else { format.line_of_entry(text, entry_path) };
        diff::unified(
            &path.display().to_string(),
            line,
            before.and_then(shown).as_deref(),
            after.and_then(shown).as_deref(),
            is_whole_file,
        )
    }
}

fn in_file(path: &Path) -> impl FnOnce(ConfigError) -> SetupError {
    let path = path.to_owned();
    move |error| SetupError::Config { path, error }
}

fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BACKUP);
    PathBuf::from(name)
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}
