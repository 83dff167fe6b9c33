//! What the caller and an agent elsewhere tell each other, over all attempts of its task. Pure.
//!
//! The supervisor of each attempt numbers messages and questions anew. Here are the numbers of the caller's run, in which a
//! message is delivered or refused once, and a question has one number. An attempt that begins anew is told everything that the
//! one before was told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{AnswerKind, AnsweredBy, Event, LeftAnswer, Message};

use crate::{Command, CommandReply, Format};

#[derive(Debug, Default)]
pub(super) struct Dialogue {
    /// Everything that was said to the agent, by the caller's numbers, in its order.
    messages: Vec<(u64, Message)>,
    /// How many of them the worker of this attempt has taken.
    taken: usize,
    /// The attempt that is followed.
    attempt: u32,
    /// The caller's numbers, by those of each attempt: one that was left can be the one that counts in the end.
    numbers: BTreeMap<u32, BTreeMap<u64, u64>>,
    /// What this attempt has said of messages, from the first one on whose number is not known yet: the caller learns
    /// everything in its order.
    fates: VecDeque<(u64, Option<String>)>,
    /// Messages whose end the caller knows.
    settled: BTreeSet<u64>,
    answers: VecDeque<(u64, LeftAnswer)>,
    /// The caller's number of the last question before this attempt.
    before: u64,
    /// The caller's number of the last question.
    last: u64,
    open: BTreeSet<u64>,
    /// Whether the agent of this attempt was started: from then on its supervisor takes messages.
    is_open: bool,
    /// Whether this attempt had ended before it was followed, so that its agent hears nothing.
    is_over: bool,
}

const LOST: &str = "the worker of the agent that asked was lost";
const OVERTAKEN: &str = "another attempt had ended before the one that asked";

impl Dialogue {
    /// The caller says something to the agent.
    pub(super) fn say(&mut self, number: u64, message: Message) {
        // What the supervisor itself says has no number of its own, and says the same each time.
        if !self.messages.iter().any(|(known, _)| *known == number) {
            self.messages.push((number, message));
        }
    }

    /// The caller answers a question.
    pub(super) fn answer(&mut self, number: u64, answer: LeftAnswer) {
        self.open.remove(&number);
        // The agent of an attempt that was lost waits for nothing.
        if number > self.before {
            self.answers.push_back((number - self.before, answer));
        }
    }

    /// What the worker should be told next.
    pub(super) fn next(&self) -> Option<Command> {
        if !self.is_open || self.is_over {
            return None;
        }
        if let Some((number, answer)) = self.answers.front() {
            let (number, answer) = (*number, answer.clone());
            return Some(Command::Answer { format: Format, number, answer });
        }
        let (number, message) = self.messages.get(self.taken)?;
        Some(Command::Tell { format: Format, number: *number, message: message.clone() })
    }

    /// What the worker says of the command that it was told last. Returns what the caller should know.
    pub(super) fn replied(&mut self, reply: CommandReply) -> Vec<Event> {
        let CommandReply { problem, number, .. } = reply;
        if self.answers.pop_front().is_some() {
            let message = |problem| format!("The answer did not reach the agent: {problem}");
            return problem
                .map(|problem| Event::Warning { message: message(problem) })
                .into_iter()
                .collect();
        }
        let Some((own, _)) = self.messages.get(self.taken) else { return Vec::new() };
        let own = *own;
        self.taken += 1;
        if let Some(number) = number {
            self.numbers.entry(self.attempt).or_default().insert(number, own);
        }
        if let Some(reason) = problem {
            return self.settle(own, Some(reason)).into_iter().collect();
        }
        self.settle_known()
    }

