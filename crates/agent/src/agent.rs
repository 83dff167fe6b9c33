//! The loop: ask the model, run the tools that it calls, ask again.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answer::{Answer, Finished};
use crate::cancel::Cancel;
use crate::clock;
use crate::commands::Queue;
use crate::config::{Compaction, Model, Retry};
use crate::event::{CompactionReason, Event, Stream};
use crate::fallback::{Fallbacks, NextModel};
use crate::history::History;
use crate::inbox::{Inbox, Input};
use crate::message::{AssistantMessage, Content, Message, StopReason, SystemMessage, UserMessage};
use crate::prompt::SystemPrompt;
use crate::provider::{Provider, ProviderError, Remedy, Request, ThinkingLevel};
use crate::retry::delay;
use crate::tools::{Shell, Tool};

/// Everything that is decided before the first request.
pub(crate) struct Setup {
    pub(crate) model: Model,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) tools: Vec<Tool>,
    pub(crate) system_prompt: SystemPrompt,
    pub(crate) cwd: PathBuf,
    pub(crate) shell: Shell,
    pub(crate) retry: Retry,
    pub(crate) compaction: Compaction,
    pub(crate) fallbacks: Fallbacks,
    pub(crate) cancel: Cancel,
}

pub(crate) struct Agent<W> {
    pub(crate) setup: Setup,
    pub(crate) stream: Stream<W>,
    pub(crate) history: History,
    pub(crate) inbox: Inbox,
    pub(crate) is_stopping: bool,
    /// Whether a prompt is being answered.
    pub(crate) is_at_work: bool,
    /// Ends what is done for the current prompt.
    pub(crate) work: Cancel,
    pub(crate) queue: Queue,
    /// The ids of commands that have stopped the current prompt, and are not answered yet.
    pub(crate) aborts: Vec<Option<serde_json::Value>>,
    /// The number of the first tool call of the current message.
    pub(crate) first_call: usize,
    /// The text of the last prompt.
    pub(crate) task: String,
    /// The first entry after the last `agent_start`.
    pub(crate) run_start: usize,
    /// The model's own summary of the messages that were compacted.
    pub(crate) last_summary: Option<String>,
    /// How often the request for the current answer was repeated.
    retries: u32,
    /// Whether the conversation was compacted for the current answer.
    pub(crate) has_recovered: bool,
}

/// How a prompt was answered: with a text, or not, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Ending {
    Answered(String),
    Failed(String),
    Stopped,
    OutputClosed(String),
}

/// An answer of the model, complete or not.
pub(crate) struct Received {
    pub(crate) message: AssistantMessage,
    /// Tool calls of which the arguments cannot be read, with the reason.
    unreadable: Vec<(String, String)>,
    has_started: bool,
    pub(crate) error: Option<ProviderError>,
}

/// An answer that has become part of the conversation.
struct Answered {
    message: Arc<Message>,
    unreadable: Vec<(String, String)>,
    error: Option<ProviderError>,
}

const ABORTED: &str = "Request was aborted";

impl<W: Write> Agent<W> {
    pub(crate) fn new(setup: Setup, stream: Stream<W>, history: History, inbox: Inbox) -> Agent<W> {
        Agent {
            work: setup.cancel.clone(),
            setup,
            stream,
            history,
            inbox,
            is_stopping: false,
            is_at_work: false,
            queue: Queue::default(),
            aborts: Vec::new(),
            first_call: 0,
            task: String::new(),
            run_start: 0,
            last_summary: None,
            retries: 0,
            has_recovered: false,
        }
    }

    /// Answers one prompt, with all the turns, retries and compactions that it takes.
    pub(crate) fn prompt(&mut self, prompt: Vec<Content>) -> Ending {
        self.prompt_all(vec![prompt])
    }

