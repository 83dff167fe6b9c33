//! Spans and marks as shapes on the time axis, in percent of its width.

use super::axis::Axis;
use super::escape::duration;
use super::timeline::{MarkKind, Span, SpanKind, Timeline};

/// A bar in the row of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) kind: SpanKind,
    pub(super) left: f64,
    pub(super) width: f64,
    /// Tools that run side by side share the height of the row.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    pub(super) words: String,
}

/// A mark in the row of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub(super) kind: MarkKind,
    pub(super) left: f64,
    pub(super) words: String,
}

/// What is narrower cannot be seen.
const NARROWEST: f64 = 0.2;
/// More tools at once share lanes.
const LANES: usize = 4;

/// The bars of a run. Neighbours that are too narrow to be told apart become one, so that their number
/// depends on the width of the axis and not on the length of the run.
pub(super) fn bars(timeline: &Timeline, axis: &Axis) -> Vec<Bar> {
    let is_tool = |span: &&Span| matches!(span.kind, SpanKind::Tool | SpanKind::FailedTool);
    let others = timeline.spans.iter().filter(|span| !is_tool(span));
    let tools: Vec<&Span> = timeline.spans.iter().filter(is_tool).collect();
    let mut bars = joined(others, axis, "times");
    let mut tools = joined(tools.into_iter(), axis, "tools");
    share_lanes(&mut tools);
    bars.extend(tools);
    bars
}

/// The marks of a run, of which those of one kind on the same spot are one.
pub(super) fn spots(timeline: &Timeline, axis: &Axis) -> Vec<Spot> {
    let mut spots: Vec<Spot> = Vec::new();
    for mark in &timeline.marks {
        let left = axis.position(mark.at);
        let since = duration(mark.at.saturating_sub(timeline.started));
        let words = format!("{} · after {since}", mark.what);
        match spots.iter_mut().rev().find(|spot| spot.kind == mark.kind) {
            Some(last) if left - last.left < 2.0 * NARROWEST => last.words = words,
            _ => spots.push(Spot { kind: mark.kind, left, words }),
        }
    }
    spots
}

struct Group<'a> {
    first: &'a Span,
    count: usize,
    to: u64,
    left: f64,
    right: f64,
    has_failed: bool,
}

fn joined<'a>(spans: impl Iterator<Item = &'a Span>, axis: &Axis, many: &str) -> Vec<Bar> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for span in spans {
        let (left, right) = (axis.position(span.from), axis.position(span.to));
        let has_failed = span.kind == SpanKind::FailedTool;
        let is_narrow = right - left < NARROWEST;
        let same_kind = |kind| {
            kind == span.kind
                || (matches!(kind, SpanKind::Tool | SpanKind::FailedTool) && many == "tools")
        };
        match groups.last_mut() {
            Some(last)
                if is_narrow
                    && same_kind(last.first.kind)
                    && last.right - last.left < (last.count as f64 + 1.0) * NARROWEST
                    && left - last.right < NARROWEST =>
            {
                last.count += 1;
                last.to = last.to.max(span.to);
                last.right = last.right.max(right);
                last.has_failed |= has_failed;
            }
            _ => groups.push(Group { first: span, count: 1, to: span.to, left, right, has_failed }),
        }
    }
    groups.into_iter().map(|group| group.bar(many)).collect()
}

impl Group<'_> {
    fn bar(self, many: &str) -> Bar {
        let took = duration(self.to.saturating_sub(self.first.from));
        let words = match self.count {
            1 => format!("{} · {took}", self.first.what),
            count => format!("{count} {many} · {took}"),
        };
        let kind = if self.has_failed { SpanKind::FailedTool } else { self.first.kind };
        let width = (self.right - self.left).max(NARROWEST);
        // The narrowest bar at the end of the axis must not leave it.
        let left = self.left.min(100.0 - width);
        Bar { kind, left, width, lane: 0, lanes: 1, words }
    }
}

/// Gives bars that overlap lanes of their own.
fn share_lanes(bars: &mut [Bar]) {
    let mut begin = 0;
    while begin < bars.len() {
        let mut ends: Vec<f64> = Vec::new();
        let mut end = begin;
        let mut right = f64::MIN;
        while end < bars.len() && (end == begin || bars[end].left < right) {
            let bar = &mut bars[end];
            let free = ends.iter().position(|lane_end| *lane_end <= bar.left);
            let bar_end = bar.left + bar.width;
            bar.lane = match free {
                Some(lane) => lane,
                None if ends.len() < LANES => ends.len(),
                None => LANES - 1,
            };
            match ends.get_mut(bar.lane) {
                Some(lane_end) => *lane_end = lane_end.max(bar_end),
                None => ends.push(bar_end),
            }
            right = right.max(bar_end);
            end += 1;
        }
        bars[begin..end].iter_mut().for_each(|bar| bar.lanes = ends.len());
        begin = end;
    }
}
