//! `cargo xtask pictures`: draws the pictures in the documents from a real run.
//!
//! The demonstration is run on a copy of this repository's documents, on a terminal in memory, and
//! drawn as it looks at two moments.

mod svg;

use std::fs;
use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};

use test_support::pseudo_terminal;
use xtask::repository_root;

use crate::scratch::Scratch;

const COLUMNS: u16 = 100;
const ROWS: u16 = 40;

pub(crate) fn run() -> Result<(), String> {
    let scratch = Scratch::new()?;
    let project = scratch.subdirectory("project")?;
    copy(&repository_root().join("docs"), &project.join("docs"))?;
    copy(&repository_root().join("crates"), &project.join("crates"))?;
    fs::copy(repository_root().join("README.md"), project.join("README.md"))
        .map_err(|error| format!("README.md: {error}"))?;
    // The terminal must belong to its session: a program in the background does not draw.
    let mut command = scratch.command("setsid");
    command.args(["--ctty", "--wait"]).arg(scratch.our("pi-subagents").get_program()).arg("demo");
    command.current_dir(&project).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm-256color");
    command.env("HOME", &scratch.directory).env("LANG", "C.UTF-8");
    let mut screen = Screen::start(command)?;
    let pictures = repository_root().join("docs/pictures");
    fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    // Most agents are working at this moment.
    screen.wait_for("Now I look how much")?;
    screen.draw(&pictures.join("live.svg"))?;
    screen.wait_for_end()?;
    screen.draw(&pictures.join("demo.svg"))
}

/// A program on a terminal in memory.
struct Screen {
    child: Child,
    terminal: File,
    parser: vt100::Parser,
}

impl Screen {
    fn start(mut command: Command) -> Result<Screen, String> {
        let failed = |error: std::io::Error| format!("the terminal: {error}");
        let (terminal, inside) = pseudo_terminal::open(COLUMNS, ROWS).map_err(failed)?;
        let stream = || -> Result<OwnedFd, String> { inside.try_clone().map_err(failed) };
        command.stdin(stream()?).stdout(stream()?).stderr(stream()?);
        let child = command.spawn().map_err(|error| format!("the demonstration: {error}"))?;
        let size = |number| NonZero::new(number).unwrap_or(NonZero::<u16>::MIN);
        let parser = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
        // The command holds the other end of the terminal open, and reading would never end.
        drop(command);
        Ok(Screen { child, terminal: File::from(terminal), parser })
    }

    /// Reads once; false if the program has ended.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // An error means that no process has the terminal open any more.
        let length = self.terminal.read(&mut buffer).unwrap_or(0);
        self.parser.process(&buffer[..length]);
        length > 0
    }

    fn wait_for(&mut self, text: &str) -> Result<(), String> {
        while !self.parser.screen().contents().contains(text) {
            if !self.read() {
                let seen = self.parser.screen().contents();
                return Err(format!("{text:?} was never seen, but:\n{seen}"));
            }
        }
        Ok(())
    }

    fn wait_for_end(&mut self) -> Result<(), String> {
        while self.read() {}
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the demonstration ended with {status}"))
        }
    }

    fn draw(&self, path: &Path) -> Result<(), String> {
        fs::write(path, svg::draw(self.parser.screen()))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
        Ok(())
    }
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
