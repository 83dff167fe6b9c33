//! What the machine of this worker bears, and what it and the machines of other workers tell each other: the limits of
//! providers, and the money of the day.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ::plan::Workspace;
use async_nats::jetstream::kv::{Entry, Operation, Store as Bucket};
use futures_util::StreamExt;
use governor::{
    SharedLimit, SpentHere, merge_shared_limit, note_spent_elsewhere, room, shared_limits,
    spent_here,
};
use model::{Admission, Ledger};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::WorkerOptions;
use crate::{Fleet, FleetError, LIMITS};

/// How often it is looked for what was learned here.
const LOOK: Duration = Duration::from_secs(1);
/// How long a message to the server may take. What was not told is told later.
const PATIENCE: Duration = Duration::from_secs(2);
/// What the keys begin with.
const PROVIDER: &str = "provider.";
const MONEY: &str = "money.";

/// The machine of a worker, on which other programs of its user run as well.
pub(super) struct Machine {
    admission: Admission,
    ledger: Ledger,
    bucket: Bucket,
    /// The key of what this machine has spent.
    own_money: String,
    /// What was told of it last, by key.
    told: RefCell<BTreeMap<String, Vec<u8>>>,
    /// What each machine has spent.
    spent: RefCell<BTreeMap<String, SpentHere>>,
}

impl Machine {
    pub(super) async fn open(
        fleet: &Fleet,
        options: &WorkerOptions,
    ) -> Result<Machine, FleetError> {
        let workspace = Workspace::load(options.surroundings.clone(), None);
        let (admission, ledger) = (workspace.admission(), workspace.ledger());
        let id = governor::machine_id(&ledger, &::plan::new_id().to_string());
        Ok(Machine {
            admission,
            ledger,
            bucket: fleet.bucket(LIMITS).await?,
            own_money: format!("{MONEY}{id}"),
            told: RefCell::default(),
            spent: RefCell::default(),
        })
    }

    /// How many more agents may start here, or why none may. `taken` tasks are there already, and some have no slot yet.
    pub(super) fn room(&self, taken: usize) -> Result<usize, String> {
        let most = self.admission.machine_concurrency;
        room(&self.admission, &self.ledger).map(|free| free.min(most.saturating_sub(taken)))
    }

    /// Tells other machines what is learned here, and learns what they tell, for as long as this is polled.
    pub(super) async fn share(self: Rc<Machine>) {
        loop {
            // What is there already comes first.
            let Ok(Ok(mut entries)) = timeout(PATIENCE, self.bucket.watch_with_history(">")).await
            else {
                sleep(LOOK).await;
                continue;
            };
            let mut look_at = Instant::now();
            loop {
                tokio::select! {
                    entry = entries.next() => match entry {
                        Some(Ok(entry)) => self.hear(&entry),
                        // The server is gone, or has no leader.
                        Some(Err(_)) | None => break,
                    },
                    () = sleep_until(look_at) => {
                        self.tell().await;
                        look_at = Instant::now() + LOOK;
                    }
                }
            }
            sleep(LOOK).await;
        }
    }

    /// Tells what has changed since it was told last.
    async fn tell(&self) {
        let limits = shared_limits(&self.ledger).into_iter().filter_map(|limit| {
            Some((format!("{PROVIDER}{}", limit.account), serde_json::to_vec(&limit).ok()?))
        });
        let money = serde_json::to_vec(&spent_here(&self.ledger)).ok();
        let money = money.map(|money| (self.own_money.clone(), money));
        for (key, value) in limits.chain(money) {
            if self.told.borrow().get(&key) == Some(&value) {
                continue;
            }
            let put = self.bucket.put(&key, value.clone().into());
            if matches!(timeout(PATIENCE, put).await, Ok(Ok(_))) {
                self.told.borrow_mut().insert(key, value);
            }
        }
    }

    /// Takes in what was told. What is not understood, of another version, says nothing.
    fn hear(&self, entry: &Entry) {
        if entry.operation != Operation::Put {
            return;
        }
        if entry.key.starts_with(PROVIDER)
            && let Ok(limit) = serde_json::from_slice::<SharedLimit>(&entry.value)
        {
            merge_shared_limit(&self.ledger, &limit);
        } else if entry.key.starts_with(MONEY)
            && entry.key != self.own_money
            && let Ok(spent) = serde_json::from_slice::<SpentHere>(&entry.value)
        {
            let mut all = self.spent.borrow_mut();
            all.insert(entry.key.clone(), spent);
            note_spent_elsewhere(&self.ledger, all.values());
        }
    }
}
