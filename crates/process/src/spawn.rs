//! Starting processes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Pid;

use crate::cgroup::Cgroup;
use crate::landlock::WritablePaths;
use crate::open_files::{is_shortage, restore_open_files};
use crate::read_only::ReadOnlyPaths;
use crate::tree::{Containment, Exit, Signal, Tree, try_wait};

/// What to start as a contained child.
#[derive(Clone, Copy, Debug)]
pub struct ChildSpec<'a> {
    /// A path, or a name that is looked up on `PATH`.
    pub program: &'a str,
    /// `argv[0]`, which lists of processes show; the program unless it is set.
    pub name: Option<&'a str>,
    /// Without the program itself.
    pub args: &'a [String],
    /// Must exist.
    pub cwd: &'a Path,
    /// Variables to set, or, without a value, to remove. The rest is inherited.
    pub environment: &'a BTreeMap<String, Option<String>>,
}

/// A contained child with our ends of its standard streams, none of which ever blocks.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Child {
    pub tree: Tree,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
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

impl SpawnError {
    /// Whether it may succeed when other work of this program has ended; see [`is_shortage`].
    pub fn is_shortage(&self) -> bool {
        matches!(self, SpawnError::Other { source, .. } if is_shortage(source))
    }
}

/// What bounds a contained child beside its session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confinement<'a> {
    /// The cgroup in which it starts.
    pub cgroup: Option<&'a Cgroup>,
    /// The only paths that it may change.
    pub writable: Option<&'a WritablePaths>,
    /// What it may not change inside those paths.
    pub read_only: Option<&'a ReadOnlyPaths>,
}

/// Starts a child in a session of its own. If this process is killed, the parent-death signal kills
/// the child (Linux).
///
/// Call it from the main thread of a process with one thread: the kernel ties the parent-death
/// signal to the thread that starts the child.
pub fn spawn_contained(spec: ChildSpec<'_>, containment: Containment) -> Result<Child, SpawnError> {
    spawn_confined(spec, containment, Confinement::default())
}

/// Starts a child as [`spawn_contained`] does, within further bounds.
pub fn spawn_confined(
    spec: ChildSpec<'_>,
    containment: Containment,
    confinement: Confinement<'_>,
) -> Result<Child, SpawnError> {
    let failed = |error| explain(spec.program, error);
    let mut command = session_command(spec)?;
    // A restricted process cannot mount any more.
    if let Some(read_only) = confinement.read_only {
        read_only.protect(&mut command, spec.cwd).map_err(failed)?;
    }
    if let Some(writable) = confinement.writable {
        writable.restrict(&mut command).map_err(failed)?;
    }
    let (its_stdin, stdin) = io::pipe().map_err(failed)?;
    let (stdout, its_stdout) = io::pipe().map_err(failed)?;
    let (stderr, its_stderr) = io::pipe().map_err(failed)?;
    command.stdin(its_stdin).stdout(its_stdout).stderr(its_stderr);
    let pid = match confinement.cgroup {
        Some(cgroup) => cgroup.spawn(command),
        None => command.spawn().map(|child| Pid::from_child(&child)),
    };
    let pid = pid.map_err(failed)?;
    crate::oom::offer(pid);
    let tree = Tree::new(pid, containment);
    let (stdin, stdout, stderr) = (stdin.into(), stdout.into(), stderr.into());
    for stream in [&stdin, &stdout, &stderr] {
        // Cannot fail on a pipe that was made a moment ago.
        let _ = rustix::io::ioctl_fionbio::<&OwnedFd>(stream, true);
    }
    widen(&stdout);
    Ok(Child { tree, stdin, stdout, stderr })
}

/// A process of ours that may outlive this one.
#[derive(Debug)]
pub struct Detached {
    pid: Pid,
    exit: Option<Exit>,
}

impl Detached {
    /// Valid until [`Detached::try_wait`] has returned an exit.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, if it has; never blocks.
    pub fn try_wait(&mut self) -> Option<Exit> {
        try_wait(self.pid, &mut self.exit)
    }

