//! How a run ended, decided from its stream and the child's exit together.

use model::{CheckResult, Limits, Outcome, StopCause, StopReason, Verdict};

use crate::Facts;
use crate::quota::quota;
use crate::text::{cut_chars, one_line};

/// What is known when no process of the child's tree is left.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// After all events.
    pub facts: &'a Facts,
    /// The error of a timeout names it.
    pub limits: &'a Limits,
    /// Whether the agent was in the middle of its work.
    pub agent_working: bool,
    /// How the agent says that the run ended, or the relay of another supervisor.
    pub told: Option<&'a Verdict>,
    /// What an answer must be besides said.
    pub demands: Demands,
    /// Whether the child was told to go, by the end of its input, when it had said all.
    pub is_dismissed: bool,
    /// The child's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the child, if one did.
    pub signal: Option<i32>,
}

/// What is asked of an answer and of the work behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// The answer must fit a schema.
    pub schema: bool,
    /// A check must pass.
    pub check: bool,
}

/// Decides how a run ended. It is a success only if the last message has no error, and the child
/// exited with code 0 or was stopped merely because it did not exit after that message.
pub fn decide(ending: Ending<'_>) -> Verdict {
    let facts = ending.facts;
    let failure = |outcome, error: String| Verdict { outcome, error: Some(error) };
    let seen = facts.stopping_seen.as_deref();
    if let Some(verdict) = facts.stopping.and_then(|cause| cause.failure(ending.limits, seen)) {
        return verdict;
    }
    // A child that was stopped after its last word did not choose how to exit, and one that was told to go then has
    // said all that counts.
    let exit_is_its_own = facts.stopping != Some(StopCause::LastWord) && !ending.is_dismissed;
    if exit_is_its_own && let Some(signal) = ending.signal {
        let error = format!("Sub-agent was killed by signal {signal}{}", last_words(facts));
        return failure(Outcome::KilledBySignal, error);
    }
    let refused = |error: String| match quota(&error) {
        Some(error) => failure(Outcome::Quota, after_others(facts, error)),
        None => failure(Outcome::ProviderError, after_others(facts, error)),
    };
    if let Some(told) = ending.told.filter(|told| told.outcome != Outcome::Completed) {
        return match (told.outcome, told.error.clone()) {
            (Outcome::ProviderError, Some(error)) => refused(error),
            _ => told.clone(),
        };
    }
    match (&facts.stop_reason, facts.provider_error.clone()) {
        (Some(StopReason::Aborted), error) => {
            let error = error.unwrap_or_else(|| "Sub-agent says that it was aborted".to_owned());
            return failure(Outcome::Cancelled, error);
        }
        (Some(StopReason::Error), None) => {
            return refused("The provider reported an error".to_owned());
        }
        // An error counts, whatever stop reason comes with it.
        (_, Some(error)) => return refused(error),
        (_, None) => {}
    }
    if exit_is_its_own
        && let Some(code) = ending.exit_code.filter(|code| !is_expected(*code, &ending))
    {
        let error = match complaint(facts) {
            Some(complaint) => format!("{complaint} (exit code {code})"),
            None => format!("Sub-agent exited with code {code}"),
        };
        return failure(Outcome::NonZeroExit, error);
    }
    if facts.message_lost {
        let error = "Interrupted: the last message of the sub-agent could not be read".to_owned();
        return failure(Outcome::Interrupted, error);
    }
    if facts.assistant_messages == 0 || facts.is_unanswered {
        let error = format!("Sub-agent exited without saying anything{}", last_words(facts));
        return failure(Outcome::NoAssistantMessage, error);
    }
    if ending.agent_working {
        return failure(
            Outcome::Interrupted,
            "Interrupted: sub-agent exited in the middle of its work, without an answer".to_owned(),
        );
    }
    unmet(facts, ending.demands).unwrap_or(Verdict { outcome: Outcome::Completed, error: None })
}

