//! What the programs of a user know of the limits of a provider, for each account.
//!
//! - A limit that one program meets is a time before which none asks again, and it narrows how many requests may be under
//!   way at once: to 0.7 of what it was, and back by one after every minute without a limit.
//! - From the second limit on, it is known how many requests the provider takes in which time. No more are sent, so that
//!   the limit is not met again; one more is tried after every minute without a limit.
//! - `NAME.json` says both. `NAME.N` is one of the places for a request, whose lock a program holds while it asks. A program
//!   that dies lets go.

mod agents;
mod rate;
mod report;
mod shared;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

pub use agents::agent_was_refused;
pub(crate) use agents::{account_name, asked_to_wait};
pub use rate::Pace;
pub use report::{ProviderLimits, provider_limits};
pub use shared::{SharedLimit, merge_shared_limit, shared_limits};

use crate::ledger::{change, load};
use crate::now_ms;
use crate::shared_dir::{Access, make_directory, open_file};
use rate::{PLACES, RateState};

const LOOK: Duration = Duration::from_millis(10);
const LEAST_LOOK: Duration = Duration::from_millis(2);

/// A provider as one account sees it.
#[derive(Clone, Debug)]
pub struct Provider {
    directory: PathBuf,
    name: String,
}

/// A request that is under way, until this is dropped.
#[derive(Debug)]
pub struct Request {
    place: Option<File>,
    sent_at: u64,
}

impl Provider {
    /// The account is told apart by a hash of its key; the key itself is kept nowhere.
    pub fn new(learned: &Path, name: &str, key: Option<&str>) -> Provider {
        let hash = hash(key.unwrap_or_default());
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = name.chars().take(60).map(plain).collect();
        Provider { directory: learned.join("providers"), name: format!("{name}-{hash}") }
    }

    /// Waits until a request may be sent. Where nothing can be agreed on, it may be sent at once.
    pub fn begin(&self) -> Request {
        if !make_directory(&self.directory) {
            return Request { place: None, sent_at: now_ms() };
        }
        loop {
            let (state, now) = (self.state(), now_ms());
            if state.wait(now) == Duration::ZERO
                && let Some(place) = (0..state.places(now)).find_map(|place| self.take(place))
                && self.count(&state, now)
            {
                return Request { place, sent_at: now };
            }
            sleep(state.wait(now).clamp(LEAST_LOOK, LOOK));
        }
    }

    /// Counts a request that is about to be sent. Returns whether it may be.
    fn count(&self, seen: &RateState, now: u64) -> bool {
        if !seen.is_limited() {
            return true;
        }
        let mut may_be_sent = true;
        let is_counted = self.change_state(now, |state| may_be_sent = state.send(now));
        may_be_sent || !is_counted
    }

    /// How long a request would have to wait now.
    pub fn wait(&self) -> Duration {
        self.state().wait(now_ms())
    }

    /// The provider has refused the request because of a limit, or because it is overloaded.
    pub fn refused(&self, request: &Request, after: Option<Duration>) {
        let under_way = (0..PLACES).take_while(|place| self.is_taken(*place)).count();
        let now = now_ms();
        // Without a time, the agent decides how long to wait.
        let wait = after.unwrap_or_default();
        let sent_at = request.sent_at;
        self.change_state(now, |state| state.narrow(now, sent_at, wait, under_way));
    }

    fn state(&self) -> RateState {
        load::<RateState>(&self.file()).without_implausible_times(now_ms())
    }

    /// Changes what is known, without what a wrong clock has left there. Returns whether it is written.
    fn change_state(&self, now: u64, mut apply: impl FnMut(&mut RateState)) -> bool {
        change(&self.file(), |state: &mut RateState| {
            *state = state.without_implausible_times(now);
            apply(state);
        })
    }

    fn file(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.name))
    }

    /// A place, if it is free; `None` inside where places cannot be made, so that requests go on.
    fn take(&self, place: usize) -> Option<Option<File>> {
        let path = self.directory.join(format!("{}.{place}", self.name));
        let Ok(file) = open_file(&path, Access::Make) else { return Some(None) };
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Some(file))
    }

    fn is_taken(&self, place: usize) -> bool {
        self.take(place).is_none()
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            // Not by closing alone: a process that another thread is starting can still have the file open.
            let _ = flock(place, FlockOperation::Unlock);
        }
    }
}

fn hash(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_to_so_many_and_given_back() {
        let top = tempfile::tempdir().unwrap();
        let provider = Provider::new(top.path(), "any thing/else", Some("sk-secret"));
        let other = Provider::new(top.path(), "any thing/else", Some("sk-other"));
        assert!(!provider.name.contains("secret") && provider.name != other.name);
        let requests = [provider.begin(), provider.begin(), provider.begin()];
        provider.refused(&requests[0], Some(Duration::ZERO));
        let state = provider.state();
        assert_eq!(state.places(state.limited_at), 2);
        assert_eq!(other.state(), RateState::default(), "another account");
        drop(requests);
        let first = provider.begin();
        let second = provider.begin();
        assert!((0..2).all(|place| provider.is_taken(place)));
        drop((first, second));
        assert!(!provider.is_taken(0));
    }
}
