//! What the child prints, line by line: into events, logs and the watchdog's notes.

use std::time::Instant;

use model::{Activity, Event, Secrets, StopCause};
use process::Line;
use session::LoopDetector;
use store::Log;

use super::chronicle::Chronicle;
use super::redactor::Redactor;
use super::watchdog::Watchdog;
use crate::dialect::pi;

/// Reads the child's two streams.
pub(crate) struct Interpreter {
    pub(crate) chronicle: Chronicle,
    pub(crate) watchdog: Watchdog,
    redactor: Redactor,
    loops: LoopDetector,
    looping_tool_count: u32,
    has_looped: bool,
    /// How many tools are running, for calls of one message run side by side.
    open_tools: u32,
}

impl Interpreter {
    pub(crate) fn new(chronicle: Chronicle, secrets: &Secrets, started: Instant) -> Interpreter {
        let limits = chronicle.meta().limits;
        Interpreter {
            chronicle,
            watchdog: Watchdog::new(&limits, started),
            redactor: Redactor::new(secrets),
            loops: LoopDetector::default(),
            looping_tool_count: limits.looping_tool_count,
            has_looped: false,
            open_tools: 0,
        }
    }

    /// Whether the agent repeats itself. What it prints after that is not looked at any more.
    pub(crate) fn has_looped(&self) -> bool {
        self.has_looped
    }

    /// Takes a line of standard output.
    pub(crate) fn read_stdout(&mut self, line: Line<'_>, now: Instant) {
        if self.has_looped {
            return;
        }
        let reading = pi::read(line);
        self.watchdog.observe(&reading, now);
        if !reading.is_delta {
            self.chronicle.log(Log::Stdout, &self.redactor.line(line));
        }
        match &reading.event {
            Some(Event::ToolCall { tool, args, .. }) => {
                self.open_tools = self.open_tools.saturating_add(1);
                self.has_looped = self.loops.observe(tool, args, self.looping_tool_count);
            }
            Some(Event::ToolResult { .. }) => self.open_tools = self.open_tools.saturating_sub(1),
            _ => {}
        }
        match reading.activity {
            Some(Activity::Waiting) if self.open_tools > 0 => {
                self.chronicle.tell_activity(Activity::Tool);
            }
            Some(activity) => self.chronicle.tell_activity(activity),
            None => {}
        }
        if let Some(event) = reading.event {
            self.chronicle.tell(self.redactor.event(event));
        }
        if self.has_looped {
            // Told here, where it is seen, so that it does not depend on whether the child is
            // still there to be stopped.
            self.chronicle.tell(Event::Stopping { cause: StopCause::Loop });
        }
    }

    /// Takes a line of standard error.
    pub(crate) fn read_stderr(&mut self, line: Line<'_>) {
        let logged = self.redactor.line(line);
        self.chronicle.log(Log::Stderr, &logged);
        let text = String::from_utf8_lossy(&logged);
        let text = session::cut_bytes(text.trim_end(), Event::LINE_BYTES);
        if !text.is_empty() {
            self.chronicle.tell(Event::Stderr { text: text.to_owned() });
        }
    }
}
