//! A program on a terminal in memory.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use test_support::pseudo_terminal;

use super::film::Frame;
use super::svg;

/// What is not seen within this time is never seen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A frame that is shorter is a part of the next one: what a program writes comes in pieces.
const SHORTEST: Duration = Duration::from_millis(40);

pub(super) struct Screen {
    child: Child,
    terminal: File,
    written: Receiver<(Instant, Vec<u8>)>,
    parser: vt100::Parser,
    started: Instant,
    frames: Vec<Frame>,
}

impl Screen {
    /// Starts the command on a terminal of its own: a program in the background does not draw.
    pub(super) fn start(command: &Command, columns: u16, rows: u16) -> Result<Screen, String> {
        let failed = |error: std::io::Error| format!("the terminal: {error}");
        let (terminal, inside) = pseudo_terminal::open(columns, rows).map_err(failed)?;
        let stream = || -> Result<OwnedFd, String> { inside.try_clone().map_err(failed) };
        let mut command = on_its_own_terminal(command);
        command.stdin(stream()?).stdout(stream()?).stderr(stream()?);
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        // Both hold the other end of the terminal open, and reading would never end.
        drop((command, inside));
        let terminal = File::from(terminal);
        let mut reading = terminal.try_clone().map_err(failed)?;
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            // An error means that no process has the terminal open any more.
            while let Ok(length @ 1..) = reading.read(&mut buffer) {
                let bytes = buffer[..length].to_vec();
                if sender.send((Instant::now(), bytes)).is_err() {
                    break;
                }
            }
        });
        let size = |number| NonZero::new(number).unwrap_or(NonZero::<u16>::MIN);
        let parser = vt100::Parser::new(size(rows), size(columns), 0);
        Ok(Screen { child, terminal, written, parser, started: Instant::now(), frames: Vec::new() })
    }

    /// Types a text as fast as a person does.
    pub(super) fn type_text(&mut self, text: &str) -> Result<(), String> {
        const KEY: Duration = Duration::from_millis(28);
        for character in text.chars() {
            self.press(&character.to_string())?;
            self.pass(KEY)?;
        }
        Ok(())
    }

    pub(super) fn press(&mut self, keys: &str) -> Result<(), String> {
        self.terminal.write_all(keys.as_bytes()).map_err(|error| format!("the terminal: {error}"))
    }

    /// Lets the program go on for a while.
    pub(super) fn pass(&mut self, time: Duration) -> Result<(), String> {
        let until = Instant::now() + time;
        while let Some(left) =
            until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            self.read(left)?;
        }
        Ok(())
    }

    pub(super) fn wait_for(&mut self, text: &str) -> Result<(), String> {
        let started = Instant::now();
        while !self.parser.screen().contents().contains(text) {
            if !self.read(Duration::from_secs(1))? || started.elapsed() > PATIENCE {
                let seen = self.parser.screen().contents();
                return Err(format!("{text:?} was never seen, but:\n{seen}"));
            }
        }
        // The rest of the frame.
        self.pass(SHORTEST)
    }

    /// Waits until the program has ended, which it must do with this code.
    pub(super) fn wait_for_end(&mut self, code: i32) -> Result<(), String> {
        while self.read(PATIENCE)? {}
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.code() == Some(code) {
            Ok(())
        } else {
            Err(format!("the program ended with {status}"))
        }
    }

    /// Everything that was seen so far. Its time begins with the first of it.
    pub(super) fn take_frames(&mut self) -> Vec<Frame> {
        let mut frames = std::mem::take(&mut self.frames);
        let first = frames.first().map(|frame| frame.at).unwrap_or_default();
        for frame in &mut frames {
            frame.at -= first;
        }
        frames
    }

    /// Draws the screen as it looks now.
    pub(super) fn draw(&self, path: &Path) -> Result<(), String> {
        write(path, svg::draw(self.parser.screen()).as_bytes())
    }

    /// Reads once; false if the program has ended.
    fn read(&mut self, patience: Duration) -> Result<bool, String> {
        match self.written.recv_timeout(patience) {
            Ok((at, bytes)) => {
                self.parser.process(&bytes);
                self.take_frame(at);
                Ok(true)
            }
            Err(RecvTimeoutError::Timeout) => Ok(true),
            Err(RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    fn take_frame(&mut self, at: Instant) {
        let at = at.saturating_duration_since(self.started);
        let screen = self.parser.screen().clone();
        match self.frames.last_mut() {
            Some(last) if at.saturating_sub(last.at) < SHORTEST => last.screen = screen,
            _ => self.frames.push(Frame { at, screen }),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // One that has ended was waited for; another must not go on without its terminal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {} ({} kB)", path.display(), bytes.len().div_ceil(1000));
    Ok(())
}

/// The same command in a session of its own, with its standard input as its terminal. `setsid` becomes the program.
#[expect(clippy::disallowed_methods, reason = "what is drawn is started directly")]
fn on_its_own_terminal(command: &Command) -> Command {
    let mut own = Command::new("setsid");
    own.arg("--ctty").arg(command.get_program()).args(command.get_args());
    own.env_clear();
    own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        own.current_dir(directory);
    }
    own
}
