//! What restricted processes can change. These tests need a kernel with Landlock, so
//! `cargo xtask test` runs them where there is one.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use pi_subagents_process::{ReadOnlyPaths, WritablePaths, landlock_version};
use tempfile::TempDir;

/// A directory that a child may change, beside one that it may not, each with a file in it.
struct Border {
    root: TempDir,
}

impl Border {
    fn new() -> Border {
        let border = Border { root: TempDir::new().unwrap() };
        for directory in ["inside", "outside", "inside/directory", "outside/directory"] {
            fs::create_dir(border.path(directory)).unwrap();
        }
        for file in ["inside/file", "outside/file"] {
            fs::write(border.path(file), "kept").unwrap();
        }
        border
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn writable(&self) -> WritablePaths {
        writable(&[&self.path("inside")])
    }

    /// Runs a script, restricted, in the writable directory.
    fn run(&self, script: &str) -> Output {
        run(&self.writable(), &self.path("inside"), script)
    }

    /// What becomes of one system call in a restricted process. It is made between fork and exec, so
    /// that no program adds anything to it.
    fn attempt(
        &self,
        action: impl Fn(&Path, &Path) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<()> {
        let (inside, outside) = (self.path("inside"), self.path("outside"));
        let mut command = command("true");
        self.writable().restrict(&mut command).unwrap();
        // SAFETY: the paths are short, so that the calls of the standard library allocate nothing.
        #[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
        unsafe {
            command.pre_exec(move || action(&inside, &outside));
        }
        command.spawn()?.wait().map(|status| assert!(status.success()))
    }

    #[track_caller]
    fn assert_untouched(&self) {
        let mut names: Vec<_> = fs::read_dir(self.path("outside"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["directory", "file"]);
        assert_eq!(self.text("outside/file"), "kept");
    }
}

#[expect(clippy::disallowed_methods, reason = "the commands are what is tested")]
fn command(program: &str) -> Command {
    Command::new(program)
}

fn writable(paths: &[&Path]) -> WritablePaths {
    let mut writable = WritablePaths::new().unwrap();
    for path in paths {
        writable.add(path).unwrap();
    }
    writable
}

fn run(writable: &WritablePaths, directory: &Path, script: &str) -> Output {
    let mut shell = command("sh");
    shell.args(["-c", script]).current_dir(directory);
    writable.restrict(&mut shell).unwrap();
    shell.output().unwrap()
}

#[track_caller]
fn assert_success(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

#[track_caller]
fn assert_refused(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("ermission denied"), "{output:?}");
}

fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition never held");
        std::thread::yield_now();
    }
}

/// `cargo xtask test` asks this first: where it fails, the other tests cannot be run.
#[test]
fn probe() {
    if let Err(reason) = landlock_version() {
        panic!("{reason}");
    }
}

#[test]
fn files_are_written_inside_and_not_outside() {
    let border = Border::new();
    assert_success(&border.run("echo x > new && echo x >> file && mkdir -p a/b && echo x > a/b/c"));
    assert_eq!(border.text("inside/file"), "keptx\n");
    for script in [
        "echo x > ../outside/new",
        "echo x > ../outside/file",
        "echo x >> ../outside/file",
        "mkdir ../outside/new",
        "mkfifo ../outside/new",
        "ln -s x ../outside/new",
        "rm -f ../outside/file",
        "rmdir ../outside/directory",
        "cp file ../outside/new",
    ] {
        assert_refused(&border.run(script));
        border.assert_untouched();
    }
}

#[test]
fn every_descendant_is_restricted() {
    let border = Border::new();
    assert_refused(&border.run("sh -c 'sh -c \"echo x > ../outside/new\"'"));
    assert_refused(&border.run("env -i setsid --wait sh -c 'echo x > ../outside/new'"));
    // A daemon: its parents have ended, its session is its own, its streams are closed.
    let daemon = "(setsid sh -c '(echo x > ../outside/new; echo $? > tried) &' >/dev/null 2>&1 &)";
    assert_success(&border.run(daemon));
    wait_until(|| fs::read(border.path("inside/tried")).is_ok_and(|tried| !tried.is_empty()));
    border.assert_untouched();
}

#[test]
fn links_do_not_lead_out() {
    let border = Border::new();
    symlink(border.path("outside/file"), border.path("inside/planted file")).unwrap();
    symlink(border.path("outside"), border.path("inside/planted directory")).unwrap();
    for script in [
        "echo x > 'planted file'",
        "echo x > 'planted directory/new'",
        "ln -s ../outside/file made && echo x > made",
        "cd /proc/self/root && echo x > \"$OLDPWD/../outside/new\"",
    ] {
        assert_refused(&border.run(script));
        border.assert_untouched();
    }
    let link =
        border.attempt(|inside, outside| fs::hard_link(outside.join("file"), inside.join("link")));
    assert_eq!(link.unwrap_err().kind(), io::ErrorKind::CrossesDevices);
    let link =
        border.attempt(|inside, outside| fs::hard_link(inside.join("file"), outside.join("link")));
    assert_eq!(link.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    border.assert_untouched();
}

#[test]
fn nothing_is_renamed_across_the_border() {
    let border = Border::new();
    let renames: [fn(&Path, &Path) -> io::Result<()>; 5] = [
        |inside, outside| fs::rename(inside.join("file"), outside.join("new")),
        |inside, outside| fs::rename(inside.join("file"), outside.join("file")),
        |inside, outside| fs::rename(outside.join("file"), inside.join("new")),
        |inside, outside| fs::rename(outside.join("directory"), inside.join("new")),
        |_, outside| fs::rename(outside, outside.with_file_name("moved")),
    ];
    for rename in renames {
        assert_eq!(border.attempt(rename).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        border.assert_untouched();
    }
    border
        .attempt(|inside, _| fs::rename(inside.join("file"), inside.join("directory/moved")))
        .unwrap();
    assert_eq!(border.text("inside/directory/moved"), "kept");
}

#[test]
fn nothing_is_truncated_outside() {
    // Not by opening it, which the right to write covers, but by its path.
    fn truncate(directory: &Path) -> io::Result<()> {
        use std::os::unix::ffi::OsStrExt;
        let mut path = [0_u8; 256];
        let name = directory.as_os_str().as_bytes();
        path[..name.len()].copy_from_slice(name);
        path[name.len()..name.len() + 5].copy_from_slice(b"/file");
        // SAFETY: the path is followed by a zero byte.
        #[expect(unsafe_code, reason = "the standard library has no function for this")]
        let result = unsafe { libc::truncate(path.as_ptr().cast(), 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    let border = Border::new();
    let outside = border.attempt(|_, outside| truncate(outside));
    assert_eq!(outside.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    border.assert_untouched();
    border.attempt(|inside, _| truncate(inside)).unwrap();
    assert_eq!(border.text("inside/file"), "");
}

#[test]
fn devices_are_not_made_even_inside() {
    let border = Border::new();
    let made = border.attempt(|inside, _| {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let null = makedev(1, 3);
        Ok(mknodat(CWD, inside.join("null"), FileType::CharacterDevice, Mode::RWXU, null)?)
    });
    assert_eq!(made.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn ordinary_devices_and_terminals_stay_writable() {
    let border = Border::new();
    assert_success(&border.run(
        "echo x > /dev/null && echo x 2>/dev/null >/dev/zero && echo said > /dev/stderr \
         && exec 3<> /dev/ptmx && echo x > /dev/shm/restricted-$$ && rm /dev/shm/restricted-$$",
    ));
    let terminal = border.run("script --quiet --return --command 'echo said > $(tty)' /dev/null");
    assert_success(&terminal);
    assert!(String::from_utf8_lossy(&terminal.stdout).contains("said"), "{terminal:?}");
}

#[test]
fn reading_and_running_stay_as_they_are() {
    let border = Border::new();
    let output = border.run("cat ../outside/file && ls / > /dev/null");
    assert_eq!(output.stdout, b"kept");
}

#[test]
fn modes_and_times_are_not_covered() {
    let border = Border::new();
    assert_success(&border.run("chmod 600 ../outside/file && touch -c ../outside/file"));
    let mode = fs::metadata(border.path("outside/file")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn no_process_outside_is_traced() {
    let border = Border::new();
    let outside = rustix::process::getpid().as_raw_nonzero().get();
    let traced = border.attempt(move |_, _| {
        // SAFETY: the kernel takes no pointer.
        #[expect(unsafe_code, reason = "the standard library has no function for this")]
        let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, outside, 0, 0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    });
    assert_eq!(traced.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}

/// Another program does what it is asked over a socket, wherever the socket is.
#[test]
fn sockets_are_not_covered_but_none_is_made_outside() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let border = Border::new();
    let _listener = UnixListener::bind(border.path("outside/socket")).unwrap();
    border.attempt(|_, outside| UnixStream::connect(outside.join("socket")).map(drop)).unwrap();
    let made = border.attempt(|_, outside| UnixListener::bind(outside.join("own")).map(drop));
    assert_eq!(made.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}

/// Landlock does not know these calls, with which a process in a user namespace of its own could let the kernel
/// change files outside.
#[test]
fn newer_calls_that_make_mounts_are_refused() {
    let border = Border::new();
    let refused = border.attempt(|inside, _| {
        let path = std::ffi::CString::new(inside.to_str().unwrap()).unwrap();
        // SAFETY: the path lives until the call has returned.
        #[expect(unsafe_code, reason = "the call has no safe name here")]
        let result =
            unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    });
    assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EPERM));
}

/// A handle of a file leads past mounts and paths. Only root can open one.
#[test]
fn no_file_is_opened_by_its_handle() {
    let border = Border::new();
    let refused = border.attempt(|inside, outside| {
        #[repr(C)]
        struct Handle {
            bytes: libc::c_uint,
            kind: libc::c_int,
            handle: [u8; 128],
        }
        let path = |path: &Path| std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let (file, directory) = (path(&outside.join("file")), path(inside));
        let mut handle = Handle { bytes: 128, kind: 0, handle: [0; 128] };
        let mut mount: libc::c_int = 0;
        // SAFETY: everything that is pointed to lives until the calls have returned.
        #[expect(unsafe_code, reason = "the calls have no safe names here")]
        let opened = unsafe {
            libc::syscall(
                libc::SYS_name_to_handle_at,
                libc::AT_FDCWD,
                file.as_ptr(),
                &raw mut handle,
                &raw mut mount,
                0,
            );
            let directory = libc::open(directory.as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY);
            libc::syscall(libc::SYS_open_by_handle_at, directory, &raw mut handle, libc::O_RDONLY)
        };
        if opened < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    });
    assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EPERM));
}

#[test]
fn open_descriptors_are_not_inherited() {
    let border = Border::new();
    let file = fs::OpenOptions::new().append(true).open(border.path("outside/file")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let output = border.run(&format!("echo x > /proc/self/fd/{number} || echo x >&{number}"));
    assert!(!output.status.success(), "{output:?}");
    border.assert_untouched();
}

#[test]
fn no_privileges_are_gained() {
    let output = Border::new().run("grep NoNewPrivs /proc/self/status");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "NoNewPrivs:\t1\n");
}

#[test]
fn a_single_file_can_be_writable() {
    let border = Border::new();
    let writable = writable(&[&border.path("outside/file")]);
    let run = |script| run(&writable, &border.path("outside"), script);
    assert_success(&run("echo x > file"));
    assert_eq!(border.text("outside/file"), "x\n");
    for script in ["echo x > new", "rm -f file", "mv file new"] {
        assert_refused(&run(script));
    }
}

#[test]
fn a_link_is_followed_when_it_is_added() {
    let border = Border::new();
    let link = border.path("link");
    symlink(border.path("inside"), &link).unwrap();
    let writable = writable(&[&link]);
    fs::remove_file(&link).unwrap();
    symlink(border.path("outside"), &link).unwrap();
    assert_success(&run(&writable, &border.path("inside"), "echo x > new"));
    assert_refused(&run(&writable, &border.path("outside"), "echo x > new"));
    assert_refused(&run(&writable, &border.path("outside"), "echo x > ../link/new"));
}

#[test]
fn a_missing_path_is_an_error_or_passed_over() {
    let border = Border::new();
    let mut writable = WritablePaths::new().unwrap();
    let missing = border.path("missing");
    let error = writable.add(&missing).unwrap_err();
    assert_eq!((&error.path, error.source.kind()), (&missing, io::ErrorKind::NotFound));
    assert!(!writable.add_if_present(&missing).unwrap());
    assert!(writable.add_if_present(&border.path("inside")).unwrap());
    assert_success(&run(&writable, &border.path("inside"), "echo x > new"));
    fs::create_dir(&missing).unwrap();
    assert_refused(&run(&writable, &missing, "echo x > new"));
}

#[test]
fn a_private_temporary_directory_is_enough() {
    let border = Border::new();
    let mut shell = command("sh");
    shell.args(["-c", "file=$(mktemp) && echo x > \"$file\" && cat \"$file\""]);
    shell.env("TMPDIR", border.path("inside"));
    border.writable().restrict(&mut shell).unwrap();
    assert_eq!(shell.output().unwrap().stdout, b"x\n");
    let mut shell = command("sh");
    shell.args(["-c", "mktemp"]).env_remove("TMPDIR");
    border.writable().restrict(&mut shell).unwrap();
    assert_refused(&shell.output().unwrap());
}

/// A linked worktree has its own index and HEAD in a directory of its own, so that a commit needs
/// nothing of the directory in which hooks and configuration are.
#[test]
fn git_commits_in_a_linked_worktree_without_hooks_and_configuration() {
    let border = Border::new();
    let (repository, worktree) = (border.path("outside/repository"), border.path("inside/tree"));
    let git = format!(
        "git init -q -b main {0} && cd {0} && git config user.name Test \
         && git config user.email test@example.com && git commit -q --allow-empty -m first \
         && git worktree add -q {1}",
        repository.display(),
        worktree.display()
    );
    assert_success(&command("sh").args(["-c", &git]).output().unwrap());
    let shared = repository.join(".git");
    let mut paths = writable(&[&worktree]);
    for path in ["objects", "refs", "logs", "worktrees/tree"] {
        paths.add(&shared.join(path)).unwrap();
    }
    let run = |script| run(&paths, &worktree, script);
    assert_success(&run("echo x > new && git add new && git commit -qm second"));
    assert_success(&run("git switch -qc topic && git commit -q --allow-empty -m third"));
    assert_refused(&run("echo x > \"$(git rev-parse --git-path hooks)/post-commit\""));
    assert_refused(&run("git config core.fsmonitor evil"));
    assert_refused(&run("echo x >> \"$(git rev-parse --git-path config)\""));
    let log = run("git log --format=%s");
    assert_eq!(String::from_utf8_lossy(&log.stdout), "third\nsecond\nfirst\n");
}

/// A repository whose hooks and settings stay as they are in a directory that is writable. Run as
/// root, this test does the same as a user without privileges, in a user namespace.
#[test]
fn git_commits_in_a_repository_with_read_only_hooks_and_configuration() {
    ReadOnlyPaths::probe().unwrap();
    let root = TempDir::new().unwrap();
    let repository = root.path().canonicalize().unwrap().join("repository");
    let git = format!(
        "git init -q -b main {0} && cd {0} && git config user.name Test \
         && git config user.email test@example.com && git commit -q --allow-empty -m first",
        repository.display()
    );
    assert_success(&command("sh").args(["-c", &git]).output().unwrap());
    let hooks = fs::read_dir(repository.join(".git/hooks")).unwrap().count();
    let configuration = fs::read(repository.join(".git/config")).unwrap();
    let mut read_only = ReadOnlyPaths::default();
    for path in [".git/hooks", ".git/config"] {
        read_only.add(&repository.join(path), &repository).unwrap();
    }
    let writable = writable(&[&repository]);
    // In a directory between, too: what it sees must not depend on the way there.
    for directory in [repository.clone(), repository.join(".git")] {
        let run = |script: &str| {
            let mut shell = command("sh");
            shell.args(["-c", script]).current_dir(&directory);
            read_only.protect(&mut shell, &directory).unwrap();
            writable.restrict(&mut shell).unwrap();
            shell.output().unwrap()
        };
        let top = repository.display();
        let own = command("sh").args(["-c", "id -u"]).output().unwrap().stdout;
        assert_eq!(run("id -u").stdout, own);
        assert_success(&run(&format!(
            "cd {top} && date +%N > new && git add new && git commit -qm second"
        )));
        for script in [
            "echo x > hooks/post-commit",
            "rm -rf hooks",
            "mv hooks moved",
            "echo x >> config",
            "git config core.fsmonitor evil",
            "mv config moved",
            "rm -f config",
            "ln config linked && echo x >> linked",
            "mv ../.git ../moved",
            "umount hooks",
            "mount --bind /tmp hooks",
        ] {
            let output = run(&format!("cd {top}/.git && {script}"));
            assert!(!output.status.success(), "{script}: {output:?}");
            let output = run(&format!("[ -e HEAD ] || cd .git; {script}"));
            assert!(!output.status.success(), "{script}: {output:?}");
        }
    }
    assert_eq!(fs::read_dir(repository.join(".git/hooks")).unwrap().count(), hooks);
    assert_eq!(fs::read(repository.join(".git/config")).unwrap(), configuration);
}

#[test]
fn what_is_excepted_stays_writable_inside_of_what_is_read_only() {
    ReadOnlyPaths::probe().unwrap();
    let border = Border::new();
    let root = border.path("inside").canonicalize().unwrap();
    fs::create_dir_all(root.join("kept/own")).unwrap();
    fs::write(root.join("kept/log"), "").unwrap();
    let mut read_only = ReadOnlyPaths::default();
    assert!(read_only.is_empty());
    read_only.add(&root.join("kept"), &root).unwrap();
    read_only.except(&root.join("kept/own"));
    read_only.except(&root.join("kept/log"));
    let run = |script: &str| {
        let mut shell = command("sh");
        shell.args(["-c", script]).current_dir(&root);
        read_only.protect(&mut shell, &root).unwrap();
        border.writable().restrict(&mut shell).unwrap();
        shell.output().unwrap()
    };
    assert_success(&run("echo x > kept/own/file && echo x > kept/log && echo x > new"));
    for script in ["echo x > kept/file", "rm kept/log", "mv kept/own kept/moved", "rm -r kept"] {
        assert!(!run(script).status.success(), "{script}");
    }
    assert_eq!(border.text("inside/kept/log"), "x\n");
}

#[test]
fn what_is_gone_when_the_program_starts_keeps_it_from_nothing() {
    ReadOnlyPaths::probe().unwrap();
    let border = Border::new();
    let root = border.path("inside").canonicalize().unwrap();
    let mut read_only = ReadOnlyPaths::default();
    for name in ["config", "config.lock"] {
        fs::write(root.join(name), "").unwrap();
        read_only.add(&root.join(name), &root).unwrap();
    }
    fs::remove_file(root.join("config.lock")).unwrap();
    let mut shell = command("sh");
    shell.args(["-c", "echo x > new && ! echo x > config"]).current_dir(&root);
    read_only.protect(&mut shell, &root).unwrap();
    border.writable().restrict(&mut shell).unwrap();
    assert_success(&shell.output().unwrap());
    assert_eq!(
        (border.text("inside/new"), border.text("inside/config")),
        ("x\n".into(), "".into())
    );
}

#[test]
fn a_user_without_privileges_can_have_read_only_paths() {
    if !rustix::process::geteuid().is_root() {
        // Then the test above has shown it.
        return;
    }
    let directory = TempDir::new().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let tests = directory.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    let mut setpriv = command("setpriv");
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(tests);
    setpriv.args(["--exact", "git_commits_in_a_repository_with_read_only_hooks_and_configuration"]);
    setpriv.env("HOME", "/nonexistent").current_dir("/");
    let output = setpriv.output().unwrap();
    let passed = String::from_utf8_lossy(&output.stdout).contains("1 passed");
    assert!(output.status.success() && passed, "{output:?}");
}
