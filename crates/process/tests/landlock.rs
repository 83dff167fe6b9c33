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

use pi_subagents_process::{WritablePaths, landlock_version};
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
