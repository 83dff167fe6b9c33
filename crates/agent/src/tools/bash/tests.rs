//! Real commands.

use std::fs;
use std::time::{Duration, Instant};

use process::{KillTarget, Marker, Signal};
use serde_json::json;

use super::*;
use crate::message::text_of;
use crate::tools::testing::TestDirectory;

/// A variable that all processes of one test carry, so that they can be found.
struct Trace(String);

impl Trace {
    fn new() -> Trace {
        Trace(uuid::Uuid::new_v4().simple().to_string())
    }

    fn command(&self, command: &str) -> String {
        format!("export TOOL_TEST={}\n{command}", self.0)
    }

    fn processes(&self) -> KillTarget {
        KillTarget::Marked(Marker::new(&[("TOOL_TEST", &self.0)]))
    }
}

/// The command lines of all processes in which the text occurs.
fn command_lines(text: &str) -> usize {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).into_owned()
    });
    lines.filter(|line| line.contains(text)).count()
}

/// Runs the command and cancels it as soon as it has printed "ready".
fn cancel_when_ready(directory: &TestDirectory, command: &str) -> (String, Duration) {
    cancel_when(directory, command, |output| text_of(&output.content).contains("ready"))
}

fn cancel_when(
    directory: &TestDirectory,
    command: &str,
    condition: fn(&ToolOutput) -> bool,
) -> (String, Duration) {
    let mut cancelled_at = None;
    let error = directory
        .run_reporting("bash", &json!({ "command": command }), &mut |output| {
            if condition(&output) && cancelled_at.is_none() {
                cancelled_at = Some(Instant::now());
                directory.cancel.cancel();
            }
        })
        .unwrap_err();
    (error.0, cancelled_at.unwrap().elapsed())
}

#[test]
fn output_is_reported_while_the_command_runs() {
    let directory = TestDirectory::new();
    let go = directory.path("go");
    process::make_named_pipe(&go).unwrap();
    let mut reports = Vec::new();
    // The command goes on only when its first line was reported.
    let output = directory.run_reporting(
        "bash",
        &json!({"command": "echo one; read line < go; echo $line >&2; echo three"}),
        &mut |output| {
            if text_of(&output.content) == "one\n" {
                fs::write(&go, "two\n").unwrap();
            }
            reports.push(output);
        },
    );
    assert_eq!(output, Ok(ToolOutput::text("one\ntwo\nthree\n")));
    assert_eq!(reports.first(), Some(&ToolOutput::default()));
    let report =
        |text: &str| ToolOutput { content: vec![Content::text(text)], details: Some(json!({})) };
    assert_eq!(reports.get(1), Some(&report("one\n")));
    assert_eq!(reports.last(), Some(&report("one\ntwo\nthree\n")));
}

#[test]
fn reports_are_few() {
    let directory = TestDirectory::new();
    let mut reports = 0;
    let started = Instant::now();
    let command = "for number in $(seq 2000); do echo $number; done";
    directory.run_reporting("bash", &json!({ "command": command }), &mut |_| reports += 1).unwrap();
    let intervals = started.elapsed().as_millis() / REPORT_INTERVAL.as_millis();
    // The empty one, the first, the last, and one for each interval.
    assert!(reports <= 3 + intervals, "{reports} reports in {intervals} intervals");
}

