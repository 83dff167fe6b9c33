//! `access: read`: nothing changes but what belongs to the run.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use test_support::{Running, World, kill_and_wait, wait_until, write_file};

use super::Restricted;

const READ: &[&str] = &["--access", "read"];

#[test]
fn nothing_is_changed_however_it_is_tried() {
    let restricted = Restricted::new();
    write_file(&restricted.project("own"), "kept");
    symlink(restricted.world.path("outside/file"), restricted.project("link")).unwrap();
    for script in [
        "bash -c 'echo x > '$outside/new",
        "echo x > new",
        "echo x > own",
        "echo x >> link",
        "sh -c \"sh -c 'echo x > $outside/new'\"",
        "env -i /usr/bin/setsid --wait /bin/sh -c \"echo x > $outside/new\"",
        "cd \"$TMPDIR\" && ln -s $outside here && echo x > here/new",
        "cd \"$TMPDIR\" && ln $outside/file here && echo x > here",
        "mv $outside/file \"$TMPDIR\"",
        "echo x > \"$TMPDIR/x\" && mv \"$TMPDIR/x\" $outside/new",
        "cd /proc/self/root && echo x > \".$outside/new\"",
        "echo x > /proc/$PPID/root$outside/new",
        "truncate -s 0 $outside/file",
        "rm -rf $outside",
        "mkfifo $outside/new",
    ] {
        restricted.assert_cannot(script, READ);
        restricted.assert_outside_untouched();
    }
    assert_eq!(fs::read_to_string(restricted.project("own")).unwrap(), "kept");
    assert!(!restricted.project("new").exists());
}

/// A daemon has no parent in the run any more, and a session of its own. It ends with the run, too.
#[test]
fn a_daemon_is_restricted_as_well() {
    let restricted = Restricted::new();
    let daemon = "(setsid sh -c \"(echo x > $outside/new; echo \\$? > $TMPDIR/tried) &\" \
                  > /dev/null 2>&1 &)\n\
                  until [ -s \"$TMPDIR/tried\" ]; do sleep 0.01; done; cat \"$TMPDIR/tried\"";
    let attempt = restricted.assert_can(daemon, READ);
    assert_ne!(attempt.said.trim(), "0", "the daemon has written a file");
    restricted.assert_outside_untouched();
}

#[test]
fn the_run_has_its_own_places_and_they_are_private() {
    let restricted = Restricted::new();
    let attempt = restricted.assert_can(
        "file=$(mktemp) && echo x > \"$file\" && stat -c %a \"$TMPDIR\" \
         && mkdir -p \"$TMPDIR/a/b\" && chmod 500 \"$TMPDIR/a\" \
         && echo kept > \"$PI_SUBAGENTS_RUN_DIR/outputs/file\" \
         && echo x > /dev/null && echo x > /dev/stderr && cat $outside/file",
        READ,
    );
    assert!(attempt.said.starts_with("700\nx\nkept"), "{}", attempt.said);
    let outputs = attempt.ran.run_dir().join("outputs/file");
    assert_eq!(fs::read_to_string(outputs).unwrap(), "kept\n");
    assert_eq!(attempt.meta()["access"], "read");
    assert_eq!(attempt.warnings(), "[]");
}

#[test]
fn the_record_of_the_run_is_out_of_reach() {
    let restricted = Restricted::new();
    for name in ["meta.json", "result.json", "events.jsonl", "stop-request", "prompt.md"] {
        restricted.assert_cannot(&format!("echo x > $PI_SUBAGENTS_RUN_DIR/{name}"), READ);
        restricted.assert_cannot(
            &format!(
                "mv $PI_SUBAGENTS_RUN_DIR/{name} $TMPDIR || rm -rf \
                                           $PI_SUBAGENTS_RUN_DIR"
            ),
            READ,
        );
    }
    let other = restricted.world.runs().remove(0);
    restricted.assert_cannot(&format!("echo x > {}/result.json", other.display()), READ);
}

