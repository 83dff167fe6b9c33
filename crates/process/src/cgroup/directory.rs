//! The directories and files of the cgroup hierarchy.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, accessat, flock, mkdirat,
    openat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::Pid;

use super::{NoCgroup, is_gone, location};
use crate::tree::Signal;

/// The file that lists the processes of a cgroup, and moves those that are written to it.
pub(super) const MEMBERS: &str = "cgroup.procs";

/// The cgroup of this process, if this user may make others inside it and move processes there.
pub(super) fn delegated() -> Result<(PathBuf, OwnedFd), NoCgroup> {
    let mountinfo = read(CWD, "/proc/self/mountinfo").unwrap_or_default();
    let membership = read(CWD, "/proc/self/cgroup").unwrap_or_default();
    if !location::is_mounted(&mountinfo) {
        return Err(NoCgroup::NotMounted);
    }
    let mut reason = NoCgroup::NotVisible;
    for path in location::directories(&mountinfo, &membership) {
        // Another mount may cover it.
        let Some(directory) = open_directory(CWD, &path).ok().filter(is_cgroup) else { continue };
        // The kernel also asks whether the user may write the list of the nearest cgroup that
        // contains both the old and the new one, which is this.
        let may_write = |file| accessat(&directory, file, Access::WRITE_OK, AtFlags::empty());
        match may_write(".").and_then(|()| may_write(MEMBERS)) {
            Ok(()) => return Ok((path, directory)),
            Err(error) => reason = NoCgroup::NotDelegated { path, source: error.into() },
        }
    }
    Err(reason)
}

/// The directory in which a cgroup is to be made, without asking whether this user may.
pub(super) fn open_parent(path: &Path) -> io::Result<OwnedFd> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = open_without_links(parent)?;
    if is_cgroup(&directory) { Ok(directory) } else { Err(io::Error::other("it is no cgroup")) }
}

/// Makes a cgroup, and opens it and its events. As long as this process lives and keeps it open, it has the
/// lock of [`open_abandoned`].
pub(super) fn create(parent: &OwnedFd, file_name: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut attempts = 1..=CREATE_ATTEMPTS;
    loop {
        match create_once(parent, file_name) {
            // Before it was locked, it was taken for one that was left behind, and removed.
            Err(error) if is_gone(&error) && attempts.next().is_some() => {}
            created => return created,
        }
    }
}

fn create_once(parent: &OwnedFd, file_name: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    mkdirat(parent, file_name, Mode::from_raw_mode(0o755))?;
    let opened = open_directory(parent, file_name).and_then(|directory| {
        wait_for_lock(&directory);
        // Inside a threaded cgroup there are none for whole processes.
        if read(&directory, "cgroup.type")?.trim_ascii() == b"domain" {
            with_events(directory)
        } else {
            Err(io::Error::other("it could have no processes"))
        }
    });
    if opened.is_err() {
        let _ = unlinkat(parent, file_name, AtFlags::REMOVEDIR);
    }
    opened
}

/// How often a new cgroup may be removed by another program before it is locked.
const CREATE_ATTEMPTS: u32 = 10;

/// Locks a new cgroup. Another program that holds the lock is looking whether it is left behind, which takes
/// no time. Without locks, no program takes a cgroup for one that is left behind.
fn wait_for_lock(directory: &OwnedFd) {
    const PATIENCE: Duration = Duration::from_millis(100);
    let started = Instant::now();
    while lock(directory) == Err(Errno::WOULDBLOCK) && started.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn lock(directory: &OwnedFd) -> Result<(), Errno> {
    flock(directory, FlockOperation::NonBlockingLockExclusive)
}

/// The cgroups of this user in a directory whose names begin like this and that no process holds that has
/// made one.
pub(super) fn open_abandoned(
    parent: &Path,
    prefix: &str,
) -> io::Result<Vec<(PathBuf, OwnedFd, OwnedFd)>> {
    let mut found = Vec::new();
    for name in subdirectories(&open_without_links(parent)?, MOST_INSIDE)? {
        let Some(name) = name.to_str().ok().filter(|name| name.starts_with(prefix)) else {
            continue;
        };
        let path = parent.join(name);
        // One that cannot be opened is gone by now, or another user's.
        let opened = open(&path).ok().filter(|(directory, _)| lock(directory).is_ok());
        found.extend(opened.map(|(directory, events)| (path, directory, events)));
    }
    Ok(found)
}

/// Opens a cgroup that this user has made, and its events.
pub(super) fn open(path: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
    let directory = open_without_links(path)?;
    if !is_cgroup(&directory) {
        return Err(io::Error::other("it is no cgroup"));
    }
    if rustix::fs::fstat(&directory)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("another user has made it"));
    }
    with_events(directory)
}

/// Whether the nearest directory above this path that exists is a cgroup.
pub(super) fn is_in_hierarchy(path: &Path) -> bool {
    let mut above = path.ancestors().skip(1).map(open_without_links);
    above.find_map(Result::ok).is_some_and(|directory| is_cgroup(&directory))
}

/// The processes of a cgroup and of those inside it.
pub(super) fn pids(directory: &OwnedFd) -> io::Result<Vec<Pid>> {
    let mut pids = members(directory)?;
    visit_inside(directory, &mut |_, _, cgroup| {
        pids.extend(members(cgroup)?);
        Ok(())
    })?;
    Ok(pids)
}

