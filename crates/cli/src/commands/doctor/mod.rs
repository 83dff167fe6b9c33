//! `doctor`: what is installed and what is missing.
//!
//! [`gather`] collects [`facts`] without changing anything. [`findings`] turns the facts into messages
//! and remedies.

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
        // This is a finding, too: `doctor` exists to report it.
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

/// The report for people: a section for each area, and under each finding its remedies.
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
    let counted = |count, word| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let (problems, warnings) = (counted(problems, "problem"), counted(warnings, "warning"));
    let _ = writeln!(text, "\n{problems}, {warnings}.");
    text
}

#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    problems: usize,
    warnings: usize,
    findings: &'a [Finding],
    /// Absent if not even the directories are known.
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
        assert_eq!(page(&[], 0, 2), "\n0 problems, 2 warnings.\n");
    }
}
