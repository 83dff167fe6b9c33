//! A turn in the words of Gemini's API, and a conversation in those of the completions API.

use serde_json::{Value, json};

use super::reply::{Failure, Protocol, Reply};
use super::script::pieces;

/// One answer of the model: a document that comes whole, or in pieces that have the same form.
pub(super) struct Content<'request>(pub(super) Reply<'request>);

impl Protocol for Content<'_> {
    fn delta_events(&self) -> Vec<String> {
        let (turn, size) = (self.0.turn, self.0.turn.chunk);
        let thoughts = pieces(&turn.thinking, size).map(thought_part);
        let texts = pieces(&turn.text, size).map(text_part);
        let beginning = [text_part("")];
        let parts = beginning.into_iter().chain(thoughts).chain(texts).chain(self.calls());
        parts.map(|part| event(&self.document(&[part], None))).collect()
    }

    fn closing_events(&self) -> Vec<String> {
        vec![event(&self.document(&[text_part("")], Some(self.finish_reason())))]
    }

    fn whole(&self) -> Value {
        let turn = self.0.turn;
        let thought = (!turn.thinking.is_empty()).then(|| thought_part(&turn.thinking));
        let text = (!turn.text.is_empty()).then(|| text_part(&turn.text));
        let parts: Vec<Value> = thought.into_iter().chain(text).chain(self.calls()).collect();
        self.document(&parts, Some(self.finish_reason()))
    }
}

impl Content<'_> {
    /// The calls, of which none ever comes in pieces.
    fn calls(&self) -> impl Iterator<Item = Value> {
        let (turn, number) = (self.0.turn, self.0.number);
        turn.tools.iter().enumerate().map(move |(index, tool)| {
            let id = tool.id.clone().unwrap_or_else(|| format!("call_{number}_{index}"));
            let arguments = tool.arguments();
            // Text that is no JSON can only be sent as a string, which no tool expects either.
            let arguments: Value = serde_json::from_str(&arguments).unwrap_or(json!(arguments));
            let mut part =
                json!({"functionCall": {"id": id, "name": tool.name, "args": arguments}});
            if index == 0 && !turn.thinking.is_empty() {
                part["thoughtSignature"] = json!("c2lnbmF0dXJl");
            }
            part
        })
    }

    fn document(&self, parts: &[Value], finish_reason: Option<&str>) -> Value {
        let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
        if let Some(reason) = finish_reason {
            candidate["finishReason"] = json!(reason);
        }
        json!({
            "candidates": [candidate],
            "usageMetadata": self.usage(finish_reason.is_some()),
            "modelVersion": self.0.model,
            "responseId": format!("response_{}", self.0.number),
        })
    }

    fn finish_reason(&self) -> &str {
        match self.0.turn.finish.as_deref() {
            None | Some("stop" | "tool_calls") => "STOP",
            Some("length") => "MAX_TOKENS",
            Some(other) => other,
        }
    }

    /// The tokens so far: those of the answer are known at its end.
    fn usage(&self, is_final: bool) -> Value {
        let usage = self.0.turn.usage;
        let output = if is_final { usage.output } else { 0 };
        let mut counts = json!({
            "promptTokenCount": usage.input,
            "totalTokenCount": usage.input.saturating_add(output),
        });
        if usage.cached > 0 {
            counts["cachedContentTokenCount"] = json!(usage.cached);
        }
        if is_final {
            counts["candidatesTokenCount"] = json!(output.saturating_sub(usage.thinking));
        }
        if is_final && usage.thinking > 0 {
            counts["thoughtsTokenCount"] = json!(usage.thinking);
        }
        counts
    }
}

/// The model that a path names, and whether its answer is streamed.
pub(super) fn method(path: &str) -> Option<(&str, bool)> {
    let (model, method) = path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
    match method {
        "generateContent" => Some((model, false)),
        "streamGenerateContent" => Some((model, true)),
        _ => None,
    }
}

/// The contents as messages of the completions API: contents of the model that stand together are one message, and
/// the response of a function is a message of the tool.
pub(super) fn as_messages(contents: &Value) -> Option<Vec<Value>> {
    let mut messages: Vec<Value> = Vec::new();
    for content in contents.as_array()? {
        if content["role"] == "model" {
            if messages.last().is_none_or(|last| last["role"] != "assistant") {
                messages.push(json!({"role": "assistant"}));
            }
            continue;
        }
        let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        let responses = parts.iter().filter_map(|part| part["functionResponse"].get("response"));
        messages.extend(responses.map(|it| json!({"role": "tool", "content": words(it)})));
        let others: Vec<&Value> =
            parts.iter().filter(|part| part.get("functionResponse").is_none()).collect();
        if !others.is_empty() {
            messages.push(json!({"role": "user", "content": others}));
        }
    }
    Some(messages)
}

/// An error in the form that Google gives it.
pub(super) fn error(failure: &Failure<'_>) -> Value {
    let usual = match failure.status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    let status = failure.kind.unwrap_or(usual);
    let mut error = json!({"code": failure.status, "message": failure.message, "status": status});
    if let Some(seconds) = failure.retry_after {
        let kind = "type.googleapis.com/google.rpc.RetryInfo";
        error["details"] = json!([{"@type": kind, "retryDelay": format!("{seconds}s")}]);
    }
    json!({ "error": error })
}

/// What a function has returned: by convention in one of two fields, else anything.
fn words(response: &Value) -> String {
    let said = ["output", "error"].iter().find_map(|name| response[name].as_str());
    said.map_or_else(|| response.to_string(), str::to_owned)
}

fn text_part(text: &str) -> Value {
    json!({ "text": text })
}

fn thought_part(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

fn event(document: &Value) -> String {
    format!("data: {document}\n\n")
}
