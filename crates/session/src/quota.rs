//! A provider that gives nothing more until a time which it names.

use jiff::Timestamp;

use crate::export::utc;

/// Words of providers and agents for an allowance that is used up.
const USED_UP: [&str; 4] = ["usage limit", "hit your limit", "session limit", "quota"];
/// Words in front of the time at which there is more.
const TIMES: [&str; 4] = ["resets ", "reset at ", "try again at ", "try again in "];
/// Claude Code writes the time behind it, in seconds since 1970.
const STAMP: &str = "limit reached|";

/// The error, readable, if it says that an allowance is used up, and until when.
pub fn quota(error: &str) -> Option<String> {
    // Other letters can have another length in lower case, which would cut the words elsewhere.
    let lower = error.to_ascii_lowercase();
    if !USED_UP.iter().any(|words| lower.contains(words)) {
        return None;
    }
    if let Some(at) = lower.find(STAMP) {
        let (words, stamp) = lower.split_at(at + STAMP.len());
        let digits: String = stamp.chars().take_while(char::is_ascii_digit).collect();
        let until = digits.parse::<u64>().ok()?.checked_mul(1000)?;
        // A number that stands for no date is no time at which there is more.
        Timestamp::from_millisecond(until.try_into().ok()?).ok()?;
        let words = error.get(..words.len() - 1)?;
        return Some(format!("{words}. Come again at {}", utc(until)));
    }
    TIMES.iter().any(|words| lower.contains(words)).then(|| error.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_says_until_when_and_everything_else_is_none() {
        for error in [
            "You've hit your limit · resets 3pm (Europe/Berlin)",
            "Claude usage limit reached. Your limit will reset at 3pm (America/New_York).",
            "You've hit your usage limit. Upgrade to Pro or try again in 3 hours 12 minutes.",
        ] {
            assert_eq!(quota(error).as_deref(), Some(error));
        }
        let stamped = quota("Claude AI usage limit reached|1763470800").unwrap();
        assert!(
            stamped.starts_with("Claude AI usage limit reached. Come again at 2025-11-18"),
            "{stamped}"
        );
        let longer = quota("\u{130}: usage limit reached|1763470800").unwrap();
        assert!(longer.starts_with("\u{130}: usage limit reached. Come again at "), "{longer}");
        for error in [
            "429 rate limit exceeded, try again in 3 s",
            "insufficient_quota: You exceeded your current quota",
            "Claude AI usage limit reached|soon",
            "Claude AI usage limit reached|99999999999999999999",
            // Milliseconds in place of seconds would be the year 58854.
            "Claude AI usage limit reached|1795100400666",
            "",
        ] {
            assert_eq!(quota(error), None, "{error}");
        }
    }
}
