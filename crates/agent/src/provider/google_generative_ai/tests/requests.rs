//! What is sent, compared whole.

use serde_json::{Value, json};

use super::super::request;
use crate::config::Model;
use crate::message::{AssistantMessage, Content, Message};
use crate::provider::testing::{
    assistant, call, model, picture, request, result, thinking, tool, user,
};
use crate::provider::{Api, Request, ThinkingLevel};

fn gemini(id: &str) -> Model {
    Model { api: Api::GoogleGenerativeAi, id: id.into(), ..model() }
}

fn answer(model: &Model, content: Vec<Content>) -> Message {
    let (api, model) = (model.api.name().to_owned(), model.id.clone());
    Message::Assistant(AssistantMessage { api, model, ..assistant(content) })
}

fn body(model: &Model, request: &Request) -> Value {
    Value::Object(request::body(model, request))
}

#[test]
fn a_plain_request_is_written_as_google_wants_it() {
    let mut request = request(vec![user("hello")]);
    request.system = "be brief".into();
    request.tools = vec![tool()];
    let schema = json!({
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
    });
    let declaration =
        json!({"name": "read", "description": "Reads a file", "parametersJsonSchema": schema});
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "systemInstruction": {"parts": [{"text": "be brief"}], "role": "user"},
        "tools": [{"functionDeclarations": [declaration]}],
        "generationConfig": {"maxOutputTokens": 4096},
    });
    assert_eq!(body(&gemini("gemini-2.5-pro"), &request), expected);
}

#[test]
fn every_level_of_thinking_has_its_form() {
    use ThinkingLevel::{High, Low, Max, Minimal, Off};
    let third = json!({"off": null, "minimal": null, "low": "low", "high": "high"});
    let gemma = json!({"off": null, "minimal": "MINIMAL", "low": null, "medium": null});
    let level = |word: &str| json!({"includeThoughts": true, "thinkingLevel": word});
    let budget = |tokens: i64| json!({"includeThoughts": true, "thinkingBudget": tokens});
    for (id, levels, asked, expected) in [
        ("gemini-3.1-pro-preview", &third, High, level("HIGH")),
        ("gemini-3.1-pro-preview", &third, Minimal, level("LOW")),
        ("gemini-3.1-pro-preview", &third, Max, level("HIGH")),
        ("gemini-3.1-pro-preview", &third, Off, json!({"thinkingLevel": "LOW"})),
        ("gemma-4-31b-it", &gemma, Low, level("HIGH")),
        ("gemini-2.5-pro", &json!({}), Minimal, budget(128)),
        ("gemini-2.5-pro", &json!({}), High, budget(32_768)),
        ("gemini-2.5-flash", &json!({}), High, budget(24_576)),
        ("gemini-2.5-flash-lite", &json!({}), Minimal, budget(512)),
        ("gemini-2.5-flash", &json!({}), Off, json!({"thinkingBudget": 0})),
        ("another", &json!({}), Low, budget(-1)),
    ] {
        let thinking_levels = serde_json::from_value(levels.clone()).unwrap();
        let model = Model { reasoning: true, thinking_levels, ..gemini(id) };
        let request = Request { thinking: asked, ..request(vec![user("x")]) };
        let seen = &body(&model, &request)["generationConfig"]["thinkingConfig"];
        assert_eq!(seen, &expected, "{id} {asked:?}");
    }
}

#[test]
fn a_conversation_goes_back_with_its_signatures() {
    let signed = |text: &str, signature: &str| Content::Text {
        text: text.into(),
        text_signature: Some(signature.into()),
    };
    let signed_call = Content::ToolCall {
        id: "a".into(),
        name: "read".into(),
        arguments: serde_json::Map::new(),
        thought_signature: Some("Y2Fs".into()),
    };
    let conversation = |model: &Model| {
        vec![
            user("look"),
            answer(
                model,
                vec![
                    thinking("hm", Some("c2ln")),
                    thinking("", Some("no base64")),
                    signed("", "dGV4"),
                    signed("said", "no base64"),
                    signed_call.clone(),
                    call("b", "read", json!({"path": "x"})),
                ],
            ),
            result("a", vec![Content::text("one"), picture()]),
            result("b", vec![picture()]),
        ]
    };
    let model = gemini("gemini-3-pro");
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "UE5H"}});
    let contents = &body(&model, &request(conversation(&model)))["contents"];
    let expected = json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [
            {"thought": true, "text": "hm", "thoughtSignature": "c2ln"},
            {"text": "", "thoughtSignature": "dGV4"},
            {"text": "said"},
            {"functionCall": {"name": "read", "args": {}, "id": "a"}, "thoughtSignature": "Y2Fs"},
            {"functionCall": {"name": "read", "args": {"path": "x"}, "id": "b"}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read", "response": {"output": "one"}, "id": "a", "parts": [image]}},
            {"functionResponse": {"name": "read", "response": {"output": "(see attached image)"}, "id": "b", "parts": [image]}},
        ]},
    ]);
    assert_eq!(contents, &expected);

    // Older models have no ids, and get images by themselves.
    let old = gemini("gemini-2.5-pro");
    let contents = body(&old, &request(conversation(&old)))["contents"].clone();
    let shown = json!({"role": "user", "parts": [{"text": "Tool result image:"}, image]});
    assert_eq!(contents[1]["parts"][3]["functionCall"], json!({"name": "read", "args": {}}));
    assert_eq!(contents[3], shown);
    assert_eq!(contents[5], shown);

    // Another model gets the words, and no signature.
    let contents = body(&model, &request(conversation(&old)))["contents"].clone();
    assert_eq!(contents[1]["parts"][0], json!({"text": "hm"}));
    assert_eq!(contents[1]["parts"][1], json!({"text": "said"}));
    assert!(!contents.to_string().contains("thoughtSignature"));
}
