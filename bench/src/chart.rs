//! Figures as lines in a picture with logarithmic axes: what grows in proportion is straight.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 236.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 48.0;
const BACKGROUND: &str = "#ffffff";
const INK: &str = "#24292f";
const GRID: &str = "#d8dee4";
const PALETTE: [&str; 8] =
    ["#8c959f", "#0969da", "#cf222e", "#bc4c00", "#8250df", "#1a7f37", "#4ac26b", "#afb8c1"];

/// The values of one contender.
pub(crate) struct Line {
    pub(crate) name: String,
    /// A value at each mark of the axis, where it is known.
    pub(crate) values: Vec<Option<f64>>,
}

/// Draws lines over an axis with these marks. The name of each line stands beside its end.
pub(crate) fn draw(title: &str, marks: &[usize], lines: &[Line]) -> String {
    let values = lines.iter().flat_map(|line| line.values.iter().flatten().copied());
    let (least, most) = values
        .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    let (least, most) = (least.log10().floor(), most.log10().ceil());
    let x = |index: usize| {
        let part = index as f64 / (marks.len().max(2) - 1) as f64;
        LEFT + part * (WIDTH - LEFT - RIGHT)
    };
    let y = |value: f64| {
        let part = (value.log10() - least) / (most - least).max(1.0);
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"{INK}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{BACKGROUND}\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{title}</text>\n"
    );
    // Writing to a string cannot fail.
    let mut add = |text: String| {
        let _ = writeln!(svg, "{text}");
    };
    let mut power = least;
    while power <= most {
        let (height, label) = (y(10_f64.powf(power)), shown(10_f64.powf(power)));
        let end = WIDTH - RIGHT;
        add(format!(
            "<line x1=\"{LEFT}\" y1=\"{height:.1}\" x2=\"{end}\" y2=\"{height:.1}\" stroke=\"{GRID}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            height + 4.0
        ));
        power += 1.0;
    }
    for (index, mark) in marks.iter().enumerate() {
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark}</text>",
            x(index),
            HEIGHT - BOTTOM + 22.0
        ));
    }
    let mut labels = Vec::new();
    for (line, colour) in lines.iter().zip(PALETTE.iter().cycle()) {
        let points: Vec<(f64, f64)> = line
            .values
            .iter()
            .enumerate()
            .filter_map(|(index, value)| Some((x(index), y((*value)?))))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        ));
        for (x, y) in &points {
            add(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"));
        }
        labels.extend(points.last().map(|(_, y)| (*y, &line.name, *colour)));
    }
    for (height, name, colour) in apart(labels) {
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            WIDTH - RIGHT + 10.0,
            height + 4.0
        ));
    }
    svg + "</svg>\n"
}

/// Moves names down that would cover each other.
fn apart<T>(mut labels: Vec<(f64, T, &'static str)>) -> Vec<(f64, T, &'static str)> {
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = f64::NEG_INFINITY;
    for (height, ..) in &mut labels {
        *height = height.max(free);
        free = *height + 16.0;
    }
    labels
}

fn shown(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_stands_higher_and_no_name_covers_another() {
        let line = |name: &str, values: [f64; 2]| Line {
            name: name.to_owned(),
            values: values.into_iter().map(Some).collect(),
        };
        let lines = [line("low", [1.0, 10.0]), line("high", [2.0, 10.5])];
        let svg = draw("figures", &[1, 4], &lines);
        assert_eq!(svg.matches("<polyline").count(), 2);
        let height = |name: &str| -> f64 {
            let label =
                svg.lines().find(|line| line.ends_with(&format!(">{name}</text>"))).unwrap();
            label.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!(height("low") - height("high") >= 16.0, "{svg}");
    }
}