    /// The run has ended. What is not known of a message now stays unknown.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let known = self.numbers.get(&self.attempt);
        self.fates.retain(|(number, _)| known.is_some_and(|known| known.contains_key(number)));
        self.settle_known()
    }

    /// An event of this attempt, as the caller's run has it.
    pub(super) fn translate(&mut self, event: Event) -> Vec<Event> {
        match event {
            Event::MessageDelivered { number } => {
                self.fates.push_back((number, None));
                self.settle_known()
            }
            Event::MessageRefused { number, reason } => {
                self.fates.push_back((number, Some(reason)));
                self.settle_known()
            }
            Event::QuestionAsked { number, question } => {
                let number = self.before + number;
                self.last = self.last.max(number);
                self.open.insert(number);
                vec![Event::QuestionAsked { number, question }]
            }
            Event::QuestionAnswered { number, answer, text, by, client } => {
                let number = self.before + number;
                self.open.remove(&number);
                vec![Event::QuestionAnswered { number, answer, text, by, client }]
            }
            event => {
                self.is_open |= matches!(event, Event::RunStarted { .. });
                vec![event]
            }
        }
    }

    /// Another attempt is followed. Returns what the caller should know of the one before.
    pub(super) fn begin_attempt(&mut self, number: u32, is_over: bool) -> Vec<Event> {
        let why = if number < self.attempt { OVERTAKEN } else { LOST };
        (self.attempt, self.is_over) = (number, is_over);
        (self.taken, self.is_open) = (0, false);
        self.fates.clear();
        self.answers.clear();
        self.before = self.last;
        let withdrawn = std::mem::take(&mut self.open).into_iter().map(|number| {
            let (answer, by) = (AnswerKind::No, AnsweredBy::Agent);
            let text = Some(why.to_owned());
            Event::QuestionAnswered { number, answer, text, by, client: None }
        });
        withdrawn.collect()
    }

    /// What became of messages, up to the first one whose number is not known yet.
    fn settle_known(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some((number, _)) = self.fates.front()
            && let Some(own) = self.numbers.get(&self.attempt).and_then(|known| known.get(number))
            && let own = *own
            && let Some((_, refusal)) = self.fates.pop_front()
        {
            events.extend(self.settle(own, refusal));
        }
        events
    }

    /// Each message has one end.
    fn settle(&mut self, number: u64, refusal: Option<String>) -> Option<Event> {
        self.settled.insert(number).then_some(match refusal {
            None => Event::MessageDelivered { number },
            Some(reason) => Event::MessageRefused { number, reason },
        })
    }
}

#[cfg(test)]
mod tests {
    use model::{MessageTiming, Question};

    use super::*;

    fn message(text: &str) -> Message {
        Message { text: text.to_owned(), timing: MessageTiming::After }
    }

    fn accepted(number: u64) -> CommandReply {
        CommandReply { number: Some(number), ..CommandReply::default() }
    }

    fn told(dialogue: &Dialogue) -> Option<u64> {
        dialogue.next().map(|command| match command {
            Command::Tell { number, .. } | Command::Answer { number, .. } => number,
            Command::Cancel { .. } => 0,
        })
    }

    fn started() -> Event {
        Event::RunStarted { pid: 7, agent: None }
    }

    fn asked(number: u64) -> Event {
        Event::QuestionAsked { number, question: Question::permission("bash", "make") }
    }

    #[test]
    fn a_message_has_one_end_whatever_attempt_brings_it() {
        let mut dialogue = Dialogue::default();
        dialogue.say(4, message("a"));
        dialogue.say(6, message("b"));
        assert_eq!(dialogue.next(), None, "the agent has not begun");
        dialogue.translate(started());
        assert_eq!(told(&dialogue), Some(4));
        // It was delivered before the worker could say which number it has.
        assert_eq!(dialogue.translate(Event::MessageDelivered { number: 1 }), []);
        assert_eq!(dialogue.replied(accepted(1)), [Event::MessageDelivered { number: 4 }]);
        assert_eq!(told(&dialogue), Some(6));
        assert_eq!(dialogue.replied(accepted(2)), []);
        assert_eq!(told(&dialogue), None);
        assert_eq!(dialogue.begin_attempt(2, false), []);
        assert_eq!(told(&dialogue), None, "the new agent has not begun");
        dialogue.translate(started());
        assert_eq!((told(&dialogue), dialogue.replied(accepted(1))), (Some(4), Vec::new()));
        assert_eq!((told(&dialogue), dialogue.replied(accepted(2))), (Some(6), Vec::new()));
        assert_eq!(dialogue.translate(Event::MessageDelivered { number: 1 }), [], "once");
        let refused = |number| Event::MessageRefused { number, reason: "late".to_owned() };
        assert_eq!(dialogue.translate(refused(2)), [refused(6)]);
    }

