//! What a run was asked, as far as a list shows it.

use model::{Lifetime, SessionId};
use serde::Deserialize;

/// Some of `meta.json`: who only lists runs reads no more of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SomeMeta {
    pub(crate) session_id: SessionId,
    pub(crate) name: String,
    pub(crate) lifetime: Lifetime,
    pub(crate) created_at: u64,
}
