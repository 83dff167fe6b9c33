//! pi as a program that is given a prompt and prints records: `pi --mode json -p`.

use std::process::{Child, Stdio};

use serde_json::Value;
use test_support::Ran;

use crate::{Inside, ToolResult};

/// What pi has said from its start to its end.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) records: Vec<Value>,
    pub(crate) results: Vec<ToolResult>,
    pub(crate) stderr: String,
}

impl Inside {
    /// Gives pi a prompt and listens until it has ended, which has to be a good end.
    #[track_caller]
    pub(crate) fn stream(&self, arguments: &[&str], prompt: &str) -> Stream {
        let stream = Stream::of(self.start_stream(arguments, prompt));
        self.world.wait_until_nothing_is_left();
        stream
    }

    /// The same, under way.
    pub(crate) fn start_stream(&self, arguments: &[&str], prompt: &str) -> Child {
        let mut command = self.pi(&["--mode", "json", "-p"]);
        command.args(arguments).arg(prompt);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Stream {
    #[track_caller]
    pub(crate) fn of(pi: Child) -> Stream {
        let ran = Ran::from(pi.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let records = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        let records: Vec<Value> = records.collect();
        let results = records.iter().filter_map(ToolResult::of).collect();
        Stream { records, results, stderr: ran.stderr }
    }

    /// The records of this type.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.records.iter().filter(|record| record["type"] == kind).collect()
    }
}
