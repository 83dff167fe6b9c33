//! One line about a run that has ended.

use model::{SessionId, Status};

use crate::text::clean;

/// `✓ name: completed (session: ID)`, or `✗ name: error — MESSAGE (session: ID)`.
pub fn summary_line(
    name: &str,
    status: Status,
    error: Option<&str>,
    session: &SessionId,
) -> String {
    let icon = match status {
        Status::Running => "⏳",
        Status::Completed => "✓",
        Status::Error => "✗",
    };
    let message = error.map(|error| format!(" — {error}")).unwrap_or_default();
    let line = format!("{icon} {name}: {}{message} (session: {session})", status.word());
    clean(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_words_of_the_tools() {
        let session = SessionId::parse("0123456789abcdef").unwrap();
        assert_eq!(
            summary_line("review", Status::Completed, None, &session),
            "✓ review: completed (session: 0123456789abcdef)"
        );
        assert_eq!(
            summary_line("run-tests", Status::Error, Some("Timed out after 300s."), &session),
            "✗ run-tests: error — Timed out after 300s. (session: 0123456789abcdef)"
        );
    }
}
