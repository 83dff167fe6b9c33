//! The slot of the run: the supervisor has it for as long as anything of the agent is there.

use std::path::PathBuf;
use std::time::Instant;

use governor::{Answer, Applicant, Parked, Slot};
use model::{Event, Lifetime, Meta};
use rustix::event::{PollFd, PollFlags};
use store::{RunDir, Watch};

use super::early_end::Unprepared;
use super::early_stop::EarlyStop;
use crate::durations::REQUEST_INTERVAL;
use crate::poll::poll_ready;

/// The slot that the starter of a foreground run has got for it. A background run waits for its own: the waiting must
/// outlast its starter.
pub(super) fn take_slot(meta: &Meta, dir: &RunDir) -> Option<Slot> {
    if meta.lifetime == Lifetime::Background {
        return None;
    }
    let Some(admission) = &meta.admission else { return Some(Slot::ungoverned()) };
    let slot = Slot::take_over(admission, &meta.run_id);
    describe(&slot, dir);
    Some(slot)
}

/// Waits until the agent of a background run may start, and a parked one once more. Requests to stop the run are heard meanwhile.
pub(super) fn await_slot(
    stop: &mut EarlyStop<'_>,
    dir: &RunDir,
    parked: Option<Parked>,
) -> Result<Slot, Unprepared> {
    let meta = stop.sink.meta.clone();
    let applicant = Applicant::new(meta.admission.as_deref());
    let mut applicant = applicant.of_run(&absolute(dir)).parked(parked);
    let (mut watch, mut told) = (None, None);
    loop {
        let waiting = match applicant.ask(&meta, 1) {
            Answer::Start(slot) => {
                describe(&slot, dir);
                return Ok(slot);
            }
            Answer::Wait(waiting) => waiting,
        };
        // Numbers that change are not told again and again.
        let kind = std::mem::discriminant(&waiting.reason);
        if told.replace(kind) != Some(kind) {
            stop.sink.record(Event::Waiting { waiting });
            stop.sink.flush();
        }
        let watch = watch.get_or_insert_with(|| {
            let mut watch = Watch::new();
            watch.add(dir.path());
            watch
        });
        watch.drain();
        if stop.look() {
            return Err(Unprepared::new(stop, String::new()));
        }
        wait(stop, &applicant, watch);
    }
}

/// Says what only this process knows, for the list of all agents that run.
fn describe(slot: &Slot, dir: &RunDir) {
    slot.describe(|agent| {
        agent.run_dir = Some(absolute(dir));
        agent.supervisor = Some(std::process::id());
    });
}

/// Where other programs find the run. A background supervisor works in its run directory, and calls it `.`.
fn absolute(dir: &RunDir) -> PathBuf {
    std::path::absolute(dir.path()).unwrap_or_else(|_| dir.path().to_owned())
}

fn wait(stop: &EarlyStop<'_>, applicant: &Applicant, watch: &Watch) {
    let wakers = applicant.waker().into_iter().chain(watch.waker());
    let wakers = wakers.map(|fd| (fd, PollFlags::IN)).chain(stop.wakers());
    let mut fds: Vec<PollFd<'_>> =
        wakers.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
    let left = applicant.ask_at().map(|at| at.saturating_duration_since(Instant::now()));
    // Where the system does not tell of requests, they are looked for.
    let look = (!watch.is_complete()).then_some(REQUEST_INTERVAL);
    poll_ready(&mut fds, left.into_iter().chain(look).min());
}
