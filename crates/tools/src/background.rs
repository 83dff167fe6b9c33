//! `background_agent` and `background_agent_status`: runs that outlive the program that asked for them.
//!
//! There is no register of them besides the run directories: what one program starts, every other
//! finds, counts and waits for. A door that keeps a log of its own, as pi does, writes down in it
//! what [`BackgroundBook`] reads again.

mod agent;
mod book;
#[cfg(test)]
mod book_tests;
mod notification;
mod record;
mod registry;
mod status;
#[cfg(test)]
mod tests;

pub use agent::{StartError, background_answer, plan_background, start_background};
pub use book::{BackgroundBook, COMPLETE_MESSAGE, RUN_ENTRY, Reloaded, UPDATE_ENTRY, reload};
pub use notification::{Notification, take_notifications};
pub use record::{ArtifactPaths, BackgroundEnding, BackgroundRecord, BackgroundUpdate};
pub use registry::{
    BackgroundCounts, BackgroundRun, BackgroundRunError, BackgroundRuns, BackgroundStatus, Whose,
    find_background, load_background, similar_background,
};
pub use status::background_status;
