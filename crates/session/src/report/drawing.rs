//! The drawings of the page. Places are shares of the width, so that they follow the window without a
//! script, and styles are classes, because the page's policy permits no style of an element.

use std::fmt::Write;

use super::axis::Axis;
use super::bars::{Bar, Spot, bars, spots};
use super::escape::{escaped, percent};
use super::spending::Spending;
use super::timeline::{MarkKind, SpanKind, Timeline};

/// What other drawings refer to: the lines of the axis, and the shapes of marks.
pub(super) fn definitions(axis: &Axis) -> String {
    let mut svg =
        "<svg class=\"definitions\" aria-hidden=\"true\">\n<symbol id=\"grid\">".to_owned();
    for tick in axis.ticks() {
        let left = percent(tick.left);
        let _ = write!(svg, "<line x1=\"{left}\" x2=\"{left}\" y2=\"100%\"/>");
    }
    for gap in axis.breaks() {
        let (left, width) = (percent(gap.left), percent(gap.width));
        let _ = write!(
            svg,
            "<rect class=\"break\" x=\"{left}\" width=\"{width}\" height=\"100%\"><title>{}</title></rect>",
            gap.label
        );
    }
    svg.push_str(
        "</symbol>\n\
         <path id=\"retry\" d=\"M-4 -2A4.5 4.5 0 1 1 -4.2 2M-4.5 -5.5V-1.5H-.8\"/>\n\
         <path id=\"message\" d=\"M-5 -4H5V2.5H0L-3 5.5V2.5H-5Z\"/>\n\
         <path id=\"stop\" d=\"M-4.5 -4.5H4.5V4.5H-4.5Z\"/>\n\
         <path id=\"warning\" d=\"M0 -5.5L5.5 4.5H-5.5Z\"/>\n</svg>\n",
    );
    svg
}

/// The times above the rows.
pub(super) fn axis_labels(axis: &Axis) -> String {
    let mut svg = "<svg class=\"axis\" aria-hidden=\"true\"><use href=\"#grid\" width=\"100%\" height=\"100%\"/>".to_owned();
    for tick in axis.ticks() {
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"12\" dx=\"4\">{}</text>",
            percent(tick.left),
            tick.label
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The row of an agent.
pub(super) fn track(timeline: &Timeline, axis: &Axis, label: &str) -> String {
    let mut svg = format!(
        "<svg class=\"track\" role=\"img\" aria-label=\"{}\"><use href=\"#grid\" width=\"100%\" height=\"100%\"/>",
        escaped(label)
    );
    bars(timeline, axis).iter().for_each(|bar| push_bar(bar, &mut svg));
    spots(timeline, axis).iter().for_each(|spot| push_spot(spot, &mut svg));
    svg.push_str("</svg>");
    svg
}

fn push_bar(bar: &Bar, svg: &mut String) {
    let class = match bar.kind {
        SpanKind::Waiting => "waiting",
        SpanKind::Starting => "starting",
        SpanKind::Model => "model",
        SpanKind::Tool => "tool",
        SpanKind::FailedTool => "tool failed",
        SpanKind::Retry => "pause",
    };
    // What is no work is a thin line in the middle.
    let (top, height) = match bar.kind {
        SpanKind::Waiting | SpanKind::Starting | SpanKind::Retry => (44.0, 12.0),
        SpanKind::Model => (20.0, 60.0),
        SpanKind::Tool | SpanKind::FailedTool => {
            let height = 88.0 / bar.lanes as f64;
            (6.0 + height * bar.lane as f64, height)
        }
    };
    let _ = write!(
        svg,
        "<rect class=\"bar {class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
        percent(bar.left),
        percent(top),
        percent(bar.width),
        percent(height),
        escaped(&bar.words)
    );
}

fn push_spot(spot: &Spot, svg: &mut String) {
    let shape = match spot.kind {
        MarkKind::Retry => "retry",
        MarkKind::Message => "message",
        MarkKind::Stop => "stop",
        MarkKind::Warning => "warning",
    };
    let _ = write!(
        svg,
        "<use class=\"bar mark {shape}\" href=\"#{shape}\" x=\"{}\" y=\"50%\"><title>{}</title></use>",
        percent(spot.left),
        escaped(&spot.words)
    );
}

/// The sum that was spent as it grew.
pub(super) fn spending(spending: &Spending, label: &str) -> String {
    let path = spending.path();
    format!(
        "<svg class=\"spending\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><path class=\"area\" d=\"{path}V100Z\"/><path class=\"line\" d=\"{path}\"/></svg>",
        escaped(label)
    )
}