/// The error of the last model, and which others were tried before.
fn after_others(facts: &Facts, error: String) -> String {
    match facts.failed_models.as_slice() {
        [] => error,
        others => format!(
            "{error} (the last of {} models; {} failed before it)",
            others.len() + 1,
            others.join(", ")
        ),
    }
}

/// What was demanded of a run that has completed, and is not there. The schema comes first, as it does when the
/// demands are looked at.
fn unmet(facts: &Facts, demands: Demands) -> Option<Verdict> {
    let failure = |outcome, error| Some(Verdict { outcome, error: Some(error) });
    let answer = facts.answer.as_ref().filter(|_| demands.schema);
    let problem = match answer {
        Some(Err(problem)) => Some(format!("The answer does not fit its schema: {problem}")),
        None if demands.schema => Some("The answer was not compared with its schema".to_owned()),
        Some(Ok(())) | None => None,
    };
    if let Some(error) = problem {
        return failure(Outcome::InvalidOutput, error);
    }
    if !demands.check {
        return None;
    }
    let Some(check) = &facts.check else {
        return failure(Outcome::CheckFailed, "The check was not run".to_owned());
    };
    if check.passed {
        return None;
    }
    failure(Outcome::CheckFailed, failed_command("The check", check))
}

/// What is said of a command that failed: its words, why, and its last lines. `what` it is comes first.
pub fn failed_command(what: &str, result: &CheckResult) -> String {
    let output = last_lines(&result.output);
    let colon = if output.is_empty() { "" } else { ": " };
    let (command, why) = (one_line(&result.command), result.failure());
    let command = cut_chars(&command, COMMAND_CHARS);
    format!("{what} `{command}` failed ({why}){colon}{output}")
}

/// So much of a command and of its output is part of an error.
const COMMAND_CHARS: usize = 100;
const OUTPUT_CHARS: usize = 500;
const OUTPUT_LINES: usize = 5;

/// The last lines of an output that are not blank, in one line.
fn last_lines(output: &str) -> String {
    let lines = output.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let mut lines: Vec<&str> = lines.take(OUTPUT_LINES).collect();
    lines.reverse();
    let joined = lines.join(" | ");
    let skipped = joined.chars().count().saturating_sub(OUTPUT_CHARS);
    joined.chars().skip(skipped).collect()
}

/// Whether the exit code says nothing that the stream has not said. Some agents exit with 1 after an
/// answer that was cut off at the limit of its length, and that is all that is wrong.
fn is_expected(code: i32, ending: &Ending<'_>) -> bool {
    let is_cut_off = ending.facts.stop_reason == Some(StopReason::Length);
    code == 0 || code == 1 && is_cut_off && !ending.agent_working
}

/// The last lines of standard error, behind a reason that is known without them. A warning explains nothing.
fn last_words(facts: &Facts) -> String {
    let lines = facts.last_stderr.iter().map(String::as_str).filter(|line| !is_warning(line));
    match lines.collect::<Vec<_>>().join(" ") {
        words if words.is_empty() => words,
        words => format!(": {words}"),
    }
}

/// Why a child that has failed says that it failed: what follows the last `error:` in the last lines
/// of its standard error, else all of them but its warnings.
fn complaint(facts: &Facts) -> Option<String> {
    let lines: Vec<&str> = facts.last_stderr.iter().map(String::as_str).collect();
    let is_error = |line: &&str| without_label(line, "error:").is_some();
    let words = match lines.iter().rposition(is_error) {
        Some(first) => {
            let reason = without_label(lines[first], "error:").unwrap_or_default();
            [&[reason], &lines[first + 1..]].concat()
        }
        None => {
            let others: Vec<&str> =
                lines.iter().copied().filter(|line| !is_warning(line)).collect();
            if others.is_empty() { lines } else { others }
        }
    };
    Some(words.join(" ").trim().to_owned()).filter(|words| !words.is_empty())
}

fn is_warning(line: &str) -> bool {
    without_label(line, "warning:").is_some()
}

