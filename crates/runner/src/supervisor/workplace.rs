//! Where an agent and the commands beside it work.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Meta, variables};

use super::access::Bounds;
use crate::worktree::Worktree;

/// The directory and the environment of an agent, without its secrets. Its record has those of the user's own tree.
pub(crate) struct Workplace {
    pub(crate) cwd: PathBuf,
    pub(crate) environment: BTreeMap<String, Option<String>>,
}

impl Workplace {
    pub(crate) fn new(
        meta: &Meta,
        worktree: Option<&Worktree>,
        bounds: Option<&Bounds>,
    ) -> Workplace {
        let mut environment = (*meta.environment).clone();
        if worktree.is_some() {
            environment.extend(Worktree::environment());
        }
        environment.extend(bounds.iter().flat_map(|bounds| bounds.environment.clone()));
        let cwd = worktree.map_or(&meta.cwd, |worktree| &worktree.directory).clone();
        Workplace { cwd, environment }
    }

    /// The environment of a command beside the agent: neither with the key of the profile nor with one of the caller.
    pub(crate) fn without_key(&self) -> BTreeMap<String, Option<String>> {
        let mut environment = self.environment.clone();
        environment.insert(variables::PI_API_KEY.to_owned(), None);
        environment
    }
}
