//! What the programs of a user know of the limits of a provider, for each account.
//!
//! - A limit that one program meets is a time before which none asks again, and it narrows how many requests may be under
//!   way at once: to 0.7 of what it was, and back by one after every minute without a limit.
//! - From the second limit on, it is known how many requests the provider takes in which time. No more are sent, so that
//!   the limit is not met again; one more is tried after every minute without a limit.
//! - `NAME.json` says both. `NAME.N` is one of the places for a request, whose lock a program holds while it asks. A program
//!   that dies lets go.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use model::{AgentKind, Meta, WaitReason};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ledger::{change, load};
use crate::shared_dir::{Access, make_directory, open_file};

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

/// What keeps an agent from starting because its provider asks to wait. The built-in agent asks before each request instead.
pub(crate) fn asked_to_wait(meta: &Meta, now: u64) -> Option<WaitReason> {
    if meta.agent == Some(AgentKind::Builtin) {
        return None;
    }
    let (provider, name) = provider_of(meta)?;
    let until = provider.state().not_before;
    (until > now).then_some(WaitReason::Provider { provider: name, until })
}

/// The agent of this run was refused by its provider, and tries again after this time.
pub fn agent_was_refused(meta: &Meta, error: &str, after: Duration) {
    const LIMITS: [&str; 8] = [
        "429",
        "529",
        "503",
        "rate limit",
        "rate_limit",
        "too many requests",
        "overloaded",
        "high demand",
    ];
    let error = error.to_lowercase();
    // The built-in agent tells by itself.
    let is_told = meta.agent == Some(AgentKind::Builtin);
    if !is_told
        && LIMITS.iter().any(|limit| error.contains(limit))
        && let Some((provider, _)) = provider_of(meta)
    {
        let now = now_ms();
        change(&provider.file(), |state: &mut State| state.narrow(now, now, after, 1));
    }
}

