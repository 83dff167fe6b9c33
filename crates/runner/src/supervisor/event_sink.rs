//! Where everything goes that happens in a run: the run directory, the fold, the parent, the pane.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use governor::SpendingRecorder;
use model::{Access, Activity, AgentProcess, Event, Meta, Resources};
use protocol::Protocol;
use rustix::event::{PollFd, PollFlags};
use session::{Facts, Progress};
use store::{Journal, Log};

use super::screen::{Screen, ScreenRequest};
use crate::lifeline::{Lifeline, ToParent, ToSupervisor};
use crate::poll::poll_ready;
use crate::{now_ms, result::result_of};

/// Numbers, stores, folds and forwards the events of a run. Every event passes through it once.
pub(crate) struct EventSink {
    pub(crate) meta: Meta,
    journal: Journal,
    lifeline: Option<Lifeline>,
    screen: Option<Screen>,
    pub(crate) facts: Facts,
    progress: Progress,
    activity: Activity,
    started: Instant,
    /// Where what the agent spends is added to the money of the day.
    recorder: Option<SpendingRecorder>,
    /// What the tree has used, once it is gone.
    pub(crate) resources: Option<Resources>,
}

impl EventSink {
    pub(crate) fn new(
        meta: Meta,
        journal: Journal,
        lifeline: Option<Lifeline>,
        screen: Option<Screen>,
    ) -> EventSink {
        let access = match meta.access {
            Access::Full => String::new(),
            access => format!("Access: {}\n", access.word()),
        };
        let header = format!(
            "{} (run {}, session {})\n{}\n{access}",
            meta.name,
            meta.run_id,
            meta.session_id,
            meta.cwd.display()
        );
        let is_relayed = Protocol::of(meta.protocol.as_deref()).is_some_and(Protocol::is_relayed);
        let ledger = meta.ledger.as_deref().filter(|_| !is_relayed);
        let recorder = ledger.cloned().map(SpendingRecorder::new);
        let mut sink = EventSink {
            meta,
            recorder,
            journal,
            lifeline,
            screen,
            facts: Facts::default(),
            progress: Progress::default(),
            activity: Activity::Starting,
            started: Instant::now(),
            resources: None,
        };
        sink.transcribe(&header);
        sink
    }

    /// Takes an event into the run directory, the fold and the lifeline.
    pub(crate) fn record(&mut self, event: Event) {
        for (record, line) in self.journal.record(now_ms(), event) {
            self.facts.apply(&record);
            self.share(&record.event);
            if let Some(words) = self.progress.words(&record.event) {
                self.transcribe(&words);
            }
            if let Some(lifeline) = &mut self.lifeline {
                lifeline.send_event(&line);
            }
        }
    }

    /// Tells the other programs of the user what was spent, and which provider wants to be left alone.
    fn share(&mut self, event: &Event) {
        match (event, &mut self.recorder) {
            (
                Event::AssistantMessage { usage, .. } | Event::UsageReported { usage },
                Some(recorder),
            ) => {
                recorder.add(model::cost(usage));
            }
            (Event::RetryScheduled { delay_ms, error, .. }, Some(_)) => {
                let delay = Duration::from_millis(*delay_ms);
                governor::agent_was_refused(&self.meta, error, delay);
            }
            _ => {}
        }
    }

    /// Adds words to the transcript, and shows the same words.
    fn transcribe(&mut self, words: &str) {
        let words = session::clean(words);
        self.journal.log(Log::Transcript, words.as_bytes());
        if let Some(screen) = &mut self.screen {
            screen.show(&words);
        }
    }

    /// Tells the parent what the child does now, if that has changed.
    pub(crate) fn send_activity(&mut self, activity: Activity) {
        if self.activity != activity {
            self.activity = activity;
            if let Some(lifeline) = &mut self.lifeline {
                lifeline.send(&ToParent::Activity(activity));
            }
        }
    }

    pub(crate) fn log(&mut self, log: Log, line: &[u8]) {
        self.journal.log(log, line);
    }

