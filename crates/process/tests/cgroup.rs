//! Cgroups of real processes. These tests need root and a cgroup hierarchy of version 2, so
//! `cargo xtask test` runs them where there are both.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pi_subagents_process::{
    Cgroup, ChildSpec, Confinement, Exit, NoCgroup, Pid, ReadOnlyPaths, Signal, WritablePaths,
    become_subreaper, spawn_confined,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{WaitOptions, kill_process, waitpid};
use tempfile::TempDir;

/// A user without privileges.
const NOBODY: u32 = 65534;

/// How the tests, when they run as [`NOBODY`], become another user.
const AS_ANOTHER_USER: &str = "TEST_AS_ANOTHER_USER";

/// A cgroup that is killed and removed, whatever becomes of the test.
struct Leaf(Option<Cgroup>);

impl Leaf {
    fn new(name: &str) -> Leaf {
        let cgroup = Cgroup::create(&format!("test-{name}-{}", std::process::id()));
        Leaf(Some(cgroup.unwrap()))
    }

    /// Starts a shell in it.
    fn start(&self, script: &str) -> Started {
        let mut shell = command("sh");
        shell.args(["-c", script]).stdin(Stdio::null());
        Started(self.spawn(shell).unwrap())
    }

    /// Runs a command in it, and returns whether it succeeded and all that it printed.
    fn run(&self, mut command: Command) -> (bool, String) {
        let mut output = tempfile::tempfile().unwrap();
        command.stdin(Stdio::null());
        command.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        let succeeded = Started(self.spawn(command).unwrap()).wait();
        let mut text = String::new();
        output.rewind().unwrap();
        output.read_to_string(&mut text).unwrap();
        (succeeded, text)
    }

    /// The processes in it that sleep.
    fn sleepers(&self) -> Vec<Pid> {
        let name = |pid: &Pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let mut pids = self.pids().unwrap();
        pids.retain(|pid| name(pid) == "sleep\n");
        pids
    }

    fn remove(mut self) {
        let cgroup = self.0.take().unwrap();
        let path = cgroup.path().to_owned();
        cgroup.remove().unwrap();
        assert!(!path.exists());
    }
}

impl std::ops::Deref for Leaf {
    type Target = Cgroup;

    fn deref(&self) -> &Cgroup {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Some(cgroup) = self.0.take() {
            let _ = cgroup.stop(Duration::ZERO);
            let _ = cgroup.remove();
        }
    }
}

/// A child that is killed and waited for in the end.
struct Started(Pid);

impl Started {
    /// Whether it succeeded.
    fn wait(self) -> bool {
        let (_, status) = waitpid(Some(self.0), WaitOptions::empty()).unwrap().unwrap();
        std::mem::forget(self);
        status.exit_status() == Some(0)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = kill_process(self.0, rustix::process::Signal::KILL);
        let _ = waitpid(Some(self.0), WaitOptions::empty());
    }
}

#[expect(clippy::disallowed_methods, reason = "the commands are what is tested")]
fn command(program: &str) -> Command {
    Command::new(program)
}

#[track_caller]
fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition never held");
        std::thread::yield_now();
    }
}

fn is_alive(pid: &Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// This program, as another user can start it too.
fn own_program(directory: &TempDir) -> PathBuf {
    let everyone = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory.path(), everyone).unwrap();
    let program = directory.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    program
}