#[test]
fn every_end_has_its_words() {
    let directory = TestDirectory::new();
    for (command, expected) in [
        ("printf 'no newline'", Ok("no newline")),
        ("true", Ok("(no output)")),
        ("cat", Ok("(no output)")),
        ("echo out; echo err >&2; echo out", Ok("out\nerr\nout\n")),
        (r"printf '\377x\n'", Ok("\u{fffd}x\n")),
        (r"printf '\033[31mred\033[0m\0\n'", Ok("red\n")),
        ("pwd", Ok("PLACE\n")),
        ("[[ a == a ]] && echo $BASH_VERSION | grep -c .", Ok("1\n")),
        ("exec >&- 2>&-; exit 0", Ok("(no output)")),
        ("exit 7", Err("(no output)\n\nCommand exited with code 7")),
        ("echo x; false", Err("x\n\n\nCommand exited with code 1")),
        ("kill -9 $$", Err("(no output)\n\nCommand exited with code 137")),
        ("kill $$", Err("(no output)\n\nCommand exited with code 143")),
    ] {
        let found = directory.run("bash", &json!({ "command": command }));
        let found = found.map(|output| text_of(&output.content)).map_err(|error| error.0);
        let cwd = fs::canonicalize(directory.cwd()).unwrap().display().to_string();
        let expected = expected.map(|text| text.replace("PLACE", &cwd)).map_err(str::to_owned);
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn timeouts_that_make_no_sense_are_refused() {
    let directory = TestDirectory::new();
    for (timeout, expected) in [
        (0.0, "Invalid timeout: must be a finite number of seconds"),
        (-1.0, "Invalid timeout: must be a finite number of seconds"),
        (1e10, "Invalid timeout: maximum is 2147483.647 seconds"),
    ] {
        let arguments = json!({"command": "touch a", "timeout": timeout});
        assert_eq!(directory.error("bash", &arguments), expected, "{timeout}");
    }
    assert!(!directory.path("a").exists());
    assert_eq!(directory.text("bash", &json!({"command": "echo a", "timeout": "60"})), "a\n");
}

#[test]
fn a_directory_that_is_gone_is_told() {
    let directory = TestDirectory::new();
    let cwd = directory.path("gone");
    let call =
        Call { cwd: &cwd, shell: &directory.shell, cancel: &directory.cancel, report: &mut |_| {} };
    let error = TOOL.run(json!({"command": "ls"}).as_object().unwrap(), call).unwrap_err();
    assert_eq!(
        error.0,
        format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            cwd.display()
        )
    );
}

#[test]
fn a_timeout_kills_what_has_left_the_session() {
    let directory = TestDirectory::new();
    let trace = Trace::new();
    // The shell itself waits for a process in another session, which ignores what can be ignored.
    let command = trace.command("trap '' TERM; echo ready; setsid bash -c 'sleep 1000; :' | cat");
    let error = directory.error("bash", &json!({"command": command, "timeout": 0.5}));
    assert_eq!(error, "ready\n\n\nCommand timed out after 0.5 seconds");
    assert_eq!(trace.processes().count(), 0);
}

#[test]
fn a_cancelled_command_leaves_nothing() {
    for command in [
        "echo ready; sleep 1000",
        "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done",
        "setsid bash -c 'echo ready; exec sleep 1000' & wait",
        // Its parent is gone, so that only the mark tells where it comes from.
        "(setsid bash -c 'echo ready; exec sleep 1000' &); sleep 1000",
        "setsid setsid bash -c 'sleep 1000 & setsid sleep 1000 & echo ready; wait' & wait",
    ] {
        let directory = TestDirectory::new();
        let trace = Trace::new();
        let (error, taken) = cancel_when_ready(&directory, &trace.command(command));
        assert_eq!(error, "ready\n\n\nCommand aborted", "{command}");
        assert_eq!(trace.processes().count(), 0, "{command}");
        assert!(taken < Duration::from_secs(10), "{command}: {taken:?}");
    }
}

#[test]
fn a_process_without_the_mark_is_found_below_the_shell() {
    let directory = TestDirectory::new();
    let number = format!("1000.{}", u128::from_str_radix(&Trace::new().0[..8], 16).unwrap());
    let command = format!("env -i setsid bash -c 'echo ready; sleep {number}; :' & wait");
    let (error, _) = cancel_when_ready(&directory, &command);
    assert_eq!(error, "ready\n\n\nCommand aborted");
    assert_eq!(command_lines(&number), 0);
}

#[test]
fn what_is_in_the_background_neither_blocks_nor_dies() {
    let directory = TestDirectory::new();
    let trace = Trace::new();
    let command = trace.command("sleep 1000 & echo done");
    assert_eq!(directory.text("bash", &json!({ "command": command })), "done\n");
    assert_eq!(trace.processes().signal(Signal::Kill), 1);
}

#[test]
fn what_the_background_prints_in_time_is_shown() {
    let directory = TestDirectory::new();
    let trace = Trace::new();
    // The child prints when its parent is gone, and then keeps the pipe.
    let command = trace.command(
        "parent=$$; (while kill -0 $parent 2>/dev/null; do :; done; echo late; exec sleep 1000) &",
    );
    assert_eq!(directory.text("bash", &json!({ "command": command })), "late\n");
    assert_eq!(trace.processes().signal(Signal::Kill), 1);
}

#[test]
fn a_background_that_goes_on_printing_is_listened_to() {
    let directory = TestDirectory::new();
    // It prints for longer than it may be quiet.
    let command = "end=$((${EPOCHREALTIME/[.,]/} + 300000)); (while [ ${EPOCHREALTIME/[.,]/} -lt \
                   $end ]; do echo more; done; echo last) &";
    let mut text = match directory.run("bash", &json!({ "command": command })) {
        Ok(output) => text_of(&output.content),
        Err(error) => error.0,
    };
    if text.contains("Full output: ") {
        remove_full_output(&text);
        text.truncate(text.find("\n\n[").unwrap());
    }
    assert_eq!(text.lines().last(), Some("last"));
}

#[test]
fn what_was_printed_before_the_end_is_shown() {
    let directory = TestDirectory::new();
    let done = directory.path("done");
    // More than is read at once, and less than a pipe holds.
    let command = "echo ready; sleep 0 <go; printf '%060000d\\nlast' 0; touch done; sleep 1000";
    process::make_named_pipe(&directory.path("go")).unwrap();
    let go = directory.path("go");
    let error = directory
        .run_reporting("bash", &json!({ "command": command }), &mut |output| {
            if text_of(&output.content) == "ready\n" && !done.exists() {
                fs::write(&go, "").unwrap();
                while !done.exists() {
                    std::thread::yield_now();
                }
                directory.cancel.cancel();
            }
        })
        .unwrap_err()
        .0;
    assert!(error.starts_with("last\n\n[Showing lines 3-3 of 3"), "{}", &error[..100]);
    remove_full_output(&error);
}

#[test]
fn a_background_that_never_stops_printing_can_be_cancelled() {
    let directory = TestDirectory::new();
    let trace = Trace::new();
    let is_long = |output: &ToolOutput| matches!(&output.details, Some(details) if details["truncation"] != json!(null));
    let (error, _) = cancel_when(&directory, &trace.command("yes &"), is_long);
    assert!(error.ends_with("Command aborted"), "{error}");
    assert_eq!(trace.processes().count(), 0);
    remove_full_output(&error);
}

#[test]
fn commands_of_several_threads_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        let calls: Vec<_> = (1..=8)
            .map(|code| {
                let directory = TestDirectory::new();
                scope.spawn(move || {
                    let command = format!("echo {code}; exit {code}");
                    let errors =
                        (0..5).map(|_| directory.error("bash", &json!({"command": command})));
                    (code, errors.collect::<Vec<_>>())
                })
            })
            .collect();
        for call in calls {
            let (code, errors) = call.join().unwrap();
            let expected = format!("{code}\n\n\nCommand exited with code {code}");
            assert_eq!(errors, vec![expected; 5]);
        }
    });
}

