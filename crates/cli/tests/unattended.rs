//! Tests that are started by `nohup`, as a background job or by `cron`: with signals ignored, with another umask,
//! and without a terminal.

use std::process::Stdio;

use test_support::{Ran, clean_command};

/// Tests that send a signal which may be ignored, and tests that check the modes of files.
const TESTS: [&str; 5] = [
    "background::outliving::a_closed_terminal_does_not_end_a_run",
    "background::waiting::an_interrupt_ends_the_waiting_and_not_the_run",
    "builtin::stops::an_interrupt_of_the_caller_ends_the_agent_and_its_command",
    "setup::the_extension_and_a_link_to_the_program_appear_in_the_agent_directory_only",
    "spine::storage::directories_and_files_are_private_and_ignored_by_git",
];

#[test]
fn tests_pass_however_they_are_started() {
    let mut unattended = clean_command("setsid");
    unattended.args(["--wait", "sh", "-c", "trap '' HUP INT QUIT; umask 077; exec \"$@\"", "sh"]);
    unattended.arg(std::env::current_exe().unwrap()).arg("--exact").args(TESTS);
    let ran = Ran::from(unattended.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains(&format!("{} passed", TESTS.len())), "{}", ran.stdout);
}
