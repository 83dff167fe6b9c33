//! The queue of calls: one turn for each, however many tasks it has.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use process::make_named_pipe;
use rustix::fs::{Mode, OFlags, open};

use crate::shared_dir::{Access, SharedDir, names, open_file, remove};

/// A place in the queue, which lasts until it is dropped or its process ends.
///
/// It is a named pipe into which nothing is written. Its owner has both ends open, so that a reader meets the end of the
/// pipe exactly when the owner is gone.
#[derive(Debug)]
pub(crate) struct Turn {
    number: u64,
    path: PathBuf,
    pipe: File,
    watched: Watched,
}

#[derive(Debug)]
enum Watched {
    /// The last living turn before this one.
    Before { path: PathBuf, pipe: File },
    /// There is none before. Whatever ends rings the bell.
    Bell(Option<File>),
}

impl Turn {
    /// Takes the turn behind all others. To be called under the lock.
    pub(crate) fn take(shared: &SharedDir) -> io::Result<Turn> {
        let number = numbers(shared).last().map_or(1, |last| last + 1);
        let path = path(shared, number);
        make_named_pipe(&path)?;
        match open_file(&path, Access::Write) {
            Ok(pipe) => Ok(Turn { number, path, pipe, watched: Watched::Bell(None) }),
            Err(error) => {
                remove(&path);
                Err(error)
            }
        }
    }

    /// Whether it is still in the queue. A turn that was not used in time is taken out.
    pub(crate) fn is_queued(&self) -> bool {
        self.pipe.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }

    /// Looks for the turn before it, and watches that. Returns whether there is none. A turn that is the first hears the
    /// bell from here on.
    pub(crate) fn look_ahead(&mut self, shared: &SharedDir) -> bool {
        let earlier = numbers(shared).into_iter().rev().filter(|number| *number < self.number);
        let before = earlier.into_iter().find_map(|number| {
            let path = path(shared, number);
            let pipe = open_file(&path, Access::Read).ok().filter(is_held)?;
            Some(Watched::Before { path, pipe })
        });
        let is_first = before.is_none();
        match (before, &self.watched) {
            (Some(before), _) => self.watched = before,
            (None, Watched::Bell(Some(_))) => {}
            (None, _) => self.watched = Watched::Bell(open_bell(shared)),
        }
        is_first
    }

    /// Whether something has happened that makes it worth asking again.
    pub(crate) fn is_called(&mut self) -> bool {
        match &mut self.watched {
            Watched::Before { pipe, .. } => !is_held(pipe),
            Watched::Bell(Some(bell)) => {
                let mut bytes = [0; 4096];
                bell.read(&mut bytes).is_ok_and(|read| read > 0)
            }
            Watched::Bell(None) => false,
        }
    }

    /// Whether no other turn was before it when it looked.
    pub(crate) fn is_first(&self) -> bool {
        matches!(self.watched, Watched::Bell(_))
    }

    /// Whether the turn before it was taken out of the queue, although its owner may live.
    pub(crate) fn is_before_gone(&self) -> bool {
        match &self.watched {
            Watched::Before { path, .. } => std::fs::symlink_metadata(path).is_err(),
            Watched::Bell(_) => false,
        }
    }

    /// Becomes readable when it is worth asking again.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        match &self.watched {
            Watched::Before { pipe, .. } => Some(pipe.as_fd()),
            Watched::Bell(bell) => bell.as_ref().map(AsFd::as_fd),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Whether a call waits. Removes turns whose processes have ended, so it is called under the lock.
pub(crate) fn is_waited(shared: &SharedDir) -> bool {
    numbers(shared).into_iter().any(|number| {
        let path = path(shared, number);
        let is_held = open_file(&path, Access::Read).is_ok_and(|pipe| is_held(&pipe));
        if !is_held {
            remove(&path);
        }
        is_held
    })
}

/// Takes the first turn out of the queue, because its owner does not use it. To be called under the lock.
pub(crate) fn pass_over_first(shared: &SharedDir) {
    if is_waited(shared)
        && let Some(first) = numbers(shared).first()
    {
        remove(&path(shared, *first));
    }
}

/// Wakes the call that has the first turn, if any call waits.
pub(crate) fn ring(shared: &SharedDir) {
    // Without a reader, the pipe cannot be opened like this.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(bell) = open(shared.bell(), flags, Mode::empty()) {
        // One that is full was rung often enough.
        let _ = File::from(bell).write(&[0]);
    }
}

