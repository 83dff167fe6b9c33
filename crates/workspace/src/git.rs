//! The program `git`, started so that it runs nothing that a repository names, asks for nothing, and leaves alone
//! what it was not told to change.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{CommandOutput, Exit, OutputError, ToolCommand, tool_output};

use crate::GitError;
use crate::pipes::PipeSearch;

/// The variables that lead git to a repository other than that of its directory. An agent in a worktree must not inherit
/// them, for example from a hook that has started its caller.
pub const REPOSITORY_VARIABLES: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// What is left of the caller's variables that begin with `GIT_`: where the user's own settings are, how far to look for a
/// repository, and what Git LFS does.
const INHERITED: [&str; 5] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Settings that win over those of the repository, of the user and of the system.
const SETTINGS: &[(&str, &str)] = &[
    // Programs that git would start.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // A private index must not write beside the user's own.
    ("core.splitIndex", "false"),
    ("core.untrackedCache", "false"),
    // A change must be seen whatever the settings say.
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    ("core.safecrlf", "false"),
    ("add.ignoreErrors", "false"),
    // `git add` names the repositories that it finds, and need not explain what they are.
    ("advice.addEmbeddedRepo", "false"),
    // A repository that was copied from a system without cases says so here, too, and two files would be taken for one.
    #[cfg(target_os = "linux")]
    ("core.ignoreCase", "false"),
    ("status.showUntrackedFiles", "all"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "none"),
    // What is printed is read by us.
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("worktree.guessRemote", "false"),
    ("worktree.useRelativePaths", "false"),
    ("merge.renames", "true"),
];

/// What a commit of ours says about its author.
const NAME: &str = "pi-subagents";
const EMAIL: &str = "pi-subagents@localhost";

/// Longer than any sensible command of git takes on any sensible repository.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
/// A command of git that prints more is not what we asked for.
const LARGEST_OUTPUT: usize = 256 * 1024 * 1024;

/// So many names of files fit into the arguments of a command.
pub(crate) const MOST_NAMES: usize = 200;

/// A setting and its value. The name can hold any bytes.
pub(crate) type Setting = (OsString, OsString);

/// A way to start git: where, with which variables, and until when.
#[derive(Clone)]
pub(crate) struct Git<'a> {
    directory: PathBuf,
    environment: BTreeMap<OsString, Option<OsString>>,
    settings: Vec<Setting>,
    is_stopped: &'a dyn Fn() -> bool,
    dies_with_caller: bool,
}

impl<'a> Git<'a> {
    /// git in a directory, for which it finds the repository itself.
    pub(crate) fn at(directory: &Path, is_stopped: &'a dyn Fn() -> bool) -> Git<'a> {
        let is_left_out = |name: &OsString| {
            let Some(name) = name.to_str() else { return false };
            name.starts_with("GIT_") && !name.starts_with("GIT_LFS_") && !INHERITED.contains(&name)
        };
        let removed = std::env::vars_os().map(|(name, _)| name).filter(is_left_out);
        let mut git = Git {
            directory: directory.to_owned(),
            environment: removed.map(|name| (name, None)).collect(),
            settings: owned(SETTINGS),
            is_stopped,
            dies_with_caller: true,
        };
        git.set("GIT_OPTIONAL_LOCKS", "0");
        git.set("GIT_TERMINAL_PROMPT", "0");
        // Nothing is loaded from elsewhere, by which programs could be started.
        git.set("GIT_NO_LAZY_FETCH", "1");
        git.set("GIT_ALLOW_PROTOCOL", "none");
        // What is proven is what is stored, and not what an agent lets stand for it.
        git.set("GIT_NO_REPLACE_OBJECTS", "1");
        git.set("LC_ALL", "C");
        git
    }

    /// git with a repository and a working tree that are named, and not looked for.
    #[must_use]
    pub(crate) fn within(mut self, git_dir: &Path, work_tree: &Path) -> Git<'a> {
        self.set("GIT_DIR", git_dir);
        self.set("GIT_WORK_TREE", work_tree);
        work_tree.clone_into(&mut self.directory);
        self
    }

