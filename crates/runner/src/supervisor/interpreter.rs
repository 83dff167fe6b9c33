//! What the child prints, line by line: into events, logs and the rules.

use std::time::Instant;

use model::{Activity, Event, Secrets, Verdict};
use process::Line;
use protocol::Reader;
use store::Log;

use super::event_sink::EventSink;
use super::rules::Rules;
use super::sanitizer::Sanitizer;

pub(crate) struct Interpreter {
    pub(crate) sink: EventSink,
    pub(crate) rules: Rules,
    reader: Reader,
    sanitizer: Sanitizer,
    /// How another supervisor says that the run ended, where the child passes its events on.
    pub(crate) verdict: Option<Verdict>,
    /// What is to be written to the child's standard input.
    pub(crate) replies: Vec<u8>,
    /// How many tools are running, for calls of one message run side by side.
    open_tools: u32,
    /// Whether a rule has stopped the run over what the agent printed.
    pub(crate) is_stopped: bool,
}

impl Interpreter {
    pub(crate) fn new(
        sink: EventSink,
        reader: Reader,
        secrets: &Secrets,
        started: Instant,
    ) -> Interpreter {
        Interpreter {
            rules: Rules::new(&sink.meta.limits, started),
            sink,
            reader,
            sanitizer: Sanitizer::new(secrets),
            verdict: None,
            replies: Vec::new(),
            open_tools: 0,
            is_stopped: false,
        }
    }

    pub(crate) fn read_stdout(&mut self, line: Line<'_>, now: Instant) {
        if self.is_stopped {
            return;
        }
        let reading = self.reader.read(line);
        let cause = self.rules.observe(&reading, now);
        if !reading.is_delta {
            self.sink.log(Log::Stdout, &self.sanitizer.line(line));
        }
        for event in &reading.events {
            match event {
                Event::ToolCall { .. } => self.open_tools = self.open_tools.saturating_add(1),
                Event::ToolResult { .. } => self.open_tools = self.open_tools.saturating_sub(1),
                _ => {}
            }
        }
        match reading.activity {
            Some(Activity::Waiting) if self.open_tools > 0 => {
                self.sink.send_activity(Activity::Tool);
            }
            Some(activity) => self.sink.send_activity(activity),
            None => {}
        }
        self.replies.extend_from_slice(&reading.reply);
        // The first one is the last word.
        if self.verdict.is_none() {
            self.verdict = reading.verdict;
        }
        for event in reading.events {
            self.sink.record(self.sanitizer.event(event));
        }
        if let Some(cause) = cause {
            // Recorded here, where it is seen, so that it does not depend on whether the child is
            // still there to be stopped.
            self.is_stopped = true;
            self.sink.record(Event::Stopping { cause });
        }
    }

    pub(crate) fn read_stderr(&mut self, line: Line<'_>) {
        let logged = self.sanitizer.line(line);
        self.sink.log(Log::Stderr, &logged);
        let text = String::from_utf8_lossy(&logged).trim_end().to_owned();
        let event = self.sanitizer.event(Event::Stderr { text });
        // Nothing but escape sequences is nothing.
        if !matches!(&event, Event::Stderr { text } if text.trim().is_empty()) {
            self.sink.record(event);
        }
    }

    /// Records how the run ended, and hands the result over.
    pub(crate) fn end(self, event: Event) {
        self.sink.end(self.sanitizer.event(event));
    }
}
