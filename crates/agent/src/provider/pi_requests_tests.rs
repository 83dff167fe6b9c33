//! Recorded requests of pi 0.87.1: for the same conversation we must send the same.
//!
//! A line holds the messages as pi printed them, and what it sent to the provider, with the system
//! prompt and the tools shortened.

use std::sync::Arc;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;

use super::testing::{model, options};
use super::{Api, HttpProvider, Provider, Request, ThinkingLevel};
use crate::config::Model;
use crate::message::{Message, ToolDeclaration};

#[test]
fn the_same_is_sent_as_by_pi() {
    let server = FakeLlm::start().unwrap();
    let lines = include_str!("pi_requests.jsonl").lines();
    let records: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 8);
    for record in &records {
        let is_anthropic = record["api"] == Api::AnthropicMessages.name();
        let own = Model { reasoning: true, context_window: 200_000, max_tokens: 32_000, ..model() };
        let messages: Vec<Message> = serde_json::from_value(record["messages"].clone()).unwrap();
        let request = Request {
            system: "be brief".into(),
            tools: vec![ToolDeclaration {
                name: "write".into(),
                description: "Writes a file".into(),
                parameters: json!({
                    "type": "object",
                    "required": ["path", "content"],
                    "properties": {
                        "path": {
                            "type": "string",
                            "description": "Path to the file to write (relative or absolute)",
                        },
                        "content": {
                            "type": "string",
                            "description": "Content to write to the file",
                        },
                    },
                }),
            }],
            messages: messages.into_iter().map(Arc::new).collect(),
            thinking: if record["thinking"] == "off" {
                ThinkingLevel::Off
            } else {
                ThinkingLevel::High
            },
            max_tokens: None,
        };
        let options = options();
        let model = if is_anthropic {
            let (provider, id, base_url) = ("fakea".into(), "a1".into(), server.root_url());
            Model { provider, id, api: Api::AnthropicMessages, base_url, ..own }
        } else {
            let (provider, id, base_url) = ("fakeo".into(), "o1".into(), server.base_url());
            Model { provider, id, base_url, ..own }
        };
        let provider = HttpProvider::new(model, None, &options).unwrap();
        provider.stream(&request, &mut |_| {}).unwrap();
        let seen = server.requests().pop().unwrap();
        assert_eq!(seen.body, record["body"]);
        assert_eq!(seen.header("anthropic-beta"), record["beta"].as_str());
    }
}
