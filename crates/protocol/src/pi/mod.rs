//! pi, and the built-in agent, which is started and speaks as pi does.

pub(crate) mod rpc;
pub(crate) mod start;
pub(crate) mod stream;
pub(crate) mod version;
