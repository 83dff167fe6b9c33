//! The end of the demonstration.

use std::fs;
use std::path::Path;

use xtask::repository_root;

use super::COLUMNS;
use super::screen::Screen;
use super::stage::Stage;

/// All that the demonstration prints fits into so many rows.
const ROWS: u16 = 70;

/// Runs the demonstration on a copy of this repository's documents and sources.
pub(super) fn draw(stage: &Stage, pictures: &Path) -> Result<(), String> {
    let project = stage.project.with_file_name("project");
    for directory in ["docs", "crates"] {
        copy(&repository_root().join(directory), &project.join(directory))?;
    }
    fs::copy(repository_root().join("README.md"), project.join("README.md"))
        .map_err(|error| format!("README.md: {error}"))?;
    let mut command = stage.command("pi-subagents");
    command.arg("demo").current_dir(&project);
    let mut screen = Screen::start(&command, COLUMNS, ROWS)?;
    screen.wait_for_end(0)?;
    screen.draw(&pictures.join("demo.svg"))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(failed)?;
        }
    }
    Ok(())
}
