//! When to ask a provider again.

use std::time::Duration;

/// How often, and after which time, a provider that failed is asked again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// How often at most.
    pub max_retries: u32,
    /// The wait before the first time; it doubles each time.
    pub base_delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
    /// The longest wait that a provider may ask for.
    pub max_requested_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(60),
            max_requested_delay: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// How long to wait before this attempt, counted from one, or nothing if it would be of no
    /// use. `chance` is between zero and one: agents that failed together shall not come back
    /// together.
    pub(crate) fn delay(
        &self,
        attempt: u32,
        requested: Option<Duration>,
        chance: f64,
    ) -> Option<Duration> {
        if attempt > self.max_retries {
            return None;
        }
        let delay = match requested {
            Some(requested) if requested > self.max_requested_delay => return None,
            Some(requested) => requested,
            None => {
                let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
                self.base_delay.saturating_mul(doubled).min(self.max_delay)
            }
        };
        // Never earlier than the provider wants it.
        Some(delay.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 4.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_are_spread() {
        let policy = RetryPolicy { max_retries: 9, ..RetryPolicy::default() };
        let seconds = |attempt, chance| policy.delay(attempt, None, chance).unwrap().as_secs_f64();
        assert_eq!([1, 2, 3, 9].map(|attempt| seconds(attempt, 0.0)), [2.0, 4.0, 8.0, 60.0]);
        assert_eq!(seconds(1, 1.0), 2.5);
        assert_eq!(policy.delay(10, None, 0.0), None);
    }

    #[test]
    fn what_the_provider_asks_for_is_kept_unless_it_is_too_long() {
        let policy = RetryPolicy::default();
        let asked = |seconds| policy.delay(1, Some(Duration::from_secs(seconds)), 0.0);
        assert_eq!(asked(0), Some(Duration::ZERO));
        assert_eq!(asked(17), Some(Duration::from_secs(17)));
        assert_eq!(asked(61), None);
    }
}
