//! What a run's events mean: pure folds, without clocks, files or failure.
//!
//! Live and replayed runs go through the same [`Facts`] and [`State`], so a window, a transcript
//! and a status never disagree about the same events. [`view`] decides what a state looks like;
//! every screen draws it in its own way.

mod abridged;
mod activity;
mod export;
mod facts;
mod loops;
mod preview;
mod progress_words;
mod state;
mod summary;
#[cfg(test)]
mod testing;
mod text;
mod todos;
mod tool_summary;
mod transcript;
mod usage;
mod verdict;
pub mod view;
mod window;

pub use abridged::abridged;
pub use activity::Doing;
pub use export::{ExportedRun, ExportedSession};
pub use facts::Facts;
pub use loops::LoopDetector;
pub use preview::{PreviewContext, preview};
pub use progress_words::Progress;
pub use state::{Context, State};
pub use summary::summary_line;
pub use text::{clean, cut_bytes, cut_chars, escape_json};
pub use todos::Todos;
pub use tool_summary::tool_summary;
pub use transcript::{PastRun, resume_transcript, transcript, transcript_with_prompts};
pub use usage::usage_words;
pub use verdict::{Ending, decide};
pub use window::{LineKind, Window, WindowLine};
