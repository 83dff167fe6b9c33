//! How long to wait before a request is repeated.

use std::time::Duration;

use crate::config::Retry;

/// Longer than any agent lives.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How long to wait before this attempt, counted from one, or `None` if there should be none.
/// `chance`, between zero and one, spreads the retries of agents that failed together.
pub(crate) fn delay(
    policy: &Retry,
    attempt: u32,
    requested: Option<Duration>,
    chance: f64,
) -> Option<Duration> {
    if !policy.enabled || attempt > policy.max_retries {
        return None;
    }
    let delay = match requested {
        Some(requested) if policy.max_provider_delay.is_some_and(|most| requested > most) => {
            return None;
        }
        Some(requested) => requested,
        None => {
            let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
            policy.base_delay.saturating_mul(doubled).min(policy.max_delay)
        }
    };
    // Never earlier than the provider asks for, unless it asks for more than a clock can count.
    Some(delay.min(LONGEST).mul_f64(1.0 + chance.clamp(0.0, 1.0) / 4.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AgentSettings;

    #[test]
    fn waits_double_up_to_a_limit_and_are_spread() {
        let policy = Retry { max_retries: 9, ..AgentSettings::default().retry };
        let seconds =
            |attempt, chance| delay(&policy, attempt, None, chance).unwrap().as_secs_f64();
        assert_eq!([1, 2, 3, 9].map(|attempt| seconds(attempt, 0.0)), [2.0, 4.0, 8.0, 60.0]);
        assert_eq!(seconds(1, 1.0), 2.5);
        assert_eq!(delay(&policy, 10, None, 0.0), None);
        assert_eq!(delay(&Retry { enabled: false, ..policy }, 1, None, 0.0), None);
    }

    #[test]
    fn what_the_provider_asks_for_is_kept_unless_it_is_too_long() {
        let policy = AgentSettings::default().retry;
        let asked = |seconds| delay(&policy, 1, Some(Duration::from_secs(seconds)), 0.0);
        assert_eq!(asked(0), Some(Duration::ZERO));
        assert_eq!(asked(17), Some(Duration::from_secs(17)));
        assert_eq!(asked(61), None);
        let patient = Retry { max_provider_delay: None, ..policy };
        let longest = delay(&patient, 1, Some(Duration::MAX), 0.0);
        assert_eq!(longest, Some(LONGEST));
    }
}
