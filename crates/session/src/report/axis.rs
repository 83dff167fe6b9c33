//! From moments to places on the time axis that all agents share.
//!
//! Runs of one session may be days apart. A long time in which no agent works is drawn as a narrow
//! break, so that what happened before and after it stays visible.

use super::escape::{clock, duration};

/// The time axis of a page. Its width is 100.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// In the order of time, and at least one.
    stretches: Vec<Stretch>,
}

/// A time in which agents worked.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    from: u64,
    to: u64,
    left: f64,
    width: f64,
}

/// A labelled place on the axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) left: f64,
    pub(super) label: String,
}

/// A time that was left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Break {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) label: String,
}

impl Axis {
    const WIDTH: f64 = 100.0;
    /// The width of a break, and of all breaks together.
    const BREAK: f64 = 2.0;
    const BREAKS: f64 = 30.0;
    /// A label needs this much of the width.
    const LABEL: f64 = 14.0;
    /// The distances of ticks, in milliseconds.
    const STEPS: [u64; 22] = [
        10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000,
        300_000, 600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
    ];

    /// An axis for what happened in these times, each from its beginning to its end.
    pub(super) fn new(mut times: Vec<(u64, u64)>) -> Axis {
        times.sort_unstable();
        let mut busy: Vec<(u64, u64)> = Vec::new();
        for (from, to) in times {
            match busy.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => busy.push((from, to.max(from))),
            }
        }
        let worked = busy.iter().fold(0, |sum: u64, (from, to)| sum.saturating_add(to - from));
        let longest_gap = (worked / 4).max(1_000);
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for (from, to) in busy {
            match stretches.last_mut() {
                Some(last) if from - last.1 <= longest_gap => last.1 = to,
                _ => stretches.push((from, to)),
            }
        }
        if stretches.is_empty() {
            stretches.push((0, 0));
        }
        Axis::of_stretches(&stretches)
    }

    fn of_stretches(stretches: &[(u64, u64)]) -> Axis {
        let breaks = (stretches.len() - 1) as f64;
        let gap = Axis::BREAK.min(Axis::BREAKS / breaks.max(1.0));
        // A stretch without any length still has a place.
        let length = |(from, to): &(u64, u64)| (to - from).max(1) as f64;
        let total: f64 = stretches.iter().map(length).sum();
        let scale = (Axis::WIDTH - breaks * gap) / total;
        let mut left = 0.0;
        let place = |stretch: &(u64, u64)| {
            let width = length(stretch) * scale;
            let placed = Stretch { from: stretch.0, to: stretch.1, left, width };
            left += width + gap;
            placed
        };
        Axis { stretches: stretches.iter().map(place).collect() }
    }

    /// Where the moment is, from 0 to 100. A moment in a break is where the break ends.
    pub(super) fn position(&self, at: u64) -> f64 {
        let position = match self.stretches.iter().find(|stretch| at <= stretch.to) {
            None => Axis::WIDTH,
            Some(stretch) => {
                let share = at.saturating_sub(stretch.from) as f64 / stretch.length();
                stretch.left + share * stretch.width
            }
        };
        position.clamp(0.0, Axis::WIDTH)
    }

    /// Moments with their times since the beginning of their stretch, as many as have room.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        for tick in self.stretches.iter().flat_map(Stretch::ticks) {
            if ticks.last().is_none_or(|last| tick.left - last.left >= Axis::LABEL * 0.9) {
                ticks.push(tick);
            }
        }
        ticks
    }

    /// The times that were left out.
    pub(super) fn breaks(&self) -> Vec<Break> {
        let pairs = self.stretches.iter().zip(self.stretches.iter().skip(1));
        let between = pairs.map(|(before, after)| {
            let left = before.left + before.width;
            let label = format!("{} later", duration(after.from - before.to));
            Break { left, width: after.left - left, label }
        });
        between.collect()
    }
}

impl Stretch {
    fn length(&self) -> f64 {
        (self.to - self.from).max(1) as f64
    }

    fn ticks(&self) -> Vec<Tick> {
        let step = Axis::STEPS.into_iter().find(|step| {
            // The first step that leaves room for its labels.
            *step as f64 / self.length() * self.width >= Axis::LABEL
        });
        let longest = self.to - self.from;
        let step = step.unwrap_or(longest.max(1));
        let words = |since: u64| match step {
            0..1_000 => format!("{} s", since as f64 / 1e3),
            _ => clock(since),
        };
        let mut ticks = Vec::new();
        let mut since = 0;
        while since <= longest {
            let left = self.left + since as f64 / self.length() * self.width;
            // The label of the last tick must not leave the axis.
            if ticks.is_empty() || left <= self.left + self.width - Axis::LABEL / 2.0 {
                ticks.push(Tick { left, label: words(since) });
            }
            since = since.saturating_add(step);
            if since == u64::MAX {
                break;
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn agents_at_once_share_one_stretch() {
        let axis = Axis::new(vec![(5_000, 9_000), (1_000, 6_000), (9_500, 11_000)]);
        assert_eq!(
            [0, 1_000, 6_000, 11_000, 99_000].map(|at| axis.position(at)),
            [0.0, 0.0, 50.0, 100.0, 100.0]
        );
        assert!(axis.breaks().is_empty());
        assert_eq!(labels(&axis), ["0:00", "0:02", "0:04", "0:06", "0:08"]);
    }

    #[test]
    fn a_long_pause_is_a_narrow_break() {
        let day = 86_400_000;
        let axis = Axis::new(vec![(0, 10_000), (day, day + 10_000)]);
        assert_eq!(
            axis.breaks(),
            [Break { left: 49.0, width: 2.0, label: "23:59:50 later".to_owned() }]
        );
        assert_eq!(axis.position(10_000), 49.0);
        assert_eq!(axis.position(50_000), 51.0, "in the break");
        assert_eq!(axis.position(day + 10_000), 100.0);
        assert_eq!(labels(&axis), ["0:00", "0:05", "0:00", "0:05"]);
    }

    #[test]
    fn any_times_have_places_and_few_ticks() {
        for times in [
            vec![],
            vec![(0, 0)],
            vec![(u64::MAX, u64::MAX), (0, 0)],
            vec![(0, u64::MAX)],
            vec![(7, 3)],
            (0..1_000).map(|number| (number * 1_000_000, number * 1_000_000 + 5)).collect(),
        ] {
            let axis = Axis::new(times);
            for at in [0, 1, 1_000_000, u64::MAX] {
                assert!((0.0..=100.0).contains(&axis.position(at)));
            }
            assert!(axis.ticks().len() <= 10);
        }
    }

    #[test]
    fn short_times_have_ticks_in_parts_of_seconds() {
        assert_eq!(labels(&Axis::new(vec![(0, 450)])), ["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s"]);
    }
}
