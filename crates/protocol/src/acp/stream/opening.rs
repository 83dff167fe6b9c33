//! The requests in front of the prompt: who speaks, a session, a model, a level of thinking.

use model::{Activity, Event};
use serde_json::{Value, json};

use super::super::make::Make;
use super::super::selection::{self, Choice};
use super::{AcpReader, Asked, KEY_SIGN_IN, VERSION, busy, line_of, prompt_request};
use crate::Reading;

impl AcpReader {
    pub(super) fn initialized(&mut self, result: &Value) -> Reading {
        let version = result["protocolVersion"].as_u64();
        if version.is_some_and(|version| version != VERSION) {
            return self.failed(format!(
                "The agent speaks version {} of the Agent Client Protocol, and this program version {VERSION}",
                version.unwrap_or_default()
            ));
        }
        if self.make == Make::Other {
            self.make = Make::of_itself(result["agentInfo"]["name"].as_str().unwrap_or_default());
        }
        let methods = result["authMethods"].as_array().map_or(&[][..], Vec::as_slice);
        self.can_sign_in = methods.iter().any(|method| method["id"] == KEY_SIGN_IN);
        self.open_session()
    }

    pub(super) fn open_session(&mut self) -> Reading {
        // The user's own servers stay with the agent; this program's own is not offered.
        let params = json!({"cwd": self.assignment.cwd, "mcpServers": []});
        self.ask(Asked::Session, "session/new", &params)
    }

    pub(super) fn choose_model(&mut self, offer: &Value) -> Reading {
        match selection::model(offer, &self.session, &self.assignment, self.started_as) {
            Choice::Settled => self.choose_thinking(offer),
            Choice::Request { method, params, value } => {
                // What is offered besides may depend on the model, and is told with the answer.
                self.ask(Asked::Model(value), method, &params)
            }
            Choice::Warning(message) => {
                let mut reading = self.choose_thinking(offer);
                reading.events.insert(0, Event::Warning { message });
                reading
            }
            Choice::Refusal(reason) => self.failed(reason),
        }
    }

    pub(super) fn choose_thinking(&mut self, offer: &Value) -> Reading {
        if self.started_as.is_started_with_thinking() {
            return self.prompt();
        }
        match selection::thinking(offer, &self.session, &self.assignment, self.started_as) {
            Choice::Settled => self.prompt(),
            Choice::Request { method, params, .. } => self.ask(Asked::Thinking, method, &params),
            Choice::Warning(message) | Choice::Refusal(message) => {
                let mut reading = self.prompt();
                reading.events.insert(0, Event::Warning { message });
                reading
            }
        }
    }

    pub(super) fn prompt(&mut self) -> Reading {
        let prompt = std::mem::take(&mut self.assignment.prompt);
        self.asked = Asked::Prompt;
        self.request += 1;
        self.prompts.send_first(self.request, &prompt);
        let reply = line_of(&prompt_request(self.request, &self.session, &prompt));
        // It does not show the prompt, but whatever it is told now comes behind it.
        Reading { reply, is_under_way: true, ..busy(Some(Activity::Waiting)) }
    }
}
