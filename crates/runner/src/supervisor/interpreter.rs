//! What the child prints, line by line: into events, logs and the watchdog's notes.

use std::time::Instant;

use model::Event;
use process::Line;
use session::LoopDetector;
use store::Log;

use super::chronicle::Chronicle;
use super::watchdog::Watchdog;
use crate::dialect::pi;

/// Reads the child's two streams.
pub(crate) struct Interpreter {
    pub(crate) chronicle: Chronicle,
    pub(crate) watchdog: Watchdog,
    loops: LoopDetector,
    looping_tool_count: u32,
    has_looped: bool,
}

impl Interpreter {
    pub(crate) fn new(chronicle: Chronicle, started: Instant) -> Interpreter {
        let limits = chronicle.meta().limits;
        Interpreter {
            chronicle,
            watchdog: Watchdog::new(&limits, started),
            loops: LoopDetector::default(),
            looping_tool_count: limits.looping_tool_count,
            has_looped: false,
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
            self.log(Log::Stdout, line);
        }
        if let Some(activity) = reading.activity {
            self.chronicle.tell_activity(activity);
        }
        if let Some(event) = reading.event {
            if let Event::ToolCall { tool, args, .. } = &event {
                self.has_looped = self.loops.observe(tool, args, self.looping_tool_count);
            }
            self.chronicle.tell(event);
        }
    }

    /// Takes a line of standard error.
    pub(crate) fn read_stderr(&mut self, line: Line<'_>) {
        self.log(Log::Stderr, line);
        let text = String::from_utf8_lossy(line.head());
        let text = session::cut_bytes(text.trim_end(), Event::LINE_BYTES);
        if !text.is_empty() {
            self.chronicle.tell(Event::Stderr { text: text.to_owned() });
        }
    }

    fn log(&mut self, log: Log, line: Line<'_>) {
        match line {
            Line::Whole(line) => self.chronicle.log(log, line),
            Line::Cut { head, bytes, .. } => {
                let mut shortened = head[..head.len().min(Event::LINE_BYTES)].to_vec();
                shortened.extend_from_slice(format!("... [{bytes} bytes]").as_bytes());
                self.chronicle.log(log, &shortened);
            }
        }
    }
}
