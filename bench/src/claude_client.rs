//! The smallest program that starts Claude Code in the mode in which it can be spoken to, and has nothing to say but the prompt.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// `bench claude-client PROMPT_FILE PROGRAM ARGUMENT…`, with which this program starts itself.
pub(crate) const WORD: &str = "claude-client";

/// Gives the agent the prompt of the file, ends its input when it has told its result, and waits for its end.
#[expect(clippy::disallowed_methods, reason = "what is measured is started directly")]
pub(crate) fn converse(arguments: &[String]) -> Result<(), String> {
    let [prompt, program, arguments @ ..] = arguments else {
        return Err(format!("`{WORD}` takes a file and a command"));
    };
    let prompt = fs::read_to_string(prompt).map_err(failed)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut agent = command.spawn().map_err(failed)?;
    let pipes = agent.stdin.take().zip(agent.stdout.take());
    let (input, output) = pipes.ok_or("the agent has no pipes")?;
    let message = json!({"type": "user", "message": {"role": "user", "content": prompt}});
    writeln!(&input, "{message}").map_err(failed)?;
    let mut input = Some(input);
    for line in BufReader::new(output).lines() {
        let line = line.map_err(failed)?;
        let record = serde_json::from_str::<Value>(&line).unwrap_or_default();
        if record["type"] == "result" {
            if record["is_error"] == true {
                return Err(format!("the task did not end well: {record}"));
            }
            input = None;
        }
    }
    match (input, agent.wait().map_err(failed)?.success()) {
        (None, true) => Ok(()),
        _ => Err("the agent ended without a result".to_owned()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn failed(error: std::io::Error) -> String {
    format!("the agent cannot be measured: {error}")
}