    /// Answers several prompts together.
    pub(crate) fn prompt_all(&mut self, prompts: Vec<Vec<Content>>) -> Ending {
        self.is_at_work = true;
        // Without a part of its own, an interruption stops the agent.
        self.work = self.setup.cancel.part().unwrap_or_else(|_| self.setup.cancel.clone());
        self.is_stopping = false;
        self.start();
        self.declare();
        for prompt in prompts {
            self.task = crate::message::text_of(&prompt);
            self.hear(prompt);
        }
        let ending = loop {
            let end = self.turns();
            let remedy = self.remedy(&end);
            let since_start = self.history.entries().iter().skip(self.run_start);
            let messages: Vec<&Message> = since_start.map(|entry| &*entry.message).collect();
            let will_retry = !matches!(remedy, Recovery::None);
            self.stream.emit(&Event::AgentEnd { messages: &messages, will_retry });
            if !self.recover(&end, remedy) {
                break self.ending(&end.message);
            }
            self.start();
        };
        self.is_at_work = false;
        self.stream.emit(&Event::AgentSettled);
        self.stream.flush();
        match self.stream.broken() {
            Some(error) => Ending::OutputClosed(error.to_string()),
            None => ending,
        }
    }

    /// The next input that is no command: those are carried out. What was written so far is flushed
    /// before the agent waits.
    pub(crate) fn next(&mut self, deadline: Option<Instant>) -> Option<Input> {
        loop {
            if !self.is_stopping && self.must_stop() {
                return Some(Input::Stop);
            }
            let input = match self.inbox.poll() {
                Some(input) => input,
                None => {
                    self.stream.flush();
                    self.inbox.wait(deadline)?
                }
            };
            match input {
                Input::Command(command) => self.obey(command),
                input => return Some(input),
            }
        }
    }

    fn hear(&mut self, content: Vec<Content>) {
        self.say(Message::User(UserMessage { content, timestamp: clock::now() }));
    }

    /// Whether the agent must stop. The end of what was stopped can arrive before [`Input::Stop`],
    /// so this is checked wherever something new would begin.
    pub(crate) fn must_stop(&mut self) -> bool {
        if self.stream.broken().is_some() {
            self.setup.cancel.cancel();
        }
        // The whole ends before its parts do.
        self.setup.cancel.is_cancelled() || self.work.is_cancelled()
    }

    /// Adds a message to the conversation and to the stream.
    pub(crate) fn say(&mut self, message: Message) -> Arc<Message> {
        self.stream.emit(&Event::MessageStart { message: &message });
        self.stream.emit(&Event::MessageEnd { message: &message });
        self.history.push(message)
    }

    /// Waits until the time has passed. False if the agent was stopped before.
    pub(crate) fn pause(&mut self, delay: Duration) -> bool {
        let deadline = Instant::now() + delay;
        while !self.is_stopping && Instant::now() < deadline {
            if let Some(Input::Stop) = self.next(Some(deadline)) {
                self.is_stopping = true;
            }
        }
        !self.is_stopping
    }

    /// Asks the provider, and collects its answer. `is_shown` writes it to the stream as it arrives.
    pub(crate) fn receive(&mut self, request: Request, is_shown: bool) -> Received {
        let mut answer = Answer::new(&self.setup.model, clock::now());
        self.is_stopping |= self.must_stop();
        let error =
            if self.is_stopping { None } else { self.collect(&mut answer, request, is_shown) };
        // A provider that was stopped has not failed.
        self.is_stopping |= error.is_some() && self.must_stop();
        let failure = match &error {
            _ if self.is_stopping => Some((StopReason::Aborted, ABORTED.to_owned())),
            Some(error) => Some((StopReason::Error, error.message.clone())),
            None => None,
        };
        let has_started = answer.has_started();
        let stream = &mut self.stream;
        let Finished { message, unreadable } = answer.finish(failure, &mut |usage, update| {
            if is_shown {
                stream.emit(&Event::MessageUpdate { usage, assistant_message_event: update });
            }
        });
        Received { message, unreadable, has_started, error }
    }

    pub(crate) fn chance() -> f64 {
        let random = uuid::Uuid::new_v4().as_u128() as u32;
        f64::from(random) / f64::from(u32::MAX)
    }

