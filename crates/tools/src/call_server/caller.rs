//! What a door says about its caller, and about a call.

use model::Owner;
use plan::Surroundings;

use super::Reporting;

/// Who calls, and what its door can do for it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Where the caller works.
    pub surroundings: Surroundings,
    /// Who owns the runs.
    pub owner: Owner,
    /// Whether the project is trusted. Without it, pi's own record of that counts.
    pub approval: Option<bool>,
    /// The agent that wins over the settings, as it is written on the command line.
    pub agent: Option<String>,
    /// The width of the terminal that shows the windows, if there is one.
    pub columns: Option<usize>,
    /// Whether `get_subagent_output` waits for the end of a session.
    pub waits_for_sessions: bool,
    /// Whether there is a log, which is written by [`super::CallEvent::LogEntry`] and read by
    /// [`super::CallServer::restore`].
    pub keeps_log: bool,
}

impl Caller {
    /// A caller with no wishes of its own.
    pub fn new(surroundings: Surroundings, owner: Owner) -> Caller {
        Caller {
            surroundings,
            owner,
            approval: None,
            agent: None,
            columns: None,
            waits_for_sessions: false,
            keeps_log: false,
        }
    }
}

/// What a door knows about one call besides its arguments.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// The models that there are, as `provider/id`, where the door knows them.
    pub models: Option<Vec<String>>,
    /// The names of all tools that a child could have, where the door knows them.
    pub all_tools: Option<Vec<String>>,
    /// How many tasks run at a time, if it is not what the settings say.
    pub concurrency: Option<usize>,
    /// What the caller gets before the answer.
    pub reporting: Reporting,
}
