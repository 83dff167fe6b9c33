//! The limits of a provider as figures: how long a request waits, how many may be under way, and what a limit changes. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How many requests a provider takes in which time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pace {
    /// So many requests.
    pub requests: u64,
    /// In so many milliseconds.
    #[serde(rename = "period")]
    pub period_ms: u64,
}

/// What is known of the limits of one account, as it is kept and travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RateState {
    /// In milliseconds since 1970, as all times here.
    pub(super) not_before: u64,
    /// How many requests may be under way at `limited_at`. Zero: no limit was met.
    #[serde(rename = "width")]
    at_once: f64,
    /// When the last limit was met.
    pub(super) limited_at: u64,
    /// When the first request after the last wait was sent.
    began: u64,
    /// How many requests were sent since then, and not refused.
    sent: u64,
    /// What the provider takes, once it is known.
    pub(super) pace: Option<Pace>,
}

/// More requests of a user are never under way at a provider.
pub(super) const PLACES: usize = 256;
/// A longer wait is a quota, for which no request waits silently.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const MINUTE: u64 = 60_000;
/// A provider that takes so many requests in a longer time is asked again anyway.
const LONGEST_PERIOD: u64 = 2 * MINUTE;

impl RateState {
    /// The state without what only a clock that was ahead, or another program, can have written. It would hold up requests
    /// until then.
    pub(super) fn without_implausible_times(mut self, now: u64) -> RateState {
        if self.not_before > now.saturating_add(LONGEST_PERIOD) {
            self.not_before = 0;
        }
        if self.began > now {
            (self.began, self.sent) = (0, 0);
        }
        self.limited_at = self.limited_at.min(now);
        self.pace = self.pace.filter(|pace| pace.period_ms <= LONGEST_PERIOD);
        self
    }

    pub(super) fn is_limited(&self) -> bool {
        self.at_once >= 1.0
    }

    pub(super) fn wait(&self, now: u64) -> Duration {
        let may_be_sent = |pace: &Pace| pace.requests.saturating_add(self.clean_minutes(now));
        let of_pace = self.pace.filter(|pace| self.sent >= may_be_sent(pace));
        let period_ends = of_pace.map_or(0, |pace| self.began.saturating_add(pace.period_ms));
        let until = self.not_before.max(period_ends);
        Duration::from_millis(until.saturating_sub(now)).min(LONGEST_WAIT)
    }

    fn clean_minutes(&self, now: u64) -> u64 {
        now.saturating_sub(self.limited_at) / MINUTE
    }

    /// How many requests may be under way.
    pub(super) fn places(&self, now: u64) -> usize {
        if !self.is_limited() {
            return PLACES;
        }
        let clean = usize::try_from(self.clean_minutes(now)).unwrap_or(PLACES);
        (self.at_once as usize).saturating_add(clean).min(PLACES)
    }

    /// Takes note of a request that is about to be sent, if it may be.
    pub(super) fn send(&mut self, now: u64) -> bool {
        if self.wait(now) > Duration::ZERO {
            return false;
        }
        let is_over =
            self.pace.is_some_and(|pace| now >= self.began.saturating_add(pace.period_ms));
        if self.began < self.not_before || is_over {
            (self.began, self.sent) = (now, 0);
        }
        self.sent = self.sent.saturating_add(1);
        true
    }

    /// The same with what another machine knows, whose clock may be wrong and whose word may be anything.
    pub(super) fn merged_with(self, theirs: &RateState, now: u64) -> RateState {
        let latest = now + u64::try_from(LONGEST_WAIT.as_millis()).unwrap_or(MINUTE);
        let not_before = self.not_before.max(theirs.not_before.min(latest));
        if !theirs.is_limited()
            || theirs.limited_at <= self.limited_at
            || theirs.limited_at > latest
        {
            return RateState { not_before, ..self };
        }
        let (at_once, limited_at) = (theirs.at_once.min(PLACES as f64), theirs.limited_at);
        RateState { not_before, at_once, limited_at, pace: theirs.pace.or(self.pace), ..self }
    }

