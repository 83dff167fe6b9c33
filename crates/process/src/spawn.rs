//! Starting processes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, WaitOptions};

use crate::tree::{Containment, Exit, Tree};

/// What to start as a contained child.
#[derive(Clone, Copy, Debug)]
pub struct ChildSpec<'a> {
    /// A path, or a name that is looked up on `PATH`.
    pub program: &'a str,
    /// What it is told to be called, if that is not the program: lists of processes show it.
    pub name: Option<&'a str>,
    /// Its arguments.
    pub args: &'a [String],
    /// Its working directory.
    pub cwd: &'a Path,
    /// Variables that are set, or, where there is no value, removed. The rest is inherited.
    pub environment: &'a BTreeMap<String, Option<String>>,
}

/// A contained child with the other ends of its standard streams, none of which ever blocks.
#[derive(Debug)]
pub struct Child {
    /// The child and everything that it starts.
    pub tree: Tree,
    /// Write its standard input here, and close it.
    pub stdin: OwnedFd,
    /// Read its standard output here.
    pub stdout: OwnedFd,
    /// Read its standard error here.
    pub stderr: OwnedFd,
}

/// Why a process could not be started, in words that say what to do about it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SpawnError {
    #[error("the working directory {} does not exist", .0.display())]
    MissingDirectory(PathBuf),
    #[error("the working directory {} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("the working directory {} cannot be entered", .0.display())]
    ForbiddenDirectory(PathBuf),
    #[error("the program {0:?} was not found on PATH")]
    NotOnPath(String),
    #[error("the program {0:?} does not exist (or the interpreter that it names)")]
    MissingProgram(String),
    #[error("the program {0:?} is not executable")]
    NotExecutable(String),
    #[error("the program {program:?} could not be started: {source}")]
    Other { program: String, source: io::Error },
}

/// Starts a child in a session of its own. It dies with this process, by the parent-death signal,
/// should this process be killed (Linux).
///
/// Call it from the main thread of a process with one thread: the kernel ties the parent-death
/// signal to the thread that starts the child.
pub fn spawn_contained(spec: ChildSpec<'_>, containment: Containment) -> Result<Child, SpawnError> {
    let mut command = session_command(spec)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| explain(spec.program, error))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        let source = io::Error::other("a standard stream is missing");
        return Err(SpawnError::Other { program: spec.program.to_owned(), source });
    };
    let streams: [OwnedFd; 3] = [stdin.into(), stdout.into(), stderr.into()];
    for stream in &streams {
        // Cannot fail on a pipe that was made a moment ago.
        let _ = rustix::io::ioctl_fionbio(stream, true);
    }
    let [stdin, stdout, stderr] = streams;
    widen(&stdout);
    let tree = Tree::new(Pid::from_child(&child), containment);
    Ok(Child { tree, stdin, stdout, stderr })
}

/// A process of ours that is apart from this one and may outlive it.
#[derive(Debug)]
pub struct Detached {
    pid: Pid,
    exit: Option<Exit>,
}

impl Detached {
    /// Its process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, if it has; never blocks.
    pub fn try_wait(&mut self) -> Option<Exit> {
        while self.exit.is_none() {
            match rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG) {
                Ok(Some((_, status))) => self.exit = Exit::from_status(status),
                Ok(None) => break,
                Err(rustix::io::Errno::INTR) => {}
                // Somebody else reaped it; that it is gone is all that can be known.
                Err(_) => self.exit = Some(Exit::Code(0)),
            }
        }
        self.exit
    }

    /// Wakes it, should somebody have stopped it.
    pub fn wake(&mut self) {
        if self.try_wait().is_none() {
            let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::CONT);
        }
    }

    /// Kills it. It cannot clean up behind itself then, so whoever calls this must.
    pub fn kill(&mut self) {
        if self.try_wait().is_none() {
            let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::KILL);
        }
    }
}

/// What a detached process is apart from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Our process group: the keys of the terminal do not reach it. This costs nothing, because it
    /// needs no fork: a fork copies the page tables of this process, so that what a start costs
    /// would grow with our memory.
    FromGroup,
    /// Our session: the terminal itself and its end do not reach it either.
    FromSession,
}

/// What to start as a detached process.
#[derive(Debug)]
pub struct DetachedSpec<'a> {
    /// The program's path.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [&'a str],
    /// Variables that are set. The rest is inherited.
    pub environment: &'a [(&'a str, &'a str)],
    /// Its standard input.
    pub stdin: OwnedFd,
    /// Its standard output, if that leads anywhere; its standard error does not.
    pub stdout: Option<OwnedFd>,
    /// What it is apart from.
    pub apart: Apart,
}

