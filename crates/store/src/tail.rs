//! Reads a log while it is written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use crate::run_dir::open_regular;
use crate::{RunDir, StoreError};

/// The lines of a growing file, each returned once, as soon as it is whole.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// `None` until the file exists.
    file: Option<BufReader<File>>,
    /// The beginning of a line whose end has not been written yet.
    torn: Vec<u8>,
}

/// A longer line is returned in pieces.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

impl RunDir {
    /// Reads a log or the events from their beginning, and what is added later.
    pub fn tail(&self, name: &str) -> Tail {
        Tail { path: self.file(name), file: None, torn: Vec::new() }
    }
}

impl Tail {
    /// The next whole line without its line feed, if there is one by now.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let read = self.read();
        read.map_err(StoreError::io("read", &self.path))
    }

    /// A torn line at the end, once nothing will be added any more.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.torn);
        (!rest.is_empty()).then_some(rest)
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let file = match &mut self.file {
            Some(file) => file,
            None => match open_regular(&self.path) {
                Ok(file) => self.file.insert(BufReader::with_capacity(64 * 1024, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        let room = LONGEST_LINE.saturating_sub(self.torn.len()) as u64;
        file.by_ref().take(room).read_until(b'\n', &mut self.torn)?;
        if self.torn.last() == Some(&b'\n') {
            self.torn.pop();
        } else if self.torn.len() < LONGEST_LINE {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.torn)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_come_once_and_whole() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("some-run-0");
        std::fs::create_dir(&path).unwrap();
        let mut tail = RunDir::open(&path).unwrap().tail("transcript.log");
        let mut next = || tail.next_line().unwrap().map(|line| String::from_utf8(line).unwrap());
        assert_eq!(next(), None, "the file is not there yet");
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(path.join("transcript.log")).unwrap();
        file.write_all(b"one\n\ntw").unwrap();
        assert_eq!([next(), next(), next()], [Some("one".into()), Some(String::new()), None]);
        file.write_all(b"o\nthree").unwrap();
        assert_eq!([next(), next()], [Some("two".into()), None]);
        assert_eq!(tail.rest().as_deref(), Some(&b"three"[..]));
        assert_eq!(tail.rest(), None);
    }

    #[test]
    fn a_link_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("some-run-0");
        std::fs::create_dir(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path.join("transcript.log")).unwrap();
        assert!(RunDir::open(&path).unwrap().tail("transcript.log").next_line().is_err());
    }
}
