//! How long a provider asks us to wait before the next request.

use std::time::{Duration, SystemTime};

use jiff::fmt::rfc2822::DateTimeParser;

/// A date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`, is one of RFC 2822. A wrong day of the
/// week is no reason to ignore the date.
static DATES: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// Reads `retry-after-ms` and `retry-after`, which is a number of seconds or a date.
pub fn parse(
    milliseconds: Option<&str>,
    seconds_or_date: Option<&str>,
    now: SystemTime,
) -> Option<Duration> {
    if let Some(duration) = milliseconds.and_then(|text| number(text, 1000.0)) {
        return Some(duration);
    }
    let text = seconds_or_date?;
    if let Some(duration) = number(text, 1.0) {
        return Some(duration);
    }
    let date = SystemTime::from(DATES.parse_timestamp(text.trim()).ok()?);
    Some(date.duration_since(now).unwrap_or_default())
}

fn number(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_understood() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let seconds = Duration::from_secs;
        let cases = [
            (None, None, None),
            (None, Some("3"), Some(seconds(3))),
            (None, Some(" 0.5 "), Some(Duration::from_millis(500))),
            (Some("1500"), Some("3"), Some(Duration::from_millis(1500))),
            (Some("x"), Some("3"), Some(seconds(3))),
            (None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(seconds(7))),
            (None, Some(" Sun, 6 Nov 1994 08:49:37 GMT "), Some(seconds(7))),
            (None, Some("Mon, 06 Nov 1994 08:49:37 GMT"), Some(seconds(7))),
            (None, Some("Sun, 06 Nov 1994 08:49:60 GMT"), Some(seconds(29))),
            (None, Some("Sun, 06 Nov 1994 08:49:00 GMT"), Some(seconds(0))),
            (None, Some("Tue, 06 Nov 1900 08:49:37 GMT"), Some(seconds(0))),
            (None, Some("Tue, 07 Nov 1995 08:49:37 GMT"), Some(seconds(366 * 86_400 + 7))),
            (None, Some("Fri, 31 Dec 9999 23:59:59 GMT"), None),
            (None, Some("Sunday, 06-Nov-94 08:49:37 GMT"), None),
            (None, Some("Sun, 06 Nov 1994 99:49:37 GMT"), None),
            (None, Some("Sun, 31 Feb 1994 08:49:37 GMT"), None),
            (None, Some("Sun, 06 Nov 18446744073709551615 08:49:37 GMT"), None),
            (None, Some("-1"), None),
            (None, Some("NaN"), None),
            (None, Some("1e99"), None),
            (None, Some("soon"), None),
        ];
        for (milliseconds, text, expected) in cases {
            assert_eq!(parse(milliseconds, text, now), expected, "{milliseconds:?} {text:?}");
        }
    }
}
