//! What most tasks of a call have in common. Thousands of them can wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Admission, Argument, Ledger};

use crate::Workspace;

/// The parts of plans that are there once.
pub(super) struct Shared {
    pub(super) command: Latest<Vec<Argument>>,
    pub(super) environment: Latest<BTreeMap<String, Option<String>>>,
    /// Where what the agents spend is written down.
    pub(super) ledger: Arc<Ledger>,
    pub(super) admission: Arc<Admission>,
}

impl Shared {
    pub(super) fn new(workspace: &Workspace) -> Shared {
        Shared {
            command: Latest::default(),
            environment: Latest::default(),
            ledger: Arc::new(workspace.ledger()),
            admission: Arc::new(workspace.admission()),
        }
    }
}

/// The value of the task before.
#[derive(Default)]
pub(super) struct Latest<T>(Arc<T>);

impl<T: PartialEq> Latest<T> {
    /// The same one, if the values are equal.
    pub(super) fn of(&mut self, value: T) -> Arc<T> {
        if *self.0 != value {
            self.0 = Arc::new(value);
        }
        Arc::clone(&self.0)
    }
}
