//! How large the files of a run directory can be. A larger one was not written by this program: it is
//! damaged, or planted, and is not read.
//!
//! Each bound follows from what a supervisor writes. So no file of a cloned project can hold a command
//! up, or cost it more memory than an honest run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::{Limits, Message, Meta};

use crate::StoreError;

const MEBIBYTE: u64 = 1024 * 1024;

/// The longest line of a child that is read whole, and so the longest message. The same goes for a
/// request of a client, which brings the prompt.
const LONGEST_MESSAGE: u64 = 16 * MEBIBYTE;
/// What a log may have beyond its limit: the note that it is full, what became of the messages to the
/// agent, and the terminal event.
const LAST_ENTRIES: u64 = MEBIBYTE;
/// A character can need two bytes in JSON that it does not need as text.
const LONGEST_MESSAGE_AS_JSON: u64 = 2 * LONGEST_MESSAGE;

/// The system prompt, which a file of at most a mebibyte has.
const SYSTEM_PROMPT_AS_JSON: u64 = 2 * MEBIBYTE;

/// The arguments and the environment of an agent, which the system limits.
const ARGUMENTS_AS_JSON: u64 = 4 * MEBIBYTE;
/// `meta.json`: the task and the system prompt once as text, and how the agent is started, with each of its models.
pub(crate) const LARGEST_META: u64 = LONGEST_MESSAGE_AS_JSON
    + SYSTEM_PROMPT_AS_JSON
    + (1 + Meta::FALLBACK_MODELS as u64) * ARGUMENTS_AS_JSON;
/// A value by a schema, as it is kept, with a further level of indentation.
const LONGEST_VALUE: u64 = 8 * MEBIBYTE;
/// `result.json`: one message, the value in it, an error, the end of a check's output and a few warnings.
pub(crate) const LARGEST_RESULT: u64 = LONGEST_MESSAGE_AS_JSON + LONGEST_VALUE + MEBIBYTE;
/// `prompt.md`: the task, its files, and what was said in earlier runs of the session.
pub(crate) const LARGEST_PROMPT: u64 = 256 * MEBIBYTE;
/// A message to the agent, or an answer to a question of it, which can be as long. A control character needs six bytes in JSON.
pub(crate) const LARGEST_MESSAGE: u64 = 6 * Message::TEXT_BYTES as u64 + 1024;
/// `events.jsonl` and every other log.
pub(crate) const LARGEST_LOG: u64 = Limits::LOG_BYTES + LAST_ENTRIES;

/// Holes are looked for only in files of which reading them would take long.
const WITHOUT_HOLES: u64 = 64 * 1024;

/// Opens a file that must be a plain one: reading a pipe could block for ever, and a link could
/// lead anywhere.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_measured(options, path).map(|(file, _)| file)
}

fn open_measured(options: &mut OpenOptions, path: &Path) -> io::Result<(File, u64)> {
    let file = options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok((file, metadata.len()))
    } else {
        Err(io::Error::other("it is not a plain file"))
    }
}

pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a plain file for reading, with the length up to which it is worth reading. Nothing of ours
/// follows a hole: this program writes none, and a crash leaves one only after the last whole line.
pub(crate) fn open_bounded(path: &Path, limit: u64) -> Result<(File, u64), StoreError> {
    let failed = |error| StoreError::io("read", path)(error);
    let (mut file, length) = open_measured(OpenOptions::new().read(true), path).map_err(failed)?;
    check_length(path, length, limit)?;
    let end = end_of_data(&mut file).map_err(failed)?;
    Ok((file, end))
}

/// The position of the first hole, or of the end. Leaves the file at its beginning.
pub(crate) fn end_of_data(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    if length <= WITHOUT_HOLES {
        return Ok(length);
    }
    let end = first_hole(file).unwrap_or(length).min(length);
    file.seek(SeekFrom::Start(0))?;
    Ok(end)
}

pub(crate) fn check_length(path: &Path, bytes: u64, limit: u64) -> Result<(), StoreError> {
    if bytes > limit {
        return Err(StoreError::TooLarge { path: path.to_owned(), bytes, limit });
    }
    Ok(())
}

/// Reads all of a plain file.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    let (file, length) = open_bounded(path, limit)?;
    // With room for all of it and for noticing the end, two reads are enough. Lists read many small
    // files.
    let room = usize::try_from(length).unwrap_or(0) + 64;
    let mut bytes = Vec::with_capacity(room);
    let end = if length > WITHOUT_HOLES { length } else { limit.saturating_add(1) };
    file.take(end).read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
    check_length(path, bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Reads the first bytes of a plain file, of any length.
pub(crate) fn read_beginning(path: &Path, count: usize) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|file| file.take(count as u64).read_to_end(&mut bytes));
    read.map_err(StoreError::io("read", path))?;
    Ok(bytes)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn first_hole(file: &File) -> Option<u64> {
    // File systems that do not know holes report the end of the file.
    rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn first_hole(_: &File) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_too_large_is_not_read_and_says_so() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("result.json");
        let file = File::create(&path).unwrap();
        file.set_len(60 * 1024 * MEBIBYTE).unwrap();
        let error = read_bounded(&path, LARGEST_RESULT).unwrap_err().to_string();
        assert!(error.contains("result.json is damaged: it has 64424509440 bytes"), "{error}");
        assert!(error.contains("42991616"), "{error}");
        assert!(read_beginning(&path, 10).is_ok_and(|bytes| bytes == [0; 10]));
    }

    #[test]
    fn nothing_after_a_hole_is_read() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("events.jsonl");
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![b'x'; 128 * 1024]).unwrap();
        file.set_len(LARGEST_LOG).unwrap();
        let read = read_bounded(&path, LARGEST_LOG).unwrap();
        // A file system without holes has zeros there.
        let text = read.iter().filter(|byte| **byte == b'x').count();
        assert!(text == 128 * 1024 && read.len() <= LARGEST_LOG as usize, "{}", read.len());
        #[cfg(target_os = "linux")]
        assert!(read.len() < 256 * 1024, "{}", read.len());
        fs::write(&path, "short").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"short");
        assert!(read_bounded(&path, 4).is_err());
    }
}
