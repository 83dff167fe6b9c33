//! What the tools answer, for programs: every field that can be in a structured answer. A client may refuse
//! an answer with others.

use serde_json::{Value, json};
use tools::Tool;

/// The schema of the structured answer of a tool.
pub(crate) fn output_schema(tool: Tool) -> Value {
    match tool {
        Tool::Delegate | Tool::Subagent => {
            let session = object(
                &json!({
                    "name": text(), "sessionId": text(), "runId": text(), "status": text(),
                    "error": text(), "output": text(), "truncated": flag(),
                    "value": anything(), "check": anything(), "changes": anything(),
                    "budget": anything(), "waiting": text(),
                }),
                &["name", "sessionId", "runId", "status"],
            );
            object(
                &json!({
                    "status": {"enum": ["done", "running"]},
                    "sessions": list(&session), "warnings": list(&text()),
                }),
                &["status", "sessions"],
            )
        }
        Tool::Background => {
            let mut run = run();
            run["properties"]["counts"] = counts();
            run
        }
        Tool::Control => {
            let mut run = run();
            for (field, schema) in [
                ("hadEnded", flag()),
                ("proven", flag()),
                ("pids", list(&number())),
                ("unsurePids", list(&number())),
                ("message", object(&json!({"number": number(), "state": text()}), &[])),
            ] {
                run["properties"][field] = schema;
            }
            run
        }
        Tool::Status => {
            object(&json!({"runs": list(&run()), "counts": counts()}), &["runs", "counts"])
        }
        Tool::Output => {
            session("output", json!({"error": text(), "value": anything(), "check": anything()}))
        }
        Tool::Transcript => session(
            "transcript",
            json!({"messageCount": number(), "exitCode": number(), "model": text()}),
        ),
        Tool::Profiles => object(
            &json!({
                "count": number(),
                "profiles": {"type": "object"},
            }),
            &["count", "profiles"],
        ),
    }
}

/// A session with its answer or transcript, and the fields that only one of the two has.
fn session(said: &str, mut properties: Value) -> Value {
    for (field, schema) in [
        ("sessionId", text()),
        ("status", text()),
        ("taskName", text()),
        ("runCount", number()),
        (said, text()),
    ] {
        properties[field] = schema;
    }
    object(&properties, &["sessionId", "status", said])
}

/// The record of a background run.
fn run() -> Value {
    object(
        &json!({
            "runId": text(), "sessionId": text(), "name": text(), "preset": text(),
            "task": text(), "cwd": text(), "requestedModel": text(), "resolvedModel": text(),
            "status": text(), "startTime": number(), "endTime": number(), "outcome": text(),
            "finalText": text(), "error": text(), "exitCode": number(), "stopReason": text(),
            "model": text(), "warnings": list(&text()), "paths": anything(),
            "value": anything(), "check": anything(), "questions": anything(), "waiting": anything(),
        }),
        &["runId", "status"],
    )
}

/// Anything, or an object of `result.json`. Its fields are in the documents: each tool would repeat them to the model.
fn anything() -> Value {
    json!({})
}

fn counts() -> Value {
    object(
        &json!({
            "running": number(), "completed": number(), "failed": number(),
            "aborted": number(), "total": number(),
        }),
        &[],
    )
}

fn object(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn text() -> Value {
    json!({"type": "string"})
}

fn number() -> Value {
    json!({"type": "integer"})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}
