//! How long a provider wants to be left alone.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads `retry-after-ms` and `retry-after`, which is a number of seconds or a date.
pub(super) fn parse(
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
    let date = UNIX_EPOCH + Duration::from_secs(date(text)?);
    Some(date.duration_since(now).unwrap_or_default())
}

fn number(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

/// The seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`. The other forms that HTTP once had
/// are not sent any more.
fn date(text: &str) -> Option<u64> {
    let (_weekday, rest) = text.trim().split_once(", ")?;
    let [day, month, year, time, "GMT"] = rest.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let [hours, minutes, seconds] = time
        .split(':')
        .map(|part| part.parse::<u64>().ok().filter(|part| *part <= 60))
        .collect::<Option<Vec<_>>>()?[..]
    else {
        return None;
    };
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day at the end, where it moves no other day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1;
    const DAYS_BEFORE_1970: u64 = 719_468;
    Some((days - DAYS_BEFORE_1970) * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_since_1970() {
        let cases = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 31 Dec 9999 23:59:60 GMT", Some(253_402_300_800)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 99:49:37 GMT", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1900 08:49:37 GMT", None),
            ("Sun, 06 Nov 18446744073709551615 08:49:37 GMT", None),
            ("soon", None),
        ];
        for (text, expected) in cases {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn all_forms_are_understood() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_770);
        let seconds = Duration::from_secs;
        let cases = [
            (None, None, None),
            (None, Some("3"), Some(seconds(3))),
            (None, Some(" 0.5 "), Some(Duration::from_millis(500))),
            (Some("1500"), Some("3"), Some(Duration::from_millis(1500))),
            (Some("x"), Some("3"), Some(seconds(3))),
            (None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some(seconds(7))),
            (None, Some("Sun, 06 Nov 1994 08:49:00 GMT"), Some(seconds(0))),
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
