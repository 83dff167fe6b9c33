//! `POST /v1/messages`, as Anthropic speaks it.

/// A model that is asked through the messages API.
#[derive(Debug)]
pub struct Anthropic;
