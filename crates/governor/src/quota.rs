//! When a provider gives something again whose allowance is used up, by its own words.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// Words in front of an amount of time, or of a time. The longer ones come first.
const MARKS: [&str; 7] = [
    "come again at ",
    "try again at ",
    "try again in ",
    "resets at ",
    "resets in ",
    "reset at ",
    "resets ",
];
/// Claude Code writes the time behind it, in seconds since 1970.
const STAMP: &str = "limit reached|";
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// A time of day that has passed so shortly is the one that was meant: clocks differ, and times are rounded.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(10);

/// When it is worth asking again, in milliseconds since 1970; absent if the words name no time that is understood.
pub fn quota_ends(error: &str) -> Option<u64> {
    ends(error, &Zoned::now())
}

fn ends(error: &str, now: &Zoned) -> Option<u64> {
    let error = error.to_lowercase();
    if let Some((_, stamp)) = error.split_once(STAMP) {
        let digits: String = stamp.chars().take_while(char::is_ascii_digit).collect();
        let again = Timestamp::from_second(digits.parse().ok()?).ok()?;
        return u64::try_from(again.as_millisecond()).ok();
    }
    let (mark, words) = MARKS
        .into_iter()
        .find_map(|mark| error.find(mark).map(|at| (mark, &error[at + mark.len()..])))?;
    let words: Vec<&str> = words.split([' ', ',', '\n']).filter(|word| !word.is_empty()).collect();
    let again = if mark.ends_with("in ") { amount(&words, now) } else { point(&words, now) };
    u64::try_from(again?.as_millisecond()).ok()
}

/// After an amount of time, such as `3 hours 12 minutes` or `2h 5m`.
fn amount(words: &[&str], now: &Zoned) -> Option<Timestamp> {
    let mut seconds = 0_i64;
    let mut number = None;
    for word in words.iter().filter(|word| **word != "and") {
        let (digits, unit) =
            word.split_at(word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len()));
        if !digits.is_empty() {
            number = digits.parse::<i64>().ok();
        }
        let unit = unit.trim_end_matches(['.', ')', ';']);
        if unit.is_empty() && number.is_some() {
            continue;
        }
        let (Some(count), Some(length)) = (number.take(), seconds_of(unit)) else { break };
        seconds = seconds.checked_add(count.checked_mul(length)?)?;
    }
    let duration = Some(SignedDuration::from_secs(seconds)).filter(|length| !length.is_zero())?;
    now.timestamp().checked_add(duration).ok()
}

fn seconds_of(unit: &str) -> Option<i64> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        _ => return None,
    })
}

/// At a time, such as `3pm (Europe/Berlin)`, `Nov 20th, 2026 3:12 PM` or `2026-11-20 15:12:00 UTC`.
fn point(words: &[&str], now: &Zoned) -> Option<Timestamp> {
    let (mut year, mut month, mut day, mut time, mut zone) = (None, None, None, None, None);
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let plain = word.trim_matches(['(', ')', '.', ';']);
        let found_month = MONTHS.iter().position(|name| plain.starts_with(name));
        if plain == "at" || plain == "on" {
        } else if let Ok(date) = plain.parse::<Date>() {
            (year, month, day) = (Some(date.year()), Some(date.month()), Some(date.day()));
        } else if let (None, Some(found)) = (month, found_month) {
            month = i8::try_from(found + 1).ok();
        } else if let (Some(_), None, Some(number)) = (month, day, ordinal(plain)) {
            day = Some(number);
        } else if let (None, Some(number)) = (year, plain.parse().ok().filter(|year| *year > 999)) {
            year = Some(number);
        } else if let (None, Some(found)) = (time, time_of_day(plain, words.peek().copied())) {
            time = Some(found);
        } else if let Some(found) = time.and_then(|_| zone_named(plain)) {
            zone = Some(found);
        } else if !matches!(plain, "am" | "pm") {
            break;
        }
    }
    let zone = zone.unwrap_or_else(|| now.time_zone().clone());
    let here = now.with_time_zone(zone.clone());
    let at = |date: Date| {
        let at = DateTime::from_parts(date, time?).to_zoned(zone.clone()).ok()?;
        Some(at.timestamp())
    };
    let (Some(month), Some(day)) = (month, day) else {
        let today = at(here.date())?;
        let has_passed = today.checked_add(JUST_PASSED).ok()? < now.timestamp();
        return if has_passed { at(here.date().tomorrow().ok()?) } else { Some(today) };
    };
    let date = Date::new(year.unwrap_or(here.year()), month, day).ok()?;
    if year.is_none() && date < here.date() {
        return at(Date::new(here.year() + 1, month, day).ok()?);
    }
    at(date)
}

