//! `background_agent`, `background_agent_status` and `background_agent_control`: runs that outlive the program that starts them.
//!
//! Their only registry are the run directories: what one program starts, every other finds, counts and
//! waits for. [`BackgroundBook`] is what a caller like pi keeps of its runs in its own log.

mod agent;
mod book;
#[cfg(test)]
mod book_tests;
mod control;
mod notification;
mod record;
mod registry;
mod status;
#[cfg(test)]
mod tests;

pub use agent::{StartError, background_answer, plan_background, start_background};
pub use book::{BackgroundBook, COMPLETE_MESSAGE, RUN_ENTRY, Reloaded, UPDATE_ENTRY, reload};
pub use control::{MessageRefused, control_answer, message_answer};
pub use notification::Notification;
pub use record::{ArtifactPaths, BackgroundEnding, BackgroundRecord, BackgroundUpdate};
pub use registry::{
    BackgroundCounts, BackgroundRun, BackgroundRunError, BackgroundRuns, BackgroundStatus,
    find_background, load_background, load_background_run, similar_background,
};
pub use status::background_status;
