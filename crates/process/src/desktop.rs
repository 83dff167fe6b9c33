//! A program of the user's desktop, such as a browser. It may go on after this one has ended.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::command_output::{OutputError, wait_until};
use crate::spawn::{explain, new_command};
use crate::tree::Exit;

/// Starts a program, looked up on `PATH`, without our streams and out of reach of Ctrl-C. Waits for its
/// end, but no longer than `patience`: a program that still runs then has found its work.
pub fn start_on_desktop(
    program: &str,
    arguments: &[&str],
    patience: Duration,
) -> Result<(), OutputError> {
    let mut command = new_command(program);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|source| explain(program, source))?;
    match wait_until(&mut child, Instant::now() + patience) {
        Ok(Exit::Code(0)) | Err(OutputError::TooLong(_)) => Ok(()),
        Ok(Exit::Code(code)) => Err(OutputError::Exited(code)),
        Ok(Exit::Signal(signal)) => Err(OutputError::Killed(signal)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_succeeds_or_goes_on_or_says_why_not() {
        let shell =
            |script: &str| start_on_desktop("/bin/sh", &["-c", script], Duration::from_secs(20));
        assert!(shell("exit 0").is_ok());
        assert!(matches!(shell("exit 3"), Err(OutputError::Exited(3))));
        assert!(matches!(shell("kill -9 $$"), Err(OutputError::Killed(9))));
        let missing = start_on_desktop("/no/such/program", &[], Duration::ZERO);
        assert!(matches!(missing, Err(OutputError::NotStarted(_))));
        let goes_on =
            start_on_desktop("/bin/sh", &["-c", "read x < /dev/null; sleep 1"], Duration::ZERO);
        assert!(goes_on.is_ok());
    }
}