/// Runs one of these tests in a namespace with mounts of its own, behind commands that change them.
fn run_with_mounts(mounts: &str, test: &str) -> Output {
    let script = format!("{mounts} && exec \"$0\" --exact {test}");
    let mut unshare = command("unshare");
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    unshare.arg(std::env::current_exe().unwrap()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `cargo xtask test` asks this first: where it fails, the other tests cannot be run.
#[test]
fn probe() {
    if let Err(reason) = Cgroup::parent() {
        panic!("{reason}");
    }
    assert!(rustix::process::geteuid().is_root(), "these tests need root");
}

#[test]
fn everything_is_killed_however_it_tries_to_escape() {
    let leaf = Leaf::new("escape");
    let as_another_user = std::env::var(AS_ANOTHER_USER)
        .unwrap_or_else(|_| format!("setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"));
    let _child = leaf.start(&format!(
        "trap '' TERM
         setsid sleep 1000 &
         (setsid sh -c '(exec sleep 1001 &)' < /dev/null > /dev/null 2>&1 &)
         env -i setsid sleep 1002 &
         {as_another_user} setsid sleep 1003 &
         sh -c 'kill -STOP $$; exec sleep 1' &
         while :; do true | true; done &
         exec sleep 1004"
    ));
    wait_until(|| leaf.sleepers().len() == 5);
    assert!(!leaf.is_empty().unwrap());
    let pids = leaf.pids().unwrap();
    leaf.kill().unwrap();
    wait_until(|| leaf.is_empty().unwrap());
    assert_eq!(leaf.pids().unwrap(), []);
    // The kernel takes a process out before its parent can wait for it.
    wait_until(|| !pids.iter().any(is_alive));
    leaf.remove();
}

#[test]
fn a_user_can_do_it_in_a_delegated_cgroup() {
    let delegated = Leaf::new("delegated");
    for file in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
        chown(delegated.path().join(file), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let directory = TempDir::new().unwrap();
    let program = own_program(&directory);
    // A program that makes root of any user, all of whose ids are root's then: this user may not
    // signal it any more.
    let setuid = directory.path().join("setuid");
    let setpriv = command("sh").args(["-c", "command -v setpriv"]).output().unwrap();
    fs::copy(stdout(&setpriv).trim(), &setuid).unwrap();
    fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).unwrap();
    let as_root = format!("{} --reuid=0 --regid=0 --clear-groups", setuid.display());

    let mut tests = command("setpriv");
    tests
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(["--exact", "--test-threads=1", "everything_is_killed_however_it_tries_to_escape"])
        .args(["members_make_cgroups_inside", "what_can_end_by_itself_does"])
        .env(AS_ANOTHER_USER, as_root)
        .current_dir("/");
    let (succeeded, output) = delegated.run(tests);
    assert!(succeeded && output.contains("3 passed"), "{output}");
    assert!(delegated.is_empty().unwrap());
    delegated.remove();
}

#[test]
fn the_hierarchy_can_be_mounted_anywhere() {
    let mounts = "umount --all --types cgroup2 && mount -t cgroup2 none /mnt";
    let test = "everything_is_killed_however_it_tries_to_escape";
    let output = run_with_mounts(mounts, test);
    assert!(output.status.success() && stdout(&output).contains("1 passed"), "{output:?}");
}

#[test]
fn where_none_can_be_had_the_reason_is_told() {
    let parent = Cgroup::parent().unwrap();
    let parent = parent.display();
    let told = |output: &Output, reason: &str| {
        assert!(stdout(output).contains(reason) && !output.status.success(), "{output:?}");
    };
    let output = run_with_mounts("umount --all --types cgroup2", "probe");
    told(&output, "no cgroup hierarchy of version 2 is mounted");
    let output = run_with_mounts(
        "mount=$(findmnt --noheadings --output TARGET --types cgroup2 | tail -1) \
         && mount -o remount,bind,ro \"$mount\"",
        "probe",
    );
    told(&output, &format!("the cgroup {parent} is not delegated to this user: Read-only"));
    let directory = TempDir::new().unwrap();
    let mut probe = command("setpriv");
    probe.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    probe.arg(own_program(&directory)).args(["--exact", "probe"]).current_dir("/");
    let output = probe.output().unwrap();
    told(&output, &format!("the cgroup {parent} is not delegated to this user: Permission"));
}

#[test]
fn members_make_cgroups_inside() {
    let leaf = Leaf::new("inside");
    let _child = leaf.start(&format!(
        "cd {}
         mkdir -p a/b c/threaded
         echo threaded > c/threaded/cgroup.type
         sleep 1000 &
         echo $! > a/b/cgroup.procs
         sleep 1001 &
         echo $! > c/cgroup.procs
         echo $! > c/threaded/cgroup.threads
         exec sleep 1002",
        leaf.path().display()
    ));
    wait_until(|| leaf.sleepers().len() == 3);
    for (file, lines) in
        [("cgroup.procs", 1), ("a/b/cgroup.procs", 1), ("c/threaded/cgroup.threads", 1)]
    {
        assert_eq!(fs::read_to_string(leaf.path().join(file)).unwrap().lines().count(), lines);
    }
    leaf.kill().unwrap();
    wait_until(|| leaf.is_empty().unwrap());
    leaf.remove();
}

#[test]
fn what_can_end_by_itself_does() {
    let directory = TempDir::new().unwrap();
    let ended = directory.path().join("ended");
    let leaf = Leaf::new("grace");
    let _child = leaf.start(&format!(
        "trap 'echo ended > {}; exit' TERM
         sleep 1000 &
         wait",
        ended.display()
    ));
    wait_until(|| leaf.sleepers().len() == 1);
    assert!(leaf.stop(Duration::from_secs(60)).unwrap());
    assert_eq!(fs::read_to_string(ended).unwrap(), "ended\n");
    assert!(leaf.stop(Duration::from_secs(60)).unwrap(), "there is nothing to do");
    leaf.remove();
}

#[test]
fn what_does_not_end_by_itself_is_killed_after_the_grace() {
    let leaf = Leaf::new("stubborn");
    let _child = leaf.start("trap '' TERM; setsid sleep 1000 & exec sleep 1000");
    wait_until(|| leaf.sleepers().len() == 2);
    assert!(leaf.stop(Duration::from_millis(10)).unwrap());
    leaf.remove();
}

/// As on a kernel that cannot kill a whole cgroup.
#[test]
fn processes_can_be_killed_one_by_one() {
    let leaf = Leaf::new("one-by-one");
    let _child = leaf.start("for i in $(seq 100); do setsid sleep 1000 & done; wait");
    wait_until(|| leaf.sleepers().len() == 100);
    wait_until(|| {
        leaf.signal(Signal::Kill).unwrap();
        leaf.is_empty().unwrap()
    });
    leaf.remove();
}

#[test]
fn a_change_is_reported() {
    let leaf = Leaf::new("change");
    let changed = |seconds| {
        let mut fds = [PollFd::from_borrowed_fd(leaf.changes(), PollFlags::PRI)];
        poll(&mut fds, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })).unwrap();
        fds[0].revents().contains(PollFlags::PRI)
    };
    assert!(leaf.is_empty().unwrap());
    assert!(!changed(0));
    let _child = leaf.start("exec sleep 1000");
    assert!(changed(60));
    assert!(!leaf.is_empty().unwrap());
    assert!(!changed(0));
    leaf.kill().unwrap();
    assert!(changed(60));
    wait_until(|| leaf.is_empty().unwrap());
}