    /// Whether an event with a text of this length can be recorded.
    pub(crate) fn has_room_for_event(&self, text_bytes: usize) -> bool {
        // JSON can need six bytes for one, and some for the rest of the record.
        self.journal.has_room_for_event(6 * text_bytes + 1024)
    }

    pub(crate) fn flush(&mut self) {
        self.journal.flush();
        if let Some(lifeline) = &mut self.lifeline {
            lifeline.flush();
        }
        if let Some(screen) = &mut self.screen {
            screen.flush();
        }
    }

    /// The pane, if there is one, and what to wait for on it.
    pub(crate) fn screen(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        self.screen.as_ref().map(|screen| (screen.as_fd(), screen.flags()))
    }

    /// What the user has done in the pane.
    pub(crate) fn screen_requests(&mut self) -> Vec<ScreenRequest> {
        let requests = self.screen.as_mut().map(Screen::receive).unwrap_or_default();
        if requests.contains(&ScreenRequest::Closed) {
            self.screen = None;
        }
        requests
    }

    /// The lifeline, if there is one, and what to wait for on it. One on which writing has failed
    /// is waited for too: its end tells of the parent's death.
    pub(crate) fn lifeline(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let lifeline = self.lifeline.as_ref()?;
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, lifeline.wants_to_write());
        Some((lifeline.as_fd(), flags))
    }

    /// What the parent asks for. The flag says whether the parent has gone for good.
    pub(crate) fn parent_requests(&mut self) -> (Vec<ToSupervisor>, bool) {
        let Some(lifeline) = &mut self.lifeline else { return (Vec::new(), false) };
        let requests = lifeline.receive();
        let is_gone = !lifeline.is_open();
        if is_gone {
            self.lifeline = None;
        }
        (requests, is_gone)
    }

    /// Whether the parent does not keep up, so that the child must wait.
    pub(crate) fn is_congested(&self) -> bool {
        self.lifeline.as_ref().is_some_and(Lifeline::is_congested)
    }

    /// The child has been started just now.
    pub(crate) fn started(&mut self, pid: u32, agent: Option<AgentProcess>) {
        if self.facts.started_at.is_none() {
            self.started = Instant::now();
        }
        self.record(Event::RunStarted { pid, agent });
        // Should this process be killed now, the agent is found by this.
        self.journal.flush();
    }

    /// Leaves the run to the parent, as if it had never been begun.
    pub(crate) fn hand_back(self, reason: String) {
        if let Some(mut lifeline) = self.lifeline {
            lifeline.send(&ToParent::NoRoom(reason));
            lifeline.flush();
        }
    }

    /// Records the terminal event, writes the result and hands it to the parent.
    pub(crate) fn end(mut self, event: Event) {
        let duration = match self.facts.started_at {
            Some(_) => u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            None => 0,
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.add(0.0);
        }
        self.journal.flush();
        let trouble = self.journal.trouble().map(not_complete);
        if let Some(message) = &trouble {
            self.record(Event::Warning { message: message.clone() });
        }
        self.record(event);
        self.journal.flush();
        let mut result = result_of(&self.meta, &self.facts, duration);
        result.resources = self.resources;
        if trouble.is_none() {
            result.warnings.extend(self.journal.trouble().map(not_complete));
        }
        let kept = self.journal.finish(&result);
        let Some(mut lifeline) = self.lifeline else { return };
        let not_kept = kept.err().map(|error| error.to_string());
        lifeline.send(&ToParent::Result { result: Box::new(result), not_kept });
        lifeline.flush();
        // The parent may be slow, or stopped. As long as it lives, the result waits for it.
        while lifeline.wants_to_write() {
            let mut fds = [PollFd::new(&lifeline, PollFlags::OUT)];
            poll_ready(&mut fds, None);
            lifeline.flush();
        }
    }
}

fn not_complete(trouble: &str) -> String {
    format!("The record of this run is not complete: {trouble}")
}
