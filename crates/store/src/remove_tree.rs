//! Removing directories that programs have filled as they liked.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a directory with everything in it, if it is there, also if programs have made some of it read-only.
pub fn remove_tree(directory: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(directory).or_else(|error| {
        if error.kind() != io::ErrorKind::PermissionDenied {
            return Err(error);
        }
        make_writable(directory);
        fs::remove_dir_all(directory)
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Lets this user remove what is in the directory, as far as that can be had. Links are not followed.
fn make_writable(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
