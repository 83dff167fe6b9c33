use std::fs;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::testing::{result, user};
use plan::ThinkingLevel;

fn script(turns: &Value) -> Script {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("turns.json"), turns.to_string()).unwrap();
    Script::load("turns.json", directory.path(), Cancel::new().unwrap()).unwrap()
}

fn request(results: &[&str]) -> Request {
    let mut entries = vec![result("0", "of an earlier prompt"), user("1", "Count.")];
    entries.extend(results.iter().map(|text| result("2", text)));
    let messages = entries.into_iter().map(|entry| Arc::clone(&entry.message)).collect();
    let (system, tools) = (String::new(), Vec::new());
    Request { system, tools, messages, thinking: ThinkingLevel::Off, max_tokens: None }
}

fn play(script: &Script, request: &Request) -> Result<Vec<Piece>, ProviderError> {
    let mut pieces = Vec::new();
    script.stream(request, &mut |piece| pieces.push(piece)).map(|()| pieces)
}

fn text(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn turns_are_played_in_their_order_and_then_there_are_no_more() {
    let script = script(&json!([{"text": "one"}, {"thinking": "hm", "text": "two"}]));
    let texts = [(), (), (), ()].map(|()| text(&play(&script, &request(&[])).unwrap()));
    assert_eq!(texts, ["one", "two", "(end of script)", "(end of script)"]);
}

#[test]
fn a_turn_can_speak_of_what_the_tools_have_found() {
    let script = script(&json!([{
        "text": "{{prompt}} {{count:0}}: {{first:0}} to {{last:0}}; {{result:1}}{{result:9}} {{x}} {{",
        "tools": [{"name": "read", "args": {"path": "{{first:0}}", "deep": ["{{last:0}}", 1]}}],
    }]));
    let found = "a.rs\nb.rs\n\nc.rs\n[3 results limit reached]";
    let pieces = play(&script, &request(&[found, "two"])).unwrap();
    assert_eq!(text(&pieces), "Count. 3: a.rs to c.rs; two {{x}} {{");
    let arguments = pieces.iter().find_map(|piece| match piece {
        Piece::Arguments { json, .. } => Some(serde_json::from_str::<Value>(json).unwrap()),
        _ => None,
    });
    assert_eq!(arguments, Some(json!({"path": "a.rs", "deep": ["c.rs", 1]})));
    assert_eq!(pieces.last(), Some(&Piece::Ended { reason: StopReason::ToolUse, raw: None }));
}

#[test]
fn it_fails_as_often_as_it_should() {
    let script = script(&json!([
        {"error": "busy", "retry_after": 0.5, "times": 2, "text": "now"},
        {"too_long": true, "times": 1, "text": "short enough"},
        {"error": "never"},
    ]));
    let busy = ProviderError {
        message: "busy".to_owned(),
        remedy: Remedy::Retry { after: Some(Duration::from_millis(500)) },
    };
    assert_eq!(play(&script, &request(&[])), Err(busy.clone()));
    assert_eq!(play(&script, &request(&[])), Err(busy));
    assert_eq!(text(&play(&script, &request(&[])).unwrap()), "now");
    let too_long = play(&script, &request(&[])).unwrap_err();
    assert_eq!(too_long.remedy, Remedy::Compact);
    assert_eq!(text(&play(&script, &request(&[])).unwrap()), "short enough");
    for _ in 0..3 {
        assert_eq!(play(&script, &request(&[])).unwrap_err().remedy, Remedy::None);
    }
}

#[test]
fn a_script_that_cannot_be_played_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("bad.json"), r#"[{"txt": "x"}]"#).unwrap();
    let pipe = directory.path().join("pipe");
    process::make_named_pipe(&pipe).unwrap();
    for (path, reason) in [
        ("bad.json", "unknown field `txt`"),
        ("missing.json", "no such file"),
        (".", "not a regular file"),
        ("pipe", "not a regular file"),
    ] {
        let cancel = Cancel::new().unwrap();
        let error = Script::load(path, directory.path(), cancel).unwrap_err().to_string();
        assert!(error.contains(path) && error.contains(reason), "{error}");
    }
}
