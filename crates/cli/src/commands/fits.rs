//! `fits`: whether an answer fits its schema, for the supervisor of its run. A process of its own, because a schema can
//! ask for more time or stack than there is, and only a process can be stopped.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::Value;

use crate::error::CommandError;

#[derive(Deserialize)]
struct Question {
    schema: Value,
    answer: String,
}

/// Exits with 0 if it fits, and with 1 if it does not, for the reason on standard output.
pub(crate) fn fits() -> Result<ExitCode, CommandError> {
    let mut question = Vec::new();
    let read = io::stdin().read_to_end(&mut question);
    read.map_err(|error| CommandError::usage(format!("standard input cannot be read: {error}")))?;
    let question: Question = serde_json::from_slice(&question)
        .map_err(|error| CommandError::usage(format!("standard input has no question: {error}")))?;
    Ok(match answer::fitting_value(&question.schema, &question.answer) {
        Ok(_) => ExitCode::SUCCESS,
        Err(problem) => {
            let told = writeln!(io::stdout(), "{problem}");
            if told.is_ok() { ExitCode::from(1) } else { ExitCode::from(2) }
        }
    })
}