    /// git with another index than that of the working tree, which no other program reads: it needs no checksum, and that of a
    /// large one takes as long as to write it.
    #[must_use]
    pub(crate) fn with_index(mut self, index: &Path) -> Git<'a> {
        self.set("GIT_INDEX_FILE", index);
        self.settings.extend(owned(&[("index.skipHash", "true")]));
        self
    }

    /// git that writes objects into a directory of their own, and also reads those of another one.
    #[must_use]
    pub(crate) fn with_objects(mut self, directory: &Path, read: &Path) -> Git<'a> {
        self.set("GIT_OBJECT_DIRECTORY", directory);
        // In quotes, a colon does not separate two directories.
        let mut quoted = vec![b'"'];
        for byte in read.as_os_str().as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                quoted.push(b'\\');
            }
            quoted.push(*byte);
        }
        quoted.push(b'"');
        self.set("GIT_ALTERNATE_OBJECT_DIRECTORIES", OsString::from_vec(quoted));
        self
    }

    /// git that makes commits in our name, at this time.
    #[must_use]
    pub(crate) fn with_our_name(mut self, date: &str) -> Git<'a> {
        for role in ["AUTHOR", "COMMITTER"] {
            self.set(&format!("GIT_{role}_NAME"), NAME);
            self.set(&format!("GIT_{role}_EMAIL"), EMAIL);
            self.set(&format!("GIT_{role}_DATE"), date);
        }
        self
    }

    /// git with further settings.
    #[must_use]
    pub(crate) fn with_settings(mut self, settings: &[Setting]) -> Git<'a> {
        self.settings.extend_from_slice(settings);
        self
    }

    /// git that finishes what it has begun, also if this process is killed meanwhile.
    #[must_use]
    pub(crate) fn outliving(mut self) -> Git<'a> {
        self.dies_with_caller = false;
        self
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.environment.insert(name.into(), Some(value.as_ref().to_owned()));
    }

    /// Runs a command, which may fail.
    pub(crate) fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<CommandOutput, GitError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        let mut environment = self.environment.clone();
        let mut set = |name: String, value: &OsStr| {
            environment.insert(name.into(), Some(value.to_owned()));
        };
        // By the environment, because the name of a setting can hold any character.
        set("GIT_CONFIG_COUNT".to_owned(), self.settings.len().to_string().as_ref());
        for (index, (name, value)) in self.settings.iter().enumerate() {
            set(format!("GIT_CONFIG_KEY_{index}"), name);
            set(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        let tool = ToolCommand {
            program: "git",
            args: &args,
            directory: &self.directory,
            environment: &environment,
            time_limit: TIME_LIMIT,
            largest: LARGEST_OUTPUT,
            dies_with_caller: self.dies_with_caller,
        };
        let git_dir = self.environment.get(OsStr::new("GIT_DIR")).and_then(Option::as_deref);
        let pipes = PipeSearch::new(&self.directory, git_dir.map(Path::new));
        let is_stopped = || (self.is_stopped)() || pipes.has_found();
        tool_output(tool, &is_stopped).map_err(|error| match error {
            OutputError::Stopped => pipes.into_found().map_or(GitError::Stopped, GitError::Pipe),
            error => GitError::NotRun(error),
        })
    }

    /// Runs a command that must succeed, and returns what it prints.
    pub(crate) fn bytes<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        let output = self.output(args)?;
        match output.exit {
            Exit::Code(0) => Ok(output.stdout),
            _ => Err(failed(args, &output)),
        }
    }

    /// The same as text, without the end of its last line.
    pub(crate) fn text<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let text = String::from_utf8_lossy(&self.bytes(args)?).into_owned();
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Runs a command that must succeed.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<(), GitError> {
        self.bytes(args).map(drop)
    }

    /// What a name stands for, if there is such a thing. A git that could not tell is an error: what is not known to be
    /// missing must not be taken for missing.
    pub(crate) fn resolve(&self, name: &str) -> Result<Option<String>, GitError> {
        let args = ["rev-parse", "--quiet", "--verify", "--end-of-options", name];
        let output = self.output(&args)?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match output.exit {
            Exit::Code(0) if !text.is_empty() => Ok(Some(text)),
            Exit::Code(1) => Ok(None),
            _ => Err(failed(&args, &output)),
        }
    }
}

pub(crate) fn owned(settings: &[(&str, &str)]) -> Vec<Setting> {
    settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// What is said of a command that failed: its first words, and the line of its output that says most.
pub(crate) fn failed<S: AsRef<OsStr>>(args: &[S], output: &CommandOutput) -> GitError {
    let words = args.iter().map(|arg| arg.as_ref().to_string_lossy());
    let command = words.take_while(|word| !word.starts_with('-')).take(2).collect::<Vec<_>>();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    // The shell says of a filter's program that it is missing; git says that the filter hung up.
    let is_reason = |line: &&str| {
        line.starts_with("fatal: ") || line.starts_with("error: ") || line.ends_with(" not found")
    };
    let reasons: Vec<&str> = lines().filter(is_reason).take(3).collect();
    let message = match (reasons.as_slice(), lines().next_back(), output.exit) {
        ([], None, Exit::Code(code)) => format!("exit code {code}"),
        ([], None, Exit::Signal(signal)) => format!("killed by signal {signal}"),
        ([], Some(line), _) => line.to_owned(),
        (reasons, ..) => reasons.join("; "),
    };
    GitError::Failed { command: command.join(" "), message }
}
