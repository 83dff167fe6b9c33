//! What the child prints, line by line: into events, logs and the rules.

use std::time::Instant;

use model::{Activity, Event, Message, Question, Verdict};
use process::Line;
use protocol::{Asked, Delivery, Reader, Reading};
use store::Log;

use super::conversation::{Conversation, OWN, RECORD_FULL, Step, refused};
use super::event_sink::EventSink;
use super::questions::{Questions, Settled};
use super::rules::Rules;
use super::sanitizer::Sanitizer;

pub(crate) struct Interpreter {
    pub(crate) sink: EventSink,
    pub(crate) rules: Rules,
    pub(crate) conversation: Conversation,
    pub(crate) questions: Questions,
    reader: Reader,
    sanitizer: Sanitizer,
    /// How the agent says that the run ended, or the relay of another supervisor.
    pub(crate) verdict: Option<Verdict>,
    /// What is to be written to the child's standard input.
    pub(crate) replies: Vec<u8>,
    /// How many tools are running, for calls of one message run side by side.
    open_tools: u32,
    /// Whether the agent was told more than its prompt, or has asked something. An agent in its place would not know.
    pub(crate) has_talked: bool,
    /// Whether the agent was started once more: the record has its prompt already.
    omits_prompt: bool,
    /// Whether a rule has stopped the run over what the agent printed.
    pub(crate) is_stopped: bool,
}

impl Interpreter {
    pub(crate) fn new(
        sink: EventSink,
        reader: Reader,
        conversation: Conversation,
        questions: Questions,
        sanitizer: Sanitizer,
        started: Instant,
    ) -> Interpreter {
        Interpreter {
            rules: Rules::new(&sink.meta.limits, started),
            sink,
            conversation,
            questions,
            reader,
            sanitizer,
            verdict: None,
            replies: Vec::new(),
            open_tools: 0,
            has_talked: false,
            omits_prompt: false,
            is_stopped: false,
        }
    }

    /// The agent was started once more, and has said nothing yet.
    pub(crate) fn restart(&mut self, reader: Reader) {
        self.reader = reader;
        self.rules.restart();
        self.conversation.restart();
        self.verdict = None;
        self.replies.clear();
        self.open_tools = 0;
        self.omits_prompt = true;
        self.sink.send_activity(Activity::Starting);
    }

    pub(crate) fn read_stdout(&mut self, line: Line<'_>, now: Instant) {
        if self.is_stopped {
            return;
        }
        let mut reading = self.reader.read(line);
        let stop = self.rules.observe(&reading, now);
        self.conversation.observe(&mut reading, now);
        if self.rules.take_budget_due() {
            self.urge_to_end();
        }
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
        let Reading {
            reply, verdict, deliveries, mut events, questions, withdrawn, answered, ..
        } = reading;
        let is_prompt = |event: &Event| matches!(event, Event::UserMessage { .. });
        if self.omits_prompt
            && let Some(prompt) = events.iter().position(is_prompt)
        {
            events.remove(prompt);
            self.omits_prompt = false;
        }
        self.replies.extend_from_slice(&reply);
        if verdict.is_some() {
            self.verdict = verdict;
        }
        // They are about what was said before.
        self.record(deliveries.into_iter().filter_map(told));
        self.record(events);
        for asked in questions {
            self.ask(asked, now);
        }
        let withdrawn = withdrawn.into_iter().filter_map(|number| self.questions.withdraw(number));
        let withdrawn: Vec<Settled> = withdrawn.collect();
        self.settle(withdrawn);
        for event in answered {
            // An answer that was given here is in the record already.
            if let Event::QuestionAnswered { number, .. } = event
                && self.questions.close(number)
            {
                self.record([event]);
            }
        }
        if let Some(stop) = stop {
            // Recorded here, where it is seen, so that it does not depend on whether the child is
            // still there to be stopped.
            self.is_stopped = true;
            self.record([stop.into()]);
        }
    }

    /// Tells the agent that little is left of its budget, if it works and can be told.
    pub(crate) fn urge_to_end(&mut self) {
        self.conversation.urge(NEARLY_SPENT);
    }

    /// Takes in what was read and not told yet: the output has ended.
    pub(crate) fn finish_stdout(&mut self) {
        if !self.is_stopped {
            let events = self.reader.finish().events;
            self.record(events);
        }
    }

    /// Takes a message to the agent, and puts what comes of it into the record.
    pub(crate) fn accept(&mut self, number: u64, message: Message) {
        // What cannot be recorded must not happen: a program waits for the event.
        let event = if self.sink.has_room_for_event(message.text.len()) {
            self.conversation.accept(number, message)
        } else {
            refused(number, RECORD_FULL)
        };
        self.record([event]);
    }

    /// Takes a question of the agent: it is answered at once, or waits for an answer.
    fn ask(&mut self, asked: Asked, now: Instant) {
        self.has_talked = true;
        let Asked { number, question, effect, patience } = asked;
        let bytes = question.text.len();
        let options = question.options.len().min(Question::OPTIONS) * Question::OPTION_BYTES;
        // What cannot be recorded must not wait: no program would know of it.
        if !self.sink.has_room_for_event(bytes.min(Question::TEXT_BYTES) + options) {
            let words = self.reader.answer(number, &Questions::not_recorded());
            self.replies.extend_from_slice(&words.reply);
            self.record(words.events);
            return;
        }
        let event = self.sanitizer.event(Event::QuestionAsked { number, question });
        if let Event::QuestionAsked { question, .. } = &event {
            let settled =
                self.questions.ask(number, question.clone(), bytes, effect, patience, now);
            self.sink.record(event);
            self.settle(settled);
        }
    }

    /// Tells the agent the answers to its questions, and puts them into the record.
    pub(crate) fn settle(&mut self, settled: impl IntoIterator<Item = Settled>) {
        for settled in settled {
            let words = self.reader.answer(settled.number, &settled.answer);
            self.replies.extend_from_slice(&words.reply);
            self.record([settled.into_event()]);
            self.record(words.events);
        }
    }

    /// Writes to the agent what can be said now.
    pub(crate) fn speak(&mut self) {
        while let Some(step) = self.conversation.next_step() {
            self.has_talked = true;
            let words = match step {
                Step::Tell { number, message } => self.reader.tell(number, &message),
                Step::Interrupt => self.reader.interruption(),
            };
            self.replies.extend_from_slice(&words);
        }
    }

    pub(crate) fn record(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.sink.record(self.sanitizer.event(event));
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

    /// Keeps a line that a check has printed, and returns it without secrets.
    pub(crate) fn read_check(&mut self, line: Line<'_>) -> String {
        let logged = self.sanitizer.line(line);
        self.sink.log(Log::Check, &logged);
        String::from_utf8_lossy(&logged).into_owned()
    }

    /// Records how the run ended, and hands the result over.
    pub(crate) fn end(self, event: Event) {
        self.sink.end(self.sanitizer.event(event));
    }
}

/// What the agent is told when most of its budget is spent.
const NEARLY_SPENT: &str = "Most of the budget of this task is spent. Come to an end now: finish the step that you are in, \
                            begin nothing new, and give your answer with what you know.";

/// What is recorded of a message. Our own words are seen where the agent shows them.
fn told(delivery: Delivery) -> Option<Event> {
    match delivery {
        Delivery::Delivered(OWN) | Delivery::Refused(OWN, _) => None,
        Delivery::Delivered(number) => Some(Event::MessageDelivered { number }),
        Delivery::Refused(number, reason) => Some(Event::MessageRefused { number, reason }),
    }
}