#[test]
fn a_cgroup_is_found_again_by_its_path() {
    let leaf = Leaf::new("found");
    let name = format!("test-found-{}", std::process::id());
    let _child = leaf.start("exec sleep 1000");
    let path = leaf.path().to_owned();
    let found = Cgroup::open(&path, &name).unwrap().unwrap();
    assert!(!found.is_empty().unwrap());
    assert!(found.stop(Duration::ZERO).unwrap());
    found.remove().unwrap();
    assert!(Cgroup::open(&path, &name).unwrap().is_none());
    // The one who has made it knows that it is gone.
    assert!(leaf.is_empty().unwrap());
    leaf.kill().unwrap();
    assert_eq!(leaf.pids().unwrap(), []);
    leaf.remove();
}

#[test]
fn nothing_else_is_taken_for_a_cgroup_of_ours() {
    let leaf = Leaf::new("ours");
    let name = format!("test-ours-{}", std::process::id());
    let refused = |path: &Path, name: &str| Cgroup::open(path, name).unwrap_err().to_string();
    let parent = leaf.path().parent().unwrap();
    assert!(refused(leaf.path(), "another").contains("not the name"));
    assert!(refused(parent, &name).contains("not the name"));
    let directory = TempDir::new().unwrap();
    let link = directory.path().join(leaf.path().file_name().unwrap());
    symlink(leaf.path(), &link).unwrap();
    assert!(refused(&link, &name).contains("Not a directory"));
    let linked_parent = directory.path().join("parent");
    symlink(parent, &linked_parent).unwrap();
    let linked = linked_parent.join(leaf.path().file_name().unwrap());
    assert!(refused(&linked, &name).contains("symbolic link"));
    chown(leaf.path(), Some(NOBODY), None).unwrap();
    assert!(refused(leaf.path(), &name).contains("another user"));
}

