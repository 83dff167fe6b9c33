//! The prompts of one session: which the agent has not answered, which messages they bring, and what proves that the
//! agent's model was asked with them.
//!
//! An agent does not show what it has read. What it says after a prompt that began a turn is an answer to it. A prompt
//! that was sent into a turn can have come too late for the next request, so that more is needed: the answer to the
//! prompt itself, or a call that began and ended after it, and then more words of the model.

use crate::Delivery;

/// When an agent takes a prompt that comes while it answers another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptTiming {
    /// It goes on with its work, and adds the prompt to its next request.
    DuringTurn,
    /// It leaves its work for the prompt. When a call has ended, nothing but the request that follows is lost.
    BetweenCalls,
    /// Only when its turn has ended: what it leaves for the prompt is lost, or nothing is known about it.
    AfterTurn,
}

#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// Sent and not answered, in their order.
    open: Vec<Prompt>,
    /// Messages of cancelled prompts, which the conversation still contains.
    unanswered: Vec<u64>,
    /// To be sent with the next prompt.
    held: Vec<(u64, String)>,
    /// What the prompts of this turn say.
    turn: Vec<String>,
    /// What the agent has forgotten, because the turn was cancelled.
    forgotten: Vec<String>,
}

#[derive(Debug)]
struct Prompt {
    id: u64,
    messages: Vec<u64>,
    proof: Proof,
}

/// What must come before words of the model prove that the prompt was read.
#[derive(Debug, PartialEq, Eq)]
enum Proof {
    /// Nothing: the prompt has begun the turn.
    Words,
    /// A call that begins later.
    Call,
    /// The end of this call.
    EndOf(String),
}

/// How a prompt was answered.
pub(super) enum Answer<'a> {
    Given,
    /// Before the model has said something, maybe. An agent that forgets such a turn is told all of it once more.
    Cancelled {
        is_forgotten: bool,
    },
    Failed(&'a str),
}

impl Prompts {
    /// Keeps a message for the next prompt.
    pub(super) fn hold(&mut self, number: u64, text: &str) {
        self.held.push((number, text.to_owned()));
    }

    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a prompt is not answered yet: the turn goes on.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn is_open(&self, id: u64) -> bool {
        self.open.iter().any(|prompt| prompt.id == id)
    }

    /// The assignment is sent, as the first prompt.
    pub(super) fn send_first(&mut self, id: u64, text: &str) {
        self.turn.push(text.to_owned());
        self.open.push(Prompt { id, messages: Vec::new(), proof: Proof::Words });
    }

    /// Everything that was held is sent. Returns the words of the prompt.
    pub(super) fn send_held(&mut self, id: u64) -> String {
        let (messages, mut told): (Vec<u64>, Vec<String>) = self.held.drain(..).unzip();
        let proof = if self.has_open() {
            Proof::Call
        } else {
            told.splice(..0, self.forgotten.drain(..));
            Proof::Words
        };
        self.turn.extend(told.iter().cloned());
        self.open.push(Prompt { id, messages, proof });
        told.join("\n\n")
    }

    /// A call has begun.
    pub(super) fn begin_call(&mut self, call: &str) {
        for prompt in self.open.iter_mut().filter(|prompt| prompt.proof == Proof::Call) {
            prompt.proof = Proof::EndOf(call.to_owned());
        }
    }

    /// A call has ended.
    pub(super) fn end_call(&mut self, call: &str) {
        let is_meant = |proof: &Proof| matches!(proof, Proof::EndOf(awaited) if awaited == call);
        for prompt in self.open.iter_mut().filter(|prompt| is_meant(&prompt.proof)) {
            prompt.proof = Proof::Words;
        }
    }

    /// The model says something. Returns the messages with which it was asked.
    pub(super) fn hear_model(&mut self) -> Vec<Delivery> {
        let mut numbers = std::mem::take(&mut self.unanswered);
        for prompt in self.open.iter_mut().filter(|prompt| prompt.proof == Proof::Words) {
            numbers.append(&mut prompt.messages);
        }
        numbers.into_iter().map(Delivery::Delivered).collect()
    }

