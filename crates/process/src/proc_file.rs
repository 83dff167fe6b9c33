//! Files of `/proc`, whose size the kernel does not tell.

use std::fs::File;
use std::io::{self, Read};

/// Reads a file in two system calls, if it is as short as most of them. The standard library begins
/// with 32 bytes.
pub(crate) fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4096);
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text.
pub(crate) fn read_text(path: &str) -> io::Result<String> {
    read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
