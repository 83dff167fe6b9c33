//! `doctor`: what is installed and what is missing.
//!
//! [`gather`] collects [`facts`] without changing anything, unless the default model is asked. [`findings`] turns the facts into messages
//! and remedies.

mod access;
mod agents;
mod facts;
mod findings;
mod gather;
mod models;
mod runs;
mod section;
mod worktrees;

use std::fmt::Write;

use serde_json::json;

use crate::arguments::Doctor;
use crate::commands::surroundings;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;
use section::{Finding, Level};

pub(crate) fn doctor(arguments: &Doctor, printer: &Printer) -> Result<Exit, CommandError> {
    let (facts, findings) = match surroundings() {
        Ok(surroundings) => {
            let facts = gather::gather(surroundings, arguments.ping);
            let findings = findings::of_facts(&facts);
            (Some(facts), findings)
        }
        // This is a finding, too: `doctor` exists to report it.
        Err(error) => (None, findings::no_surroundings(&error)),
    };
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    if arguments.json {
        printer.json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "problems": problems,
            "warnings": warnings,
            "findings": findings,
            "facts": facts,
        }))?;
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
