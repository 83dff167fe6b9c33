//! Small files that last, each changed by one program at a time.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::shared_dir::{lock, make_directory, read_file, replace};

/// How often a lock is asked for that another program holds. What is lost otherwise is a lesson, or added later.
const ATTEMPTS: u32 = 160;

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
    let Some(_locked) = lock(&path.with_extension("lock"), ATTEMPTS) else { return false };
    let mut value = load(path);
    change(&mut value);
    serde_json::to_vec(&value).is_ok_and(|text| replace(path, &text).is_ok())
}
