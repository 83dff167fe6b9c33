//! What a run's events mean: pure folds, without clocks, files or failure.
//!
//! Live and replayed runs go through the same [`Facts`] and [`State`], so a window, a transcript and a status
//! can never disagree about the same events.

mod loops;
mod progress;
mod state;
mod summary;
mod text;
mod transcript;
mod verdict;
mod window;

pub use loops::LoopDetector;
pub use progress::Progress;
pub use state::{Facts, State};
pub use summary::summary_line;
pub use text::{clean, cut_bytes, cut_chars};
pub use transcript::transcript;
pub use verdict::{Ending, Verdict, decide};
pub use window::{LineKind, Window, WindowLine};
