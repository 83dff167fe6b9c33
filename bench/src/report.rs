//! `docs/reference/benchmarks.md`: everything that was measured in one run, with its pictures.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use xtask::{Invocation, repository_root};

use crate::chart::{self, Line};
use crate::growth::{AT_A_TIME, FIGURES, Figure, Grown, LONGEST, SIZES, Size, Spread};
use crate::table::Table;

/// The packages whose versions matter, and the directory whose manifest pins them.
const PACKAGES: [(&str, &str); 10] = [
    ("e2e", "@earendil-works/pi-coding-agent"),
    ("e2e", "@harms-haus/pi-subagents"),
    ("e2e", "@tintinweb/pi-subagents"),
    ("e2e/peers", "pi-subagents"),
    ("e2e", "node"),
    ("e2e/clients", "@anthropic-ai/claude-code"),
    ("e2e/clients", "@openai/codex"),
    ("e2e/agents", "@google/gemini-cli"),
    ("e2e/agents", "opencode-linux-x64"),
    ("e2e/agents", "@github/copilot-linux-x64"),
];

/// The heading behind which each benchmark has a part of its own.
const PARTS: &str = "## Each part by itself";

/// Writes the whole page.
pub(crate) fn write(grown: &[Grown], tables: &[(&str, Table)]) -> Result<(), String> {
    let mut page = format!("{}{}\n{PARTS}\n", introduction(), growth(grown)?);
    for (title, table) in tables {
        page.push_str(&part(title, table)?);
    }
    save(&page_path(), &page)
}

/// Writes one part of the page anew.
pub(crate) fn write_part(title: &str, table: &Table) -> Result<(), String> {
    let page = with_introduction(&read_page()?);
    save(&page_path(), &with_part(&page, title, &part(title, table)?))
}

/// The page with this part in the place of the one with the same title, or at its end.
fn with_part(page: &str, title: &str, part: &str) -> String {
    match page.split_once(&format!("\n### {title}\n")) {
        Some((before, rest)) => {
            let after = rest.find("\n### ").map_or("", |end| &rest[end..]);
            format!("{before}{part}{after}")
        }
        None => format!("{page}{part}"),
    }
}

/// Writes how everything grows anew, with its pictures.
pub(crate) fn write_growth(grown: &[Grown]) -> Result<(), String> {
    let page = read_page()?;
    let (_, parts) = page.split_once(PARTS).unwrap_or_default();
    save(&page_path(), &format!("{}{}\n{PARTS}{parts}", introduction(), growth(grown)?))
}

fn page_path() -> PathBuf {
    repository_root().join("docs/reference/benchmarks.md")
}

fn read_page() -> Result<String, String> {
    let path = page_path();
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The page with the introduction as it is now.
fn with_introduction(page: &str) -> String {
    let rest = page.find("\n## ").map_or("", |end| &page[end..]);
    format!("{}{rest}", introduction())
}

fn part(title: &str, table: &Table) -> Result<String, String> {
    Ok(format!("\n### {title}\n\n{}\n\n{}", measured()?, table.text()))
}

fn growth(grown: &[Grown]) -> Result<String, String> {
    let pictures = repository_root().join("docs/pictures");
    let mut text = String::new();
    for (index, figure) in FIGURES.iter().enumerate() {
        let name = format!("benchmark-{}.svg", figure.name.replace(' ', "-"));
        let lines: Vec<Line> = grown.iter().filter_map(|grown| line(grown, figure)).collect();
        let title = format!("{} ({}), by the number of tasks", capital(figure.name), figure.unit);
        save(&pictures.join(&name), &chart::draw(&title, &SIZES.map(|size| size.tasks), &lines))?;
        let measured = if index == 0 { format!("{}\n\n", measured()?) } else { String::new() };
        text.push_str(&format!(
            "\n## {}\n\n{measured}![{title}](../pictures/{name})\n\n{}",
            capital(figure.name),
            growth_table(grown, figure)
        ));
    }
    Ok(text)
}

/// Where and of what the figures behind it were measured.
fn measured() -> Result<String, String> {
    let commit = Invocation::new("git rev-parse --short HEAD").read()?;
    Ok(format!("Measured at {}, on {}.", String::from_utf8_lossy(&commit).trim(), machine()))
}

/// A figure of all contenders at all counts, in Markdown.
pub(crate) fn growth_table(grown: &[Grown], figure: &Figure) -> String {
    let counts = SIZES.map(|size| size.tasks.to_string());
    let (first, last) = (counts.first(), counts.last());
    let growth = first.zip(last).map_or_else(String::new, |(one, all)| format!("{all} : {one}"));
    let mut text = format!(
        "| {} | {} | {growth} |\n|---|{}---|\n",
        figure.unit,
        counts.join(" | "),
        "---|".repeat(counts.len())
    );
    for contender in grown {
        let spreads = contender.figure(figure);
        if spreads.iter().all(Option::is_none) {
            continue;
        }
        let ends = spreads.first().copied().flatten().zip(spreads.last().copied().flatten());
        let growth = ends.map(|(one, all)| shown(all.median / one.median));
        let reference = reference(grown, contender, figure);
        let cells =
            spreads.iter().zip(reference).map(|(spread, reference)| cell(*spread, reference));
        let cells: Vec<String> = cells.collect();
        let growth = growth.as_deref().unwrap_or("–");
        text.push_str(&format!("| {} | {} | {growth} |\n", contender.name, cells.join(" | ")));
    }
    text
}

/// What a contender is measured against: its baseline, or the first contender if the baseline has no such figure.
fn reference(grown: &[Grown], contender: &Grown, figure: &Figure) -> Vec<Option<Spread>> {
    let baseline = grown.iter().find(|other| other.name == contender.baseline);
    let figures = baseline.into_iter().chain(grown).map(|other| other.figure(figure));
    let mut known = figures.filter(|spreads| spreads.iter().any(Option::is_some));
    known.next().unwrap_or_default()
}

fn introduction() -> String {
    let versions = PACKAGES.map(|(directory, name)| {
        let manifest = repository_root().join(directory).join("package.json");
        let manifest = fs::read(manifest).unwrap_or_default();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
        let version = ["dependencies", "optionalDependencies"]
            .iter()
            .find_map(|section| manifest[section][name].as_str());
        format!("{name} {}", version.unwrap_or("?"))
    });
    format!(
        "# Benchmarks\n\n\
         `cargo xtask bench` writes this page, and `cargo xtask bench NAME --save` one part of it anew. Do not edit it. Each part has its \
         figures from one run.\n\n\
         - **Versions**: {}.\n\
         - **Work**: three-turn tasks (a command, a file, an answer) on a scripted model without a network. Where children are \
         processes, a call runs {AT_A_TIME} of them at a time, except `pi-subagents` from npm, which runs up to 20. Where a call takes at \
         most 16 tasks, as in ours and @harms-haus/pi-subagents, 64 tasks are four calls side by side, with 16 children, and 256 tasks are \
         16 calls; there, ours keeps to the limit of the machine, 16 agents on two cores, and @harms-haus/pi-subagents runs 64. The \
         baseline still has {AT_A_TIME}. The children of an extension load that extension; those of the baseline load none. \
         `@tintinweb/pi-subagents` runs its agents inside the pi that calls it. It starts no children, and can be below the \
         baseline.\n\
         - **Method**: all contenders take turns, after one round without a clock: {}; one that took longer than {} s with a quarter as many \
         tasks is left out. A cell has the ratio to the baseline, then \
         the median and, in brackets, the minimum and the maximum; the last column shows the growth. Time: inside pi from the first call to \
         the last result, elsewhere from start to end. Processor time: of all processes, including pi itself and its start. Memory: the peak \
         of all processes together (PSS), in a separate run; runs that ended before the first measurement are left out. Bytes: everything that pi, or \
         the command, prints; bytes have no baseline, and the ratio is to ours in pi with pi as children.\n\
         - The **baseline** is *alone*: the same children, pi or built in, without a program that supervises, records or shows them.\n",
        versions.join(", "),
        SIZES.map(|Size { tasks, rounds }| format!("{rounds} × {tasks} tasks")).join(", "),
        LONGEST.as_secs(),
    )
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let cpu = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown".to_owned());
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or_else(String::new, |kib| format!(", {:.0} GB of memory", kib * 1024.0 / 1e9));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cores} cores of {cpu}{memory}, Linux {}", kernel.trim())
}

