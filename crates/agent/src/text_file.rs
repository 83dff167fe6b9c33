//! Reads files of the user and of projects.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextFile {
    /// Without a byte order mark.
    pub(crate) text: String,
    /// Whether the file is longer.
    pub(crate) is_cut: bool,
}

/// Reads a file up to about `largest` bytes. `None` if there is none.
///
/// It never blocks and never reads without end: pipes and devices are errors.
pub(crate) fn read_text(path: &Path, largest: usize) -> io::Result<Option<TextFile>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(largest as u64 + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() > largest;
    bytes.truncate(largest);
    let valid = match str::from_utf8(&bytes) {
        Ok(_) => bytes.len(),
        // The cut can go through the middle of a character.
        Err(error) if is_cut && error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8")),
    };
    bytes.truncate(valid);
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    Ok(Some(TextFile { text, is_cut }))
}

/// Reads a whole file. A file of more than `largest` bytes is an error. `None` if there is none.
pub(crate) fn read_whole(path: &Path, largest: usize) -> io::Result<Option<String>> {
    match read_text(path, largest)? {
        Some(file) if file.is_cut => {
            Err(io::Error::other(format!("it is larger than {largest} bytes")))
        }
        file => Ok(file.map(|file| file.text)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn whole_cut_and_missing_files() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("file");
        assert_eq!(read_text(&path, 10).unwrap(), None);
        for (contents, largest, text, is_cut) in [
            ("\u{feff}abc", 10, "abc", false),
            ("abcdef", 6, "abcdef", false),
            ("abcdef", 5, "abcde", true),
            ("aé", 2, "a", true),
            ("", 0, "", false),
        ] {
            fs::write(&path, contents).unwrap();
            let expected = TextFile { text: text.to_owned(), is_cut };
            assert_eq!(read_text(&path, largest).unwrap(), Some(expected), "{contents:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_an_error_at_once() {
        let top = tempfile::tempdir().unwrap();
        let binary = top.path().join("binary");
        fs::write(&binary, [b'a', 0xff, b'b']).unwrap();
        let pipe = top.path().join("pipe");
        process::make_named_pipe(&pipe).unwrap();
        for (path, problem) in [
            (binary.as_path(), "it is not UTF-8"),
            (pipe.as_path(), "it is not a regular file"),
            (top.path(), "it is not a regular file"),
            (Path::new("/dev/zero"), "it is not a regular file"),
        ] {
            let error = read_text(path, 2).unwrap_err().to_string();
            assert_eq!(error, problem, "{}", path.display());
        }
    }
}
