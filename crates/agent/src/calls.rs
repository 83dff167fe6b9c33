//! Runs the tools that one message calls.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::clock;
use crate::event::Event;
use crate::inbox::Input;
use crate::message::{AssistantMessage, Content, Message, StopReason, ToolResultMessage};
use crate::tools::{Call, Tool, ToolError, ToolOutput};

/// How long to wait for tools that were stopped. They kill what they have started, which takes
/// milliseconds, and seconds where a hundred processes want the processor.
pub(crate) const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// How many calls of one message run in parallel. A model can make thousands, and each takes a
/// thread.
const MOST_PARALLEL: usize = 16;

struct Pending<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a Map<String, Value>,
    tool: Option<Tool>,
    result: Option<Result<ToolOutput, ToolError>>,
}

impl<W: Write> Agent<W> {
    /// Runs every call of the message, and adds the results to the conversation in the order of
    /// the calls.
    pub(crate) fn run_calls(
        &mut self,
        answer: &AssistantMessage,
        unreadable: &[(String, String)],
    ) -> Vec<Arc<Message>> {
        let mut calls = self.pending(answer, unreadable);
        for call in &mut calls {
            self.stream.emit(&Event::ToolExecutionStart {
                tool_call_id: call.id,
                tool_name: call.name,
                args: call.arguments,
            });
            if call.result.is_some() {
                self.show_end(call);
            }
        }
        let mut next = 0;
        while next < calls.len() {
            let count = parallel(&calls[next..]);
            self.run_group(&mut calls, next..next + count);
            next += count;
        }
        // What is left behind by an interruption must not be taken for a later call.
        self.first_call += calls.len();
        let results = calls.into_iter().map(|call| {
            let (output, is_error) = outcome(call.result);
            let message = Message::ToolResult(ToolResultMessage {
                tool_call_id: call.id.to_owned(),
                tool_name: call.name.to_owned(),
                content: output.content,
                details: output.details,
                is_error,
                timestamp: clock::now(),
            });
            self.say(message)
        });
        results.collect()
    }

