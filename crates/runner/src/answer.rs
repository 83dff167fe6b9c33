//! Answering what a running agent asks, whichever program started its run.
//!
//! An answer is a file of the run directory, of which there is one for each question: of two programs that
//! answer at a time, one leaves it. The events say whether it came in time.

use std::time::Instant;

use model::{Event, LeftAnswer, OpenQuestion, Record};
use process::{KillTarget, Signal};
use session::Facts;
use store::{EVENTS, RunDir, StoreError, Tail, Watch};

use crate::control::{supervisor_marker, wait_for_change};
use crate::durations::REQUEST_ANSWER;
use crate::recover::recover;

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The agent has it.
    Given {
        /// Of the question.
        number: u64,
    },
    /// The agent does not get it, for this reason.
    Refused {
        /// Of the question, if there is such a question.
        number: Option<u64>,
        /// Why.
        reason: String,
    },
}

/// Nothing can be said about an answer.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AnswerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the supervisor of the run does not answer; the answer to question {0} waits in the run \
         directory"
    )]
    NoAnswer(u64),
}

/// The questions of a run that wait for an answer.
pub fn open_questions(dir: &RunDir) -> Result<Vec<OpenQuestion>, StoreError> {
    Ok(Facts::replay(dir.events()?).open_questions)
}

/// Follows what a run asks, and reads each event once.
#[derive(Debug)]
pub struct FollowedQuestions {
    events: Tail,
}

impl FollowedQuestions {
    /// Those of this run, from its beginning.
    pub fn new(dir: &RunDir) -> FollowedQuestions {
        FollowedQuestions { events: dir.tail(EVENTS) }
    }

    /// What was asked since the last call and waits for an answer.
    pub fn read(&mut self) -> Result<Vec<OpenQuestion>, StoreError> {
        let mut facts = Facts::default();
        while let Some(line) = self.events.next_line()? {
            // A line that is not an event is passed over.
            if let Ok(record) = serde_json::from_slice::<Record>(&line) {
                facts.apply(&record);
            }
        }
        Ok(facts.open_questions)
    }
}

/// Answers a question of a run, the only one that waits if none is named, and waits until the supervisor
/// has taken the answer.
pub fn answer_run(
    dir: &RunDir,
    number: Option<u64>,
    answer: &LeftAnswer,
) -> Result<Answered, AnswerError> {
    let refused = |reason: String| Ok(Answered::Refused { number, reason });
    if recover(dir)?.result().is_some() {
        return refused("the run has ended".to_owned());
    }
    let open = open_questions(dir)?;
    let meant = match (number, open.as_slice()) {
        (Some(number), open) => open.iter().find(|open| open.number == number),
        (None, [only]) => Some(only),
        (None, []) => return refused("no question waits for an answer".to_owned()),
        (None, several) => {
            let numbers: Vec<String> = several.iter().map(|open| open.number.to_string()).collect();
            return refused(format!("name the question, of {} that wait", numbers.join(", ")));
        }
    };
    let Some(OpenQuestion { number, question, .. }) = meant else {
        let number = number.unwrap_or_default();
        return refused(match outcome(dir, number)? {
            Some((_, words)) => words,
            None => format!("there is no question {number}"),
        });
    };
    let number = *number;
    let refused = |reason: String| Ok(Answered::Refused { number: Some(number), reason });
    if let Err(problem) = question.read_answer(&answer.text) {
        return refused(problem);
    }
    let meta = dir.meta()?;
    let mut watch = Watch::new();
    watch.add_with_writes(dir.path());
    match dir.leave_answer(number, answer) {
        Ok(true) => {}
        Ok(false) => {
            return refused(match outcome(dir, number)? {
                Some((_, words)) => words,
                None => format!("another program has just answered question {number}"),
            });
        }
        // Its directory is tidied up when it ends.
        Err(_) if recover(dir)?.result().is_some() => {
            return refused("the run has ended".to_owned());
        }
        Err(error) => return Err(error.into()),
    }
    if dir.is_original(&meta) {
        // The supervisor of a foreground run looks once a second unless it is told to.
        KillTarget::Marked(supervisor_marker(&meta)).signal(Signal::Continue);
    }
    let deadline = Instant::now() + REQUEST_ANSWER;
    loop {
        watch.drain();
        // Looked for first, so that no event of a run that has ended is missed.
        let has_ended = recover(dir)?.result().is_some();
        match outcome(dir, number)? {
            Some((true, _)) => return Ok(Answered::Given { number }),
            Some((false, words)) => return refused(words),
            None if has_ended => return refused("the run has ended".to_owned()),
            None if Instant::now() >= deadline => return Err(AnswerError::NoAnswer(number)),
            None => wait_for_change(&watch, &[]),
        }
    }
}

/// What has become of a question: whether a user has answered it, and how it was answered in words.
fn outcome(dir: &RunDir, number: u64) -> Result<Option<(bool, String)>, StoreError> {
    let answered = dir.events()?.into_iter().find_map(|record| match record.event {
        Event::QuestionAnswered { number: of, answer, by, client, .. } if of == number => {
            let (answer, by_words) = (answer.word(), by.words(client.as_deref()));
            let words = format!("question {number} was answered {answer} {by_words}");
            Some((by.is_user(), words))
        }
        _ => None,
    });
    Ok(answered)
}