    #[test]
    fn the_caller_learns_in_their_order_what_became_of_messages() {
        let mut dialogue = Dialogue::default();
        dialogue.say(4, message("a"));
        dialogue.say(6, message("b"));
        dialogue.translate(started());
        assert_eq!(dialogue.replied(accepted(1)), []);
        // The second is read first, and the worker has not said yet which number it has.
        let delivered = |number| Event::MessageDelivered { number };
        assert_eq!(dialogue.translate(delivered(2)), []);
        assert_eq!(dialogue.translate(delivered(1)), []);
        assert_eq!(dialogue.replied(accepted(2)), [delivered(6), delivered(4)]);
        dialogue.say(8, message("c"));
        assert_eq!(dialogue.translate(delivered(3)), []);
        assert_eq!(dialogue.end(), [], "the worker has never said which one it was");
    }

    #[test]
    fn a_question_keeps_its_number_and_one_of_a_lost_attempt_is_withdrawn() {
        let mut dialogue = Dialogue::default();
        dialogue.translate(started());
        assert_eq!(dialogue.translate(asked(1)), [asked(1)]);
        assert_eq!(dialogue.translate(asked(2)), [asked(2)]);
        dialogue.answer(1, LeftAnswer::new("yes", AnsweredBy::Shell));
        assert_eq!(told(&dialogue), Some(1));
        assert_eq!(dialogue.replied(CommandReply::default()), []);
        let withdrawn = dialogue.begin_attempt(2, false);
        assert!(
            matches!(
                &withdrawn[..],
                [Event::QuestionAnswered { number: 2, by: AnsweredBy::Agent, .. }]
            ),
            "{withdrawn:?}"
        );
        dialogue.translate(started());
        dialogue.answer(2, LeftAnswer::new("yes", AnsweredBy::Shell));
        assert_eq!(told(&dialogue), None, "the agent that asked is gone");
        assert_eq!(dialogue.translate(asked(1)), [asked(3)]);
        dialogue.answer(3, LeftAnswer::new("no", AnsweredBy::Shell));
        assert_eq!(told(&dialogue), Some(1), "the number of the attempt");
        let problem = Some("it was answered".to_owned());
        let warned = dialogue.replied(CommandReply { problem, ..CommandReply::default() });
        assert!(matches!(&warned[..], [Event::Warning { .. }]), "{warned:?}");
    }

    #[test]
    fn an_attempt_that_had_ended_first_keeps_its_numbers_and_is_told_nothing() {
        let delivered = |number| Event::MessageDelivered { number };
        let refused = |number| Event::MessageRefused { number, reason: "too early".to_owned() };
        let mut dialogue = Dialogue::default();
        assert_eq!(dialogue.begin_attempt(1, false), []);
        dialogue.translate(started());
        dialogue.say(4, message("a"));
        dialogue.say(5, message("b"));
        assert_eq!((told(&dialogue), dialogue.replied(accepted(1))), (Some(4), Vec::new()));
        assert_eq!((told(&dialogue), dialogue.replied(accepted(2))), (Some(5), Vec::new()));
        assert_eq!(dialogue.translate(asked(1)), [asked(1)]);
        assert_eq!(dialogue.begin_attempt(2, false).len(), 1, "its question is withdrawn");
        dialogue.translate(started());
        let problem = Some("too early".to_owned());
        let reply = CommandReply { problem, ..CommandReply::default() };
        assert_eq!((told(&dialogue), dialogue.replied(reply)), (Some(4), vec![refused(4)]));
        dialogue.say(6, message("c"));
        assert_eq!((told(&dialogue), dialogue.replied(accepted(1))), (Some(5), Vec::new()));
        assert_eq!((told(&dialogue), dialogue.replied(accepted(2))), (Some(6), Vec::new()));
        assert_eq!(dialogue.translate(asked(1)), [asked(2)]);
        // The result is that of the first one, whose events are read again.
        let withdrawn = dialogue.begin_attempt(1, true);
        assert!(
            matches!(&withdrawn[..], [Event::QuestionAnswered { number: 2, text: Some(text), .. }]
                if text == OVERTAKEN),
            "{withdrawn:?}"
        );
        assert_eq!(dialogue.translate(started()), [started()]);
        dialogue.say(7, message("d"));
        assert_eq!(told(&dialogue), None, "its agent has ended");
        assert_eq!(dialogue.translate(delivered(1)), [], "the caller knows its end");
        assert_eq!(dialogue.translate(asked(1)), [asked(3)], "no number twice");
        assert_eq!(dialogue.translate(delivered(2)), [delivered(5)], "not 6, as in the second");
        assert_eq!(dialogue.end(), []);
    }
}
