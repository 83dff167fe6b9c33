//! What a run's events mean: pure folds, without clocks, files or failure.
//!
//! Live and replayed runs go through the same [`Facts`] and [`State`], so a window, a transcript
//! and a status never disagree about the same events. [`view`] decides what a state looks like;
//! every screen draws it in its own way.

mod abridged;
mod activity;
mod conversation;
mod diff;
mod event_kind;
mod export;
mod facts;
mod loops;
mod preview;
mod progress_words;
mod quota;
mod report;
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

pub use abridged::abridged;
pub use activity::Doing;
pub use conversation::{Conversation, Depth, Entry, EntryKind, ToolEntry, ToolOutput};
pub use diff::{DiffLine, LARGEST_DIFF, ShownDiff};
pub use event_kind::is_message;
pub use export::{ExportedRun, ExportedSession, to_markdown};
pub use facts::Facts;
pub use loops::LoopDetector;
pub use model::{clean, escape_json};
pub use preview::{PreviewContext, preview};
pub use progress_words::Progress;
pub use quota::quota;
pub use report::to_html;
pub use state::{Context, State};
pub use summary::summary_line;
pub use text::{cut_bytes, cut_chars, shorten};
pub use todos::Todos;
pub use tool_summary::tool_summary;
pub use transcript::{PastRun, continued, resume_transcript, transcript, transcript_with_prompts};
pub use usage::{cost_words, token_words, total_cost_words, usage_words};
pub use verdict::{Demands, Ending, decide, failed_command};