#[test]
fn a_hundred_megabytes_are_no_burden() {
    let directory = TestDirectory::new();
    let command = "yes 0123456789 | head -c 110000000; exit 3";
    let mut longest = 0;
    let error = directory
        .run_reporting("bash", &json!({ "command": command }), &mut |output| {
            longest = longest.max(text_of(&output.content).len());
        })
        .unwrap_err()
        .0;
    let notice = "[Showing lines 9998001-10000000 of 10000000. Full output: ";
    assert!(error.contains(notice), "{}", &error[error.len() - 200..]);
    assert!(error.ends_with("]\n\nCommand exited with code 3"));
    assert!(longest <= 50 * 1024, "{longest}");
    assert_eq!(remove_full_output(&error), 110_000_000);
}

/// Removes the file that the words name, and returns its size.
fn remove_full_output(words: &str) -> u64 {
    let path = words.split_once("Full output: ").unwrap().1.split_once(']').unwrap().0;
    let size = fs::metadata(path).unwrap().len();
    fs::remove_file(path).unwrap();
    size
}

#[test]
fn the_shell_and_what_stands_before_every_command_can_be_chosen() {
    let mut directory = TestDirectory::new();
    directory.shell.prefix = Some("greeting=hello".to_owned());
    assert_eq!(
        directory.text("bash", &json!({"command": "echo $greeting $0"})),
        "hello /bin/bash\n"
    );
    directory.shell.program = Some("/bin/sh".into());
    assert_eq!(directory.text("bash", &json!({"command": "echo $0"})), "/bin/sh\n");
    directory.shell.program = Some("/no/such/shell".into());
    let error = directory.run("bash", &json!({"command": "true"})).unwrap_err();
    assert!(error.0.contains("/no/such/shell"), "{error}");
}
