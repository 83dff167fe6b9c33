//! Reads one run directory, and tells whether its run lives.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use model::{FORMAT, Meta, Record, RunId, RunResult, paths, variables};
use rustix::process::{Uid, geteuid};
use serde::de::DeserializeOwned;

use crate::StoreError;
use crate::bounds::{
    LARGEST_LOG, LARGEST_META, LARGEST_PROMPT, LARGEST_RESULT, open_bounded, open_regular,
    read_beginning, read_bounded,
};
use crate::runs::is_trusted;

pub(crate) const META: &str = "meta.json";
pub(crate) const PROMPT: &str = "prompt.md";
/// The name of the file of events.
pub const EVENTS: &str = "events.jsonl";
pub(crate) const RESULT: &str = "result.json";
/// A line of cut texts is shorter, also if all of them are escaped.
const LAST_BYTES: u64 = 64 * 1024;

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
    run_id: RunId,
}

/// Whether a run lives.
#[derive(Debug)]
pub enum Life {
    /// Its lock is held.
    Alive,
    /// It has a result.
    Ended(Box<RunResult>),
    /// It has no result and its lock is free: its supervisor is gone.
    Abandoned(Abandoned),
}

/// The right to end a run whose supervisor is gone. At most one program has it at a time.
#[derive(Debug)]
pub struct Abandoned {
    pub(crate) dir: RunDir,
    pub(crate) hold: Hold,
}

/// A lock on a run. While a process holds one, the run counts as alive.
#[derive(Debug)]
pub struct Hold {
    /// Closing the file releases the lock.
    _file: File,
}

/// The right to continue the session whose newest run this is. At most one program has it at a
/// time; the end of that program, of any kind, releases it.
#[derive(Debug)]
pub struct Claim {
    /// Closing the file releases the lock.
    _file: File,
}

impl Hold {
    pub(crate) fn shared(file: File) -> io::Result<Hold> {
        file.lock_shared()?;
        Ok(Hold { _file: file })
    }
}