    /// The agent has answered a prompt.
    pub(super) fn close(&mut self, id: u64, answer: &Answer<'_>) -> Vec<Delivery> {
        let Some(index) = self.open.iter().position(|prompt| prompt.id == id) else {
            return Vec::new();
        };
        let messages = self.open.remove(index).messages;
        let deliveries = match answer {
            Answer::Given => {
                let numbers = std::mem::take(&mut self.unanswered).into_iter().chain(messages);
                numbers.map(Delivery::Delivered).collect()
            }
            Answer::Cancelled { is_forgotten } => {
                self.unanswered.extend(messages);
                if *is_forgotten && !self.has_open() {
                    self.forgotten = std::mem::take(&mut self.turn);
                }
                Vec::new()
            }
            Answer::Failed(reason) => {
                let refused = |number| Delivery::Refused(number, (*reason).to_owned());
                messages.into_iter().map(refused).collect()
            }
        };
        if !self.has_open() {
            self.turn.clear();
        }
        deliveries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANCELLED: Answer<'_> = Answer::Cancelled { is_forgotten: false };

    fn delivered(numbers: &[u64]) -> Vec<Delivery> {
        numbers.iter().copied().map(Delivery::Delivered).collect()
    }

    /// A session whose first prompt, number 1, is being answered.
    fn at_work() -> Prompts {
        let mut prompts = Prompts::default();
        prompts.send_first(1, "do it");
        prompts
    }

    #[test]
    fn the_words_after_a_prompt_that_began_a_turn_prove_it() {
        let mut prompts = at_work();
        assert_eq!(prompts.hear_model(), []);
        prompts.hold(1, "a");
        prompts.hold(2, "b");
        assert_eq!(prompts.close(1, &Answer::Given), []);
        assert_eq!(prompts.send_held(2), "a\n\nb");
        assert_eq!(prompts.hear_model(), delivered(&[1, 2]));
        assert_eq!(prompts.close(2, &Answer::Given), [], "each once");
    }

    #[test]
    fn a_prompt_into_a_turn_is_proven_by_its_answer_or_a_whole_step_later() {
        let mut prompts = at_work();
        prompts.begin_call("before");
        prompts.hold(1, "a");
        assert_eq!(prompts.send_held(2), "a");
        prompts.end_call("before");
        assert_eq!(prompts.hear_model(), [], "the request may have been on its way");
        prompts.begin_call("after");
        prompts.begin_call("beside");
        prompts.end_call("beside");
        assert_eq!(prompts.hear_model(), []);
        prompts.end_call("after");
        assert_eq!(prompts.hear_model(), delivered(&[1]));
        prompts.hold(2, "b");
        prompts.send_held(3);
        assert_eq!(prompts.close(1, &Answer::Given), []);
        assert!(prompts.has_open() && prompts.is_open(3) && !prompts.is_open(1));
        assert_eq!(prompts.close(3, &Answer::Given), delivered(&[2]));
    }

    #[test]
    fn a_message_that_was_cancelled_with_its_turn_is_proven_by_the_next_one() {
        let mut prompts = at_work();
        prompts.hold(1, "a");
        prompts.close(1, &Answer::Given);
        prompts.send_held(2);
        assert_eq!(prompts.close(2, &CANCELLED), []);
        prompts.hold(2, "b");
        assert_eq!(prompts.send_held(3), "b", "the agent remembers the first");
        assert_eq!(prompts.hear_model(), delivered(&[1, 2]));
    }

    #[test]
    fn an_agent_that_forgets_a_cancelled_turn_is_told_all_of_it_once_more() {
        let mut prompts = at_work();
        for (number, expected) in [(1, "do it\n\nm1"), (2, "do it\n\nm1\n\nm2")] {
            prompts.close(number, &Answer::Cancelled { is_forgotten: true });
            prompts.hold(number, &format!("m{number}"));
            assert_eq!(prompts.send_held(number + 1), expected);
        }
        assert_eq!(prompts.hear_model(), delivered(&[1, 2]));
        prompts.close(3, &Answer::Given);
        prompts.hold(3, "m3");
        assert_eq!(prompts.send_held(4), "m3");
    }

    #[test]
    fn a_prompt_that_fails_refuses_its_messages() {
        let mut prompts = at_work();
        prompts.hold(1, "a");
        prompts.send_held(2);
        let refused = Delivery::Refused(1, "no credit".to_owned());
        assert_eq!(prompts.close(2, &Answer::Failed("no credit")), [refused]);
        assert_eq!(prompts.close(9, &Answer::Given), [], "it was not asked");
    }
}
