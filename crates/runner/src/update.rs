//! What callers of the dispatcher learn of their tasks.

use std::path::PathBuf;

use model::{Activity, Record, RunResult, Waiting};

use crate::result::not_kept;

/// Names a task within its dispatcher; counts from zero in the order of submission.
pub type TaskId = usize;

/// What has changed about a task.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Update {
    pub task: TaskId,
    pub change: Change,
}

/// Something that the caller of a task should know.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Change {
    /// The task could start, if it were not for this.
    Waiting(Waiting),
    /// The task has left the queue, and is recorded in this directory.
    Started { run_dir: PathBuf },
    /// Something happened in the run.
    Record(Record),
    /// The child does something else now.
    Activity(Activity),
    /// Nothing of the run is left. The last change of a task.
    Ended(Box<Report>),
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The result, the same as in `result.json`.
    pub result: RunResult,
    /// Where the run is recorded, if anywhere.
    pub run_dir: Option<PathBuf>,
    /// What people should know about the record itself.
    pub warnings: Vec<String>,
}

impl Report {
    pub(crate) fn new(
        result: RunResult,
        run_dir: Option<PathBuf>,
        mut warnings: Vec<String>,
        unkept: Option<String>,
    ) -> Box<Report> {
        warnings.extend(unkept.map(not_kept));
        Box::new(Report { result, run_dir, warnings })
    }
}
