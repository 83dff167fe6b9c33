//! The tools, as every door offers them: what may be asked, what is planned for it, and the words of
//! the answer. No door decides anything by itself.

mod agents;
mod background;
mod call_server;
mod changes;
mod cut_message;
mod declaration;
mod definition_wizard;
mod delegate;
mod dialogs;
mod foreground_launcher;
mod inline_answers;
mod listing;
mod parameters;
mod profile_command;
mod report;
mod retrieval;
mod run_names;
mod schema;
mod session_book;
mod sessions;
mod shown_task;
mod subagent;
#[cfg(test)]
mod testing;

pub use agents::{
    AgentAction, AgentChanges, ListedAgent, changes_of_agent, list_agents, stop_agent,
};
pub use background::{
    ArtifactPaths, BackgroundBook, BackgroundCounts, BackgroundEnding, BackgroundRecord,
    BackgroundRun, BackgroundRunError, BackgroundRuns, BackgroundStatus, BackgroundUpdate,
    COMPLETE_MESSAGE, MessageRefused, Notification, RUN_ENTRY, Reloaded, StartError, UPDATE_ENTRY,
    background_answer, background_status, control_answer, find_background, load_background,
    load_background_run, message_answer, plan_background, reload, similar_background,
    start_background,
};
pub use call_server::{
    AskedQuestion, CallContext, CallEvent, CallKind, CallReply, CallServer, CallTask, Caller,
    FinishedCall, OpenCallId, QuestionId, Reporting, RunningCall, Tool, ToolAnswer, ToolError,
};
pub use changes::{ChangesError, OpenChanges, RunChanges, Settled, conflict_warnings};
pub use cut_message::id_of_cut_message;
pub use declaration::{ArgumentError, MOST_LISTED, MOST_TASKS};
pub use definition_wizard::{edit_definition, save_definition, saved_notice};
pub use delegate::{CallError, CallOptions, PlannedCall, plan_delegation, project_store};
pub use dialogs::{Dialogs, Level, Preselected};
pub use foreground_launcher::{LauncherError, foreground_launcher};
pub use inline_answers::{InlineAnswer, MOST_CHARACTERS, inline_answers, under_heading};
pub use listing::{list_presets, list_profiles, no_presets, no_profiles};
pub use parameters::{
    BackgroundArguments, ControlAction, ControlArguments, DelegateArguments, NoArguments,
    SessionArguments, StatusArguments, SubagentArguments,
};
pub use plan::{PlannedTask, Task as TaskArguments, Workspace};
pub use profile_command::{complete_profile_command, profile_command};
pub use report::{RunReport, SessionReport};
pub use retrieval::{
    latest_run, load_run, load_session, profiles_answer, running_runs, session_of, session_output,
    session_transcript,
};
pub use run_names::{Candidate, NameError, NamedSession, RunNames};
pub use runner::{
    AnswerError, Answered, Fate, StopForce, TellError, TellUntil, Told, answer_run, now_ms,
    open_questions, tell_run,
};
pub use schema::{Choices, ToolDescription, describe_tools};
pub use session_book::{Retrieved, SESSION_ENTRY, SessionBook, StartedRun};
pub use sessions::{
    KnownRun, RunLabel, Session, SessionError, end_abandoned_elsewhere, load_sessions,
    similar_sessions,
};
pub use shown_task::{Appearance, ShownTask};
pub use subagent::{plan_subagent, subagent_answer};
pub use workspace::{ChangedFile, Landed};