fn line(grown: &Grown, figure: &Figure) -> Option<Line> {
    let values = grown.figure(figure).into_iter().map(|spread| spread.map(|spread| spread.median));
    let values: Vec<Option<f64>> = values.collect();
    values.iter().any(Option::is_some).then(|| Line { name: grown.name.to_owned(), values })
}

fn cell(spread: Option<Spread>, reference: Option<Spread>) -> String {
    spread.zip(reference).map_or_else(
        || "–".to_owned(),
        |(Spread { median, least, most }, reference)| {
            let ratio = shown(median / reference.median);
            format!("**{ratio}** · {} ({} – {})", shown(median), shown(least), shown(most))
        },
    )
}

/// Three digits.
fn shown(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn save(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::Sample;

    #[test]
    fn a_part_takes_the_place_of_the_one_before_it() {
        let page = "# B\n\n## Time\n\n## Each part by itself\n\n### A\n\n1\n\n### A run\n\n2\n";
        let both = page.replace("\n1\n", "\n3\n");
        assert_eq!(with_part(page, "A", "\n### A\n\n3\n"), both);
        assert_eq!(with_part(page, "A run", "\n### A run\n\n4\n"), page.replace("\n2\n", "\n4\n"));
        assert_eq!(with_part(page, "C", "\n### C\n\n5\n"), format!("{page}\n### C\n\n5\n"));
        assert!(with_introduction(page).ends_with(&page[4..]));
    }

    #[test]
    fn figures_are_told_beside_the_baseline_and_beside_the_first_if_it_has_none() {
        let grown = |name, baseline, seconds: f64, kilobytes: f64| {
            let sample = |times| Sample {
                seconds: seconds * times,
                kilobytes: kilobytes * times,
                ..Sample::default()
            };
            let samples = [1.0, 2.0, 4.0, 8.0, 16.0].map(|times| vec![sample(times); 3]).to_vec();
            Grown { name, baseline, samples }
        };
        let all = [
            grown("bare", "bare", 2.0, 0.0),
            grown("ours", "bare", 3.0, 10.0),
            grown("peer", "bare", 8.0, 200.0),
        ];
        let [time, _, _, bytes] = FIGURES;
        let time = growth_table(&all, &time);
        assert!(
            time.contains(
                "| s | 1 | 4 | 16 | 64 | 256 | 256 : 1 |\n|---|---|---|---|---|---|---|\n"
            ),
            "{time}"
        );
        assert!(
            time.contains("| ours | **1.50** · 3.00 (3.00 – 3.00) | **1.50** · 6.00"),
            "{time}"
        );
        let bytes = growth_table(&all, &bytes);
        assert!(bytes.contains("| peer | **20.0** · 200 (200 – 200) |"), "{bytes}");
        assert!(bytes.ends_with("| **20.0** · 3200 (3200 – 3200) | 16.0 |\n"), "{bytes}");
        assert!(!bytes.contains("bare"), "{bytes}");
    }
}
