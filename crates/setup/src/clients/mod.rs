//! Clients of the Model Context Protocol, which start this program as a server if their
//! configuration names it.
//!
//! That configuration is the user's: everything in it stays as it is but one entry. `decision`
//! decides what becomes of a file, from texts alone; here that is read and written.

mod decision;
mod diff;
mod place;
mod table;

#[cfg(test)]
mod properties;

use std::path::{Path, PathBuf};

use crate::SetupError;
use crate::config::ConfigError;
use crate::files::{self, Original};

use decision::{Installation, Removal};
use place::Location;

pub use place::{Environment, Places};
pub use table::{CLIENTS, Client};

/// Whose configuration is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for every project.
    User,
    /// That of a project, for everybody who works on it.
    Project,
}

/// What is set up, for whom, and where.
pub struct Setup {
    /// The client.
    pub client: &'static Client,
    /// Whose configuration is changed.
    pub scope: Scope,
    /// Where the user stands.
    pub places: Places,
    /// The file of this program, by an absolute path.
    pub program: String,
    /// Whether its name alone leads to it.
    pub is_found_by_name: bool,
    /// Only tell what would be done.
    pub is_dry_run: bool,
}

/// What was done, or would be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
    /// The program that the entry names, or has named.
    pub program: Option<String>,
    /// What the file was before, kept beside it, also if somebody has taken the entry out by hand.
    pub backup: Option<PathBuf>,
    /// The lines that have come and gone, for people; empty if there are none.
    pub diff: String,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not there.
    Created,
    /// It got an entry.
    Added,
    /// Its entry got another program.
    Updated,
    /// It was as it should be.
    Unchanged,
    /// It is again what it was before the entry, byte for byte.
    Restored,
    /// It was nothing but our entry, and is gone.
    Deleted,
    /// Something else was changed since, so that only the entry was taken out.
    TakenOut,
    /// There was no entry.
    Nothing,
}

/// What is put behind the name of a file for what it was before.
const BACKUP: &str = ".pi-subagents-backup";

impl Setup {
    /// Makes the client start this program, or brings that up to date.
    pub fn install(&self) -> Result<Report, SetupError> {
        let path = self.path()?;
        let original = Original::read(&path)?;
        let program = self.program_to_write();
        let is_project = self.scope == Scope::Project;
        let decided = decision::installation(self.client, original.text(), program, is_project)
            .map_err(in_file(&path))?;
        let (text, outcome) = match decided {
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
            Installation::Add { text } if original.text().is_none() => (text, Outcome::Created),
            Installation::Add { text } => (text, Outcome::Added),
            Installation::Update { text } => (text, Outcome::Updated),
        };
        let backup = backup_of(&path);
        let diff = self.diff(&path, original.text(), Some(&text));
        // What is kept is the last text without an entry of ours.
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
                // If somebody else was faster to put the entry in, it is the copy of that, too.
                if is_backed_up && !self.has_entry(&path) {
                    files::remove(&backup)?;
                }
                return Err(error);
            }
        }
        Ok(Report {
            backup: (outcome != Outcome::Created).then_some(backup),
            program: Some(program.to_owned()),
            outcome,
            diff,
            path,
        })
    }

    /// Makes the client start this program no more.
    pub fn remove(&self) -> Result<Report, SetupError> {
        let Location { path, directories } = self.location()?;
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

    /// What is to be put into the client's file by hand where this program cannot do it.
    pub fn snippet(&self) -> String {
        let form = &self.client.form;
        let entry = form.entry(self.program_to_write());
        self.client.format.insert("", form.spot(), &entry).unwrap_or_default()
    }

    /// The client's file.
    pub fn path(&self) -> Result<PathBuf, SetupError> {
        Ok(self.location()?.path)
    }

    /// A path of one user's machine is of no use to the others who work on a project.
    fn program_to_write(&self) -> &str {
        match self.scope {
            Scope::Project if self.is_found_by_name => table::NAME,
            _ => &self.program,
        }
    }

    fn location(&self) -> Result<Location, SetupError> {
        place::locate(self.client, self.scope, &self.places, |path| self.has_entry(path))
    }

    fn has_entry(&self, path: &Path) -> bool {
        let text = Original::read(path).ok();
        let text = text.as_ref().and_then(Original::text);
        text.is_some_and(|text| {
            let spot = self.client.form(text).spot();
            matches!(self.client.format.entry(text, spot), Ok(Some(_)))
        })
    }

    /// A file that comes or goes is shown whole: all of it is ours.
    fn diff(&self, path: &Path, before: Option<&str>, after: Option<&str>) -> String {
        let is_whole_file = before.is_none() || after.is_none();
        let format = self.client.format;
        let shown = |text: &str| {
            let form = self.client.form(text);
            let entry = format.entry(text, form.spot()).ok().flatten()?;
            format.shown(text, form.spot(), &form.own_fields(&entry), is_whole_file)
        };
        let (text, other) = (after.unwrap_or_default(), before.unwrap_or_default());
        let text = if shown(text).is_some() { text } else { other };
        let spot = self.client.form(text).spot();
        let line = if is_whole_file { 1 } else { format.line_of_entry(text, spot) };
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
