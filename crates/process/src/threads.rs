//! Threads that may not be had.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Work for which there is no thread.
#[derive(Debug)]
pub struct NoThread<Work> {
    /// Why there is none.
    pub error: io::Error,
    /// The work, which the caller can do itself. It is there unless a thread has taken it.
    pub work: Option<Work>,
}

/// Starts a thread for the work, or gives the work back. `std::thread::spawn` would panic: at the
/// limit of processes of the user, or of memory, there is no thread to be had.
pub fn start_thread<Work, Output>(work: Work) -> Result<JoinHandle<Option<Output>>, NoThread<Work>>
where
    Work: FnOnce() -> Output + Send + 'static,
    Output: Send + 'static,
{
    let shared = Arc::new(Mutex::new(Some(work)));
    let theirs = Arc::clone(&shared);
    let take =
        |shared: &Mutex<Option<Work>>| shared.lock().unwrap_or_else(PoisonError::into_inner).take();
    let thread = thread::Builder::new().spawn(move || take(&theirs).map(|work| work()));
    thread.map_err(|error| NoThread { error, work: take(&shared) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_once() {
        let thread = start_thread(|| 42).unwrap_or_else(|_| panic!("there are threads"));
        assert_eq!(thread.join().unwrap(), Some(42));
    }
}
