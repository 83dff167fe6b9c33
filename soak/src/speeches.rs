//! Messages to agents while they work, from programs that start and end at random.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::log::{Log, Message};
use crate::plan::{Pace, Planned, Project, Speech};
use crate::shell::Shell;
use crate::task::Task;
use crate::testbed::Testbed;

/// Messages go to tasks that were submitted this recently: most of the others have ended.
const RECENT: Duration = Duration::from_secs(2);

/// Tells agents something, each at its time, until the end.
pub(crate) fn speak_all(
    testbed: &Testbed,
    log: &Log,
    speeches: &[Planned<Speech>],
    end: &Receiver<()>,
) {
    thread::scope(|scope| {
        for Planned { at, what } in speeches {
            let wait = at.saturating_sub(log.now());
            if !matches!(end.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                return;
            }
            if let Some((task, project)) = listener(log, what.choice) {
                scope.spawn(move || speak(testbed, log, *what, &task, project));
            }
        }
    });
}

/// A task that may be running. What is said must not change how it ends, so that it is one that answers.
fn listener(log: &Log, choice: u64) -> Option<(Task, Project)> {
    let since = log.now().saturating_sub(RECENT);
    let entries = log.entries();
    let takes_messages = |task: &Task| match task.agent {
        Agent::Builtin => true,
        // They refuse every message, so that most go to the other.
        Agent::Fake | Agent::Codex => choice.is_multiple_of(8),
        // Their scripts have no answer to a second prompt.
        Agent::Claude | Agent::Acp => false,
    };
    let recent: Vec<_> = entries
        .tasks
        .values()
        .filter(|entry| entry.submitted_at >= since && takes_messages(&entry.task))
        .filter(|entry| entry.task.expected() == "completed")
        .collect();
    let index = usize::try_from(choice).unwrap_or(usize::MAX).checked_rem(recent.len())?;
    recent.get(index).map(|entry| (entry.task.clone(), entry.project))
}

fn speak(testbed: &Testbed, log: &Log, speech: Speech, task: &Task, project: Project) {
    // The model goes on with this script, and so with the same answer.
    let script = json!([{"text": task.answer()}]);
    let text = format!("[{}] Listen. <<SCRIPT>>{script}<<END>>", task.token);
    let mut words = vec!["tell", "--json"];
    words.extend(speech.timing);
    words.extend(speech.waits.then_some("--wait"));
    words.extend([task.token.as_str(), &text]);
    let command = testbed.command(project, words);
    let Some(ended) = Shell::new(testbed, log).execute(command, Pace::Eager) else {
        return;
    };
    // A run that is not there yet cannot be told anything.
    let document: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let (Some(run_id), Some(state)) =
        (text(&document["runId"]), text(&document["message"]["state"]))
    {
        let number = document["message"]["number"].as_u64();
        log.record_message(Message { run_id, number, state });
    }
}
