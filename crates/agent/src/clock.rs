//! The time, as pi writes it.

use std::time::SystemTime;

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Such as `2026-11-15T18:10:50.465Z`.
pub(crate) fn iso(milliseconds: u64) -> String {
    let (days, time) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    let (year, month, day) = date(days);
    let (hours, minutes) = (time / 3_600_000, time / 60_000 % 60);
    let (seconds, rest) = (time / 1000 % 60, time % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{rest:03}Z")
}

/// The date, so many days after the beginning of 1970. Years are counted from March, so that a
/// leap day is the last one of its year and of its cycle of 400 years.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    let day = day - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = cycle * 400 + year + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_pi_writes_them() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_794_766_250_465, "2026-11-15T18:10:50.465Z"),
        ] {
            assert_eq!(iso(milliseconds), text);
        }
    }
}
