//! A cgroup for a child and everything that it starts (Linux, version 2 of the hierarchy).
//!
//! Every process that a member starts is a member from its first instruction, whatever its session,
//! parent, user or environment. So one write kills all of them, also those that this user may not
//! signal, and the kernel itself says whether any is left. Only a process that may write the
//! hierarchy, and does so on purpose, can leave.
//!
//! The cgroup is a directory inside that of this process. It needs no controllers. Root may make it
//! everywhere; another user may where the directory is delegated, as systemd does for a user's own
//! services and applications.

mod directory;
mod location;
mod start;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::marker::KILL_PATIENCE;
use crate::tree::Signal;
#[cfg(target_os = "linux")]
pub(crate) use location::memory_directories;
use start::StartError;

/// Why there is no cgroup to be had here.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NoCgroup {
    #[error("no cgroup hierarchy of version 2 is mounted")]
    NotMounted,
    #[error("the cgroup of this process is not visible at any mount of the hierarchy")]
    NotVisible,
    #[error("the cgroup {} is not delegated to this user: {source}", path.display())]
    NotDelegated { path: PathBuf, source: io::Error },
    #[error("the cgroup {} could not be created: {source}", path.display())]
    NotCreated { path: PathBuf, source: io::Error },
}

/// What could not be done with a cgroup.
#[derive(Debug, thiserror::Error)]
#[error("the cgroup {} could not be {action}: {source}", path.display())]
#[expect(missing_docs, reason = "the names say it")]
pub struct CgroupError {
    pub path: PathBuf,
    /// A participle: "opened", "killed".
    pub action: &'static str,
    pub source: io::Error,
}

/// A cgroup of our own. Dropping it leaves it as it is. The process that has made it holds its lock, which
/// tells others that it is in use before anything is in it.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    directory: OwnedFd,
    /// Kept open, because only a descriptor that was read before reports a change.
    events: OwnedFd,
}

impl Cgroup {
    /// The directory in which [`Cgroup::create`] would make one now.
    pub fn parent() -> Result<PathBuf, NoCgroup> {
        directory::delegated().map(|(path, _)| path)
    }

    /// Where [`Cgroup::create`] would make the one that is called after `name`.
    pub fn path_for(name: &str) -> Result<PathBuf, NoCgroup> {
        let parent = Cgroup::parent()?;
        match file_name(name) {
            Some(file_name) => Ok(parent.join(file_name)),
            None => Err(NoCgroup::NotCreated { path: parent.join(name), source: bad_name() }),
        }
    }

    /// Makes one that is called after `name`, which consists of letters, digits, `-` and `_`.
    pub fn create(name: &str) -> Result<Cgroup, NoCgroup> {
        let (parent, parent_directory) = directory::delegated()?;
        let file_name = file_name(name);
        let path = parent.join(file_name.as_deref().unwrap_or(name));
        let created = file_name
            .ok_or_else(bad_name)
            .and_then(|file_name| directory::create(&parent_directory, &file_name));
        match created {
            Ok((directory, events)) => Ok(Cgroup { path, directory, events }),
            Err(source) => Err(NoCgroup::NotCreated { path, source }),
        }
    }

    /// Makes the one that is called after `name` at a path that [`Cgroup::path_for`] has told.
    pub fn create_at(path: &Path, name: &str) -> Result<Cgroup, NoCgroup> {
        let failed = |source| NoCgroup::NotCreated { path: path.to_owned(), source };
        let own = file_name(name).filter(|own| path.file_name() == Some(own.as_ref()));
        let own = own.ok_or_else(bad_name).map_err(failed)?;
        let parent = directory::open_parent(path).map_err(failed)?;
        let (directory, events) = directory::create(&parent, &own).map_err(failed)?;
        Ok(Cgroup { path: path.to_owned(), directory, events })
    }