#[test]
fn a_cgroup_that_cannot_be_made_or_entered_is_an_error() {
    let leaf = Leaf::new("taken");
    let name = format!("test-taken-{}", std::process::id());
    let taken = Cgroup::create(&name).unwrap_err();
    assert!(
        matches!(&taken, NoCgroup::NotCreated { source, .. } if source.kind() == ErrorKind::AlreadyExists),
        "{taken}"
    );
    assert!(matches!(Cgroup::create("../a").unwrap_err(), NoCgroup::NotCreated { .. }));
    Cgroup::open(leaf.path(), &name).unwrap().unwrap().remove().unwrap();
    let error = leaf.spawn(command("true")).unwrap_err();
    assert!(error.to_string().contains(&name), "{error}");
}

#[test]
fn an_empty_cgroup_is_abandoned_when_its_maker_has_let_go_of_it() {
    let name = format!("test-abandoned-{}", std::process::id());
    let made = Cgroup::create(&name).unwrap();
    let path = made.path().to_owned();
    let abandoned = || {
        let all = Cgroup::all_abandoned();
        all.into_iter().find(|cgroup| cgroup.path() == path)
    };
    assert!(abandoned().is_none(), "nothing is in it yet, but it is in use");
    let leaf = Leaf(Cgroup::open(&path, &name).unwrap());
    let sleeping = leaf.start("exec sleep 1000");
    drop(made);
    assert!(abandoned().is_none(), "a process is in it");
    drop(sleeping);
    // Other tests start processes, which have copies of all descriptors for a moment.
    let mut found = None;
    wait_until(|| {
        found = abandoned();
        found.is_some()
    });
    assert!(abandoned().is_none(), "it is found by one at a time");
    found.unwrap().remove().unwrap();
    assert!(!path.exists());
}

/// Looks for abandoned ones, and removes those of this test, while another thread makes them.
#[test]
fn a_new_cgroup_is_never_lost_to_those_that_look_for_abandoned_ones() {
    let prefix = format!("test-race-{}-", std::process::id());
    let parent = Cgroup::parent().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = || {
            while !is_over.load(Ordering::Relaxed) {
                let found = Cgroup::all_abandoned().into_iter();
                let of_test = format!("pi-subagents-{prefix}");
                let is_own = |cgroup: &Cgroup| {
                    cgroup.path().file_name().unwrap().to_string_lossy().starts_with(&of_test)
                };
                for cgroup in found.filter(is_own) {
                    cgroup.remove().unwrap();
                }
            }
        };
        scope.spawn(looking);
        for number in 0..200 {
            let leaf = Leaf(Some(Cgroup::create(&format!("{prefix}{number}")).unwrap()));
            assert!(leaf.start("exit 0").wait(), "nothing can be started in number {number}");
            leaf.remove();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let left = fs::read_dir(parent).unwrap().flatten();
    assert_eq!(
        left.filter(|entry| entry.file_name().to_string_lossy().contains(&prefix)).count(),
        0
    );
}

#[test]
fn a_cgroup_inside_which_processes_live_is_not_removed() {
    let leaf = Leaf::new("busy");
    let _child = leaf.start("exec sleep 1000");
    let name = format!("test-busy-{}", std::process::id());
    let error = Cgroup::open(leaf.path(), &name).unwrap().unwrap().remove().unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::ResourceBusy);
    assert!(leaf.path().exists());
}

#[test]
fn what_its_processes_have_used_is_known_after_their_end() {
    let leaf = Leaf::new("used");
    assert!(leaf.start("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done").wait());
    assert!(leaf.processor_time().unwrap() > Duration::from_millis(1));
    let has_memory = leaf.path().join("memory.peak").exists();
    assert_eq!(leaf.memory_peak().is_some(), has_memory);
}

