//! `cargo xtask pictures`: draws the pictures in the documents from real runs.

mod demo;
mod film;
mod inside_pi;
mod report_page;
mod screen;
mod stage;
mod streams;
mod svg;

use std::fs;
use std::path::Path;
use std::time::Duration;

use xtask::repository_root;

use self::screen::{Screen, write};
use self::stage::{OPENED, Stage};

/// The screen of all pictures. So wide, every column has room; and wider, a page would make the letters too small.
const COLUMNS: u16 = 112;
const ROWS: u16 = 31;
/// An opened agent needs more for its answer and what led to it.
const OPENED_ROWS: u16 = 40;

pub(crate) fn run() -> Result<(), String> {
    let pictures = repository_root().join("docs/pictures");
    fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    let stage = Stage::new()?;
    demo::draw(&stage, &pictures)?;
    film_of_a_call(&stage, &pictures)?;
    stills_of_a_call(&stage, &pictures)?;
    report_page::draw(&stage, &pictures)?;
    inside_pi::draw(&pictures)
}

/// From the command to the table that stays.
fn film_of_a_call(stage: &Stage, pictures: &Path) -> Result<(), String> {
    let mut shell = stage.command("bash");
    shell.args(["--norc", "--noprofile", "-i"]);
    let mut screen = Screen::start(&shell, COLUMNS, ROWS)?;
    screen.wait_for("$ ")?;
    screen.type_text("pi-subagents delegate tasks.json --quiet")?;
    screen.press("\r")?;
    screen.wait_for("7 tasks ·")?;
    // The shell asks for the next command.
    screen.pass(Duration::from_millis(500))?;
    write(&pictures.join("run.svg"), film::film(&screen.take_frames(), POSTER).as_bytes())
}

/// When most agents are working.
const POSTER: Duration = Duration::from_millis(5_500);

/// The live view, an opened agent, and what stays.
fn stills_of_a_call(stage: &Stage, pictures: &Path) -> Result<(), String> {
    let mut command = stage.command("pi-subagents");
    command.args(["delegate", "tasks.json", "--quiet"]);
    let mut screen = Screen::start(&command, COLUMNS, ROWS)?;
    screen.wait_for("wrong time zone")?;
    screen.draw(&pictures.join("live.svg"))?;
    screen.wait_for("7 tasks ·")?;
    // Not all of them completed.
    screen.wait_for_end(1)?;
    screen.draw(&pictures.join("summary.svg"))?;
    let mut command = stage.command("pi-subagents");
    command.args(["sessions", "show", OPENED]);
    let mut screen = Screen::start(&command, COLUMNS, OPENED_ROWS)?;
    screen.wait_for("q leave")?;
    screen.press("G")?;
    screen.wait_for("different lengths\n")?;
    screen.draw(&pictures.join("opened.svg"))?;
    screen.press("q")?;
    screen.wait_for_end(0)
}
