//! The part of `meta.json` that lists of runs show.

use model::{Lifetime, SessionId};
use serde::Deserialize;

/// Reading only these fields keeps lists of many runs fast.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BriefMeta {
    pub(crate) session_id: SessionId,
    pub(crate) name: String,
    pub(crate) lifetime: Lifetime,
    pub(crate) created_at: u64,
}
