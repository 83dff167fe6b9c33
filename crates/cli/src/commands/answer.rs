//! `answer`: answers what a running agent asks.

use model::{AnsweredBy, LeftAnswer};
use plan::Surroundings;
use serde::Serialize;
use tools::{Answered, RunNames, Workspace, answer_run};

use super::is_child;
use crate::arguments::Answer;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn answer(arguments: &Answer, printer: &Printer) -> Result<Exit, CommandError> {
    if is_child() {
        return Err(CommandError::usage("a sub-agent cannot answer what sub-agents ask"));
    }
    let (number, text) = match arguments.answer.as_slice() {
        [number, text] => {
            let problem = || format!("{number:?} is not the number of a question");
            let parsed = number.parse().map_err(|_| {
                CommandError::usage(problem())
                    .hint("put an answer of several words into quotation marks")
            })?;
            (Some(parsed), text.as_str())
        }
        [text] => (None, text.as_str()),
        _ => return Err(CommandError::usage("the answer is missing")),
    };
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let dir = RunNames::load(&tools::project_store(&workspace))?.run(&arguments.run)?;
    let left = LeftAnswer::new(text, AnsweredBy::Shell);
    let answered = answer_run(&dir, number, &left).map_err(CommandError::failure)?;
    let (number, reason) = match answered {
        Answered::Given { number } => (Some(number), None),
        Answered::Refused { number, reason } => (number, Some(reason)),
    };
    if arguments.json {
        let state = if reason.is_some() { "refused" } else { "given" };
        let answer = GivenAnswer { question: number, state, reason: reason.as_deref() };
        printer.json(&Document { run_id: dir.run_id().to_string(), answer })?;
    } else if let Some(reason) = &reason {
        return Err(CommandError::failure(format!("the answer was refused: {reason}")));
    } else {
        printer.answer(&format!("Question {} answered.", number.unwrap_or_default()))?;
    }
    Ok(if reason.is_some() { Exit::TaskFailed } else { Exit::Completed })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    run_id: String,
    answer: GivenAnswer<'a>,
}

#[derive(Serialize)]
struct GivenAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<u64>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}
