//! The messages of the two protocols: those to a bridge and to an MCP server, and what their responses mean.

use serde_json::{Value, json};

use crate::log::{Ending, Reported};
use crate::plan::{ActionKind, Door};
use crate::shell::{as_json, ending};
use crate::task::Task;

/// The version of the bridge's protocol, which `extension/` has, too.
const BRIDGE_PROTOCOL: u64 = 2;

/// The first messages: methods, parameters, and whether they have a response.
pub(crate) fn initialization(
    door: Door,
    session: &str,
    agent: &Value,
) -> Vec<(&'static str, Value, bool)> {
    if door == Door::Bridge {
        let hello = json!({
            "protocol": BRIDGE_PROTOCOL, "extensionVersion": "0.0.0", "mode": "tui",
            "sessionId": session, "agent": agent, "trusted": true, "columns": 100,
        });
        // The conversation resumes what it started before.
        let resumed = json!({"reason": "resume", "entries": []});
        vec![("initialize", hello, true), ("session/start", resumed, true)]
    } else {
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": session, "version": "1"},
        });
        vec![("initialize", hello, true), ("notifications/initialized", json!({}), false)]
    }
}

/// The parameters of the call of a tool.
pub(crate) fn call(door: Door, id: u64, kind: &ActionKind) -> Value {
    let of_preset = |task: &Task| json!({"preset": task.definition(), "task": task.prompt()});
    let (tool, arguments) = match kind {
        ActionKind::One(task) => ("subagent", of_preset(task)),
        ActionKind::Many(tasks) => {
            let tasks: Vec<Value> = tasks.iter().map(as_json).collect();
            ("delegate_to_subagents", json!({"tasks": tasks}))
        }
        ActionKind::Background(task, _) => ("background_agent", of_preset(task)),
        ActionKind::List => ("background_agent_status", json!({"includeCompleted": true})),
    };
    if door == Door::Bridge {
        json!({
            "callId": id.to_string(), "name": tool, "arguments": arguments,
            "models": ["a/one", "fake/fake-1"], "allTools": ["read", "bash", "subagent"],
        })
    } else {
        json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}})
    }
}

/// The message that cancels a call.
pub(crate) fn cancellation(door: Door, id: u64) -> Value {
    let (method, params) = match door {
        Door::Bridge => ("tools/cancel", json!({"callId": id.to_string()})),
        Door::Mcp | Door::Shell => ("notifications/cancelled", json!({"requestId": id})),
    };
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The id of the background run whose end a message notifies.
pub(crate) fn notification(message: &Value) -> Option<&str> {
    let is_notification = message["params"]["customType"] == "pi-subagents:bg-complete";
    message["params"]["details"]["runId"].as_str().filter(|_| is_notification)
}

/// What the user of pi answers in a dialog. Every second dialog is left open until the bridge closes it.
pub(crate) fn dialog_answer(message: &Value) -> Option<Value> {
    let id = message["id"].as_u64().filter(|id| id.is_multiple_of(2))?;
    let options = message["params"]["options"].as_array()?;
    let index = usize::try_from(id / 2).ok()?.checked_rem(options.len())?;
    let is_dialog = message["method"] == "ui/select";
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"value": options[index]}});
    is_dialog.then_some(answer)
}

/// What a response reports about each of `count` tasks.
pub(crate) fn reports(
    door: Door,
    answer: &Value,
    count: usize,
    is_background: bool,
) -> Vec<Reported> {
    let refused = |reason: String| vec![Reported::Refused(reason); count];
    if let Some(error) = answer.get("error") {
        return refused(error["message"].as_str().unwrap_or("no reason").to_owned());
    }
    let result = &answer["result"];
    let (structure, tasks) = match door {
        Door::Bridge => (&result["details"], "windows"),
        Door::Mcp | Door::Shell => (&result["structuredContent"], "sessions"),
    };
    if is_background {
        return match structure["runId"].as_str() {
            Some(run_id) => vec![Reported::Started(run_id.to_owned())],
            None => refused(result.to_string()),
        };
    }
    let tasks = structure[tasks].as_array().cloned().unwrap_or_default();
    if tasks.len() != count {
        return refused(result.to_string());
    }
    let reports = tasks.iter().map(|task| match task["status"].as_str() {
        Some("completed" | "error") => {
            let warnings = structure["warnings"].to_string();
            Reported::Ended(Ending { warnings, ..ending(task) })
        }
        // The response came early, because the client cannot receive progress.
        _ => Reported::Unknown,
    });
    reports.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_dialog_is_answered() {
        let dialog = |id: u64, method: &str| {
            let options = json!(["Allow once", "Deny"]);
            dialog_answer(&json!({"id": id, "method": method, "params": {"options": options}}))
        };
        assert_eq!(dialog(2, "ui/select").unwrap()["result"]["value"], "Deny");
        assert_eq!(dialog(4, "ui/select").unwrap()["result"]["value"], "Allow once");
        assert_eq!((dialog(1, "ui/select"), dialog(2, "tools/update")), (None, None));
    }

    #[test]
    fn responses_are_understood() {
        let refused = json!({"error": {"message": "no"}});
        assert_eq!(
            reports(Door::Mcp, &refused, 2, false),
            vec![Reported::Refused("no".to_owned()); 2]
        );
        let started = json!({"result": {"details": {"runId": "r"}}});
        assert_eq!(reports(Door::Bridge, &started, 1, true), [Reported::Started("r".to_owned())]);
        let details = json!({"windows": [{"status": "error", "runId": "r"}]});
        let ended = reports(Door::Bridge, &json!({"result": {"details": details}}), 1, false);
        let Reported::Ended(ending) = &ended[0] else { panic!("{ended:?}") };
        assert_eq!((ending.run_id.as_deref(), ending.status.as_str()), (Some("r"), "error"));
    }
}
