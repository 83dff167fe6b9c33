//! Decides when to draw a frame.

use std::time::{Duration, Instant};

use crate::layout::SPINNER_MS;

/// Joins changes that come together into one frame. Without changes, nothing is drawn.
#[derive(Debug, Default)]
pub struct Pace {
    drawn: Option<Instant>,
    is_changed: bool,
}

impl Pace {
    /// At most thirty frames a second.
    const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 30);
    /// How often what runs moves.
    const TICK: Duration = Duration::from_millis(SPINNER_MS);

    /// Notes that something has changed.
    pub fn change(&mut self) {
        self.is_changed = true;
    }

    /// How long until the next frame; `None` if there is nothing to draw. `has_clocks` says that
    /// something runs, and moves.
    pub fn wait(&self, now: Instant, has_clocks: bool) -> Option<Duration> {
        let interval = match (self.is_changed, has_clocks) {
            (true, _) => Pace::FRAME,
            (false, true) => Pace::TICK,
            (false, false) => return None,
        };
        let since = self.drawn.map(|drawn| now.saturating_duration_since(drawn));
        Some(since.map_or(Duration::ZERO, |since| interval.saturating_sub(since)))
    }

    /// Whether to draw a frame now.
    pub fn draw(&mut self, now: Instant, has_clocks: bool) -> bool {
        let is_time = self.wait(now, has_clocks) == Some(Duration::ZERO);
        if is_time {
            *self = Pace { drawn: Some(now), is_changed: false };
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_come_together_become_one_frame() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut pace = Pace::default();
        assert_eq!(pace.wait(start, false), None, "nothing has changed");
        pace.change();
        assert!(pace.draw(start, false));
        let mut frames = 0;
        for millisecond in 1..=1_000 {
            pace.change();
            frames += usize::from(pace.draw(at(millisecond), true));
        }
        assert!((29..=30).contains(&frames), "{frames}");
        assert!(pace.wait(at(1_001), true).unwrap() < Duration::from_millis(34));
    }

    #[test]
    fn what_runs_moves_ten_times_a_second() {
        let start = Instant::now();
        let mut pace = Pace::default();
        assert!(pace.draw(start, true));
        assert_eq!(pace.wait(start, true), Some(Duration::from_millis(100)));
        assert!(!pace.draw(start + Duration::from_millis(99), true));
        assert!(pace.draw(start + Duration::from_millis(100), true));
        assert_eq!(pace.wait(start, false), None, "nothing else does");
    }
}