/// Sends a signal to every process of a cgroup and of those inside it.
pub(super) fn signal(directory: &OwnedFd, signal: Signal) -> io::Result<()> {
    // Each process is held by a descriptor, and there may be more processes than descriptors.
    for some in pids(directory)?.chunks(64) {
        let held: Vec<(Pid, HeldProcess)> =
            some.iter().filter_map(|pid| Some((*pid, HeldProcess::new(*pid)?))).collect();
        // A number that was free before it was held may belong to another process by now.
        let members = pids(directory)?;
        for (_, process) in held.iter().filter(|(pid, _)| members.contains(pid)) {
            process.signal(signal);
        }
    }
    Ok(())
}

/// Removes a cgroup and those inside it.
pub(super) fn remove(path: &Path, directory: &OwnedFd) -> io::Result<()> {
    visit_inside(directory, &mut |parent, name, _| {
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    })?;
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

/// Opens a file of a cgroup in order to write it.
pub(super) fn open_for_writing(directory: &OwnedFd, file: &str) -> io::Result<OwnedFd> {
    Ok(openat(directory, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Writes a file of a cgroup.
pub(super) fn write(directory: &OwnedFd, file: &str, bytes: &[u8]) -> io::Result<()> {
    rustix::io::write(open_for_writing(directory, file)?, bytes)?;
    Ok(())
}

/// Reads a file of a cgroup.
pub(super) fn read(directory: impl AsFd, file: &str) -> io::Result<Vec<u8>> {
    let file = openat(directory, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // The kernel does not tell its size, and most of these files fit.
    let mut text = Vec::with_capacity(4096);
    let length = File::from(file).take(LONGEST_FILE).read_to_end(&mut text)?;
    if length as u64 == LONGEST_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Reads once more what was opened as the events of a cgroup.
pub(super) fn read_events(events: &OwnedFd) -> io::Result<String> {
    let mut text = [0; 1024];
    let length = rustix::io::pread(events, &mut text, 0)?;
    Ok(String::from_utf8_lossy(&text[..length]).into_owned())
}

/// More than a list of as many processes as Linux can have.
const LONGEST_FILE: u64 = 64 * 1024 * 1024;

/// How many cgroups inside a cgroup are looked at, and how deep. Members make them; the kernel needs
/// none of this to kill what is inside.
const MOST_INSIDE: usize = 10_000;
const DEEPEST_INSIDE: usize = 64;

fn members(cgroup: &OwnedFd) -> io::Result<Vec<Pid>> {
    let members = match read(cgroup, MEMBERS) {
        // What is in a threaded cgroup is listed in the one around it.
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::Unsupported => Vec::new(),
        members => members?,
    };
    // Processes of a namespace that this process cannot see are listed as zero.
    let pid = |line: &str| Pid::from_raw(line.parse().ok()?);
    Ok(String::from_utf8_lossy(&members).lines().filter_map(pid).collect())
}

/// What is done with a cgroup: its parent, its name there, and itself.
type Visit<'a> = dyn FnMut(&OwnedFd, &CStr, &OwnedFd) -> io::Result<()> + 'a;

/// Visits every cgroup inside another one, those inside it first.
fn visit_inside(directory: &OwnedFd, visit: &mut Visit<'_>) -> io::Result<()> {
    let mut visits_left = MOST_INSIDE;
    visit_down_to(DEEPEST_INSIDE, directory, &mut visits_left, visit)
}

fn visit_down_to(
    depth: usize,
    directory: &OwnedFd,
    visits_left: &mut usize,
    visit: &mut Visit<'_>,
) -> io::Result<()> {
    for name in subdirectories(directory, *visits_left)? {
        *visits_left = visits_left.saturating_sub(1);
        if depth == 0 || *visits_left == 0 {
            return Err(io::Error::other("too many cgroups are inside it"));
        }
        let visited = open_directory(directory, name.as_c_str()).and_then(|cgroup| {
            visit_down_to(depth - 1, &cgroup, visits_left, visit)?;
            visit(directory, &name, &cgroup)
        });
        match visited {
            // It was removed in the meantime.
            Err(error) if is_gone(&error) => {}
            result => result?,
        }
    }
    Ok(())
}

fn subdirectories(directory: &OwnedFd, most: usize) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type() == FileType::Directory && name != c"." && name != c".." {
            names.push(name.to_owned());
        }
        if names.len() > most {
            break;
        }
    }
    Ok(names)
}

fn with_events(directory: OwnedFd) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let events = openat(&directory, "cgroup.events", flags, Mode::empty())?;
    Ok((directory, events))
}

fn open_directory(parent: impl AsFd, path: impl Arg) -> io::Result<OwnedFd> {
    Ok(openat(parent, path, DIRECTORY, Mode::empty())?)
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    Ok(openat2(CWD, path, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    open_directory(CWD, path)
}

/// Whether a directory belongs to a cgroup hierarchy of version 2, wherever it is mounted.
fn is_cgroup(directory: &OwnedFd) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::fstatfs(directory)
        .is_ok_and(|file_system| u64::try_from(file_system.f_type) == Ok(0x6367_7270));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        false
    }
}

/// A process whose number cannot pass to another one.
struct HeldProcess {
    #[cfg(target_os = "linux")]
    pidfd: OwnedFd,
}

impl HeldProcess {
    /// Nothing if the process is gone.
    fn new(pid: Pid) -> Option<HeldProcess> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            Some(HeldProcess { pidfd: pidfd_open(pid, PidfdFlags::empty()).ok()? })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = pid;
            None
        }
    }

    fn signal(&self, signal: Signal) {
        // It fails for a process that is gone, or not this user's to signal.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal.raw());
        #[cfg(not(target_os = "linux"))]
        let _ = signal;
    }
}
