//! A moment, in words.

/// `2026-11-16 02:31:00 UTC`, of milliseconds since 1970.
pub(super) fn utc(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02} UTC")
}

/// The date of a day, counted from the first of 1970. Years are taken to begin in March, so that the
/// day that some have and others have not is their last.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    // From the first of March of the year 0 to the first of January 1970.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / (DAYS_IN_400_YEARS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_735_689_600, "2025-01-01 00:00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds * 1000), expected);
        }
        assert!(utc(u64::MAX).ends_with(" UTC"), "any number is a moment");
    }
}
