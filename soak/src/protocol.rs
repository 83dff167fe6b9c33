//! The words of the two protocols: what is said to a bridge and to an MCP server, and what their
//! answers mean.

use serde_json::{Value, json};

use crate::ledger::{Ending, Fate};
use crate::plan::{ActionKind, Door};
use crate::shell::{as_json, ending};
use crate::task::Task;

/// The version of the bridge's protocol, which `extension/` speaks, too.
const BRIDGE_PROTOCOL: u64 = 1;

/// What is said first: methods, parameters, and whether they are answered.
pub(crate) fn greeting(
    door: Door,
    session: &str,
    agent: &Value,
) -> Vec<(&'static str, Value, bool)> {
    if door == Door::Bridge {
        let hello = json!({
            "protocol": BRIDGE_PROTOCOL, "extensionVersion": "0.0.0", "mode": "tui",
            "sessionId": session, "agent": agent, "trusted": true, "columns": 100,
        });
        // What the conversation has started before is taken up.
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
        ActionKind::Look => ("background_agent_status", json!({"includeCompleted": true})),
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

/// What stops a call.
pub(crate) fn cancellation(door: Door, id: u64) -> Value {
    let (method, params) = match door {
        Door::Bridge => ("tools/cancel", json!({"callId": id.to_string()})),
        Door::Mcp | Door::Shell => ("notifications/cancelled", json!({"requestId": id})),
    };
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The background run of whose end a message tells.
pub(crate) fn notification(message: &Value) -> Option<&str> {
    let is_meant = message["params"]["customType"] == "pi-subagents:bg-complete";
    message["params"]["details"]["runId"].as_str().filter(|_| is_meant)
}

/// What an answer says about each of so many tasks.
pub(crate) fn fates(door: Door, answer: &Value, count: usize, is_background: bool) -> Vec<Fate> {
    let refused = |reason: String| vec![Fate::Refused(reason); count];
    if let Some(error) = answer.get("error") {
        return refused(error["message"].as_str().unwrap_or("no reason").to_owned());
    }
    let result = &answer["result"];
    let structure = match door {
        Door::Bridge => &result["details"],
        Door::Mcp | Door::Shell => &result["structuredContent"],
    };
    if is_background {
        return match structure["runId"].as_str() {
            Some(run_id) => vec![Fate::Started(run_id.to_owned())],
            None => refused(result.to_string()),
        };
    }
    let sessions = structure["sessions"].as_array().cloned().unwrap_or_default();
    if sessions.len() != count {
        return refused(result.to_string());
    }
    let places = sessions.iter().enumerate();
    let fates = places.map(|(place, session)| match session["status"].as_str() {
        Some("completed" | "error") => {
            let run_id = structure["runs"][place].as_str().map(str::to_owned);
            let ending = ending(session);
            let warnings = structure["warnings"].to_string();
            Fate::Ended(Ending { run_id: run_id.or(ending.run_id.clone()), warnings, ..ending })
        }
        // It was answered early, because the client could not be told how it stands.
        _ => Fate::Unknown,
    });
    fates.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood() {
        let refused = json!({"error": {"message": "no"}});
        assert_eq!(fates(Door::Mcp, &refused, 2, false), vec![Fate::Refused("no".to_owned()); 2]);
        let started = json!({"result": {"details": {"runId": "r"}}});
        assert_eq!(fates(Door::Bridge, &started, 1, true), [Fate::Started("r".to_owned())]);
        let details = json!({"sessions": [{"status": "error"}], "runs": ["r"]});
        let ended = fates(Door::Bridge, &json!({"result": {"details": details}}), 1, false);
        let Fate::Ended(ending) = &ended[0] else { panic!("{ended:?}") };
        assert_eq!((ending.run_id.as_deref(), ending.status.as_str()), (Some("r"), "error"));
    }
}
