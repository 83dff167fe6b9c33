//! Reads the output of a program, fast or slowly, on a thread of its own.

use std::io::Read;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::plan::Pace;

/// Reads a stream at a pace that can change.
#[derive(Clone, Debug)]
pub(crate) struct PacedReader(Arc<Mutex<(Pace, Instant)>>);

/// How long a slow reader stays slow.
const SLOW: Duration = Duration::from_secs(2);

impl PacedReader {
    pub(crate) fn new(pace: Pace) -> PacedReader {
        PacedReader(Arc::new(Mutex::new((pace, Instant::now()))))
    }

    /// Changes the pace.
    pub(crate) fn set(&self, pace: Pace) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (pace, Instant::now());
    }

    /// Waits before the next piece, as long as the pace says.
    fn wait(&self) {
        let (pace, since) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = match pace {
            Pace::Slow if since.elapsed() < SLOW => Duration::from_millis(30),
            Pace::Eager | Pace::Slow => Duration::ZERO,
            Pace::Absent(length) => length.saturating_sub(since.elapsed()),
        };
        thread::sleep(pause);
    }

    /// Reads a stream to its end, and sends every piece on.
    pub(crate) fn read<P>(
        &self,
        mut stream: impl Read,
        pieces: &Sender<P>,
        wrap: fn(Vec<u8>) -> P,
    ) {
        let mut buffer = [0; 4_096];
        loop {
            self.wait();
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) => {
                    if pieces.send(wrap(buffer[..length].to_vec())).is_err() {
                        return;
                    }
                }
            }
        }
    }
}
