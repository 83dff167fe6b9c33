//! Screens after each other as a moving picture: an SVG without a script, which pages show as any other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use super::svg::{self, Piece, Size};

/// What was on the screen from a moment on.
pub(super) struct Frame {
    pub(super) at: Duration,
    pub(super) screen: vt100::Screen,
}

/// How long the last frame stays until everything begins again.
const LAST: Duration = Duration::from_secs(4);

/// The frames as they came, again and again. Where nothing moves, because the reader wants it so or the
/// program cannot, the frame at `poster` is shown.
///
/// Each text is drawn once, and shown while it was on the screen. So the picture is as large as what was
/// seen, however many frames that were.
pub(super) fn film(frames: &[Frame], poster: Duration) -> String {
    let mut seen = BTreeMap::<Piece, BTreeSet<usize>>::new();
    for (number, frame) in frames.iter().enumerate() {
        for piece in svg::pieces(&frame.screen) {
            seen.entry(piece).or_default().insert(number);
        }
    }
    let mut groups = BTreeMap::<Vec<Showing>, Vec<Piece>>::new();
    for (piece, numbers) in seen {
        groups.entry(showings(&numbers)).or_default().push(piece);
    }
    let length = frames.last().map_or(LAST, |last| last.at + LAST);
    let poster = frames.iter().rposition(|frame| frame.at <= poster).unwrap_or(0);
    let mut styles = format!(
        "g{{visibility:hidden;animation:{:.2}s step-end infinite}}.p{{visibility:visible}}\n\
         @media (prefers-reduced-motion:reduce){{g{{animation:none!important}}}}\n",
        length.as_secs_f64()
    );
    let mut body = String::new();
    for (number, (showings, pieces)) in groups.iter().enumerate() {
        let is_always = showings.as_slice() == [Showing { from: 0, until: frames.len() }];
        if !is_always {
            let is_in_poster =
                showings.iter().any(|showing| (showing.from..showing.until).contains(&poster));
            let class = if is_in_poster { " class=\"p\"" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                styles,
                "#g{number}{{animation-name:k{number}}}@keyframes k{number}{{{}}}",
                keyframes(showings, frames, length)
            );
            let _ = writeln!(body, "<g id=\"g{number}\"{class}>");
        }
        for piece in pieces {
            piece.draw(&mut body);
        }
        if !is_always {
            body.push_str("</g>\n");
        }
    }
    let size = frames.last().map_or(Size { rows: 1, columns: 1 }, |last| {
        let (rows, columns) = last.screen.size();
        Size { rows: rows.get(), columns: columns.get() }
    });
    svg::begin(size, &styles) + &body + "</svg>\n"
}

/// Frames in a row in which something is seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Showing {
    from: usize,
    until: usize,
}

fn showings(numbers: &BTreeSet<usize>) -> Vec<Showing> {
    let mut showings: Vec<Showing> = Vec::new();
    for number in numbers {
        match showings.last_mut() {
            Some(last) if last.until == *number => last.until += 1,
            _ => showings.push(Showing { from: *number, until: number + 1 }),
        }
    }
    showings
}

fn keyframes(showings: &[Showing], frames: &[Frame], length: Duration) -> String {
    let percent = |frame: usize| {
        let at = frames.get(frame).map(|frame| frame.at)?;
        Some(100.0 * at.as_secs_f64() / length.as_secs_f64())
    };
    let mut text = String::new();
    if showings.first().is_some_and(|first| first.from > 0) {
        text.push_str("0%{visibility:hidden}");
    }
    for Showing { from, until } in showings {
        let shown = [(*from, "visible"), (*until, "hidden")];
        for (at, word) in
            shown.into_iter().filter_map(|(frame, word)| Some((percent(frame)?, word)))
        {
            // Writing to a string cannot fail.
            let _ = write!(text, "{at:.2}%{{visibility:{word}}}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    #[test]
    fn each_text_is_drawn_once_and_shown_while_it_was_seen() {
        let size = |number| NonZero::new(number).unwrap_or(NonZero::<u16>::MIN);
        let frame = |at: u64, text: &str| {
            let mut parser = vt100::Parser::new(size(2), size(20), 0);
            parser.process(text.as_bytes());
            Frame { at: Duration::from_secs(at), screen: parser.screen().clone() }
        };
        let svg = film(
            &[frame(0, "$  one"), frame(2, "$  two"), frame(6, "$  one")],
            Duration::from_secs(3),
        );
        assert_eq!(svg.matches("<text ").count(), 3, "{svg}");
        assert!(
            svg.contains(
                "{0.00%{visibility:visible}20.00%{visibility:hidden}60.00%{visibility:visible}}"
            ),
            "{svg}"
        );
        assert!(
            svg.contains(
                "{0%{visibility:hidden}20.00%{visibility:visible}60.00%{visibility:hidden}}"
            ),
            "{svg}"
        );
        assert_eq!(svg.matches("class=\"p\"").count(), 1, "{svg}");
    }
}
