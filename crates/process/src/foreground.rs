//! A program that the user works with before we go on, such as an editor.

use std::io;

use crate::spawn::new_command;

/// Runs a program with our own terminal and waits for its end. Returns whether it succeeded.
/// Ctrl-C is meant for that program: the caller must not have installed a handler for SIGINT.
pub fn run_in_foreground(program: &str, arguments: &[&str]) -> io::Result<bool> {
    Ok(new_command(program).args(arguments).status()?.success())
}