    fn start(&mut self) {
        self.run_start = self.history.entries().len();
        self.stream.emit(&Event::AgentStart);
        self.stream.emit(&Event::TurnStart);
    }

    /// Adds the system prompt and the tools, unless the conversation has them already.
    fn declare(&mut self) {
        let message = SystemMessage {
            content: String::new(),
            sections: self.setup.system_prompt.sections.clone(),
            timestamp: clock::now(),
            tools_added: self.setup.tools.iter().map(Tool::declaration).collect(),
            replace: self.history.entries().iter().any(|entry| is_system(&entry.message)),
        };
        let known = self.history.entries().iter().rev().find_map(|entry| match &*entry.message {
            Message::System(known) => Some(known),
            _ => None,
        });
        let is_known = known.is_some_and(|known| {
            known.sections == message.sections && known.tools_added == message.tools_added
        });
        if !is_known {
            self.say(Message::System(message));
        }
    }

    /// Takes turns until the model calls no more tools, and no message waits for it.
    fn turns(&mut self) -> Answered {
        loop {
            self.take_commands();
            self.hear_all(Queue::take_steering);
            let answered = self.answer();
            let Answered { message, unreadable, .. } = &answered;
            let Message::Assistant(answer) = &**message else { return answered };
            let results =
                if has_failed(answer) { Vec::new() } else { self.run_calls(answer, unreadable) };
            let tool_results: Vec<&Message> = results.iter().map(|result| &**result).collect();
            self.stream.emit(&Event::TurnEnd { message, tool_results: &tool_results });
            if results.is_empty() {
                self.take_commands();
                let is_over = has_failed(answer) || self.is_stopping || self.must_stop();
                if is_over || !self.hear_all(Queue::take_next) {
                    return answered;
                }
            }
            self.is_stopping |= self.must_stop();
            if !self.is_stopping {
                self.compact_if_long();
            }
            self.stream.emit(&Event::TurnStart);
        }
    }

    /// Adds messages that wait to the conversation. False if there were none.
    fn hear_all(&mut self, take: fn(&mut Queue) -> Vec<Vec<Content>>) -> bool {
        let is_stopped = self.is_stopping || self.must_stop();
        let messages = if is_stopped { Vec::new() } else { take(&mut self.queue) };
        if messages.is_empty() {
            return false;
        }
        self.show_queue();
        for message in messages {
            self.hear(message);
        }
        true
    }

    /// Asks the model, and adds its answer to the stream and to the conversation.
    fn answer(&mut self) -> Answered {
        let request = self.request();
        let Received { message, unreadable, has_started, error } = self.receive(request, true);
        let is_answer = !has_failed(&message);
        let message = Message::Assistant(message);
        if !has_started {
            self.stream.emit(&Event::MessageStart { message: &message });
        }
        self.stream.emit(&Event::MessageEnd { message: &message });
        let message = self.history.push(message);
        if is_answer {
            self.has_recovered = false;
            if self.retries > 0 {
                let attempt = std::mem::take(&mut self.retries);
                let end = Event::AutoRetryEnd { success: true, attempt, final_error: None };
                self.stream.emit(&end);
            }
        }
        Answered { message, unreadable, error }
    }

    /// Adds every piece that arrives, until the answer ends or the agent is stopped.
    fn collect(
        &mut self,
        answer: &mut Answer,
        request: Request,
        is_shown: bool,
    ) -> Option<ProviderError> {
        let number = match self.inbox.ask(&self.setup.provider, request) {
            Ok(number) => number,
            Err(error) => return Some(error),
        };
        loop {
            match self.next(None) {
                Some(Input::Piece(of, piece)) if of == number => {
                    let stream = &mut self.stream;
                    let is_first = is_shown && !answer.has_started();
                    // The provider's id of the answer, if it comes first, is in the message from
                    // the start.
                    if is_first {
                        answer.start(&piece);
                        let message = Message::Assistant(answer.message().clone());
                        stream.emit(&Event::MessageStart { message: &message });
                    }
                    answer.add(piece, &mut |usage, update| {
                        if is_shown {
                            let assistant_message_event = update;
                            stream.emit(&Event::MessageUpdate { usage, assistant_message_event });
                        }
                    });
                }
                Some(Input::Answered(of, answered)) if of == number => {
                    return answered.and_then(|()| answer.check_whole()).err();
                }
                Some(Input::Stop) => {
                    self.is_stopping = true;
                    return None;
                }
                _ => {}
            }
        }
    }

