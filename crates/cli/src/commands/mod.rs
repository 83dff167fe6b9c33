//! One file for each command.

pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod supervise;
