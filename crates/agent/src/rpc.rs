//! The agent in RPC mode: it takes prompts and messages from its standard input until that ends.

use std::io::{BufRead, Write};
use std::thread;

use serde_json::{Value, json};

use crate::agent::{Agent, Ending};
use crate::cancel::Cancel;
use crate::commands::{Command, CommandKind, Waits, read_command, response};
use crate::event::Event;
use crate::inbox::{Inbox, Input};

const BUSY: &str = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to \
                    queue the message.";

/// Reads commands on a thread of its own. The end of the input stops the agent, whatever it does:
/// nothing is left that could speak to it.
pub(crate) fn listen_for_commands(
    inbox: &Inbox,
    cancel: &Cancel,
    mut input: Box<dyn BufRead + Send>,
) -> std::io::Result<()> {
    let (sender, cancel) = (inbox.sender(), cancel.clone());
    let listen = move || {
        while let Some(command) = read_command(&mut *input) {
            if sender.send(Input::Command(command)).is_err() {
                return;
            }
        }
        cancel.cancel();
        let _ = sender.send(Input::Stop);
    };
    thread::Builder::new().spawn(listen).map(drop)
}

impl<W: Write> Agent<W> {
    /// Answers prompts until the input ends or the agent is stopped. Returns how the last one was
    /// answered, or that it was stopped.
    pub(crate) fn serve(&mut self, mut after_prompt: impl FnMut(&mut Agent<W>)) -> Ending {
        let mut ending = Ending::Stopped;
        loop {
            let prompts = self.queue.take_next();
            if !prompts.is_empty() {
                // A prompt for an idle agent has not waited.
                if self.queue.is_shown {
                    self.show_queue();
                }
                ending = self.prompt_all(prompts);
                after_prompt(self);
                if matches!(ending, Ending::OutputClosed(_)) {
                    return ending;
                }
                for id in std::mem::take(&mut self.aborts) {
                    self.respond(id.as_ref(), "abort", Ok(None));
                }
                continue;
            }
            self.stream.flush();
            if self.setup.cancel.is_cancelled() {
                return ending;
            }
            match self.inbox.wait(None) {
                Some(Input::Command(command)) => self.obey(command),
                Some(Input::Stop) => return ending,
                // What was left behind by an interruption.
                _ => {}
            }
        }
    }

    /// Carries out a command, while the agent works or before it does.
    pub(crate) fn obey(&mut self, command: Command) {
        let Command { id, name, kind } = command;
        let id = id.as_ref();
        let outcome = match kind {
            Err(error) => Err(error),
            Ok(CommandKind::Prompt { waits: None, .. }) if self.is_at_work => Err(BUSY.to_owned()),
            Ok(CommandKind::Prompt { message, waits }) => {
                let waits = waits.filter(|_| self.is_at_work).unwrap_or(Waits::Steer);
                self.respond(id, &name, Ok(None));
                return self.enqueue(message, waits);
            }
            Ok(CommandKind::Steer(message)) => {
                self.enqueue(message, Waits::Steer);
                Ok(None)
            }
            Ok(CommandKind::FollowUp(message)) => {
                self.enqueue(message, Waits::FollowUp);
                Ok(None)
            }
            Ok(CommandKind::Abort) if self.is_at_work => {
                // It is answered when the agent has come to rest.
                self.work.cancel();
                self.aborts.push(id.cloned());
                return;
            }
            Ok(CommandKind::Abort) => Ok(None),
            Ok(CommandKind::GetState) => Ok(Some(self.state())),
        };
        self.respond(id, &name, outcome);
    }

    /// Takes the commands that have come, without waiting for more.
    pub(crate) fn take_commands(&mut self) {
        while let Some(input) = self.inbox.poll() {
            match input {
                Input::Command(command) => self.obey(command),
                Input::Stop => self.is_stopping = true,
                // No request and no tool is waited for.
                _ => {}
            }
        }
    }

    fn enqueue(&mut self, message: String, waits: Waits) {
        self.queue.add(message, waits);
        if self.is_at_work {
            self.show_queue();
        }
    }

    pub(crate) fn show_queue(&mut self) {
        let steering: Vec<&str> = self.queue.steering.iter().map(String::as_str).collect();
        let follow_up: Vec<&str> = self.queue.follow_up.iter().map(String::as_str).collect();
        self.stream.emit(&Event::QueueUpdate { steering: &steering, follow_up: &follow_up });
        self.queue.is_shown = self.queue.len() > 0;
    }

    fn respond(&mut self, id: Option<&Value>, name: &str, outcome: Result<Option<Value>, String>) {
        self.stream.emit_value(&response(id, name, outcome));
    }

    fn state(&self) -> Value {
        json!({
            "isStreaming": self.is_at_work,
            "isCompacting": false,
            "steeringMode": "all",
            "followUpMode": "one-at-a-time",
            "messageCount": self.history.entries().len(),
            "pendingMessageCount": self.queue.len(),
        })
    }
}
