//! The sections of the report, and the findings in them.

use serde::Serialize;

/// The sections of the report, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Area {
    Environment,
    Agents,
    Keys,
    Models,
    Definitions,
    Settings,
    Access,
    Extension,
    Runs,
}

impl Area {
    pub(super) fn title(self) -> &'static str {
        match self {
            Area::Environment => "Environment",
            Area::Agents => "Agents",
            Area::Keys => "Keys",
            Area::Models => "Models",
            Area::Definitions => "Profiles and presets",
            Area::Settings => "Settings",
            Area::Access => "Access",
            Area::Extension => "Extension for pi",
            Area::Runs => "Runs",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    Fine,
    /// Something is odd, but runs work.
    Warning,
    /// Runs would fail, or a crash left something.
    Problem,
}

impl Level {
    pub(super) fn mark(self) -> char {
        match self {
            Level::Fine => '✓',
            Level::Warning => '!',
            Level::Problem => '✗',
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) area: Area,
    pub(super) level: Level,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) remedies: Vec<String>,
}

impl Finding {
    pub(super) fn remedy(&mut self, remedy: impl Into<String>) -> &mut Finding {
        self.remedies.push(remedy.into());
        self
    }
}

pub(super) struct Section {
    area: Area,
    pub(super) findings: Vec<Finding>,
}

impl Section {
    pub(super) fn new(area: Area) -> Section {
        Section { area, findings: Vec::new() }
    }

    pub(super) fn fine(&mut self, text: impl Into<String>) -> &mut Finding {
        self.add(Level::Fine, text)
    }

    pub(super) fn warning(&mut self, text: impl Into<String>) -> &mut Finding {
        self.add(Level::Warning, text)
    }

    pub(super) fn problem(&mut self, text: impl Into<String>) -> &mut Finding {
        self.add(Level::Problem, text)
    }

    pub(super) fn add(&mut self, level: Level, text: impl Into<String>) -> &mut Finding {
        let finding = Finding { area: self.area, level, text: text.into(), remedies: Vec::new() };
        self.findings.push_mut(finding)
    }
}

/// A size as it is written in findings.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}
