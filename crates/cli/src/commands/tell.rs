//! `tell`: speaks to a running agent.

use model::{Message, MessageTiming, Meta};
use plan::Surroundings;
use serde::Serialize;
use tools::{Fate, RunNames, TellUntil, Workspace, tell_run};

use super::is_child;
use super::run::read_standard_input;
use crate::arguments::Tell;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn tell(arguments: &Tell, printer: &Printer) -> Result<Exit, CommandError> {
    if is_child() {
        return Err(CommandError::usage("a sub-agent cannot speak to other sub-agents"));
    }
    let text = match arguments.message.as_str() {
        "-" => read_standard_input("the message")?,
        message => message.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(CommandError::usage("the message is empty"));
    }
    let timing = match (arguments.after, arguments.interrupt) {
        (true, _) => MessageTiming::After,
        (_, true) => MessageTiming::Interrupt,
        _ => MessageTiming::Steer,
    };
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let dir = RunNames::load(&tools::project_store(&workspace))?.run(&arguments.run)?;
    let until = if arguments.wait { TellUntil::Delivered } else { TellUntil::Accepted };
    let told = tell_run(&dir, &Message { text, timing }, until).map_err(CommandError::failure)?;
    let (state, reason) = match told.fate {
        Fate::Accepted => ("accepted", None),
        Fate::Delivered => ("delivered", None),
        Fate::Refused(reason) => ("refused", Some(reason)),
    };
    let number = told.number;
    if arguments.json {
        let run_id = dir.run_id().to_string();
        let message = ToldMessage { number, state, reason: reason.as_deref() };
        printer.json(&Document { run_id, message })?;
    } else if let Some(reason) = &reason {
        let refused = CommandError::failure(format!("the message was refused: {reason}"));
        return Err(match (dir.result(), dir.meta()) {
            (Ok(Some(_)), Ok(meta)) => refused.hint(how_to_go_on(&meta)),
            _ => refused,
        });
    } else {
        printer.answer(&format!("Message {} {state}.", number.unwrap_or_default()))?;
    }
    Ok(if reason.is_some() { Exit::TaskFailed } else { Exit::Completed })
}

/// How the user speaks to an agent whose run has ended: in a new run of its session.
fn how_to_go_on(meta: &Meta) -> String {
    let is_word = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with('-') && name.bytes().all(is_plain)
    };
    let session = meta.session_id.as_str();
    let named = if is_word(&meta.name) { &meta.name } else { session };
    format!("to go on with it, use `pi-subagents run --resume {named} \"…\"`")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    run_id: String,
    message: ToldMessage<'a>,
}

#[derive(Serialize)]
struct ToldMessage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}