    /// The calls. Those that cannot be run have their result already.
    fn pending<'a>(
        &self,
        answer: &'a AssistantMessage,
        unreadable: &[(String, String)],
    ) -> Vec<Pending<'a>> {
        let calls = answer.content.iter().filter_map(|part| match part {
            Content::ToolCall { id, name, arguments, .. } => Some((id, name, arguments)),
            _ => None,
        });
        let pending = calls.map(|(id, name, arguments)| {
            let tool = self.setup.tools.iter().find(|tool| tool.name == name).copied();
            let reason = unreadable.iter().find(|(of, _)| of == id).map(|(_, reason)| reason);
            let refusal = if answer.stop_reason == StopReason::Length {
                Some(format!(
                    "Tool call \"{name}\" was not executed: the response hit the output token \
                     limit, so its arguments may be truncated. Re-issue the tool call with \
                     complete arguments."
                ))
            } else if tool.is_none() {
                Some(format!("Tool {name} not found"))
            } else {
                reason.map(|reason| {
                    format!(
                        "Tool call \"{name}\" was not executed: its arguments cannot be read \
                         ({reason}). Re-issue the tool call with a JSON object as arguments."
                    )
                })
            };
            let result = refusal.map(|refusal| Err(ToolError(refusal)));
            Pending { id, name, arguments, tool, result }
        });
        pending.collect()
    }

    fn run_group(&mut self, calls: &mut [Pending<'_>], group: std::ops::Range<usize>) {
        self.is_stopping |= self.must_stop();
        for index in group.clone() {
            let call = &mut calls[index];
            if call.result.is_some() {
                continue;
            }
            match call.tool {
                Some(tool) if !self.is_stopping => {
                    if let Err(error) = self.start_call(index, tool, call.arguments) {
                        let words = format!("The tool {} could not start: {error}", tool.name);
                        call.result = Some(Err(ToolError(words)));
                        self.show_end(call);
                    }
                }
                _ => {
                    call.result = Some(Err(ToolError("Operation aborted".to_owned())));
                    self.show_end(call);
                }
            }
        }
        let mut patience = None;
        while calls[group.clone()].iter().any(|call| call.result.is_none()) {
            match self.next(patience) {
                Some(Input::Report(number, output)) => {
                    let call = self.index_of(number).and_then(|index| calls.get(index));
                    if let Some(call) = call.filter(|call| call.result.is_none()) {
                        self.stream.emit(&Event::ToolExecutionUpdate {
                            tool_call_id: call.id,
                            tool_name: call.name,
                            args: call.arguments,
                            partial_result: &output,
                        });
                    }
                }
                Some(Input::ToolEnded(number, result)) => {
                    let call = self.index_of(number).and_then(|index| calls.get_mut(index));
                    if let Some(call) = call.filter(|call| call.result.is_none()) {
                        call.result = Some(result);
                        self.show_end(call);
                    }
                }
                Some(Input::Stop) => {
                    self.is_stopping = true;
                    patience = Some(Instant::now() + STOP_PATIENCE);
                }
                Some(_) => {}
                None => {
                    for call in &mut calls[group.clone()] {
                        if call.result.is_none() {
                            call.result = Some(Err(ToolError("Operation aborted".to_owned())));
                            self.show_end(call);
                        }
                    }
                }
            }
        }
    }

    fn start_call(
        &self,
        index: usize,
        tool: Tool,
        arguments: &Map<String, Value>,
    ) -> std::io::Result<()> {
        let arguments = arguments.clone();
        let (cwd, shell) = (self.setup.cwd.clone(), self.setup.shell.clone());
        let (cancel, sender) = (self.work.clone(), self.inbox.sender());
        let number = self.first_call + index;
        let run = move || {
            let mut report = |output| drop(sender.send(Input::Report(number, output)));
            let (cwd, shell, cancel) = (&cwd, &shell, &cancel);
            let call = Call { cwd, shell, cancel, report: &mut report };
            let result = catch_unwind(AssertUnwindSafe(|| tool.run(&arguments, call)));
            let result = result.unwrap_or_else(|_| {
                Err(ToolError(format!("The tool {} failed for a reason of its own", tool.name)))
            });
            let _ = sender.send(Input::ToolEnded(number, result));
        };
        thread::Builder::new().spawn(run).map(drop)
    }

    /// The index of a call in the current message.
    fn index_of(&self, number: usize) -> Option<usize> {
        number.checked_sub(self.first_call)
    }

    fn show_end(&mut self, call: &Pending<'_>) {
        let (output, is_error) = outcome(call.result.clone());
        self.stream.emit(&Event::ToolExecutionEnd {
            tool_call_id: call.id,
            tool_name: call.name,
            result: &output,
            is_error,
        });
    }
}

/// How many of the calls, from the first, may run in parallel: those that only read. A call that
/// changes something runs alone.
fn parallel(calls: &[Pending<'_>]) -> usize {
    let reading = calls.iter().take_while(|call| call.tool.is_none_or(|tool| tool.is_read_only()));
    reading.count().clamp(1, MOST_PARALLEL)
}

fn outcome(result: Option<Result<ToolOutput, ToolError>>) -> (ToolOutput, bool) {
    match result {
        Some(Ok(output)) => (output, false),
        Some(Err(error)) => {
            let details = Some(Value::Object(Map::new()));
            (ToolOutput { content: vec![Content::text(error.0)], details }, true)
        }
        None => (ToolOutput::default(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::ALL;

    #[test]
    fn what_only_looks_runs_side_by_side_but_not_all_of_thousands() {
        let arguments = Map::new();
        let pending = |name: &'static str| {
            let tool = ALL.iter().find(|tool| tool.name == name).copied();
            Pending { id: "", name, arguments: &arguments, tool, result: None }
        };
        for (names, expected) in [
            (vec!["read"; 5000], MOST_PARALLEL),
            (vec!["read", "grep", "unknown", "ls", "bash", "read"], 4),
            (vec!["bash", "read", "read"], 1),
            (vec!["edit"; 20], 1),
        ] {
            let calls: Vec<Pending<'_>> = names.iter().map(|name| pending(name)).collect();
            assert_eq!(parallel(&calls), expected, "{names:?}");
        }
    }
}