#[test]
fn a_process_can_leave_on_purpose_unless_it_is_restricted() {
    let leaf = Leaf::new("leaving");
    let members = leaf.path().parent().unwrap().join("cgroup.procs");
    let leaving = |prepare: &dyn Fn(&mut Command)| {
        let mut shell = command("sh");
        let leave = format!("echo $$ > {} && grep ^0:: /proc/self/cgroup", members.display());
        shell.args(["-c", &leave]);
        prepare(&mut shell);
        leaf.run(shell)
    };
    let (left, output) = leaving(&|_| ());
    assert!(left && !output.contains("leaving"), "{output}");
    let (left, output) = leaving(&|shell| WritablePaths::new().unwrap().restrict(shell).unwrap());
    assert!(!left && output.contains("Permission denied"), "{output}");
}

#[test]
fn a_confined_child_is_bounded_by_all_of_them() {
    let directory = TempDir::new().unwrap();
    let outside = TempDir::new().unwrap();
    let leaf = Leaf::new("confined");
    let mut writable = WritablePaths::new().unwrap();
    writable.add(directory.path()).unwrap();
    let kept = directory.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    let mut read_only = ReadOnlyPaths::default();
    read_only.add(&kept, directory.path()).unwrap();
    let confined = || {
        let script = format!(
            "cat > said; echo x > kept; echo x > {}/new || echo refused >&2; setsid sleep 1000 & exec sleep 1001",
            outside.path().display()
        );
        let spec = ChildSpec {
            program: "sh",
            name: None,
            args: &["-c".to_owned(), script],
            cwd: directory.path(),
            environment: &BTreeMap::new(),
        };
        let confinement = Confinement {
            cgroup: Some(&leaf),
            writable: Some(&writable),
            read_only: Some(&read_only),
        };
        let mut child = spawn_confined(spec, become_subreaper(), confinement).unwrap();
        assert_eq!(rustix::io::write(&child.stdin, b"said").unwrap(), 4);
        drop(child.stdin);
        wait_until(|| leaf.sleepers().len() == 2);
        leaf.kill().unwrap();
        wait_until(|| leaf.is_empty().unwrap());
        wait_until(|| child.tree.reap().gone);
        assert_eq!(child.tree.reap().child, Some(Exit::Signal(9)));
        let mut said = [0; 1024];
        let length = rustix::io::read(&child.stderr, &mut said).unwrap();
        let said = String::from_utf8_lossy(&said[..length]);
        assert!(said.contains("Permission denied") && said.ends_with("refused\n"), "{said}");
        assert_eq!(fs::read_to_string(directory.path().join("said")).unwrap(), "said");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    };
    assert!(with_one_thread(&confined).wait());
    leaf.remove();
}

/// A process of one thread, as a supervisor is, starts others inside the cgroup; one with several
/// moves them there.
#[test]
fn processes_start_inside_from_one_thread_and_from_several() {
    let leaf = Leaf::new("start");
    let cgroup = format!("0::.*/pi-subagents-test-start-{}$", std::process::id());
    let succeeds = || {
        assert!(leaf.start(&format!("grep -q '{cgroup}' /proc/self/cgroup")).wait());
    };
    let fails = || {
        let missing = leaf.spawn(command("/no/such/program")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let not_executable = leaf.spawn(command("/etc/passwd")).unwrap_err();
        assert_eq!(not_executable.kind(), ErrorKind::PermissionDenied);
    };
    for action in [&succeeds as &dyn Fn(), &fails] {
        action();
        assert!(with_one_thread(action).wait());
    }
    wait_until(|| leaf.is_empty().unwrap());
    leaf.remove();
}

/// Runs the action in a process of one thread, which succeeds unless the action panics or leaves a
/// child behind.
fn with_one_thread(action: &dyn Fn()) -> Started {
    // SAFETY: the new process has one thread, and the C library has made its memory usable.
    #[expect(unsafe_code, reason = "there is no safe way to fork")]
    let pid = unsafe { libc::fork() };
    if let Some(pid) = Pid::from_raw(pid) {
        return Started(pid);
    }
    let succeeded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        assert_eq!(fs::read_dir("/proc/self/task").unwrap().count(), 1);
        action();
        let left = waitpid(None, WaitOptions::NOHANG);
        assert_eq!(left.unwrap_err(), rustix::io::Errno::CHILD);
    }));
    // SAFETY: it ends this copy of the process without cleaning up behind the original.
    #[expect(unsafe_code, reason = "a copy of a process must not clean up")]
    unsafe {
        libc::_exit(i32::from(succeeded.is_err()))
    }
}