fn open_bell(shared: &SharedDir) -> Option<File> {
    let path = shared.bell();
    // It is there already, most of the time.
    let _ = make_named_pipe(&path);
    open_file(&path, Access::Write).ok()
}

/// Whether the owner of a turn lives: its pipe has nothing, but does not end.
fn is_held(pipe: &File) -> bool {
    let mut byte = [0];
    matches!((&mut &*pipe).read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// The numbers of all turns, in their order. After the largest there would be none.
fn numbers(shared: &SharedDir) -> Vec<u64> {
    let names = names(&shared.queue());
    let numbers = names.iter().filter_map(|name| name.parse().ok());
    let mut numbers: Vec<u64> = numbers.filter(|number| *number < u64::MAX).collect();
    numbers.sort_unstable();
    numbers
}

fn path(shared: &SharedDir, number: u64) -> PathBuf {
    shared.queue().join(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> (tempfile::TempDir, SharedDir) {
        let top = tempfile::tempdir().unwrap();
        let shared = SharedDir::open(&[top.path().join("locks")]).unwrap();
        (top, shared)
    }

    #[test]
    fn turns_have_an_order_and_each_is_called_when_the_one_before_is_gone() {
        let (_top, shared) = shared();
        assert!(!is_waited(&shared));
        let mut turns: Vec<Turn> = (0..3).map(|_| Turn::take(&shared).unwrap()).collect();
        assert!(is_waited(&shared));
        let firsts: Vec<bool> = turns.iter_mut().map(|turn| turn.look_ahead(&shared)).collect();
        assert_eq!(firsts, [true, false, false]);
        assert!(turns.iter_mut().all(|turn| !turn.is_called()));
        // From the middle: the last one now watches the first.
        turns.remove(1);
        assert!(turns[1].is_called() && !turns[1].look_ahead(&shared));
        turns.remove(0);
        assert!(turns[0].is_called() && turns[0].look_ahead(&shared));
        assert!(!turns[0].is_called(), "it hears the bell alone");
        ring(&shared);
        ring(&shared);
        assert!(turns[0].is_called() && !turns[0].is_called(), "the bell is heard once");
        turns.clear();
        assert!(!is_waited(&shared) && numbers(&shared).is_empty());
        ring(&shared);
    }

    #[test]
    fn a_turn_whose_process_has_ended_is_no_turn() {
        let (_top, shared) = shared();
        make_named_pipe(&path(&shared, 4)).unwrap();
        std::fs::write(path(&shared, 5), "no pipe").unwrap();
        std::fs::write(shared.queue().join("note"), "no number").unwrap();
        std::fs::write(path(&shared, u64::MAX), "the last number").unwrap();
        let mut turn = Turn::take(&shared).unwrap();
        assert_eq!(turn.number, 6);
        assert!(turn.look_ahead(&shared));
        assert!(is_waited(&shared));
        assert_eq!(numbers(&shared), [6]);
    }

    #[test]
    fn a_turn_that_is_not_used_is_passed_over() {
        let (_top, shared) = shared();
        let mut turns = [Turn::take(&shared).unwrap(), Turn::take(&shared).unwrap()];
        turns[1].look_ahead(&shared);
        pass_over_first(&shared);
        assert!(!turns[0].is_queued() && turns[1].is_queued());
        assert!(turns[1].is_before_gone() && turns[1].look_ahead(&shared));
    }
}