/// Neither pi's settings and logins nor its extensions, but its sessions. It locks a file that it reads
/// by a directory beside it, for which it has links to its files.
#[test]
fn of_pi_only_sessions_are_written_and_its_files_can_be_locked() {
    let restricted = Restricted::new();
    let agent_dir = restricted.world.agent_dir();
    for name in ["settings.json", "auth.json", "extensions/own.js", "sessions/old.jsonl"] {
        write_file(&agent_dir.join(name), "{}");
    }
    restricted.assert_can(
        "cd \"$PI_CODING_AGENT_DIR\" && echo x > sessions/new && echo x >> sessions/old.jsonl \
         && mkdir settings.json.lock && cat settings.json && rmdir settings.json.lock",
        READ,
    );
    for script in [
        "cd \"$PI_CODING_AGENT_DIR\" && echo x > settings.json",
        "cd \"$PI_CODING_AGENT_DIR\" && echo x > extensions/new.js",
        "cd REAL && echo x > settings.json",
        "cd REAL && echo x > auth.json",
        "cd REAL && echo x > trust.json",
        "cd REAL && mkdir settings.json.lock",
        "cd REAL && mkdir extensions/new",
        "cd REAL && mv extensions/own.js sessions",
        "cd REAL && mv sessions/new extensions/new.js",
        // Who may make directories may also rename them.
        "cd REAL && mv sessions extensions",
        "cd REAL && mv extensions old",
        "cd REAL && ln -s /tmp prompts",
        "cd REAL && rm -r extensions",
    ] {
        let script = script.replace("REAL", agent_dir.to_str().unwrap());
        restricted.assert_cannot(&script, READ);
    }
    assert_eq!(fs::read_to_string(agent_dir.join("settings.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(agent_dir.join("extensions/own.js")).unwrap(), "{}");
}

/// A file that the caller's shell has open can be written without being opened.
#[test]
fn descriptors_of_the_caller_are_not_inherited() {
    let restricted = Restricted::new();
    let inner = restricted.command("echo x >&9", READ);
    let script =
        format!("exec 9>> {}; exec \"$@\"", restricted.world.path("outside/file").display());
    let attempt = restricted.outcome(World::behind(&["sh", "-c", &script, "sh"], &inner));
    assert!(attempt.status != 0, "{}", attempt.said);
    restricted.assert_outside_untouched();
    // As a control: without a restriction it is.
    let inner = restricted.command("echo x >&9", &[]);
    let attempt = restricted.outcome(World::behind(&["sh", "-c", &script, "sh"], &inner));
    assert_eq!(attempt.status, 0, "{}", attempt.said);
}

/// Root may change the system in other ways than by files.
#[test]
fn the_system_itself_is_not_changed() {
    let restricted = Restricted::new();
    for script in [
        "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
        "umount /proc || umount -l /proc",
        "mount -t tmpfs none \"$TMPDIR\"",
        "mknod \"$TMPDIR/disk\" b 7 0",
        "date -s @1000000000",
    ] {
        restricted.assert_cannot(script, READ);
    }
    let status = restricted.assert_can("grep -E 'CapEff|CapBnd' /proc/self/status", READ).said;
    for line in status.lines() {
        let capabilities = line.split_whitespace().nth(1).unwrap();
        let capabilities = u64::from_str_radix(capabilities, 16).unwrap();
        // To administer the system, to load a module, to make a device.
        let is_held = |number: u32| capabilities & (1 << number) != 0;
        let is_root = rustix::process::geteuid().is_root() || line.starts_with("CapEff");
        assert!(!is_root || ![21, 16, 27].into_iter().any(is_held), "{line}");
    }
}

/// A check is a process of the run like those of its agent.
#[test]
fn a_check_may_change_no_more_than_the_agent() {
    let restricted = Restricted::new();
    let check =
        "if touch forbidden; then exit 1; fi; echo x > \"$TMPDIR/file\" && cat \"$TMPDIR/file\"";
    let attempt = restricted.assert_can("true", &[READ, &["--check", check]].concat());
    let check = attempt.ran.task()["check"].clone();
    assert_eq!(check["passed"], serde_json::json!(true), "{check}");
    assert!(check["output"].as_str().unwrap().ends_with("x"), "{check}");
    assert!(!restricted.project("forbidden").exists());
}

/// The temporary directory of a run whose supervisor was killed is removed by whoever ends the run.
#[test]
fn a_killed_supervisor_leaves_no_temporary_directory() {
    let restricted = Restricted::new();
    let script = format!("echo x > $TMPDIR/file; touch {}; sleep 1000", "$TMPDIR/ready");
    let running = Running::start(restricted.command(&script, READ));
    wait_until(|| temporary(&restricted).is_some_and(|path| path.join("ready").exists()));
    kill_and_wait(restricted.world.supervisor());
    let ran = running.finish();
    assert_eq!(ran.task()["outcome"], "interrupted");
    assert_eq!(temporary(&restricted), None);
    restricted.world.assert_nothing_left();
}

/// Without the record of the run, only its name and its lock tell what the directory is.
#[test]
fn a_temporary_directory_whose_record_is_gone_is_found_and_removed() {
    let restricted = Restricted::new();
    let script = "mkdir $TMPDIR/kept; chmod 500 $TMPDIR/kept; touch $TMPDIR/ready; sleep 1000";
    let running = Running::start(restricted.command(script, READ));
    wait_until(|| temporary(&restricted).is_some_and(|path| path.join("ready").exists()));
    let directory = temporary(&restricted).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    File::open(&directory).unwrap().set_modified(long_ago).unwrap();
    let prune = || assert_eq!(restricted.world.run(&["sessions", "prune"]).code, Some(0));
    prune();
    assert!(directory.exists(), "a directory that is in use was removed");
    running.signal(Signal::STOP);
    kill_and_wait(restricted.world.supervisor());
    running.signal(Signal::KILL);
    drop(running.finish());
    fs::remove_dir_all(restricted.world.only_run()).unwrap();
    let doctor = restricted.world.run(&["doctor"]).stdout;
    let words = format!("{} was left by a program that died", directory.display());
    assert!(doctor.contains(&words), "{doctor}");
    prune();
    assert_eq!(temporary(&restricted), None);
    // Without a record, only `doctor` finds what is left of the agent, and says to kill it.
    wait_until(|| {
        let left = restricted.world.processes();
        for pid in left.iter().filter_map(|(pid, _)| Pid::from_raw(i32::try_from(*pid).ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        left.is_empty()
    });
}

/// The temporary directory of the only run, if it has one.
fn temporary(restricted: &Restricted) -> Option<PathBuf> {
    let entries = fs::read_dir(restricted.world.path("")).unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("subagent-"))
}
