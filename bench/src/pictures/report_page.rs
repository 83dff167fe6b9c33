//! Pictures of the report, as Chromium shows it.

use std::fs;
use std::path::Path;

use xtask::Invocation;

use super::screen::write;
use super::stage::Stage;

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 540;

/// The report about the latest call, light and dark.
pub(super) fn draw(stage: &Stage, pictures: &Path) -> Result<(), String> {
    let page = stage.project.join("report.html");
    let mut export = stage.command("pi-subagents");
    export.args(["sessions", "export", "@last", "--format", "html", "--output"]).arg(&page);
    let status = export.status().map_err(|error| format!("{export:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{export:?} ended with {status}"));
    }
    // What Blink calls the colour schemes.
    for (name, scheme) in [("report-dark.png", 0), ("report-light.png", 1)] {
        let picture = stage.project.join(name);
        let chromium =
            Invocation::new("chromium --headless --no-sandbox --disable-gpu --hide-scrollbars")
                .word(format!("--window-size={WIDTH},{HEIGHT}"))
                .word(format!("--blink-settings=preferredColorScheme={scheme}"))
                .word(format!("--screenshot={}", picture.display()))
                .word(format!("file://{}", page.display()));
        chromium
            .run_quietly()
            .map_err(|what| format!("`{chromium}` {what}; Debian has it as `chromium`"))?;
        let bytes =
            fs::read(&picture).map_err(|error| format!("{}: {error}", picture.display()))?;
        write(&pictures.join(name), &bytes)?;
    }
    Ok(())
}