    /// Whether another process has stopped it, by a signal or as a debugger does.
    pub fn is_stopped(&self) -> bool {
        use rustix::process::{WaitId, WaitIdOptions};
        if self.exit.is_some() {
            return false;
        }
        // The system tells its parent of a signal, but not of a debugger.
        let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let told = rustix::process::waitid(WaitId::Pid(self.pid), look);
        #[cfg(target_os = "linux")]
        let is_traced = crate::proc_table::is_stopped(self.pid);
        #[cfg(not(target_os = "linux"))]
        let is_traced = false;
        matches!(told, Ok(Some(_))) || is_traced
    }

    /// Continues it if it is stopped.
    pub fn wake(&mut self) {
        self.signal(Signal::Continue);
    }

    /// Kills it. It cannot stop what it has started, so the caller must.
    pub fn kill(&mut self) {
        self.signal(Signal::Kill);
    }

    fn signal(&mut self, signal: Signal) {
        if self.try_wait().is_none() {
            let _ = rustix::process::kill_process(self.pid, signal.raw());
        }
    }
}

/// What a detached process leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachFrom {
    /// Our process group: the keys of the terminal do not reach the process. This needs no fork,
    /// which would copy the page tables of this process, so that the cost of a start would grow
    /// with our memory.
    Group,
    /// Our session: the end of the terminal does not reach the process either.
    Session,
}

/// What to start as a detached process.
#[derive(Debug)]
pub struct DetachedSpec<'a> {
    /// A path.
    pub program: &'a Path,
    /// Without the program itself.
    pub args: &'a [&'a str],
    /// The process's end of a pipe or socket.
    pub stdin: OwnedFd,
    /// Without it, standard output is `/dev/null`, as standard error always is.
    pub stdout: Option<OwnedFd>,
    /// How far the process is detached.
    pub from: DetachFrom,
}

/// The name under which lists of processes show a detached process.
pub const OWN_NAME: &str = "pi-subagents";

/// Starts a program of ours that may outlive this process.
pub fn spawn_detached(spec: DetachedSpec<'_>) -> Result<Detached, SpawnError> {
    let program = spec.program.to_string_lossy();
    let mut command = unchanged_command(&program);
    match spec.from {
        DetachFrom::Group => {
            command.process_group(0);
        }
        DetachFrom::Session => {
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
        .arg0(OWN_NAME)
        .args(spec.args)
        .stdin(Stdio::from(spec.stdin))
        .stdout(spec.stdout.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::null());
    let child = command.spawn().map_err(|error| explain(&program, error))?;
    Ok(Detached { pid: Pid::from_child(&child), exit: None })
}

/// Closes inherited descriptors at exec: another process may be waiting for a lock or a pipe among
/// them to be released. Kernels before Linux 5.11 lack the call, and the descriptors stay open.
pub(crate) fn keep_only_standard_streams() {
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

/// This very program by a path that other processes can use: the path of its file, which people
/// recognise, or, if that file was removed or replaced, a link that lasts as long as this process.
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

/// Gives this process its name in `ps` and `top`, which would otherwise show `exe`, the name of the
/// link by which it was started.
pub fn name_process() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"pi-subagents");
}

/// A command in a session of its own, which the kernel kills when the thread that starts it ends
/// (Linux). The caller sets its standard streams.
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
    // SAFETY: a system call that allocates nothing and takes no lock.
    #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
    die_with_parent(&mut command);
    Ok(command)
}

/// Lets the kernel kill the command when the thread that starts it ends (Linux).
pub(crate) fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, no memory is allocated, no lock
    // is taken.
    #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
    unsafe {
        command.pre_exec(move || {
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
}

/// A command with the limits that this process was started with.
pub(crate) fn new_command(program: &str) -> Command {
    let mut command = unchanged_command(program);
    restore_open_files(&mut command);
    command
}

#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
fn unchanged_command(program: &str) -> Command {
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
