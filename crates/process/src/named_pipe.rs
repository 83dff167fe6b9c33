//! Named pipes.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes a named pipe that only this user can open.
pub fn make_named_pipe(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a string that ends with a zero, and the call keeps no pointer to it.
    #[expect(unsafe_code, reason = "no safe wrapper makes a named pipe on every system")]
    let made = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    if made == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
