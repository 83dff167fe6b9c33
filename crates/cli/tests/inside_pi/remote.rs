//! pi as a server: `pi --mode rpc`, with the dialogs of extensions.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Inside, ToolResult, calling};

/// No answer takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pi that is talked to.
pub(crate) struct Remote {
    child: Child,
    stdin: Option<ChildStdin>,
    arriving: Receiver<Value>,
    /// Everything that it has said so far.
    pub(crate) records: Vec<Value>,
}

/// A dialog that is expected, and what the user does with it.
pub(crate) struct Dialog {
    pub(crate) method: &'static str,
    pub(crate) title: String,
    pub(crate) answer: Value,
}

impl Inside {
    /// Starts a pi that waits for commands.
    pub(crate) fn remote(&self, arguments: &[&str]) -> Remote {
        let mut command = self.pi(&["--mode", "rpc"]);
        command.args(arguments);
        Remote::start(command)
    }
}

impl Remote {
    pub(crate) fn start(mut command: std::process::Command) -> Remote {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, arriving) = channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                let record = serde_json::from_slice(&line).unwrap();
                if sender.send(record).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Remote { child, stdin, arriving, records: Vec::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, command: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{command}").unwrap();
    }

    /// Waits for a record.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let arrived = self.arriving.recv_timeout(PATIENCE);
            let last = &self.records[self.records.len().saturating_sub(10)..];
            assert!(arrived.is_ok(), "it did not come; the last records are {last:#?}");
            let record = arrived.unwrap();
            self.records.push(record.clone());
            if is_it(&record) {
                return record;
            }
        }
    }

    /// Sends a command and waits for what is answered.
    #[track_caller]
    pub(crate) fn ask(&mut self, command: &Value) -> Value {
        self.send(command);
        let kind = command["type"].clone();
        let is_it = |record: &Value| record["type"] == "response" && record["command"] == kind;
        let response = self.wait_for(is_it);
        assert_eq!(response["success"], true, "{response:#}");
        response["data"].clone()
    }

    /// Has the model make these calls, one after the other.
    #[track_caller]
    pub(crate) fn call(&mut self, calls: &[Value]) -> Vec<ToolResult> {
        let start = self.records.len();
        self.begin(calls);
        self.wait_for(|record| record["type"] == "agent_settled");
        let results: Vec<ToolResult> =
            self.records[start..].iter().filter_map(ToolResult::of).collect();
        assert_eq!(results.len(), calls.len(), "{results:#?}");
        results
    }

    /// The same for one call.
    #[track_caller]
    pub(crate) fn call_once(&mut self, call: Value) -> ToolResult {
        self.call(&[call]).remove(0)
    }

    /// Has the model begin to make these calls.
    pub(crate) fn begin(&mut self, calls: &[Value]) {
        self.send(&json!({"type": "prompt", "message": calling(calls)}));
    }

    /// Runs a command of the extension, whose dialogs have to be these, and which has to end with
    /// this notification.
    #[track_caller]
    pub(crate) fn converse(&mut self, command: &str, dialogs: &[Dialog], end: (&str, &str)) {
        self.send(&json!({"type": "prompt", "message": command}));
        for dialog in dialogs {
            let request = self.wait_for_dialog_or_notice();
            assert_eq!(request["method"], dialog.method, "{request:#}");
            assert_eq!(request["title"], dialog.title, "{request:#}");
            let mut response = dialog.answer.clone();
            response["type"] = "extension_ui_response".into();
            response["id"] = request["id"].clone();
            self.send(&response);
        }
        let notice = self.wait_for_dialog_or_notice();
        assert_eq!(notice["method"], "notify", "{notice:#}");
        assert_eq!((&notice["message"], &notice["notifyType"]), (&json!(end.0), &json!(end.1)));
    }

    #[track_caller]
    fn wait_for_dialog_or_notice(&mut self) -> Value {
        self.wait_for(|record| {
            let methods = ["select", "input", "confirm", "editor", "notify"];
            record["type"] == "extension_ui_request"
                && methods.iter().any(|method| record["method"] == *method)
        })
    }

    /// What was shown to the user by this method, so far.
    pub(crate) fn shown(&self, method: &str) -> Vec<&Value> {
        let requests = self.records.iter().filter(|record| record["method"] == method);
        requests.filter(|record| record["type"] == "extension_ui_request").collect()
    }

    /// What our part of the footer has said, so far.
    pub(crate) fn footers(&self) -> Vec<Option<&str>> {
        let statuses = self.shown("setStatus").into_iter();
        let ours = statuses.filter(|record| record["statusKey"] == "pi-subagents");
        let mut texts: Vec<Option<&str>> =
            ours.map(|record| record["statusText"].as_str()).collect();
        texts.dedup();
        texts
    }

    /// Waits until our part of the footer says this.
    #[track_caller]
    pub(crate) fn wait_for_footer(&mut self, text: &str) {
        self.wait_for_status(Some(text));
    }

    /// Waits until our part of the footer is gone.
    #[track_caller]
    pub(crate) fn wait_for_no_footer(&mut self) {
        self.wait_for_status(None);
    }

    #[track_caller]
    fn wait_for_status(&mut self, text: Option<&str>) {
        if self.footers().last() == Some(&text) {
            return;
        }
        self.wait_for(|record| {
            record["method"] == "setStatus"
                && record["statusKey"] == "pi-subagents"
                && record["statusText"].as_str() == text
        });
    }

    /// Ends pi in good order.
    #[track_caller]
    pub(crate) fn close(mut self) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// Waits until pi has ended in whatever way.
    pub(crate) fn wait(mut self) {
        self.child.wait().unwrap();
    }
}