    /// Takes note of a limit. Requests that were under way together meet the same limit, which narrows how many may be under way once.
    pub(super) fn narrow(&mut self, now: u64, sent_at: u64, wait: Duration, under_way: usize) {
        let until = match u64::try_from(wait.as_millis()) {
            Ok(wait) if wait <= u64::try_from(LONGEST_WAIT.as_millis()).unwrap_or(MINUTE) => {
                now + wait
            }
            _ => now,
        };
        self.sent = self.sent.saturating_sub(1);
        if !self.is_limited() || sent_at > self.limited_at {
            let wide = self.places(now).min(under_way.max(1));
            self.at_once = (wide as f64 * 0.7).max(1.0);
            self.limited_at = now;
            let period_ms = until.saturating_sub(self.began);
            let is_known =
                self.began > 0 && self.sent > 0 && until > now && period_ms <= LONGEST_PERIOD;
            self.pace = is_known.then_some(Pace { requests: self.sent, period_ms }).or(self.pace);
        } else if let Some(pace) = &mut self.pace {
            // It was counted as one that the provider takes.
            pace.requests = pace.requests.saturating_sub(1).max(1);
        }
        self.not_before = self.not_before.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_narrows_once_and_each_clean_minute_widens() {
        let second = Duration::from_secs(1);
        let mut state = RateState::default();
        assert_eq!((state.places(0), state.wait(0)), (PLACES, Duration::ZERO));
        state.narrow(1_000, 900, second, 10);
        assert_eq!((state.places(1_000), state.wait(1_000)), (7, second));
        // Sent before the limit was known.
        state.narrow(1_200, 950, second, 10);
        assert_eq!((state.places(1_200), state.wait(1_200)), (7, second));
        state.narrow(3_000, 2_500, second, 7);
        assert_eq!(state.places(3_000), 4);
        for _ in 0..9 {
            let now = state.limited_at + 10;
            state.narrow(now, now, second, 1);
        }
        assert_eq!(state.places(state.limited_at), 1, "never below one");
        assert_eq!(state.places(state.limited_at + 2 * MINUTE), 3);
    }

    #[test]
    fn what_another_machine_has_learned_later_counts_and_its_clock_stops_nothing() {
        let now = 1_000_000;
        let mut theirs = RateState::default();
        theirs.narrow(now, now, Duration::from_secs(20), 10);
        let merged = RateState::default().merged_with(&theirs, now);
        assert_eq!((merged.places(now), merged.not_before), (7, now + 20_000));
        let own = RateState { at_once: 3.0, limited_at: now + 1, ..RateState::default() };
        let merged = own.merged_with(&theirs, now + 1);
        assert_eq!(
            (merged.places(now + 1), merged.not_before),
            (3, now + 20_000),
            "it met one later"
        );
        let wild =
            RateState { at_once: 1e300, limited_at: u64::MAX, not_before: u64::MAX, ..theirs };
        let merged = own.merged_with(&wild, now);
        assert_eq!((merged.at_once, merged.not_before), (3.0, now + 60_000));
    }

    #[test]
    fn a_wait_that_is_a_quota_is_not_waited_for_silently() {
        let mut state = RateState::default();
        state.narrow(5, 1, Duration::from_secs(3_600), 1);
        assert_eq!(state.wait(5), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_was_ahead_and_a_file_of_nonsense_hold_up_no_request_for_long() {
        let mut state = RateState::default();
        let (second, day) = (Duration::from_secs(1), 24 * 60 * MINUTE);
        state.narrow(day, day - 1, 30 * second, 4);
        assert_eq!(state.without_implausible_times(day), state);
        // The clock was set back. The limit that is met then counts.
        let mut state = state.without_implausible_times(MINUTE);
        assert_eq!(state.wait(MINUTE), Duration::ZERO);
        assert!(state.send(MINUTE));
        state.narrow(MINUTE + 2, MINUTE + 1, second, 4);
        assert_eq!((state.wait(MINUTE + 2), state.places(MINUTE + 2)), (second, 1));
        let most = u64::MAX;
        for period_ms in [most, MINUTE] {
            let pace = Some(Pace { requests: most, period_ms });
            let nonsense = RateState {
                not_before: most,
                at_once: 1e308,
                limited_at: most,
                began: most,
                sent: most,
                pace,
            };
            let mut state = nonsense.without_implausible_times(5);
            assert_eq!((state.wait(5), state.places(5)), (Duration::ZERO, PLACES));
            assert!(state.send(5));
            state.narrow(6, 5, second, 3);
            assert_eq!(state.wait(6), second);
        }
    }

    #[test]
    fn after_two_limits_no_more_is_sent_than_the_provider_takes() {
        let mut state = RateState { at_once: 9.0, ..RateState::default() };
        let wait = Duration::from_millis(400);
        state.narrow(1_000, 900, wait, 9);
        assert_eq!(state.pace, None, "it is not known since when");
        // The provider takes four in 500 ms. Six are sent at once.
        assert!(!state.send(1_399));
        assert!((0..6).all(|_| state.send(1_400)));
        state.narrow(1_405, 1_400, Duration::from_millis(495), 6);
        state.narrow(1_406, 1_400, Duration::from_millis(494), 6);
        assert_eq!(state.pace, Some(Pace { requests: 4, period_ms: 500 }));
        for period in 0..5 {
            let begin = 1_900 + 500 * period;
            assert!((0..4).all(|_| state.send(begin)), "{state:?}");
            assert!(!state.send(begin + 499));
        }
        // Much later one more is tried for each minute.
        let later = state.limited_at + MINUTE;
        assert!((0..5).all(|_| state.send(later)) && !state.send(later));
    }

    #[test]
    fn files_and_messages_of_other_versions_keep_their_names() {
        let text = r#"{"notBefore":1,"width":2.0,"limitedAt":3,"began":4,"sent":5,"pace":{"requests":6,"period":7}}"#;
        let pace = Some(Pace { requests: 6, period_ms: 7 });
        let state =
            RateState { not_before: 1, at_once: 2.0, limited_at: 3, began: 4, sent: 5, pace };
        assert_eq!(serde_json::from_str::<RateState>(text).unwrap(), state);
        assert_eq!(serde_json::to_string(&state).unwrap(), text);
    }
}