/// `20`, `20th`.
fn ordinal(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// `3pm`, `3:12pm`, `15:00`, `15:00:40`, or `3:12` in front of `pm`.
fn time_of_day(word: &str, next: Option<&&str>) -> Option<Time> {
    let half =
        |word: &str| word.starts_with("am").then_some(0).or(word.starts_with("pm").then_some(12));
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let half = half(&word[digits.len()..]).or_else(|| half(next?));
    let mut parts = digits.split(':').map(str::parse::<i8>);
    let hour = parts.next()?.ok()?;
    let minute = parts.next().map(Result::ok);
    let second = parts.next().map_or(Some(0), Result::ok)?;
    // A number alone is no time.
    if half.is_none() && minute.is_none() {
        return None;
    }
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute.map_or(Some(0), |minute| minute)?, second, 0).ok()
}

fn zone_named(word: &str) -> Option<TimeZone> {
    // The names of the database are found in any case.
    TimeZone::get(word).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_when_is_understood() {
        let now: Zoned = "2026-11-19T14:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for (error, again) in [
            ("Claude AI usage limit reached|1795100400", "2026-11-19T15:00:00Z"),
            ("You've hit your limit · resets 3pm (Europe/Berlin)", "2026-11-19T14:00:00Z"),
            ("Your limit will reset at 3pm (America/New_York).", "2026-11-19T20:00:00Z"),
            ("You've hit your limit. It resets 11am", "2026-11-20T10:00:00Z"),
            ("session limit reached: resets 12am (UTC)", "2026-11-20T00:00:00Z"),
            ("Weekly limit: resets Nov 23, 1pm (Europe/Berlin)", "2026-11-23T12:00:00Z"),
            ("Weekly limit: resets Jan 2 at 9am (UTC)", "2027-01-02T09:00:00Z"),
            ("quota: try again in 3 hours 12 minutes.", "2026-11-19T16:42:00Z"),
            (
                "usage limit. Upgrade or try again in 1 day, 2 hours and 5 minutes",
                "2026-11-20T15:35:00Z",
            ),
            ("quota exceeded, resets in 2h 5m", "2026-11-19T15:35:00Z"),
            ("quota: please try again in 40s.", "2026-11-19T13:30:40Z"),
            ("usage limit: try again at 3:12 PM.", "2026-11-19T14:12:00Z"),
            ("usage limit: try again at Nov 20th, 2026 3:12 PM.", "2026-11-20T14:12:00Z"),
            ("Come again at 2026-11-19 15:00:00 UTC", "2026-11-19T15:00:00Z"),
            ("Come again at 2026-11-19 15:00:40 UTC", "2026-11-19T15:00:40Z"),
            // It was meant to be over by now.
            ("You've hit your limit · resets 2:25pm (Europe/Berlin)", "2026-11-19T13:25:00Z"),
        ] {
            let expected: Timestamp = again.parse().unwrap();
            let expected = u64::try_from(expected.as_millisecond()).ok();
            assert_eq!(ends(error, &now), expected, "{error}");
        }
    }

    #[test]
    fn words_without_a_time_name_none() {
        let now: Zoned = "2026-11-19T14:30:00+01:00[Europe/Berlin]".parse().unwrap();
        for error in [
            "",
            "quota exceeded",
            "try again in a while",
            "try again in 5 fortnights",
            "try again in 99999999999999999999 hours",
            "try again in 9223372036854775807 days",
            "resets when the moon is full",
            "resets 25pm",
            "resets 15:00:99",
            "resets 3",
            "resets Feb 31 at 3pm",
            "usage limit reached|soon",
            "usage limit reached|99999999999999999999",
            "usage limit reached|1795100400666",
            "resets Ŧ3pm",
        ] {
            assert_eq!(ends(error, &now), None, "{error}");
        }
    }
}
