//! Reading what a program says, fast or slowly, on a thread of its own.

use std::io::Read;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::plan::Pace;

/// How fast a stream is read now.
#[derive(Clone, Debug)]
pub(crate) struct Tempo(Arc<Mutex<(Pace, Instant)>>);

/// How long somebody stays slow.
const SLOW: Duration = Duration::from_secs(2);

impl Tempo {
    pub(crate) fn new(pace: Pace) -> Tempo {
        Tempo(Arc::new(Mutex::new((pace, Instant::now()))))
    }

    /// Changes the pace from now on.
    pub(crate) fn set(&self, pace: Pace) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (pace, Instant::now());
    }

    /// Waits as long as the pace says before the next piece.
    fn wait(&self) {
        let (pace, since) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = match pace {
            Pace::Slow if since.elapsed() < SLOW => Duration::from_millis(30),
            Pace::Eager | Pace::Slow => Duration::ZERO,
            Pace::Absent(length) => length.saturating_sub(since.elapsed()),
        };
        thread::sleep(pause);
    }

    /// Reads a stream to its end, and hands on every piece.
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