impl RunDir {
    /// The run directory at `path`, whose name must be a run id.
    pub fn open(path: &Path) -> Result<RunDir, StoreError> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match RunId::parse(name) {
            Ok(run_id) => Ok(RunDir { path: path.to_owned(), run_id }),
            Err(_) => Err(StoreError::NotARun(path.to_owned())),
        }
    }

    /// The same run directory, as the working directory of this process.
    pub(crate) fn here(&self) -> RunDir {
        RunDir { path: PathBuf::from("."), run_id: self.run_id.clone() }
    }

    /// Absolute, or `.` for a supervisor that works in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the directory.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes the directory of a run that was not started, and will be made again or never be.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Makes the directory in which a restricted agent may write.
    pub fn make_outputs(&self) -> Result<(), StoreError> {
        let path = self.file(paths::OUTPUTS);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(StoreError::io("created", &path))
    }

    /// Reads `meta.json`.
    pub fn meta(&self) -> Result<Meta, StoreError> {
        self.meta_as()
    }

    /// Reads some fields of `meta.json`: a list needs few fields of many runs.
    pub fn meta_as<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        let path = self.file(META);
        let json = read_bounded(&path, LARGEST_META)?;
        serde_json::from_slice(&json).map_err(|source| StoreError::Damaged { path, source })
    }

    /// Whether the run took place in this very directory: it is no copy, and no other user has
    /// prepared it.
    pub fn is_original(&self, meta: &Meta) -> bool {
        self.is_original_for(geteuid(), meta)
    }

    fn is_original_for(&self, user: Uid, meta: &Meta) -> bool {
        let recorded = meta.environment.get(variables::RUN_DIR).and_then(Option::as_deref);
        let here = fs::canonicalize(&self.path).ok();
        let owner = fs::metadata(&self.path).map(|metadata| Uid::from_raw(metadata.uid()));
        meta.run_id == self.run_id
            && recorded.map(Path::new) == here.as_deref()
            && owner.is_ok_and(|owner| is_trusted(owner, user))
    }

    /// Reads `prompt.md`.
    pub fn prompt(&self) -> Result<String, StoreError> {
        let path = self.file(PROMPT);
        let text = read_bounded(&path, LARGEST_PROMPT)?;
        String::from_utf8(text).map_err(|error| {
            StoreError::io("read", path)(io::Error::new(io::ErrorKind::InvalidData, error))
        })
    }

    /// Reads the beginning of `prompt.md`: a list shows no more.
    pub fn prompt_beginning(&self, bytes: usize) -> Result<String, StoreError> {
        let text = read_beginning(&self.file(PROMPT), bytes)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The length of the events and whether there is a result: as long as both are the same, the
    /// run has not changed.
    pub fn trace(&self) -> (u64, bool) {
        let size = |name| self.file(name).symlink_metadata().map(|metadata| metadata.len());
        (size(EVENTS).unwrap_or_default(), size(RESULT).is_ok())
    }

    /// Reads `result.json`, if the run has ended.
    pub fn result(&self) -> Result<Option<RunResult>, StoreError> {
        self.result_as()
    }

    /// Reads some fields of `result.json`, if the run has ended.
    pub fn result_as<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        let path = self.file(RESULT);
        match read_bounded(&path, LARGEST_RESULT) {
            Ok(json) => serde_json::from_slice(&json)
                .map(Some)
                .map_err(|source| StoreError::Damaged { path, source }),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the events. Lines that cannot be read are passed over, such as a torn one at the end.
    pub fn events(&self) -> Result<impl Iterator<Item = Record>, StoreError> {
        let (file, length) = open_bounded(&self.file(EVENTS), LARGEST_LOG)?;
        // A supervisor may be adding more.
        let mut file = BufReader::new(file.take(length));
        let lines = std::iter::from_fn(move || {
            let mut line = Vec::new();
            (file.read_until(b'\n', &mut line).ok()? > 0).then_some(line)
        });
        Ok(lines.filter_map(|line| serde_json::from_slice(&line).ok()))
    }

    /// The last whole event, which is read without the others; `None` if there is none, or its line cannot be read.
    pub fn last_event(&self) -> Result<Option<Record>, StoreError> {
        let path = self.file(EVENTS);
        let failed = StoreError::io("read", &path);
        let (file, length) = open_bounded(&path, LARGEST_LOG)?;
        let count = length.min(LAST_BYTES);
        let mut end = vec![0; usize::try_from(count).unwrap_or_default()];
        let read = file.read_at(&mut end, length - count).map_err(failed)?;
        let whole = end[..read].iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
        let line = end[..whole].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(serde_json::from_slice(line).ok())
    }

    /// Whether its run lives, has ended or was abandoned.
    pub fn life(&self) -> Result<Life, StoreError> {
        if let Some(result) = self.result()? {
            return Ok(Life::Ended(Box::new(result)));
        }
        let path = self.file(EVENTS);
        let file = open_regular(&path).map_err(StoreError::io("opened", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Life::Alive),
            Err(TryLockError::Error(error)) => return Err(StoreError::io("locked", path)(error)),
        }
        // The supervisor may have written the result and released its lock since we looked.
        match self.result()? {
            Some(result) => Ok(Life::Ended(Box::new(result))),
            None => {
                Ok(Life::Abandoned(Abandoned { dir: self.clone(), hold: Hold { _file: file } }))
            }
        }
    }

    /// Claims the run, so that no other program continues its session. `None` if another one has.
    ///
    /// The lock is on `meta.json`, which has no other lock: one on `events.jsonl` would say that
    /// the run lives.
    pub fn claim(&self) -> Result<Option<Claim>, StoreError> {
        let path = self.file(META);
        let file = open_regular(&path).map_err(StoreError::io("opened", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Claim { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::io("locked", path)(error)),
        }
    }

    /// Refuses a directory of a newer format, which we understand only in part.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        let found = self.meta()?.format;
        if found > FORMAT {
            return Err(StoreError::NewerFormat { path: self.path.clone(), found });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_run_of_another_user_is_as_good_as_a_copy() {
        let top = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(top.path()).unwrap().join("some-run-0");
        fs::create_dir(&path).unwrap();
        // Only the administrator can change an owner, and is trusted as one.
        if geteuid().is_root() {
            chown(&path, Some(4242), None).unwrap();
        }
        let dir = RunDir::open(&path).unwrap();
        let meta = include_str!("../../cli/tests/frozen/format-1/meta.json");
        let mut meta: Meta = serde_json::from_str(meta).unwrap();
        meta.run_id = dir.run_id().clone();
        let recorded = path.to_str().unwrap().to_owned();
        std::sync::Arc::make_mut(&mut meta.environment)
            .insert(variables::RUN_DIR.to_owned(), Some(recorded));
        let owner = fs::metadata(&path).unwrap().uid();
        assert!(dir.is_original_for(Uid::from_raw(owner), &meta));
        assert!(!dir.is_original_for(Uid::from_raw(owner + 1), &meta));
    }
}
