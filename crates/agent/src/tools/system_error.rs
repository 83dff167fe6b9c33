//! Errors of the operating system, as models know them from Node.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::ToolError;

/// The error of a call on a path, such as "ENOENT: no such file or directory, open 'a'".
pub(super) fn on_path(error: &io::Error, call: &str, path: &Path) -> ToolError {
    ToolError(format!("{}, {call} '{}'", words(error), path.display()))
}

/// The error of a call that names no path.
pub(super) fn of_call(error: &io::Error, call: &str) -> ToolError {
    ToolError(format!("{}, {call}", words(error)))
}

/// The name of the error, such as "ENOENT".
pub(super) fn code(error: &io::Error) -> String {
    match known(error) {
        Some((code, _)) => code.to_owned(),
        None => error.to_string(),
    }
}

fn words(error: &io::Error) -> String {
    match known(error) {
        Some((code, words)) => format!("{code}: {words}"),
        None => error.to_string(),
    }
}

fn known(error: &io::Error) -> Option<(&'static str, &'static str)> {
    Some(match Errno::from_io_error(error)? {
        Errno::ACCESS => ("EACCES", "permission denied"),
        Errno::AGAIN => ("EAGAIN", "resource temporarily unavailable"),
        Errno::DQUOT => ("EDQUOT", "disk quota exceeded"),
        Errno::EXIST => ("EEXIST", "file already exists"),
        Errno::FBIG => ("EFBIG", "file too large"),
        Errno::INVAL => ("EINVAL", "invalid argument"),
        Errno::IO => ("EIO", "i/o error"),
        Errno::ISDIR => ("EISDIR", "illegal operation on a directory"),
        Errno::LOOP => ("ELOOP", "too many symbolic links encountered"),
        Errno::MFILE => ("EMFILE", "too many open files"),
        Errno::NAMETOOLONG => ("ENAMETOOLONG", "name too long"),
        Errno::NFILE => ("ENFILE", "file table overflow"),
        Errno::NODEV => ("ENODEV", "no such device"),
        Errno::NOENT => ("ENOENT", "no such file or directory"),
        Errno::NOSPC => ("ENOSPC", "no space left on device"),
        Errno::NOTDIR => ("ENOTDIR", "not a directory"),
        Errno::NXIO => ("ENXIO", "no such device or address"),
        Errno::PERM => ("EPERM", "operation not permitted"),
        Errno::ROFS => ("EROFS", "read-only file system"),
        Errno::TXTBSY => ("ETXTBSY", "text file is busy"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_errors_have_a_code_and_others_their_own_words() {
        let missing = io::Error::from_raw_os_error(Errno::NOENT.raw_os_error());
        assert_eq!(
            on_path(&missing, "access", Path::new("/a")).0,
            "ENOENT: no such file or directory, access '/a'"
        );
        assert_eq!(code(&missing), "ENOENT");
        let directory = io::Error::from_raw_os_error(Errno::ISDIR.raw_os_error());
        assert_eq!(of_call(&directory, "read").0, "EISDIR: illegal operation on a directory, read");
        let other = io::Error::other("it rained");
        assert_eq!(of_call(&other, "read").0, "it rained, read");
        assert_eq!(code(&other), "it rained");
    }
}