    /// Opens the one that [`Cgroup::create`] has made for `name` at this path; nothing if it is gone.
    ///
    /// The path can come from a file that others have written: anything else is refused. So is a
    /// path in a hierarchy that is not mounted here, where nothing says whether it is gone.
    pub fn open(path: &Path, name: &str) -> Result<Option<Cgroup>, CgroupError> {
        let failed = |source| CgroupError { path: path.to_owned(), action: "opened", source };
        let is_named = file_name(name).is_some_and(|own| path.file_name() == Some(own.as_ref()));
        if !is_named || !path.is_absolute() {
            return Err(failed(io::Error::other("it has not the name of a cgroup of ours")));
        }
        match directory::open(path) {
            Ok((directory, events)) => {
                Ok(Some(Cgroup { path: path.to_owned(), directory, events }))
            }
            Err(error) if is_gone(&error) && directory::is_in_hierarchy(path) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The empty ones beside those that [`Cgroup::create`] would make now whose maker is gone: it was killed
    /// before it could remove them. While the returned values live, none of them is taken for a new one.
    pub fn all_abandoned() -> Vec<Cgroup> {
        let Ok(parent) = Cgroup::parent() else { return Vec::new() };
        let found = directory::open_abandoned(&parent, PREFIX).unwrap_or_default().into_iter();
        let found = found.map(|(path, directory, events)| Cgroup { path, directory, events });
        found.filter(|cgroup| matches!(cgroup.is_empty(), Ok(true))).collect()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the process of `command` in this cgroup. A process that cannot be there is not started.
    ///
    /// The command must say where its standard streams lead; pipes that the standard library would
    /// make have no other end here. The process is for the caller to wait for.
    pub fn spawn(&self, command: Command) -> io::Result<Pid> {
        start::spawn(&self.directory, command).map_err(|error| match error {
            StartError::Cgroup(source) => io::Error::other(self.failed("entered", source)),
            StartError::Program(source) => source,
        })
    }

    /// Whether no process is left in it, or in a cgroup that a member has made inside it. Processes
    /// that have ended but were not waited for do not count.
    pub fn is_empty(&self) -> Result<bool, CgroupError> {
        match directory::read_events(&self.events) {
            Ok(events) => match value(&events, "populated") {
                Some("0") => Ok(true),
                Some("1") => Ok(false),
                _ => Err(self.failed("read", io::Error::other("its state is not told"))),
            },
            // Only an empty one can be removed.
            Err(error) if is_gone(&error) => Ok(true),
            Err(error) => Err(self.failed("read", error)),
        }
    }

    /// Reports an exceptional condition (`POLLPRI`) when the answer of [`Cgroup::is_empty`] may have
    /// changed since it was last given. The kernel reports at most every 10 ms.
    pub fn changes(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// The processes in it, also in cgroups that members have made inside it, except for those that
    /// this process cannot see because they are in another namespace.
    pub fn pids(&self) -> Result<Vec<Pid>, CgroupError> {
        directory::pids(&self.directory).map_err(|error| self.failed("read", error))
    }

    /// Kills every process in it, at once and also while they start others. Call it again until it
    /// [is empty](Cgroup::is_empty).
    pub fn kill(&self) -> Result<(), CgroupError> {
        match directory::write(&self.directory, "cgroup.kill", b"1") {
            Ok(()) => Ok(()),
            // Before Linux 5.14 there was no such file. In a cgroup that is gone, no file is.
            Err(error) if is_gone(&error) => self.signal(Signal::Kill),
            Err(error) => Err(self.failed("killed", error)),
        }
    }

    /// Sends a signal to every process in it that this user may signal.
    pub fn signal(&self, signal: Signal) -> Result<(), CgroupError> {
        directory::signal(&self.directory, signal).map_err(|error| self.failed("signalled", error))
    }

    /// Stops everything in it: SIGTERM, the grace, SIGKILL until nothing is left. Returns whether it
    /// is empty then, which it is unless the kernel holds a process in an uninterruptible state.
    pub fn stop(&self, grace: Duration) -> Result<bool, CgroupError> {
        if self.is_empty()? {
            return Ok(true);
        }
        self.signal(Signal::Terminate)?;
        if self.wait_until_empty(grace)? {
            return Ok(true);
        }
        let killing = Instant::now();
        loop {
            self.kill()?;
            let is_empty = self.wait_until_empty(KILL_INTERVAL)?;
            if is_empty || killing.elapsed() > KILL_PATIENCE {
                return Ok(is_empty);
            }
        }
    }

    /// The processor time that its processes have used, the ended ones included.
    pub fn processor_time(&self) -> Option<Duration> {
        let statistics = self.read("cpu.stat")?;
        Some(Duration::from_micros(value(&statistics, "usage_usec")?.parse().ok()?))
    }

    /// The most bytes of memory that its processes have used together. Only told where the memory
    /// controller is enabled for it.
    pub fn memory_peak(&self) -> Option<u64> {
        self.read("memory.peak")?.trim().parse().ok()
    }

    /// Removes it, with the cgroups that members have made inside it. All must be empty.
    pub fn remove(self) -> Result<(), CgroupError> {
        let started = Instant::now();
        loop {
            match directory::remove(&self.path, &self.directory) {
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy
                        && started.elapsed() < REMOVE_PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) if !is_gone(&error) => return Err(self.failed("removed", error)),
                _ => return Ok(()),
            }
        }
    }

    fn wait_until_empty(&self, patience: Duration) -> Result<bool, CgroupError> {
        let started = Instant::now();
        loop {
            let waited = started.elapsed();
            if self.is_empty()? {
                return Ok(true);
            } else if waited >= patience {
                return Ok(false);
            }
            let rest = (patience - waited).min(LOOK_INTERVAL);
            let rest = Timespec { tv_sec: 0, tv_nsec: rest.subsec_nanos().into() };
            let _ = poll(&mut [PollFd::new(&self.events, PollFlags::PRI)], Some(&rest));
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        String::from_utf8(directory::read(&self.directory, file).ok()?).ok()
    }

    fn failed(&self, action: &'static str, source: io::Error) -> CgroupError {
        CgroupError { path: self.path.clone(), action, source }
    }
}

/// How long to wait before SIGKILL is sent again, for kernels that send it to one process at a time.
const KILL_INTERVAL: Duration = Duration::from_millis(20);

/// How long the kernel may take to let go of an empty cgroup.
const REMOVE_PATIENCE: Duration = Duration::from_secs(1);

/// Changes are reported late, so that looking is faster. Less than a second.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// What tells the directories of our cgroups from those of other programs and from the kernel's own files.
pub(crate) const PREFIX: &str = "pi-subagents-";

/// The name of the directory of a cgroup.
fn file_name(name: &str) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_name = (1..=128).contains(&name.len()) && name.bytes().all(is_allowed);
    is_name.then(|| format!("{PREFIX}{name}"))
}

fn bad_name() -> io::Error {
    io::Error::other("its name is not allowed")
}

/// The value behind a key, in a file of lines of keys and values.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == key).then_some(value)
    })
}

