//! `doctor`: what is found and what is missing.
//!
//! What there is becomes [`facts`], gathered without changing anything; what is to be said about
//! them is decided in [`findings`], which only reads them.

mod facts;
mod findings;
mod gather;
mod runs;

use std::fmt::Write;

use plan::Surroundings;
use serde::Serialize;

use crate::arguments::Doctor;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;
use facts::Facts;
use findings::{Finding, Level};

pub(crate) fn doctor(arguments: &Doctor, printer: &Printer) -> Result<Exit, CommandError> {
    let (facts, findings) = match Surroundings::of_this_process() {
        Ok(surroundings) => {
            let facts = gather::gather(surroundings);
            let findings = findings::of_facts(&facts);
            (Some(facts), findings)
        }
        // Whoever asks what is wrong is told, and not refused.
        Err(error) => (None, vec![findings::no_surroundings(&error)]),
    };
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    if arguments.json {
        let version = env!("CARGO_PKG_VERSION");
        printer.json(&Document { version, problems, warnings, findings: &findings, facts })?;
    } else {
        printer.answer(&page(&findings, problems, warnings))?;
    }
    Ok(if problems > 0 { Exit::TaskFailed } else { Exit::Completed })
}

/// Everything in words: a paragraph for each area, and under each finding what to do about it.
fn page(findings: &[Finding], problems: usize, warnings: usize) -> String {
    let mut text = String::new();
    let mut area = None;
    for finding in findings {
        if area != Some(finding.area) {
            let gap = if area.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{}", finding.area.title());
            area = Some(finding.area);
        }
        let _ = writeln!(text, "  {} {}", finding.level.mark(), finding.text.replace('\n', " "));
        for remedy in &finding.remedies {
            let _ = writeln!(text, "    → {remedy}");
        }
    }
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let _ = match (problems, warnings) {
        (0, 0) => writeln!(text, "\nNothing is wrong."),
        (0, _) => writeln!(text, "\nNothing is wrong; {}.", counted(warnings, "warning")),
        (_, 0) => writeln!(text, "\n{}.", counted(problems, "problem")),
        _ => {
            writeln!(text, "\n{}, {}.", counted(problems, "problem"), counted(warnings, "warning"))
        }
    };
    text
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    problems: usize,
    warnings: usize,
    findings: &'a [Finding],
    /// Absent if not even the directories can be told.
    facts: Option<Facts>,
}

#[cfg(test)]
mod tests {
    use super::findings::Area;
    use super::*;

    #[test]
    fn a_remedy_stands_under_its_problem() {
        let findings = [
            Finding::fine(Area::Agents, "built-in agent 1.2.3"),
            Finding::problem(Area::Keys, "no key").remedy("set one"),
            Finding::warning(Area::Keys, "an old one"),
        ];
        assert_eq!(
            page(&findings, 1, 1),
            "Agents\n  ✓ built-in agent 1.2.3\n\nKeys\n  ✗ no key\n    → set one\n  ! an old one\n\n\
             1 problem, 1 warning.\n"
        );
        assert_eq!(page(&[], 0, 0), "\nNothing is wrong.\n");
        assert_eq!(page(&[], 0, 2), "\nNothing is wrong; 2 warnings.\n");
    }
}
