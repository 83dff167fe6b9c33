//! Small files that last, each changed by one program at a time.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::shared_dir::{Access, make_directory, open_file, read_file, replace};

/// How often a lock is asked for. It is held for less than a millisecond, unless its holder was stopped.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(1);

/// What a file holds, or the default if it holds nothing that is understood.
pub(crate) fn load<T: DeserializeOwned + Default>(path: &Path) -> T {
    let text = read_file(path);
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Changes what a file holds while no other program does. Returns whether that was done, whole: otherwise nothing was.
pub(crate) fn change<T>(path: &Path, change: impl FnOnce(&mut T)) -> bool
where
    T: DeserializeOwned + Default + Serialize,
{
    if !path.parent().is_some_and(make_directory) {
        return false;
    }
    let Some(locked) = lock(&path.with_extension("lock")) else { return false };
    let mut value = load(path);
    change(&mut value);
    let is_written = serde_json::to_vec(&value).is_ok_and(|text| replace(path, &text).is_ok());
    // Not by closing alone: a process that another thread is starting can still have the file open.
    let _ = flock(&locked, FlockOperation::Unlock);
    is_written
}

fn lock(path: &Path) -> Option<File> {
    let file = open_file(path, Access::Make).ok()?;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(PAUSE);
        }
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Some(file);
        }
    }
    None
}
