//! `/agents` for the extension: the list of runs, and what comes of the actions of its user.

use std::io;

use serde_json::{Value, json};
use session::ShownDiff;
use session::view::{Row, TaskView, changes_blocks, listed_row};
use tools::{AgentAction, AgentChanges, BackgroundRecord, ListedAgent, ShownTask, ToolError};

use crate::client::Client;
use crate::message::REFUSED;
use crate::wire;

/// The runs, in their order, each with what can be done with it.
pub(crate) fn list<'a>(
    agents: &'a [ListedAgent],
    live: impl Fn(&ListedAgent) -> Option<&'a ShownTask>,
    now: u64,
) -> Value {
    let runs = agents.iter().map(|agent| {
        // Only who runs it knows what it does between two events.
        let task = live(agent).unwrap_or(&agent.task);
        let view = task.view(now);
        let row = listed_row(&view, now);
        json!({
            "runId": task.meta.run_id.as_str(),
            "section": if agent.is_own { "this session" } else { "this project" },
            "text": format!("{}  {}", text(&row), task.meta.run_id),
            "row": wire::kept(&[row.into()])[0],
            "actions": AgentAction::of(task).iter().map(|action| offer(*action, &view)).collect::<Vec<Value>>(),
        })
    });
    json!({
        "runs": runs.collect::<Vec<Value>>(),
        "empty": "No agents have run in this project yet.",
    })
}

/// An action of a list: its key and word, and what the user is asked before it is carried out.
fn offer(action: AgentAction, task: &TaskView<'_>) -> Value {
    let name = session::clean(task.name);
    let mut offer = json!({"action": action.word(), "key": action.key(), "label": action.word()});
    match action {
        AgentAction::Look | AgentAction::Changes => {}
        AgentAction::Message => offer["asks"] = format!("What should {name} be told?").into(),
        AgentAction::Stop => offer["question"] = format!("Stop {name}?").into(),
        AgentAction::Resume => offer["asks"] = format!("What should {name} do next?").into(),
    }
    offer
}

/// Does what may take long on a thread of its own, and answers the request when it is done.
pub(crate) fn answer_later(
    client: Client,
    request: Value,
    work: impl FnOnce() -> Result<Value, ToolError> + Send + 'static,
) -> io::Result<()> {
    let run = move || match work() {
        Ok(answer) => client.answer(&request, &answer),
        Err(error) => client.refuse(&request, REFUSED, &error.to_string()),
    };
    process::start_thread(run).map(drop).map_err(|no_thread| no_thread.error)
}

/// How much of a diff a window shows, in bytes: it lays out all of it for each frame.
const DIFF_BYTES: usize = 128 * 1024;

/// The answer to a request for what an agent changed: a window, and a line for a screen without windows.
pub(crate) fn changes(AgentChanges { changes, diff }: AgentChanges) -> Value {
    let meta = &changes.meta;
    let diff = ShownDiff::new(&diff, DIFF_BYTES);
    let blocks = changes_blocks(&meta.name, &meta.run_id, &changes.changes, &diff);
    let mut answer = notice(&format!("{}: {}", meta.name, changes.changes.brief()));
    answer["lines"] = wire::whole(&blocks);
    answer
}

/// The answer to a request that has resumed a run.
pub(crate) fn resumed(record: &BackgroundRecord) -> Value {
    notice(&format!("{} goes on in the background.", record.title()))
}

/// An answer in one line.
pub(crate) fn notice(message: &str) -> Value {
    json!({"message": session::clean(message)})
}

/// A row in one line, for a screen of another program.
fn text(row: &Row) -> String {
    let cells = row.cells.iter().map(|cell| cell.line.text());
    let cells: Vec<String> = cells.filter(|text| !text.is_empty()).collect();
    cells.join("  ")
}
