//! What people see of a call with its tasks: lines of text with roles, which every screen draws in
//! its own way.
//!
//! Everything here is a function of the tasks' states. The time is given from outside.

mod body;
mod call;
mod header;
mod line;
mod tally;
#[cfg(test)]
mod tests;

use model::{SessionId, Status};

pub use self::body::{error_lines, truncated, window_lines};
pub use self::call::call_line;
pub use self::header::{compact_line, doing_line, window_header};
pub use self::line::{Line, Role, Span};
pub use self::tally::{Tally, footer, overview, streaming_text};
use crate::state::State;

/// One task, as far as it can be seen.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The task's name.
    pub name: &'a str,
    /// The profile that it runs with, if any.
    pub profile: Option<ProfileView<'a>>,
    /// What happened in its run so far.
    pub state: &'a State,
    /// Where it stands.
    pub phase: Phase,
    /// How long its child has been running, or ran.
    pub elapsed_ms: u64,
    /// How long it has been doing what it does now.
    pub doing_ms: u64,
    /// How long it may run; no limit if absent.
    pub timeout_ms: Option<u64>,
    /// The session that its run belongs to.
    pub session: &'a SessionId,
}

/// What a window says about a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileView<'a> {
    /// Its name.
    pub name: &'a str,
    /// The provider that it asks for.
    pub provider: Option<&'a str>,
    /// The model that it asks for. Once a model has answered, that one is shown instead.
    pub model: Option<&'a str>,
    /// The level of thinking that it asks for.
    pub thinking: Option<&'a str>,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits for its turn, and its clock stands still.
    Queued,
    /// It runs.
    Running,
    /// Nothing of it is left; its state tells how it ended.
    Ended,
}

/// How much of a window is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The last entries.
    Collapsed,
    /// Everything that is remembered.
    Expanded,
}

/// All tasks of a call: how many there are, a window for each, and what comes next.
pub fn render(tasks: &[TaskView<'_>], extent: Extent) -> Vec<Line> {
    if tasks.is_empty() {
        return vec![Line::of(Role::Muted, "(no sub-agent details)")];
    }
    let mut lines = vec![overview(tasks), Line::default()];
    for task in tasks {
        lines.push(window_header(task));
        lines.extend(window_lines(task, extent));
        lines.extend(error_lines(task));
        lines.push(Line::default());
    }
    lines.extend(footer(tasks));
    lines
}

/// The four things that a task can be for whoever looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits for its turn.
    Queued,
    /// It runs.
    Running,
    /// It has completed.
    Done,
    /// It has ended in any other way.
    Failed,
}

impl TaskView<'_> {
    /// Which of them it is.
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
