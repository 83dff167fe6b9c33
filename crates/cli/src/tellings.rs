//! Messages and answers that the user types into the live view, each brought on its way by a thread of its
//! own: a supervisor may be slow to take one.

use std::thread::JoinHandle;

use model::{AnsweredBy, LeftAnswer, Message, MessageTiming};
use store::RunDir;
use tools::{Answered, Fate, TellUntil, Told, answer_run, tell_run};

use crate::screen::Screen;

/// What the user says to an agent.
pub(crate) enum Telling {
    Message(String),
    /// To the question with this number.
    Answer(u64, String),
}

#[derive(Default)]
pub(crate) struct Tellings {
    threads: Vec<(String, TellingThread)>,
}

/// Ends with what the user must know of it that no event tells.
type TellingThread = JoinHandle<Option<Option<String>>>;

impl Tellings {
    /// Tells the agent of a run something. The view shows the events that follow.
    pub(crate) fn add(
        &mut self,
        name: &str,
        dir: Option<&RunDir>,
        telling: Telling,
        screen: &mut Screen<'_>,
    ) {
        let Some(dir) = dir.cloned() else {
            screen.warn(format!("{name} has not been started, so it cannot be told anything"));
            return;
        };
        match process::start_thread(move || problem(&dir, telling)) {
            Ok(thread) => self.threads.push((name.to_owned(), thread)),
            Err(no_thread) => {
                screen.warn(format!("{name} cannot be told anything: {}", no_thread.error));
            }
        }
    }

    /// Reports what no event tells.
    pub(crate) fn report_failures(&mut self, screen: &mut Screen<'_>) {
        let is_done = |telling: &mut (String, TellingThread)| telling.1.is_finished();
        for (name, telling) in self.threads.extract_if(.., is_done) {
            if let Ok(Some(Some(problem))) = telling.join() {
                screen.warn(format!("{name}: {problem}"));
            }
        }
    }
}

/// Brings it on its way, and returns what the user must know of it that no event tells.
fn problem(dir: &RunDir, telling: Telling) -> Option<String> {
    match telling {
        Telling::Message(text) => {
            let message = Message { text, timing: MessageTiming::Steer };
            match tell_run(dir, &message, TellUntil::Accepted) {
                Ok(Told { number: None, fate: Fate::Refused(reason) }) => {
                    Some(format!("it does not get the message: {reason}"))
                }
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            }
        }
        Telling::Answer(question, text) => {
            let answer = LeftAnswer::new(text, AnsweredBy::View);
            match answer_run(dir, Some(question), &answer) {
                Ok(Answered::Given { .. }) => None,
                Ok(Answered::Refused { reason, .. }) => {
                    Some(format!("it does not get the answer: {reason}"))
                }
                Err(error) => Some(error.to_string()),
            }
        }
    }
}