/// The provider of a run, and its name, as far as that is known. Of its account nothing is known.
fn provider_of(meta: &Meta) -> Option<(Provider, String)> {
    let of_model = || Some(meta.model.as_deref()?.split_once('/')?.0);
    let of_protocol = match meta.protocol.as_deref() {
        Some("claude") => Some("anthropic"),
        Some("codex") => Some("openai"),
        _ => None,
    };
    let name = meta.provider.as_deref().or_else(of_model).or(of_protocol)?;
    let directory = &meta.ledger.as_ref()?.directory;
    Some((Provider::new(directory, name, None), name.to_owned()))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct State {
    /// In milliseconds since 1970, as all times here.
    not_before: u64,
    /// How many requests may be under way at `limited_at`. Zero: no limit was met.
    width: f64,
    /// When the last limit was met.
    limited_at: u64,
    /// When the first request after the last wait was sent.
    began: u64,
    /// How many requests were sent since then, and not refused.
    sent: u64,
    /// What the provider takes, once it is known.
    pace: Option<Pace>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pace {
    requests: u64,
    /// In so many milliseconds.
    period: u64,
}

/// More requests of a user are never under way at a provider.
const PLACES: usize = 256;
/// A longer wait is a quota, for which no request waits silently.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);
const LEAST_LOOK: Duration = Duration::from_millis(2);
const MINUTE: u64 = 60_000;
/// A provider that takes so many requests in a longer time is asked again anyway.
const LONGEST_PERIOD: u64 = 2 * MINUTE;

impl Provider {
    /// The account is told apart by a hash of its key; the key itself is kept nowhere.
    pub fn new(learned: &Path, name: &str, key: Option<&str>) -> Provider {
        let hash = Sha256::digest(key.unwrap_or_default().as_bytes());
        let hash: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
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
    fn count(&self, seen: &State, now: u64) -> bool {
        if !seen.is_limited() {
            return true;
        }
        let mut may_be_sent = true;
        let is_counted = change(&self.file(), |state: &mut State| {
            *state = state.believed(now);
            may_be_sent = state.send(now);
        });
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
        change(&self.file(), |state: &mut State| {
            *state = state.believed(now);
            state.narrow(now, sent_at, wait, under_way);
        });
    }

    fn state(&self) -> State {
        load::<State>(&self.file()).believed(now_ms())
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

impl State {
    /// The state without what only a clock that was ahead, or another program, can have written. It would hold up requests
    /// until then.
    fn believed(mut self, now: u64) -> State {
        if self.not_before > now.saturating_add(LONGEST_PERIOD) {
            self.not_before = 0;
        }
        if self.began > now {
            (self.began, self.sent) = (0, 0);
        }
        self.limited_at = self.limited_at.min(now);
        self.pace = self.pace.filter(|pace| pace.period <= LONGEST_PERIOD);
        self
    }

    fn is_limited(&self) -> bool {
        self.width >= 1.0
    }

    fn wait(&self, now: u64) -> Duration {
        let may_be_sent = |pace: &Pace| pace.requests.saturating_add(self.clean_minutes(now));
        let of_pace = self.pace.filter(|pace| self.sent >= may_be_sent(pace));
        let period_ends = of_pace.map_or(0, |pace| self.began.saturating_add(pace.period));
        let until = self.not_before.max(period_ends);
        Duration::from_millis(until.saturating_sub(now)).min(LONGEST_WAIT)
    }

    fn clean_minutes(&self, now: u64) -> u64 {
        now.saturating_sub(self.limited_at) / MINUTE
    }

    /// How many requests may be under way.
    fn places(&self, now: u64) -> usize {
        if !self.is_limited() {
            return PLACES;
        }
        let clean = usize::try_from(self.clean_minutes(now)).unwrap_or(PLACES);
        (self.width as usize).saturating_add(clean).min(PLACES)
    }

    /// Takes note of a request that is about to be sent, if it may be.
    fn send(&mut self, now: u64) -> bool {
        if self.wait(now) > Duration::ZERO {
            return false;
        }
        let is_over = self.pace.is_some_and(|pace| now >= self.began.saturating_add(pace.period));
        if self.began < self.not_before || is_over {
            (self.began, self.sent) = (now, 0);
        }
        self.sent = self.sent.saturating_add(1);
        true
    }

    /// Takes note of a limit. Requests that were under way together meet the same limit, which narrows the width once.
    fn narrow(&mut self, now: u64, sent_at: u64, wait: Duration, under_way: usize) {
        let until = match u64::try_from(wait.as_millis()) {
            Ok(wait) if wait <= u64::try_from(LONGEST_WAIT.as_millis()).unwrap_or(MINUTE) => {
                now + wait
            }
            _ => now,
        };
        self.sent = self.sent.saturating_sub(1);
        if !self.is_limited() || sent_at > self.limited_at {
            let wide = self.places(now).min(under_way.max(1));
            self.width = (wide as f64 * 0.7).max(1.0);
            self.limited_at = now;
            let period = until.saturating_sub(self.began);
            let is_known =
                self.began > 0 && self.sent > 0 && until > now && period <= LONGEST_PERIOD;
            self.pace = is_known.then_some(Pace { requests: self.sent, period }).or(self.pace);
        } else if let Some(pace) = &mut self.pace {
            // It was counted as one that the provider takes.
            pace.requests = pace.requests.saturating_sub(1).max(1);
        }
        self.not_before = self.not_before.max(until);
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_narrows_once_and_each_clean_minute_widens() {
        let second = Duration::from_secs(1);
        let mut state = State::default();
        assert_eq!((state.places(0), state.wait(0)), (PLACES, Duration::ZERO));
        state.narrow(1_000, 900, second, 10);
        assert_eq!((state.places(1_000), state.wait(1_000)), (7, second));
        // Sent before the limit was known.
        state.narrow(1_200, 950, second, 10);
        assert_eq!((state.places(1_200), state.wait(1_200)), (7, second));
        state.narrow(3_000, 2_500, second, 7);
        assert_eq!(state.places(3_000), 4);
        for _ in 0..9 {
            let now = state.limited_at + 10;
            state.narrow(now, now, second, 1);
        }
        assert_eq!(state.places(state.limited_at), 1, "never below one");
        assert_eq!(state.places(state.limited_at + 2 * MINUTE), 3);
    }

    #[test]
    fn a_wait_that_is_a_quota_is_not_waited_for_silently() {
        let mut state = State::default();
        state.narrow(5, 1, Duration::from_secs(3_600), 1);
        assert_eq!(state.wait(5), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_was_ahead_and_a_file_of_nonsense_hold_up_no_request_for_long() {
        let mut state = State::default();
        let (second, day) = (Duration::from_secs(1), 24 * 60 * MINUTE);
        state.narrow(day, day - 1, 30 * second, 4);
        assert_eq!(state.believed(day), state);
        // The clock was set back. The limit that is met then counts.
        let mut state = state.believed(MINUTE);
        assert_eq!(state.wait(MINUTE), Duration::ZERO);
        assert!(state.send(MINUTE));
        state.narrow(MINUTE + 2, MINUTE + 1, second, 4);
        assert_eq!((state.wait(MINUTE + 2), state.places(MINUTE + 2)), (second, 1));
        let most = u64::MAX;
        for period in [most, MINUTE] {
            let pace = Some(Pace { requests: most, period });
            let nonsense = State {
                not_before: most,
                width: 1e308,
                limited_at: most,
                began: most,
                sent: most,
                pace,
            };
            let mut state = nonsense.believed(5);
            assert_eq!((state.wait(5), state.places(5)), (Duration::ZERO, PLACES));
            assert!(state.send(5));
            state.narrow(6, 5, second, 3);
            assert_eq!(state.wait(6), second);
        }
    }

    #[test]
    fn after_two_limits_no_more_is_sent_than_the_provider_takes() {
        let mut state = State { width: 9.0, ..State::default() };
        let wait = Duration::from_millis(400);
        state.narrow(1_000, 900, wait, 9);
        assert_eq!(state.pace, None, "it is not known since when");
        // The provider takes four in 500 ms. Six are sent at once.
        assert!(!state.send(1_399));
        assert!((0..6).all(|_| state.send(1_400)));
        state.narrow(1_405, 1_400, Duration::from_millis(495), 6);
        state.narrow(1_406, 1_400, Duration::from_millis(494), 6);
        assert_eq!(state.pace, Some(Pace { requests: 4, period: 500 }));
        for period in 0..5 {
            let begin = 1_900 + 500 * period;
            assert!((0..4).all(|_| state.send(begin)), "{state:?}");
            assert!(!state.send(begin + 499));
        }
        // Much later one more is tried for each minute.
        let later = state.limited_at + MINUTE;
        assert!((0..5).all(|_| state.send(later)) && !state.send(later));
    }

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
        assert_eq!(other.state(), State::default(), "another account");
        drop(requests);
        let first = provider.begin();
        let second = provider.begin();
        assert!((0..2).all(|place| provider.is_taken(place)));
        drop((first, second));
        assert!(!provider.is_taken(0));
    }
}
