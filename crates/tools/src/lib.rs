//! The tools, as every door offers them: what may be asked, what is planned for it, and the words of
//! the answer. No door decides anything by itself.

mod background;
mod call_server;
mod declaration;
mod delegate;
mod dialogs;
mod foreground_launcher;
mod listing;
mod parameters;
mod profile_command;
mod profile_wizard;
mod report;
mod retrieval;
mod schema;
mod session_book;
mod sessions;
mod shown_task;
mod subagent;
#[cfg(test)]
mod testing;

pub use background::{
    ArtifactPaths, BackgroundBook, BackgroundCounts, BackgroundEnding, BackgroundRecord,
    BackgroundRun, BackgroundRunError, BackgroundRuns, BackgroundStatus, BackgroundUpdate,
    COMPLETE_MESSAGE, Notification, RUN_ENTRY, Reloaded, StartError, UPDATE_ENTRY,
    background_answer, background_status, find_background, load_background, plan_background,
    reload, similar_background, start_background,
};
pub use call_server::{
    CallContext, CallEvent, CallKind, CallReply, CallServer, CallTask, Caller, FinishedCall,
    OpenCallId, Reporting, RunningCall, Tool, ToolAnswer, ToolError,
};
pub use declaration::{ArgumentError, MOST_LISTED_MODELS, MOST_TASKS};
pub use delegate::{CallError, CallOptions, PlannedCall, plan_delegation, project_store};
pub use dialogs::{Dialogs, Level};
pub use foreground_launcher::{LauncherError, foreground_launcher};
pub use listing::{list_presets, list_profiles, no_presets, no_profiles};
pub use parameters::{
    BackgroundArguments, DelegateArguments, NoArguments, SessionArguments, StatusArguments,
    SubagentArguments,
};
pub use plan::{PlannedTask, Task as TaskArguments, Workspace};
pub use profile_command::{complete_profile_command, profile_command};
pub use profile_wizard::{edit_profile, save_profile};
pub use report::{RunReport, SessionReport};
pub use retrieval::{
    latest_run, load_run, load_session, profiles_answer, running_runs, session_of, session_output,
    session_transcript,
};
pub use runner::{StopForce, now_ms};
pub use schema::{ToolDescription, describe_tools};
pub use session_book::{Retrieved, SESSION_ENTRY, SessionBook, StartedRun};
pub use sessions::{
    KnownRun, RunLabel, Session, SessionError, end_abandoned_elsewhere, find_session,
    load_sessions, similar_sessions,
};
pub use shown_task::{Appearance, ShownTask};
pub use subagent::{MOST_BYTES, plan_subagent, subagent_answer};
