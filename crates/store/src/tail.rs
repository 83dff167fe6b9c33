//! Reads a log while it is written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use crate::bounds::{LARGEST_LOG, check_length, open_regular};
use crate::{RunDir, StoreError};

/// The lines of a growing file, each returned once, as soon as it is whole.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// `None` until the file exists.
    file: Option<BufReader<File>>,
    /// The beginning of a line whose end has not been written yet.
    torn: Vec<u8>,
    /// How much of the file was read.
    length: u64,
}

impl RunDir {
    /// Reads a log or the events from their beginning, and what is added later.
    pub fn tail(&self, name: &str) -> Tail {
        Tail { path: self.file(name), file: None, torn: Vec::new(), length: 0 }
    }
}

impl Tail {
    /// The next whole line without its line feed, if there is one by now. A file that is longer than
    /// any log is an error at once.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let failed = StoreError::io("read", &self.path);
        let file = match &mut self.file {
            Some(file) => file,
            None => match open_regular(&self.path).and_then(|file| Ok((file.metadata()?, file))) {
                Ok((metadata, file)) => {
                    check_length(&self.path, metadata.len(), LARGEST_LOG)?;
                    self.file.insert(BufReader::with_capacity(64 * 1024, file))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed(error)),
            },
        };
        // One byte more shows that the file has grown beyond the limit since it was opened.
        let room = (LARGEST_LOG + 1).saturating_sub(self.length);
        let read = file.by_ref().take(room).read_until(b'\n', &mut self.torn).map_err(failed)?;
        self.length += read as u64;
        check_length(&self.path, self.length, LARGEST_LOG)?;
        if self.torn.last() != Some(&b'\n') {
            return Ok(None);
        }
        self.torn.pop();
        Ok(Some(std::mem::take(&mut self.torn)))
    }

    /// A torn line at the end, once nothing will be added any more.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.torn);
        (!rest.is_empty()).then_some(rest)
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
    fn a_file_that_is_longer_than_any_log_is_an_error_at_once() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("some-run-0");
        std::fs::create_dir(&path).unwrap();
        let file = File::create(path.join("events.jsonl")).unwrap();
        let mut tail = RunDir::open(&path).unwrap().tail("events.jsonl");
        assert!(tail.next_line().unwrap().is_none());
        file.set_len(60 << 30).unwrap();
        let grown = tail.next_line().unwrap_err().to_string();
        let found = RunDir::open(&path).unwrap().tail("events.jsonl").next_line();
        let found = found.unwrap_err().to_string();
        assert!(grown.contains("is damaged") && found.contains("64424509440 bytes"), "{found}");
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
