//! One line about a run that has ended.

use model::{Changes, SessionId, Status};

use crate::text::one_line;

/// `✓ name: completed (session: ID)`, or `✗ name: error — MESSAGE (session: ID)`, followed by the
/// summary of the profile in brackets, if there is one, such as `(profile: fast, model=x/y)`, and by what was changed in a
/// worktree, such as `, 3 files +40 −2`.
pub fn summary_line(
    name: &str,
    status: Status,
    error: Option<&str>,
    session: &SessionId,
    profile: Option<&str>,
    changes: Option<&Changes>,
) -> String {
    let icon = match status {
        Status::Running => "⏳",
        Status::Completed => "✓",
        Status::Error => "✗",
    };
    let message = error.map(|error| format!(" — {error}")).unwrap_or_default();
    let profile = profile.map(|profile| format!(" ({profile})")).unwrap_or_default();
    let changes = changes.map(|changes| format!(", {}", changes.brief())).unwrap_or_default();
    let word = status.word();
    let line = format!("{icon} {name}: {word}{message} (session: {session}){profile}{changes}");
    one_line(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_words_of_the_tools() {
        let session = SessionId::parse("0123456789abcdef").unwrap();
        assert_eq!(
            summary_line("review", Status::Completed, None, &session, None, None),
            "✓ review: completed (session: 0123456789abcdef)"
        );
        assert_eq!(
            summary_line("run-tests", Status::Error, Some("Timed out."), &session, None, None),
            "✗ run-tests: error — Timed out. (session: 0123456789abcdef)"
        );
        let profile = "profile: fast, model=x/y, thinking=low";
        assert_eq!(
            summary_line("a", Status::Completed, None, &session, Some(profile), None),
            "✓ a: completed (session: 0123456789abcdef) (profile: fast, model=x/y, thinking=low)"
        );
        let changes = Changes {
            files: 3,
            insertions: 40,
            deletions: 2,
            reference: Some("refs/x".to_owned()),
            ..Changes::default()
        };
        assert_eq!(
            summary_line("a", Status::Completed, None, &session, None, Some(&changes)),
            "✓ a: completed (session: 0123456789abcdef), 3 files +40 −2"
        );
    }
}