/// The rest of a line that begins with a label, in whatever case it is written.
fn without_label<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let (start, rest) = line.split_at_checked(label.len())?;
    start.eq_ignore_ascii_case(label).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use model::CheckResult;

    use super::*;

    fn verdict(change: impl FnOnce(&mut Facts), exit: Result<i32, i32>, working: bool) -> Verdict {
        let mut facts = Facts { assistant_messages: 1, ..Facts::default() };
        change(&mut facts);
        decide(Ending {
            facts: &facts,
            limits: &Limits { timeout_ms: Some(1_500), ..Limits::default() },
            agent_working: working,
            told: None,
            demands: Demands::default(),
            is_dismissed: false,
            exit_code: exit.ok(),
            signal: exit.err(),
        })
    }

    fn stopped(cause: StopCause) -> impl FnOnce(&mut Facts) {
        move |facts| facts.stopping = Some(cause)
    }

    fn reason(reason: &str) -> impl FnOnce(&mut Facts) {
        let reason = StopReason::from(reason.to_owned());
        move |facts| facts.stop_reason = Some(reason)
    }

    #[test]
    fn stream_and_exit_decide_together() {
        let word = |change: Box<dyn FnOnce(&mut Facts)>, exit, working| {
            verdict(change, exit, working).outcome.word()
        };
        assert_eq!(word(Box::new(reason("stop")), Ok(0), false), "completed");
        assert_eq!(word(Box::new(reason("length")), Ok(0), false), "completed");
        assert_eq!(word(Box::new(reason("length")), Ok(1), false), "completed");
        assert_eq!(word(Box::new(reason("length")), Ok(1), true), "non_zero_exit");
        assert_eq!(word(Box::new(reason("length")), Ok(2), false), "non_zero_exit");
        assert_eq!(word(Box::new(|_| ()), Ok(0), false), "completed");
        assert_eq!(word(Box::new(reason("error")), Ok(0), false), "provider_error");
        assert_eq!(word(Box::new(reason("error")), Ok(1), false), "provider_error");
        assert_eq!(word(Box::new(reason("aborted")), Ok(0), false), "cancelled");
        assert_eq!(word(Box::new(reason("stop")), Ok(3), false), "non_zero_exit");
        assert_eq!(word(Box::new(reason("stop")), Err(9), false), "killed_by_signal");
        assert_eq!(
            word(Box::new(|facts| facts.assistant_messages = 0), Ok(0), false),
            "no_assistant_message"
        );
        assert_eq!(word(Box::new(reason("toolUse")), Ok(0), true), "interrupted");
        assert_eq!(word(Box::new(reason("toolUse")), Ok(0), false), "completed");
        let complaint = |facts: &mut Facts| facts.provider_error = Some("boom".to_owned());
        assert_eq!(word(Box::new(complaint), Ok(0), false), "provider_error");
        let lost = |facts: &mut Facts| facts.message_lost = true;
        assert_eq!(word(Box::new(lost), Ok(0), false), "interrupted");
        assert_eq!(word(Box::new(reason("stop")), Ok(0), true), "interrupted");
        assert_eq!(word(Box::new(stopped(StopCause::Timeout)), Err(15), false), "timeout");
        assert_eq!(word(Box::new(stopped(StopCause::Loop)), Ok(0), false), "loop");
        assert_eq!(word(Box::new(stopped(StopCause::Cancelled)), Ok(0), false), "cancelled");
        assert_eq!(word(Box::new(stopped(StopCause::ParentDied)), Err(9), false), "interrupted");
        assert_eq!(word(Box::new(stopped(StopCause::LastWord)), Err(15), false), "completed");
        assert_eq!(word(Box::new(stopped(StopCause::Leftovers)), Ok(0), false), "completed");
        assert_eq!(word(Box::new(stopped(StopCause::Leftovers)), Ok(2), false), "non_zero_exit");
    }

    #[test]
    fn how_a_child_exits_that_was_told_to_go_does_not_count() {
        for (exit_code, signal) in [(Some(3), None), (None, Some(11))] {
            let verdict = |is_dismissed| {
                let facts = Facts { assistant_messages: 1, ..Facts::default() };
                let limits = Limits::default();
                let ending = Ending {
                    facts: &facts,
                    limits: &limits,
                    agent_working: false,
                    told: None,
                    demands: Demands::default(),
                    is_dismissed,
                    exit_code,
                    signal,
                };
                decide(ending).outcome
            };
            assert_eq!(verdict(true), Outcome::Completed);
            assert_ne!(verdict(false), Outcome::Completed);
        }
    }

    #[test]
    fn what_is_demanded_of_an_answer_decides_last() {
        let word = |answer: Option<Result<(), String>>, passed: Option<bool>, exit_code| {
            let check = passed.map(|passed| CheckResult {
                command: "make\ntest".to_owned(),
                passed,
                exit_code: Some(2),
                output: "a\n\nb\n".to_owned(),
                ..CheckResult::default()
            });
            let check = check.map(Box::new);
            let facts = Facts { assistant_messages: 1, answer, check, ..Facts::default() };
            let limits = Limits::default();
            let ending = Ending {
                facts: &facts,
                limits: &limits,
                agent_working: false,
                told: None,
                demands: Demands { schema: true, check: true },
                is_dismissed: false,
                exit_code: Some(exit_code),
                signal: None,
            };
            let verdict = decide(ending);
            format!("{} {}", verdict.outcome.word(), verdict.error.unwrap_or_default())
        };
        let unfit = || Some(Err("/n: no".to_owned()));
        assert_eq!(word(Some(Ok(())), Some(true), 0), "completed ");
        assert_eq!(
            word(Some(Ok(())), Some(false), 0),
            "check_failed The check `make test` failed (exit code 2): a | b"
        );
        let invalid = "invalid_output The answer does not fit its schema: /n: no";
        assert_eq!(word(unfit(), Some(true), 0), invalid);
        assert_eq!(word(unfit(), Some(false), 0), invalid);
        assert_eq!(word(unfit(), None, 3), "non_zero_exit Sub-agent exited with code 3");
        // What was not looked at is no success.
        assert!(word(None, Some(true), 0).starts_with("invalid_output"));
        assert!(word(Some(Ok(())), None, 0).starts_with("check_failed"));
    }

    #[test]
    fn the_words_name_what_people_need() {
        let error = |verdict: Verdict| verdict.error.unwrap();
        assert_eq!(
            error(verdict(stopped(StopCause::Timeout), Err(15), false)),
            "Timed out after 1.5s. Consider resuming with a longer timeout."
        );
        for (lines, expected) in [
            (&["no API key"][..], "no API key (exit code 1)"),
            (&["loading", "no API key"], "loading no API key (exit code 1)"),
            (&["warning: odd", "no API key"], "no API key (exit code 1)"),
            (&["warning: odd"], "warning: odd (exit code 1)"),
            (
                &["warning: odd", "Error: no key", "hint: set one"],
                "no key hint: set one (exit code 1)",
            ),
            (&["error: first", "error: second"], "second (exit code 1)"),
            (&["error:"], "Sub-agent exited with code 1"),
            (&["erro\u{308}r: x"], "erro\u{308}r: x (exit code 1)"),
            (&[], "Sub-agent exited with code 1"),
        ] {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            let complaint = |facts: &mut Facts| facts.last_stderr = lines;
            assert_eq!(error(verdict(complaint, Ok(1), false)), expected);
        }
        let complaint = |facts: &mut Facts| {
            facts.last_stderr = vec!["WARNING: proceeding".to_owned(), "out of memory".to_owned()];
        };
        assert_eq!(
            error(verdict(complaint, Err(9), false)),
            "Sub-agent was killed by signal 9: out of memory"
        );
        let silent = |facts: &mut Facts| {
            facts.assistant_messages = 0;
            facts.last_stderr = vec!["WARNING: proceeding".to_owned()];
        };
        assert_eq!(
            error(verdict(silent, Ok(0), false)),
            "Sub-agent exited without saying anything"
        );
    }
}
