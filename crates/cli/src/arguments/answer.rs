//! The arguments of `answer`.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::candidates;

/// Answer a question of a running agent
///
/// Agents that run with `--ask`, or with `subagents.ask` in the settings, ask before they do what their
/// own rules do not permit, and wait. `bg list`, `watch` and `sessions` show what they ask. The first
/// answer counts; one that comes too late is refused, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents answer review yes
  pi-subagents answer review 2 always
  pi-subagents answer @last no
  pi-subagents answer review \"Use git instead\"")]
pub(crate) struct Answer {
    /// The run: a task's name, `@last`, or the id of a run or session, or its beginning
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) run: String,

    /// The number of the question, if several wait; and the answer: `yes`, `always` (for this run), `no`,
    /// or a text, which denies a permission with that reason
    #[arg(value_names = ["NUMBER", "ANSWER"], num_args = 1..=2, required = true, allow_hyphen_values = true)]
    pub(crate) answer: Vec<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