/// Whether a cgroup, or a file of it, is not there: `ENODEV` is told of files that were opened before
/// the cgroup was removed.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_directories_only_when_nothing_else_can_be_meant() {
        assert_eq!(file_name("019a-B_c").as_deref(), Some("pi-subagents-019a-B_c"));
        for name in ["", "a/b", "..", "a.b", "a b", "ä", "a\n", &"a".repeat(129)] {
            assert_eq!(file_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "user_usec 1\nusage_usec 23\npopulated\n";
        assert_eq!(value(text, "usage_usec"), Some("23"));
        assert_eq!(value(text, "usec"), None);
        assert_eq!(value(text, "populated"), None);
    }

    #[test]
    fn a_path_that_is_not_ours_is_refused_before_it_is_looked_at() {
        for path in ["/sys/fs/cgroup", "pi-subagents-a", "/x/pi-subagents-b", "/x/..", "/"] {
            let error = Cgroup::open(Path::new(path), "a").unwrap_err();
            assert!(error.to_string().contains("not the name"), "{error}");
        }
    }

    #[test]
    fn a_directory_of_another_file_system_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("pi-subagents-a");
        let error = Cgroup::open(&path, "a").unwrap_err();
        assert!(error.to_string().contains("No such file"), "it may exist elsewhere: {error}");
        std::fs::create_dir(&path).unwrap();
        let error = Cgroup::open(&path, "a").unwrap_err();
        assert!(error.to_string().contains("no cgroup"), "{error}");
    }
}
