//! A step that runs beside those that follow it, as a `cargo xtask test` of its own whose output is shown in the end.

use std::env;

use xtask::{Invocation, Running};

/// A step under way.
pub(super) struct Beside {
    step: &'static str,
    running: Result<Running, String>,
}

impl Beside {
    pub(super) fn start(step: &'static str) -> Beside {
        let program = env::current_exe().unwrap_or_default();
        let test = Invocation::new("").word(program.to_string_lossy()).word("test").word(step);
        Beside { step, running: test.start() }
    }

    /// Waits until it has ended, and shows its output. Returns its line for the summary, and why it failed.
    pub(super) fn wait(self) -> (String, Result<(), String>) {
        let step = self.step;
        let (result, said) = match self.running {
            Ok(running) => running.wait(),
            Err(what) => (Err(what), String::new()),
        };
        println!("== {step}");
        let line = match shown(step, &said) {
            Some((output, line)) => {
                println!("{output}");
                line.to_owned()
            }
            None => {
                println!("{said}");
                format!("{step}: FAILED before its summary")
            }
        };
        (line, result.map_err(|what| message(step, &said, &what)))
    }
}

/// What the step printed before its summary, and its line there.
fn shown<'a>(step: &str, said: &'a str) -> Option<(&'a str, &'a str)> {
    let (before, summary) = said.rsplit_once("\nSummary:\n")?;
    let line = summary
        .lines()
        .find(|line| line.strip_prefix(step).is_some_and(|rest| rest.starts_with(':')))?;
    // Its own heading and its own last line stand where it is shown, too.
    let output = before.split_once('\n').map_or(before, |(_, output)| output);
    let output = output.trim_end().strip_suffix(&format!("== {line}")).unwrap_or(output);
    Some((output.trim_end(), line))
}

/// Why it failed, in the words of its own error.
fn message(step: &str, said: &str, what: &str) -> String {
    match said.rsplit_once("\nerror: the step ") {
        Some((_, error)) => format!("the step {}", error.trim_end()),
        None => format!("the step `{step}` {what}\nTo repeat it:\n    cargo xtask test '{step}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shown_as_if_it_had_run_in_its_turn() {
        let said =
            "== a b\n$ cargo test\nok\n== a b: passed in 1.0 s\n\nSummary:\na b: passed in 1.0 s\n";
        assert_eq!(shown("a b", said), Some(("$ cargo test\nok", "a b: passed in 1.0 s")));
        assert_eq!(shown("a b", "== a b\nkilled"), None);
        assert_eq!(shown("a", said), None);
    }

    #[test]
    fn a_failure_says_how_to_repeat_it() {
        let failed = "Summary:\na: FAILED after 1.0 s\nerror: the step `a` failed: its command x\nTo repeat it:\n    x\n";
        assert_eq!(
            message("a", failed, "ended with exit status: 1"),
            "the step `a` failed: its command x\nTo repeat it:\n    x"
        );
        assert_eq!(
            message("a b", "", "could not be started"),
            "the step `a b` could not be started\nTo repeat it:\n    cargo xtask test 'a b'"
        );
    }
}
