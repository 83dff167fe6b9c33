//! The real pi with an extension whose tools run tasks: what it says, and when.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use xtask::repository_root;

use crate::provider::Provider;
use crate::scratch::Scratch;
use crate::tasks::{ANSWER, TASKS, prompt};

/// An extension of pi that can be given tasks.
pub(crate) struct Extension {
    /// Where it is, from the root of the repository.
    path: &'static str,
    /// The calls that a model makes in one message to give the extension so many tasks.
    calls: fn(usize) -> Vec<Value>,
    /// How many tasks are done, according to the text of a result.
    done: fn(&str) -> usize,
}

/// Ours, in `extension/`.
pub(crate) const OURS: Extension =
    Extension { path: "extension", calls: delegation, done: count_completed };

/// Starts a pi for each task, as ours can.
pub(crate) const HARMS_HAUS: Extension = Extension {
    path: "e2e/node_modules/@harms-haus/pi-subagents",
    calls: delegation,
    done: count_completed,
};

/// Runs its agents inside the pi that calls it, and starts no processes. Calls in the foreground are
/// never queued.
pub(crate) const TINTINWEB: Extension = Extension {
    path: "e2e/node_modules/@tintinweb/pi-subagents",
    calls: agents,
    done: |text| usize::from(text.contains(ANSWER)),
};

/// Starts a pi for each task, from a script that it calls a workflow.
pub(crate) const NICOBAILON: Extension = Extension {
    path: "e2e/peers/node_modules/pi-subagents",
    calls: workflow,
    done: |text| text.matches(ANSWER).count(),
};

const MOST_TASKS: usize = 16;

fn delegation(count: usize) -> Vec<Value> {
    let task = |task| json!({"name": format!("task {task}"), "prompt": prompt(task)});
    let tasks: Vec<Value> = (0..count).map(task).collect();
    let call = |tasks| json!({"name": "delegate_to_subagents", "args": {"tasks": tasks}});
    tasks.chunks(MOST_TASKS).map(call).collect()
}

fn workflow(count: usize) -> Vec<Value> {
    let task =
        |task| json!({"key": format!("task{task}"), "agent": "delegate", "task": prompt(task)});
    let tasks: Vec<Value> = (0..count).map(task).collect();
    let script = format!(
        "const done = await runs.all({}); return done.map((run) => run.output).join(\"\\n\");",
        json!(tasks)
    );
    let args = json!({"workflowScript": script, "async": false, "mission": false});
    vec![json!({"name": "subagent", "args": args})]
}

fn count_completed(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with('✓') && line.contains(": completed")).count()
}

fn agents(count: usize) -> Vec<Value> {
    let call = |task| {
        let name = format!("task {task}");
        json!({"name": "Agent", "args": {
            "subagent_type": "general-purpose", "description": name, "prompt": prompt(task),
        }})
    };
    (0..count).map(call).collect()
}

/// What it cost to run all tasks with the tools of an extension.
pub(crate) struct Calls {
    /// From the start of the first call to the end of the last one.
    pub(crate) time: Duration,
    /// From the start of pi to the end of the last call.
    pub(crate) whole: Duration,
    /// How much pi has printed about the progress of the calls.
    pub(crate) update_bytes: usize,
    /// How much pi has printed in all.
    pub(crate) bytes: usize,
}

impl Extension {
    /// Starts a pi that gives so many tasks to the extension.
    pub(crate) fn start(
        &self,
        scratch: &Scratch,
        provider: &Provider,
        project: &Path,
        count: usize,
    ) -> Result<Session, String> {
        let script = json!([{"tools": (self.calls)(count)}, {"text": "All are done."}]);
        let mut command = scratch.command("pi");
        command.args(["--mode", "json", "-p", "--no-session"]).current_dir(project);
        command.arg(format!("Delegate <<SCRIPT>>{script}<<END>>"));
        command.env("PI_SUBAGENTS_BIN", scratch.our("pi-subagents").get_program());
        provider.install(&[repository_root().join(self.path)])?;
        provider.offer(&mut command);
        Session::start(command, self.done, count)
    }

    pub(crate) fn measure(
        &self,
        scratch: &Scratch,
        provider: &Provider,
        project: &Path,
    ) -> Result<Calls, String> {
        self.start(scratch, provider, project, TASKS)?.finish()
    }
}

pub(crate) struct Session {
    child: Child,
    start: Instant,
    done: fn(&str) -> usize,
    count: usize,
}

impl Session {
    fn start(
        mut command: Command,
        done: fn(&str) -> usize,
        count: usize,
    ) -> Result<Session, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let start = Instant::now();
        let child = command.spawn().map_err(|error| format!("pi: {error}"))?;
        Ok(Session { child, start, done, count })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Listens until pi has settled.
    pub(crate) fn finish(mut self) -> Result<Calls, String> {
        let calls = self.listen();
        // It may not exit at once.
        let _ = self.child.kill();
        self.child.wait().map_err(|error| format!("pi: {error}"))?;
        calls
    }

    fn listen(&mut self) -> Result<Calls, String> {
        let Some(stdout) = self.child.stdout.take() else {
            return Err("pi has no standard output".to_owned());
        };
        let (mut first, mut last, mut update_bytes, mut bytes) = (None, None, 0, 0);
        let mut ends = Vec::new();
        for line in BufReader::new(stdout).lines() {
            let now = Instant::now();
            let line = line.map_err(|error| format!("pi: {error}"))?;
            bytes += line.len() + 1;
            if line.starts_with(r#"{"type":"agent_settled""#) {
                break;
            } else if line.starts_with(r#"{"type":"tool_execution_start""#) {
                first.get_or_insert(now);
            } else if line.starts_with(r#"{"type":"tool_execution_update""#) {
                update_bytes += line.len();
            } else if line.starts_with(r#"{"type":"tool_execution_end""#) {
                last = Some(now);
                ends.push(line);
            }
        }
        let done: usize = ends.iter().map(|line| (self.done)(&text_of_result(line))).sum();
        match (first, last) {
            (Some(first), Some(last)) if done == self.count => {
                Ok(Calls { time: last - first, whole: last - self.start, update_bytes, bytes })
            }
            _ => Err(format!("{done} of {} tasks are done: {ends:?}", self.count)),
        }
    }
}

fn text_of_result(record: &str) -> String {
    let record: Value = serde_json::from_str(record).unwrap_or_default();
    record["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
