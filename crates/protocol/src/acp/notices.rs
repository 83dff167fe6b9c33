//! What agents say in their own name among the words of their model: that the provider has failed, and that they try
//! again. Their turn ends as if all were well.

use super::make::Make;

/// Something that is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The provider has failed, for this reason.
    Failure(String),
    /// The provider has failed, and is asked again; what was said so far will be said anew.
    Retry(String),
}

/// What a piece of text is, if it is not the model's. GitHub Copilot puts its own words into pieces of their own.
pub(super) fn of_piece(make: Make, text: &str) -> Option<Notice> {
    if make != Make::Copilot {
        return None;
    }
    if let Some(words) =
        text.strip_prefix("Info: ").and_then(|text| text.strip_suffix("Retrying..."))
    {
        return Some(Notice::Retry(words.trim().to_owned()));
    }
    let words = text.strip_prefix("Error: ")?;
    let is_own = is_status(words) || words.starts_with("Failed to get response from the AI model");
    is_own.then(|| Notice::Failure(words.trim().to_owned()))
}

/// Why a turn has failed that ended with these words, if they are not an answer: the words of Claude Code, which its
/// adapters pass on, and those of GitHub Copilot in a turn for which no tokens were told.
pub(super) fn of_end(make: Make, text: &str, is_usage_told: bool) -> Option<String> {
    let text = text.trim();
    let is_copilot = make == Make::Copilot && !is_usage_told;
    let words = match text.strip_prefix("Error: ").filter(|_| is_copilot) {
        Some(words) => words,
        None => text.strip_prefix("API Error: ").map(|_| text)?,
    };
    Some(words.to_owned())
}

/// Whether the text begins with the status of an answer, such as `400 bad thing`.
fn is_status(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3 && text[digits..].starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_agent_are_told_from_those_of_its_model() {
        let failure = |words: &str| Some(Notice::Failure(words.to_owned()));
        let long = "Failed to get response from the AI model; retried 5 times";
        for (make, text, expected) in [
            (Make::Copilot, "Error: 400 bad thing", failure("400 bad thing")),
            (Make::Copilot, &format!("Error: {long}"), failure(long)),
            (Make::Copilot, "Error: the file is missing", None),
            (Make::Copilot, "Error: 4000 files", None),
            (Make::Other, "Error: 400 bad thing", None),
            (
                Make::Copilot,
                "Info: Response was interrupted due to a server error. Retrying...",
                Some(Notice::Retry("Response was interrupted due to a server error.".to_owned())),
            ),
            (Make::Copilot, "Info: all is well", None),
        ] {
            assert_eq!(of_piece(make, text), expected, "{text}");
        }
        for (make, text, is_usage_told, expected) in [
            (Make::Copilot, "Error: it is offline", false, Some("it is offline")),
            (Make::Copilot, "Error: it is offline", true, None),
            (Make::Other, "Error: it is offline", false, None),
            (Make::Other, "API Error: 400 bad thing", true, Some("API Error: 400 bad thing")),
            (Make::Other, "The API Error: 400", true, None),
        ] {
            assert_eq!(of_end(make, text, is_usage_told).as_deref(), expected, "{text}");
        }
    }
}
