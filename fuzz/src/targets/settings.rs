//! The settings of pi and of ours, the user's and the project's, and the files with models and keys.

use std::path::Path;
use std::time::SystemTime;

use agent::config::{load_agent_settings, survey_keys};
use plan::{Agent, Settings, Surroundings, Trust};

use crate::place::{Place, parts};

thread_local! {
    static PLACE: Place = Place::new();
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
    PLACE.with(|place| check_files(place, &place.surroundings(), data));
}

fn check_files(place: &Place, surroundings: &Surroundings, data: &[u8]) {
    let mut contents: Vec<&[u8]> = parts(data).take(FILES.len()).collect();
    let has_models = contents.len() > 4;
    contents.resize(FILES.len(), b"{}");
    for (file, content) in FILES.iter().zip(contents) {
        place.write(file, content);
    }
    let (settings, warnings) = plan::load_settings(surroundings);
    assert_in_range(&settings);
    assert_named(&warnings, place.path());
    let problems: usize =
        plan::inspect_settings(surroundings).iter().map(|file| file.problems.len()).sum();
    assert_eq!(problems, warnings.len(), "two readers of the same files differ");
    place.write(FILES[0], b"{}");
    let (of_project, _) = plan::load_settings(surroundings);
    assert!(!matches!(of_project.agent, Some(Agent::Program(_))), "a project has chosen a program");
    if let Err(error) = plan::load_runner(surroundings) {
        assert_named(&[error.to_string()], place.path());
    }
    for trust in [Trust::Trusted, Trust::Undecided] {
        let (of_agent, warnings) = load_agent_settings(surroundings, trust);
        assert_named(&warnings, place.path());
        assert!(trust.allows() || of_agent.shell_path.is_none(), "a project has chosen a shell");
    }
    if has_models {
        // What is known without configuration is read as well, and takes much longer.
        let survey = survey_keys(&surroundings.agent_dir, &|_| None, SystemTime::UNIX_EPOCH);
        assert_named(&survey.problems, place.path());
    }
    let (_, warnings) = plan::project_trust(None, &surroundings.agent_dir, &surroundings.cwd);
    assert!(warnings.iter().all(|warning| warning.path.starts_with(place.path())));
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

/// Whoever is warned must know of which file.
fn assert_named(warnings: &[String], place: &Path) {
    for warning in warnings {
        assert!(warning.starts_with(&*place.to_string_lossy()), "of which file? {warning}");
    }
}
