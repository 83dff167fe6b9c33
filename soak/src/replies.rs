//! Answers to what agents ask, from programs that start and end at random. Many come too early or too late, and some
//! questions get none.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::agent::Agent;
use crate::log::{GivenReply, Log, Reported};
use crate::plan::{Pace, Planned, Project, Reply};
use crate::shell::Shell;
use crate::task::Task;
use crate::testbed::Testbed;

/// Answers go to tasks that were submitted this recently: most of the others have ended.
const RECENT: Duration = Duration::from_secs(4);

/// Answers what agents ask, each at its time, until the end.
pub(crate) fn reply_to_all(
    testbed: &Testbed,
    log: &Log,
    replies: &[Planned<Reply>],
    end: &Receiver<()>,
) {
    thread::scope(|scope| {
        for Planned { at, what } in replies {
            let wait = at.saturating_sub(log.now());
            if !matches!(end.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                return;
            }
            let Some((task, project)) = asker(log, what.choice) else { continue };
            // Now and then two programs answer at once, of which one must win.
            for _ in 0..=usize::from(what.choice.is_multiple_of(4)) {
                let task = task.clone();
                scope.spawn(move || reply(testbed, log, *what, &task, project));
            }
        }
    });
}

/// A task that may be asking something.
fn asker(log: &Log, choice: u64) -> Option<(Task, Project)> {
    let since = log.now().saturating_sub(RECENT);
    let entries = log.entries();
    let is_running = |reported: &Reported| {
        matches!(reported, Reported::Nothing | Reported::Started(_) | Reported::Unknown)
    };
    let asking: Vec<_> = entries
        .tasks
        .values()
        .filter(|entry| entry.task.agent == Agent::Acp && entry.submitted_at >= since)
        .filter(|entry| is_running(&entry.reported))
        .collect();
    let index = usize::try_from(choice).unwrap_or(usize::MAX).checked_rem(asking.len())?;
    asking.get(index).map(|entry| (entry.task.clone(), entry.project))
}

fn reply(testbed: &Testbed, log: &Log, reply: Reply, task: &Task, project: Project) {
    let number = reply.number.map(|number| number.to_string());
    let mut words = vec!["answer", "--json", task.token.as_str()];
    words.extend(number.as_deref());
    words.push(reply.word);
    let command = testbed.command(project, words);
    let Some(ended) = Shell::new(testbed, log).execute(command, Pace::Eager) else {
        return;
    };
    // A run that is not there yet cannot be answered.
    let document: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let (Some(run_id), Some(state)) =
        (text(&document["runId"]), text(&document["answer"]["state"]))
    {
        let number = document["answer"]["question"].as_u64();
        log.record_reply(GivenReply { run_id, number, word: reply.word, state });
    }
}
