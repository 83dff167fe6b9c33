//! What a door says about its caller, and about a call.

use model::{Access, Budget, FleetPool, Isolation, Owner};
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
    /// The most that agents may change, if the command line says so. It wins over the settings.
    pub access: Option<Access>,
    /// Whether the user wants to be asked what agents ask, whatever the settings say.
    pub ask: bool,
    /// How the agents of all tasks are kept apart, if the command line says so.
    pub isolation: Option<Isolation>,
    /// The machines of the fleet that carry out all tasks.
    pub on: Option<FleetPool>,
    /// The server of the fleet.
    pub fleet: Option<String>,
    /// The most that the tasks of a call may spend together, if the command line says so.
    pub budget: Budget,
    /// The width of the terminal that shows the windows, if there is one.
    pub columns: Option<usize>,
    /// Whether what is shown of a task is a window, and not only words.
    pub has_windows: bool,
    /// Whether `get_subagent_output` waits for the end of a session.
    pub waits_for_sessions: bool,
    /// Whether it calls more than once, so that what was said is remembered: a session can then be
    /// continued even if its directory could not be written.
    pub remembers_sessions: bool,
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
            access: None,
            ask: false,
            isolation: None,
            on: None,
            fleet: None,
            budget: Budget::default(),
            columns: None,
            has_windows: false,
            waits_for_sessions: false,
            remembers_sessions: false,
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