    fn request(&self) -> Request {
        let entries = self.history.entries().iter();
        let messages = entries.filter(|entry| !is_system(&entry.message));
        Request {
            system: self.setup.system_prompt.text(),
            tools: self.setup.tools.iter().map(Tool::declaration).collect(),
            messages: messages.map(|entry| Arc::clone(&entry.message)).collect(),
            thinking: self.setup.thinking,
            max_tokens: None,
        }
    }

    /// How to recover from the error, if there is one.
    fn remedy(&mut self, end: &Answered) -> Recovery {
        let Some(error) = end.error.as_ref().filter(|_| !self.is_stopping) else {
            return Recovery::None;
        };
        let same_model = match error.remedy {
            Remedy::Retry { after } => {
                let delay = delay(&self.setup.retry, self.retries + 1, after, Self::chance());
                delay.map(Recovery::Retry)
            }
            Remedy::Compact if self.setup.compaction.enabled && !self.has_recovered => {
                Some(Recovery::Compact)
            }
            Remedy::Compact | Remedy::None => None,
        };
        let next_model = || Some(Recovery::FallBack(Box::new(self.next_model()?)));
        same_model.or_else(next_model).unwrap_or(Recovery::None)
    }

    /// Recovers from the error. False if the prompt ends here.
    fn recover(&mut self, end: &Answered, recovery: Recovery) -> bool {
        let message = end.error.as_ref().map_or("Unknown error", |error| &error.message);
        match recovery {
            Recovery::Retry(delay) => {
                self.retries += 1;
                self.stream.emit(&Event::AutoRetryStart {
                    attempt: self.retries,
                    max_attempts: self.setup.retry.max_retries,
                    delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_message: message,
                });
                // A failed answer is not part of the conversation.
                self.history.omit_last();
                if self.pause(delay) {
                    return true;
                }
                self.end_retries("Retry cancelled");
                false
            }
            Recovery::Compact => {
                self.has_recovered = true;
                self.history.omit_last();
                if self.compact(CompactionReason::Overflow) {
                    return true;
                }
                // Another model may have room for the conversation as it is.
                let next = if self.is_stopping { None } else { self.next_model() };
                let has_next = next.is_some();
                if let Some(next) = next {
                    self.fall_back(next, message);
                }
                has_next
            }
            Recovery::FallBack(next) => {
                self.history.omit_last();
                self.fall_back(*next, message);
                true
            }
            Recovery::None => {
                if end.error.is_some() || self.is_stopping {
                    self.end_retries(if self.is_stopping { "Retry cancelled" } else { message });
                }
                false
            }
        }
    }

    pub(crate) fn end_retries(&mut self, final_error: &str) {
        if self.retries > 0 {
            let attempt = std::mem::take(&mut self.retries);
            let final_error = Some(final_error);
            self.stream.emit(&Event::AutoRetryEnd { success: false, attempt, final_error });
        }
    }

    fn ending(&self, message: &Message) -> Ending {
        let Message::Assistant(answer) = message else {
            return Ending::Failed("the model did not answer".to_owned());
        };
        match answer.stop_reason {
            StopReason::Aborted => Ending::Stopped,
            _ if self.is_stopping => Ending::Stopped,
            StopReason::Error => Ending::Failed(answer.error_message.clone().unwrap_or_default()),
            _ => Ending::Answered(answer.text()),
        }
    }
}

enum Recovery {
    None,
    Retry(Duration),
    Compact,
    FallBack(Box<NextModel>),
}

fn has_failed(answer: &AssistantMessage) -> bool {
    matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System(_))
}
