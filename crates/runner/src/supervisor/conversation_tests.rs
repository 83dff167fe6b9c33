use std::time::Duration;

use MessageTiming::{After, Interrupt, Steer};

use super::*;

struct Agent {
    conversation: Conversation,
    start: Instant,
}

impl Agent {
    /// An agent that has read its prompt.
    fn working() -> Agent {
        let mut agent =
            Agent { conversation: Conversation::new(None, true), start: Instant::now() };
        agent.shows();
        agent
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn tell(&mut self, number: u64, timing: MessageTiming) {
        let message = Message { text: format!("message {number}"), timing };
        let event = self.conversation.accept(number, message);
        assert!(matches!(event, Event::MessageAccepted { .. }), "{event:?}");
    }

    /// Returns what is told of messages.
    fn observe(&mut self, mut reading: Reading) -> Vec<Delivery> {
        let now = self.at(0);
        self.conversation.observe(&mut reading, now);
        reading.deliveries
    }

    fn shows(&mut self) {
        let event = Event::UserMessage { text: "words".to_owned() };
        self.observe(Reading { events: vec![event], ..Reading::default() });
    }

    fn is_idle(&mut self) {
        self.observe(Reading {
            last_word: LastWord::Idle { is_settled: true },
            ..Reading::default()
        });
    }

    fn reads(&mut self, numbers: &[u64]) {
        let deliveries = numbers.iter().copied().map(Delivery::Delivered).collect();
        self.observe(Reading { deliveries, ..Reading::default() });
    }

    /// The numbers of the messages that are written now; 0 is an interruption.
    fn steps(&mut self) -> Vec<u64> {
        let mut steps = Vec::new();
        while let Some(step) = self.conversation.next_step() {
            steps.push(match step {
                Step::Tell { number, .. } => number,
                Step::Interrupt => 0,
            });
        }
        steps
    }
}

#[test]
fn messages_are_written_in_their_order_as_soon_as_the_agent_works() {
    let mut agent = Agent { conversation: Conversation::new(None, true), start: Instant::now() };
    agent.tell(1, Steer);
    agent.tell(2, Steer);
    assert_eq!(agent.steps(), [0_u64; 0], "it has not read its prompt");
    agent.shows();
    assert_eq!(agent.steps(), [1, 2]);
    assert_eq!(agent.steps(), [0_u64; 0]);
}

#[test]
fn an_agent_elsewhere_is_told_at_once_whatever_the_timing() {
    let conversation = Conversation::new(None, true).relayed(true);
    let mut agent = Agent { conversation, start: Instant::now() };
    agent.tell(1, After);
    assert_eq!(agent.steps(), [0_u64; 0], "no worker has begun with it");
    agent.shows();
    agent.tell(2, Interrupt);
    agent.tell(3, Steer);
    assert_eq!(agent.steps(), [1, 2, 3]);
}

#[test]
fn a_message_for_the_end_waits_for_it_and_others_overtake_it() {
    let mut agent = Agent::working();
    agent.tell(1, After);
    agent.tell(2, Steer);
    assert_eq!(agent.steps(), [2]);
    agent.reads(&[2]);
    assert!(!agent.conversation.is_done());
    agent.is_idle();
    assert_eq!(agent.steps(), [1]);
    agent.shows();
    agent.reads(&[1]);
    agent.is_idle();
    assert!(agent.conversation.is_done());
}

#[test]
fn nothing_overtakes_an_interruption() {
    let mut agent = Agent::working();
    agent.tell(1, Interrupt);
    agent.tell(2, Steer);
    assert_eq!(agent.steps(), [0]);
    agent.is_idle();
    assert_eq!(agent.steps(), [1], "the second waits until the first was taken");
    agent.shows();
    assert_eq!(agent.steps(), [2]);
}

#[test]
fn an_idle_agent_is_told_at_once() {
    let mut agent = Agent::working();
    agent.is_idle();
    agent.tell(1, Interrupt);
    assert_eq!(agent.steps(), [1], "there is nothing to interrupt");
}

#[test]
fn an_agent_that_shows_nothing_is_told_more_once_it_is_under_way_and_can_be_interrupted() {
    let mut agent = Agent { conversation: Conversation::new(None, false), start: Instant::now() };
    agent.tell(1, Steer);
    assert_eq!(agent.steps(), [0_u64; 0], "it has no prompt yet");
    agent.observe(Reading { is_under_way: true, ..Reading::default() });
    assert_eq!(agent.steps(), [1]);
    agent.reads(&[1]);
    agent.is_idle();
    agent.tell(2, After);
    agent.tell(3, Interrupt);
    assert_eq!(agent.steps(), [2, 0], "it works as soon as it is told something");
    agent.is_idle();
    assert_eq!(agent.steps(), [3]);
}

#[test]
fn what_was_written_at_the_last_moment_keeps_the_agent() {
    let mut agent = Agent::working();
    agent.tell(1, Steer);
    assert_eq!(agent.steps(), [1]);
    agent.is_idle();
    assert!(!agent.conversation.is_done());
    agent.observe(Reading { last_word: LastWord::NotYet, ..Reading::default() });
    assert_eq!(agent.conversation.next_deadline(), None, "it reacts");
    agent.shows();
    agent.reads(&[1]);
    agent.is_idle();
    assert!(agent.conversation.is_done());
}

#[test]
fn what_an_agent_does_not_react_to_is_refused_after_a_while() {
    let mut agent = Agent::working();
    agent.tell(1, Steer);
    agent.steps();
    agent.is_idle();
    let deadline = agent.conversation.next_deadline().unwrap();
    assert_eq!(agent.conversation.check(deadline - Duration::from_millis(1)), []);
    assert_eq!(agent.conversation.check(deadline), [refused(1, UNREAD)]);
    assert!(agent.conversation.is_done());
}

#[test]
fn a_message_that_the_agent_refuses_leaves_it_idle() {
    let mut agent = Agent::working();
    agent.is_idle();
    agent.tell(1, Steer);
    assert_eq!(agent.steps(), [1]);
    let deliveries = vec![Delivery::Refused(1, "no".to_owned())];
    agent.observe(Reading { deliveries, ..Reading::default() });
    assert!(agent.conversation.is_done());
}

#[test]
fn the_end_refuses_what_was_not_read_and_everything_later() {
    let mut agent = Agent::working();
    agent.tell(1, After);
    agent.tell(2, Steer);
    agent.steps();
    assert_eq!(agent.conversation.stop(), [refused(1, UNREAD)]);
    assert_eq!(agent.conversation.end(), [refused(2, UNREAD)]);
    assert_eq!(agent.conversation.end(), []);
    let message = Message { text: "late".to_owned(), timing: Steer };
    assert_eq!(agent.conversation.accept(3, message), refused(3, ENDED));
}

#[test]
fn what_cannot_be_said_is_refused_with_the_reason() {
    let mut deaf = Conversation::new(Some("it is deaf"), true);
    let message = |text: String| Message { text, timing: Steer };
    assert_eq!(deaf.accept(1, message("a".to_owned())), refused(1, "it is deaf"));
    let mut agent = Agent::working();
    for (text, reason) in [
        (" \n".to_owned(), "the message is empty"),
        ("x".repeat(65_537), "the message has 65537 bytes, and the limit is 65536"),
    ] {
        assert_eq!(agent.conversation.accept(1, message(text)), refused(1, reason));
    }
}

#[test]
fn an_agent_that_is_being_stopped_may_still_read_what_is_on_its_way() {
    let mut agent = Agent::working();
    agent.tell(1, Steer);
    agent.steps();
    assert_eq!(agent.conversation.stop(), []);
    let deliveries = vec![Delivery::Delivered(1)];
    let told = agent.observe(Reading { deliveries: deliveries.clone(), ..Reading::default() });
    assert_eq!(told, deliveries);
    assert_eq!(agent.conversation.end(), []);
}

#[test]
fn a_message_that_was_given_up_is_not_delivered_any_more() {
    let mut agent = Agent::working();
    agent.tell(1, Steer);
    agent.steps();
    assert_eq!(agent.conversation.end(), [refused(1, UNREAD)]);
    let deliveries = vec![Delivery::Delivered(1)];
    assert_eq!(agent.observe(Reading { deliveries, ..Reading::default() }), []);
}
