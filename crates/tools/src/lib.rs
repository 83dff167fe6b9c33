//! The tools, as every door offers them: what may be asked, what is planned for it, and the words of
//! the answer. No door decides anything by itself.

mod arguments;
mod delegate;
mod profiles;
mod session_book;
mod sessions;
#[cfg(test)]
mod testing;
mod workspace;

pub use arguments::{ArgumentError, DelegateArguments, TaskArguments};
pub use delegate::{CallError, DelegateOptions, PlannedTask, plan_delegation};
pub use profiles::{NO_PROFILES, list_profiles};
pub use session_book::{Retrieved, SessionBook, StartedRun};
pub use sessions::{KnownRun, Session, SessionError, find_session, load_sessions};
pub use workspace::Workspace;
