//! Opening files that this program did not write.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde_json::Value;

/// Opens a plain file, and returns it with its length.
///
/// A path in a project can lead to a pipe without a writer, or to a device without an end. The kind
/// of file is read from the open descriptor, so that the path cannot be exchanged in between.
pub(crate) fn open_plain(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    Ok((file, metadata.len()))
}

/// Whether there is no such file. A plain file `.pi` holds no settings and no definitions.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The most that is read of a file of settings.
pub(crate) const LARGEST: u64 = 1024 * 1024;

/// What a JSON file holds, or nothing if it does not exist; else what is wrong with it.
pub(crate) fn read_json(path: &Path) -> Result<Option<Value>, String> {
    let mut text = String::new();
    let read = open_plain(path).and_then(|(file, _)| file.take(LARGEST).read_to_string(&mut text));
    match read {
        Ok(_) => serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(&text))
            .map(Some)
            .map_err(|error| format!("it is not JSON: {error}")),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_no_plain_file_is_an_error_at_once() {
        let top = tempfile::tempdir().unwrap();
        for path in [top.path(), Path::new("/dev/zero"), Path::new("/dev/tty")] {
            assert!(open_plain(path).is_err(), "{}", path.display());
        }
    }

    // rustix makes no pipes on other systems.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_an_error_at_once() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR).unwrap();
        assert_eq!(open_plain(&pipe).unwrap_err().to_string(), "it is not a plain file");
    }

    #[test]
    fn a_link_to_a_plain_file_is_one() {
        let top = tempfile::tempdir().unwrap();
        let (path, link) = (top.path().join("file"), top.path().join("link"));
        std::fs::write(&path, "text").unwrap();
        symlink(&path, &link).unwrap();
        let (mut file, length) = open_plain(&link).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), length), ("text", 4));
    }
}