/// Starts a program of ours apart from this process.
pub fn spawn_detached(spec: DetachedSpec<'_>) -> Result<Detached, SpawnError> {
    let program = spec.program.to_string_lossy();
    let mut command = new_command(&program);
    match spec.apart {
        Apart::FromGroup => {
            command.process_group(0);
        }
        Apart::FromSession => {
            // SAFETY: between fork and exec only system calls are made.
            #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
            unsafe {
                command.pre_exec(|| {
                    rustix::process::setsid()?;
                    keep_only_standard_streams();
                    Ok(())
                });
            }
        }
    }
    command
        .arg0("pi-subagents")
        .args(spec.args)
        .envs(spec.environment.iter().copied())
        .stdin(Stdio::from(spec.stdin))
        .stdout(spec.stdout.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::null());
    let child = command.spawn().map_err(|error| explain(&program, error))?;
    Ok(Detached { pid: Pid::from_child(&child), exit: None })
}

/// Lets go of what this process has inherited: a lock or a pipe that somebody waits for must not
/// last as long as a process that outlives us. A kernel that cannot do it at once is older than
/// Linux 5.11, and passes it on.
fn keep_only_standard_streams() {
    #[cfg(target_os = "linux")]
    // SAFETY: this changes flags of descriptors; none is closed before the new program begins.
    #[expect(unsafe_code, reason = "there is no safe way to mark all descriptors")]
    unsafe {
        let flags = libc::CLOSE_RANGE_CLOEXEC;
        libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, flags);
    }
}

/// This very program, also after its file has been replaced by another version.
pub fn own_executable() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// The same, by a path that other processes can use now: that of its file, by which people know it,
/// or, when that is gone or another one, a link that lasts as long as this process.
pub fn own_executable_for_others() -> io::Result<PathBuf> {
    let link = PathBuf::from(format!("/proc/{}/exe", rustix::process::getpid()));
    let file = std::env::current_exe()?;
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let running = identity(&link);
    Ok(if running.is_some() && identity(&file) != running { link } else { file })
}

/// Gives this process the name that `ps` and `top` show. It would otherwise be that of the link
/// through which it was started.
pub fn name_process() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"pi-subagents");
}

/// A command in a session of its own, which the kernel kills when the thread that starts it ends
/// (Linux). Its streams are still to be set.
pub(crate) fn session_command(spec: ChildSpec<'_>) -> Result<Command, SpawnError> {
    check_directory(spec.cwd)?;
    let mut command = new_command(spec.program);
    command.args(spec.args).current_dir(spec.cwd);
    if let Some(name) = spec.name {
        command.arg0(name);
    }
    for (name, value) in spec.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, no memory is allocated, no lock
    // is taken.
    #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            #[cfg(target_os = "linux")]
            {
                let kill = Some(rustix::process::Signal::KILL);
                rustix::process::set_parent_process_death_signal(kill)?;
            }
            // Had the parent died before the line above, the signal would never come.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(rustix::io::Errno::SRCH.into())
            }
        });
    }
    Ok(command)
}

#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(crate) fn new_command(program: &str) -> Command {
    Command::new(program)
}

fn check_directory(directory: &Path) -> Result<(), SpawnError> {
    match std::fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => {
            rustix::fs::access(directory, rustix::fs::Access::EXEC_OK)
                .map_err(|_| SpawnError::ForbiddenDirectory(directory.to_owned()))
        }
        Ok(_) => Err(SpawnError::NotADirectory(directory.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(SpawnError::ForbiddenDirectory(directory.to_owned()))
        }
        Err(_) => Err(SpawnError::MissingDirectory(directory.to_owned())),
    }
}

pub(crate) fn explain(program: &str, source: io::Error) -> SpawnError {
    let program = program.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound if program.contains('/') => SpawnError::MissingProgram(program),
        io::ErrorKind::NotFound => SpawnError::NotOnPath(program),
        io::ErrorKind::PermissionDenied => SpawnError::NotExecutable(program),
        _ => SpawnError::Other { program, source },
    }
}

/// A larger pipe means fewer switches between the two processes. Refused beyond the user's quota
/// of pipe memory, which is no loss.
pub(crate) fn widen(pipe: impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1024 * 1024);
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}
