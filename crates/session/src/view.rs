//! What people see of a call with its tasks: lines of text with roles, which every screen draws in
//! its own way.
//!
//! Everything here is a function of the tasks' states; the caller passes the time.

mod block;
mod call;
mod changes;
mod header;
mod line;
mod plain_lines;
mod steps;
mod tally;
#[cfg(test)]
mod tests;
mod truncated;

use model::{Access, Budget, SessionId, Status};

pub use self::block::{
    Block, Cell, Row, call_blocks, ended_row, listed_row, opened_blocks, task_row,
};
pub use self::call::{call_heading, call_line};
pub use self::changes::changes_blocks;
pub(crate) use self::header::short_model;
pub use self::header::{Alignment, COLUMNS, Column, clock, duration, mark};
pub use self::line::{Line, Role, Span};
pub use self::plain_lines::{compact_line, plain_line, progress_line};
pub use self::steps::{Step, steps, tool_step};
pub use self::tally::{Tally, overview, streaming_text};
pub use self::truncated::truncated;
use crate::state::State;

/// Everything about one task that a window can show.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct TaskView<'a> {
    pub name: &'a str,
    pub profile: Option<ProfileView<'a>>,
    /// The word for what carries it out.
    pub agent: Option<&'a str>,
    /// The model that was asked for.
    pub model: Option<&'a str>,
    pub thinking: Option<&'a str>,
    pub state: &'a State,
    pub phase: Phase,
    /// How long its child has been running, or ran.
    pub elapsed_ms: u64,
    /// How long the current activity has lasted.
    pub doing_ms: u64,
    /// Counted as `elapsed_ms` is; `None` without a limit.
    pub timeout_ms: Option<u64>,
    pub session: &'a SessionId,
    /// What its agent may change.
    pub access: Access,
    /// What its agent may spend.
    pub budget: Budget,
}

/// What a window says about a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ProfileView<'a> {
    pub name: &'a str,
    pub provider: Option<&'a str>,
    /// Shown until a model has answered, which is then shown instead.
    pub model: Option<&'a str>,
    pub thinking: Option<&'a str>,
}

/// Whether a task has started and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for its turn; its clock stands still.
    Queued,
    /// Its supervisor has started.
    Running,
    /// Nothing of it is left; its state says how it ended.
    Ended,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What matters most.
    Collapsed,
    /// Everything.
    Expanded,
}

/// What has no column of its own: the profile, the access, the to-dos and the session.
pub fn about(task: &TaskView<'_>) -> Line {
    let todos = task.state.todos;
    let profile = task.profile.map(|profile| format!("profile {}", profile.name));
    let access = task.access.is_restricted().then(|| format!("access {}", task.access.word()));
    let todos = todos.are_open().then(|| format!("{} of {} to-dos done", todos.done, todos.total));
    let session = Some(format!("session {}", task.session));
    let words: Vec<String> = [profile, access, todos, session].into_iter().flatten().collect();
    Line::of(Role::Dim, &format!("  {}", words.join(" · ")))
}

/// The status of a task as every view shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Standing {
    Queued,
    Running,
    Done,
    /// Ended without success, in whatever way.
    Failed,
}

impl TaskView<'_> {
    /// From its phase, and from how it ended.
    pub fn standing(&self) -> Standing {
        match (self.phase, self.state.facts.status()) {
            (Phase::Queued, _) => Standing::Queued,
            (Phase::Running, _) => Standing::Running,
            (Phase::Ended, Status::Completed) => Standing::Done,
            // A task that ended without saying how did not succeed.
            (Phase::Ended, Status::Error | Status::Running) => Standing::Failed,
        }
    }
}
