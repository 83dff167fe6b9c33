//! Texts and numbers as they may stand in a page.

use model::clean;

/// A text of others, in an element or between the quotes of an attribute. It never becomes markup.
pub(super) fn escaped(text: &str) -> String {
    let text = clean(text);
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A share of a width, with as many decimal places as a screen can show.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{share:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

/// How long something took: `40 ms`, `0.4 s`, `42 s`, `5:01`, `1:05:01`.
pub(super) fn duration(milliseconds: u64) -> String {
    // What would be rounded up to ten seconds has no decimal place.
    match milliseconds {
        0..100 => format!("{milliseconds} ms"),
        100..9_950 => format!("{:.1} s", milliseconds as f64 / 1e3),
        9_950..60_000 => format!("{} s", milliseconds.saturating_add(500).min(59_999) / 1_000),
        _ => clock(milliseconds),
    }
}

/// A time in seconds: `0:12`, `1:05:01`.
pub(super) fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds / 3_600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escaped("a<b>&'\"\u{1b}[31mc"), "a&lt;b&gt;&amp;&#39;&quot;c");
    }

    #[test]
    fn numbers_are_as_long_as_they_must_be() {
        assert_eq!([0.0, 12.5, 33.333, 100.0].map(percent), ["0%", "12.5%", "33.33%", "100%"]);
        for (milliseconds, expected) in [
            (0, "0 ms"),
            (440, "0.4 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (59_999, "59 s"),
            (60_000, "1:00"),
            (301_999, "5:01"),
            (3_901_000, "1:05:01"),
        ] {
            assert_eq!(duration(milliseconds), expected);
        }
    }
}
