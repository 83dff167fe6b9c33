//! One line about a run that has ended.

use model::{SessionId, Status};

use crate::text::one_line;

/// `✓ name: completed (session: ID)`, or `✗ name: error — MESSAGE (session: ID)`, followed by the
/// summary of the profile in brackets, if there is one, such as `(profile: fast, model=x/y)`.
pub fn summary_line(
    name: &str,
    status: Status,
    error: Option<&str>,
    session: &SessionId,
    profile: Option<&str>,
) -> String {
    let icon = match status {
        Status::Running => "⏳",
        Status::Completed => "✓",
        Status::Error => "✗",
    };
    let message = error.map(|error| format!(" — {error}")).unwrap_or_default();
    let profile = profile.map(|profile| format!(" ({profile})")).unwrap_or_default();
    let line = format!("{icon} {name}: {}{message} (session: {session}){profile}", status.word());
    one_line(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_words_of_the_tools() {
        let session = SessionId::parse("0123456789abcdef").unwrap();
        assert_eq!(
            summary_line("review", Status::Completed, None, &session, None),
            "✓ review: completed (session: 0123456789abcdef)"
        );
        assert_eq!(
            summary_line("run-tests", Status::Error, Some("Timed out after 300s."), &session, None),
            "✗ run-tests: error — Timed out after 300s. (session: 0123456789abcdef)"
        );
        let profile = "profile: fast, model=x/y, thinking=low";
        assert_eq!(
            summary_line("a", Status::Completed, None, &session, Some(profile)),
            "✓ a: completed (session: 0123456789abcdef) (profile: fast, model=x/y, thinking=low)"
        );
    }
}
