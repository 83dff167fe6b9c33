//! What people see of a call with its tasks: lines of text with roles, which every screen draws in
//! its own way.
//!
//! Everything here is a function of the tasks' states; the caller passes the time.

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

/// Everything about one task that a window can show.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct TaskView<'a> {
    pub name: &'a str,
    pub profile: Option<ProfileView<'a>>,
    pub state: &'a State,
    pub phase: Phase,
    /// How long its child has been running, or ran.
    pub elapsed_ms: u64,
    /// How long the current activity has lasted.
    pub doing_ms: u64,
    /// Counted as `elapsed_ms` is; `None` without a limit.
    pub timeout_ms: Option<u64>,
    pub session: &'a SessionId,
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

/// How much of a window is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The last entries.
    Collapsed,
    /// Every entry that the window remembers.
    Expanded,
}

/// All tasks of a call: an overview, a window for each, and a footer.
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
