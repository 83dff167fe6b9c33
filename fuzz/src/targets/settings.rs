//! The settings of pi and our own, those of the user and of the project, and the files with models and keys.

use std::path::Path;
use std::time::SystemTime;

use agent::config::{load_agent_settings, survey_keys};
use plan::{Agent, Settings, Surroundings, Trust};

use crate::scratch::{Scratch, parts};

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

const FILES: [&str; 7] = [
    "agent/settings.json",
    "project/.pi/settings.json",
    "agent/subagents.json",
    "project/.pi/subagents.json",
    "agent/models.json",
    "agent/auth.json",
    "agent/trust.json",
];

/// The parts are the files.
pub(super) fn check(data: &[u8]) {
    SCRATCH.with(|scratch| check_files(scratch, &scratch.surroundings(), data));
}

fn check_files(scratch: &Scratch, surroundings: &Surroundings, data: &[u8]) {
    let mut contents: Vec<&[u8]> = parts(data).take(FILES.len()).collect();
    let has_models = contents.len() > 4;
    contents.resize(FILES.len(), b"{}");
    for (file, content) in FILES.iter().zip(contents) {
        scratch.write(file, content);
    }
    let (settings, warnings) = plan::load_settings(surroundings);
    assert_in_range(&settings);
    assert_named(&warnings, scratch.path());
    let files = plan::inspect_settings(surroundings);
    let problems: usize = files.iter().map(|file| file.problems.len()).sum();
    // Of a name that is nearly a setting, calls are warned, too.
    let unknown: usize = files.iter().map(|file| file.unknown.len()).sum();
    let told = problems..=problems + unknown;
    assert!(told.contains(&warnings.len()), "two readers of the same files differ: {warnings:?}");
    scratch.write(FILES[0], b"{}");
    let (of_project, _) = plan::load_settings(surroundings);
    assert!(!matches!(of_project.agent, Some(Agent::Program(_))), "a project has chosen a program");
    if let Err(error) = plan::load_launcher_choice(surroundings) {
        assert_named(&[error.to_string()], scratch.path());
    }
    for trust in [Trust::Trusted, Trust::Undecided] {
        let (of_agent, warnings) = load_agent_settings(surroundings, trust);
        assert_named(&warnings, scratch.path());
        assert!(trust.allows() || of_agent.shell_path.is_none(), "a project has chosen a shell");
    }
    if has_models {
        // The models that are built in are read as well, and take much longer.
        let survey = survey_keys(&surroundings.agent_dir, &|_| None, SystemTime::UNIX_EPOCH);
        assert_named(&survey.problems, scratch.path());
    }
    let (_, warnings) = plan::project_trust(None, &surroundings.agent_dir, &surroundings.cwd);
    assert!(warnings.iter().all(|warning| warning.path.starts_with(scratch.path())));
}

fn assert_in_range(settings: &Settings) {
    assert!((0.0..=300.0).contains(&settings.extend_timeout_debounce), "{settings:?}");
    assert!(settings.looping_tool_count <= 50, "{settings:?}");
    assert!((1..=500).contains(&settings.max_lines_per_window), "{settings:?}");
    assert!(
        settings.command_preview_width.is_none_or(|width| (20..=10_000).contains(&width)),
        "{settings:?}"
    );
    assert!((1..=256).contains(&settings.max_concurrency), "{settings:?}");
}

/// Checks that each warning names its file.
fn assert_named(warnings: &[String], path: &Path) {
    for warning in warnings {
        assert!(warning.starts_with(&*path.to_string_lossy()), "of which file? {warning}");
    }
}
