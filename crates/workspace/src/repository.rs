//! The repository in which a task works, and what its settings would make git run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use process::Exit;

use crate::git::{Git, Setting, failed, owned};
use crate::{GitError, WorkspaceError};

/// A repository with a working tree.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The root of the working tree.
    pub top: PathBuf,
    /// The directory that was asked about, below the root.
    pub prefix: PathBuf,
    /// What all its working trees share.
    pub common: PathBuf,
    git_dir: PathBuf,
    /// Settings that take the place of those that would run a program of the repository's choice.
    settings: Vec<Setting>,
}

/// Git LFS may be set up in one repository only. Its commands are always the same.
const LFS: [(&str, &str); 4] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.required", "true"),
];

/// The names of settings that can name programs, as git lists them. Git LFS runs those of its own settings.
const PROGRAMS: &str =
    r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver|hook\..*\.(command|event)|lfs\..*)$";

/// What git does without a driver.
const PLAIN_MERGE: &str = "git merge-file --marker-size=%L %A %O %B";

impl Repository {
    /// The repository around a directory.
    pub fn find(directory: &Path) -> Result<Repository, WorkspaceError> {
        Repository::find_unless(directory, &|| false)
    }

    /// The same, unless it is stopped meanwhile.
    pub fn find_unless(
        directory: &Path,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Repository, WorkspaceError> {
        if !directory.is_dir() {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(WorkspaceError::file("entered", directory)(missing));
        }
        let git = Git::at(directory, is_stopped);
        let args = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--show-prefix",
            "--absolute-git-dir",
            "--git-common-dir",
        ];
        let output = git.output(&args)?;
        if output.exit != Exit::Code(0) {
            return Err(explain(&git, directory, failed(&args, &output)));
        }
        let paths: Vec<PathBuf> = output
            .stdout
            .split(|byte| *byte == b'\n')
            .map(|line| PathBuf::from(OsString::from_vec(line.to_vec())))
            .collect();
        // The fifth is what follows the last line break.
        let Ok([top, prefix, git_dir, common, _]) = <[PathBuf; 5]>::try_from(paths) else {
            return Err(WorkspaceError::LineBreak(directory.to_owned()));
        };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !real(directory).starts_with(real(&top)) {
            return Err(WorkspaceError::Elsewhere { directory: directory.to_owned(), top });
        }
        let settings = harmless_settings(&git.within(&git_dir, &top))?;
        Ok(Repository { top, prefix, common, git_dir, settings })
    }

    /// git in the user's own working tree.
    pub(crate) fn git<'a>(&self, is_stopped: &'a dyn Fn() -> bool) -> Git<'a> {
        Git::at(&self.top, is_stopped)
            .within(&self.git_dir, &self.top)
            .with_settings(&self.settings)
    }

    /// git in a worktree of ours, whatever the agent has done to the file that leads there. Settings can hold for this
    /// worktree alone.
    pub(crate) fn git_of<'a>(
        &self,
        admin: &Path,
        tree: &Path,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Result<Git<'a>, WorkspaceError> {
        let git = Git::at(tree, is_stopped).within(admin, tree);
        let settings = harmless_settings(&git)?;
        Ok(git.with_settings(&settings))
    }

    /// The user's own index.
    pub(crate) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Where the repository keeps what it knows of a worktree of ours.
    pub(crate) fn admin(&self, run: &str) -> PathBuf {
        self.common.join("worktrees").join(run)
    }

    /// The commit that is checked out, if there is one.
    pub fn head(&self) -> Result<Option<String>, WorkspaceError> {
        Ok(self.git(&|| false).resolve("HEAD^{commit}")?)
    }

    /// The commit of a ref, if there is such a ref.
    pub fn commit(&self, reference: &str) -> Result<Option<String>, WorkspaceError> {
        Ok(self.git(&|| false).resolve(&format!("{reference}^{{commit}}"))?)
    }
}

fn explain(git: &Git<'_>, directory: &Path, error: GitError) -> WorkspaceError {
    let is_bare = git.text(&["rev-parse", "--is-bare-repository"]);
    let is_inside = git.text(&["rev-parse", "--is-inside-git-dir"]);
    match (&error, is_bare.as_deref(), is_inside.as_deref()) {
        (_, Ok("true"), _) | (_, _, Ok("true")) => WorkspaceError::Bare(directory.to_owned()),
        (GitError::Failed { message, .. }, ..) if message.contains("not a git repository") => {
            WorkspaceError::NoRepository(directory.to_owned())
        }
        _ => error.into(),
    }
}

/// Takes the place of settings of the repository that name programs. A filter cannot be left out, because what is kept would
/// not be what a commit keeps, so it is refused. Hooks that are settings (from git 2.54) run no more than those that are files,
/// the user's included.
fn harmless_settings(git: &Git<'_>) -> Result<Vec<Setting>, WorkspaceError> {
    let output =
        git.output(&["config", "-z", "--show-scope", "--name-only", "--get-regexp", PROGRAMS])?;
    let mut settings = Vec::new();
    // As bytes: a name that is no UTF-8 must be taken as it is.
    let words: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    for pair in words.chunks_exact(2) {
        let [scope, name] = pair else { continue };
        let (section, subject) = section_and_subject(name);
        let is_of_repository = matches!(*scope, b"local" | b"worktree");
        match section {
            b"hook" => settings.push((setting(section, subject, "enabled"), "false".into())),
            _ if !is_of_repository => {}
            b"merge" => settings.push((OsStr::from_bytes(name).to_owned(), PLAIN_MERGE.into())),
            b"filter" if subject == b"lfs" => settings.extend(owned(&LFS)),
            b"filter" => {
                let filter = String::from_utf8_lossy(subject).into_owned();
                return Err(WorkspaceError::Filter { filter });
            }
            _ if is_program_of_lfs(name) => {
                let setting = String::from_utf8_lossy(name).into_owned();
                return Err(WorkspaceError::LfsProgram { setting });
            }
            _ => {}
        }
    }
    Ok(settings)
}

/// Whether Git LFS would start what the setting says. It makes no difference between small and large letters.
fn is_program_of_lfs(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let is_of = |start: &[u8], ends: &[&[u8]]| {
        name.starts_with(start) && ends.iter().any(|end| name.ends_with(end))
    };
    is_of(b"lfs.extension.", &[b".clean", b".smudge"])
        || is_of(b"lfs.customtransfer.", &[b".path"])
        || is_of(b"lfs.", &[b".standalonetransferagent"])
}

/// The first part of a setting's name, and what is between that and the last.
fn section_and_subject(name: &[u8]) -> (&[u8], &[u8]) {
    let mut dots = (0..name.len()).filter(|index| name[*index] == b'.');
    let first = dots.next().unwrap_or(name.len());
    let subject = dots.next_back().map_or(&[][..], |last| &name[first + 1..last]);
    (&name[..first], subject)
}

fn setting(section: &[u8], subject: &[u8], last: &str) -> OsString {
    OsString::from_vec([section, subject, last.as_bytes()].join(&b'.'))
}
