//! pi, and the built-in agent, which speaks as pi does.

pub(crate) mod stream;
