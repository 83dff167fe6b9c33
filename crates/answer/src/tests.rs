use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn problem(schema: &Value, answer: &str) -> String {
    fitting_value(schema, answer).unwrap_err()
}

#[test]
fn a_value_is_the_answer_or_its_one_fenced_block() {
    for (answer, expected) in [
        ("{\"a\": 1}", Ok(json!({"a": 1}))),
        ("  [1, 2]\n", Ok(json!([1, 2]))),
        ("42", Ok(json!(42))),
        ("Here:\n```json\n{\"a\": 1}\n```\nDone.", Ok(json!({"a": 1}))),
        ("Here:\n```\n{\"a\": 1}\n```", Ok(json!({"a": 1}))),
        ("~~~~ JSON\n7\n~~~~\n", Ok(json!(7))),
        ("```json\n\"```\"\n```", Ok(json!("```"))),
        ("```json\n7", Ok(json!(7))),
        ("```sh\nls\n```\nthen\n```json\n7\n```", Ok(json!(7))),
        ("```\n1\n```\n```\n2\n```", Err(NoValue::ManyBlocks(2))),
        ("```json\n1\n```\n```json\n2\n```", Err(NoValue::ManyBlocks(2))),
        ("", Err(NoValue::Empty)),
        ("done", Err(NoValue::NoBlock)),
        ("the `a` and ```b```", Err(NoValue::NoBlock)),
    ] {
        assert_eq!(value_in(answer), expected, "{answer:?}");
    }
    assert!(matches!(value_in("```json\n{\n```"), Err(NoValue::NotJson(_))));
    assert_eq!(value_in(&"x".repeat(ANSWER_BYTES + 1)), Err(NoValue::TooLong(ANSWER_BYTES + 1)));
    // Deeper than a parser goes, which must not end this process.
    assert_eq!(value_in(&"[".repeat(100_000)), Err(NoValue::NoBlock));
}

#[test]
fn what_does_not_fit_is_named_with_its_path_and_the_reason() {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}},
        "required": ["n"],
        "additionalProperties": false,
    });
    assert_eq!(fitting_value(&schema, r#"{"n": 1}"#), Ok(json!({"n": 1})));
    assert_eq!(problem(&schema, r#"{"n": "1"}"#), "/n: it is not of type \"integer\"");
    assert_eq!(problem(&schema, "{}"), "the value: \"n\" is a required property");
    let many = problem(&schema, r#"{"n": 1, "names": [1, 2, 3, 4, 5, 6, 7]}"#);
    assert_eq!(many.matches("/names/").count(), 5, "{many}");
    let deep = format!("{}{}{}", "[".repeat(100), "1,".repeat(200_000) + "1", "]".repeat(100));
    assert_eq!(problem(&json!({}), &deep), "it is too deep to be kept");
    let unknown = problem(&schema, &json!({"n": 1, "x".repeat(9_000): 1}).to_string());
    assert!(unknown.len() < 500 && unknown.contains("Additional properties"), "{unknown}");
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_with_its_place() {
    for (schema, expected) in [
        (json!([]), "it must be a JSON Schema, which is an object"),
        (json!(true), "it must be a JSON Schema, which is an object"),
        (json!({"type": "strin"}), "at /type: "),
        (json!({"properties": {"a": {"minimum": "3"}}}), "at /properties/a/minimum: "),
        (json!({"$ref": "https://example.com/schema.json"}), ""),
        (json!({"$ref": "file:///etc/passwd"}), ""),
        (json!({"$ref": "#/$defs/missing"}), ""),
        (json!({"properties": {"a": {"pattern": "("}}}), ""),
        // It needs backtracking.
        (json!({"properties": {"a": {"pattern": "(?=x)y"}}}), ""),
        (json!({"properties": {"a": {"pattern": "(((a{100}){100}){100}){100}"}}}), ""),
        (json!({"description": "x".repeat(SCHEMA_BYTES)}), "it has 32786 bytes"),
        (
            json!({"allOf": (0..65).map(|_| json!({"pattern": "a"})).collect::<Vec<_>>()}),
            "it has 65 patterns, and the limit is 64",
        ),
    ] {
        let error = check_schema(&schema).expect_err(&schema.to_string()).to_string();
        assert!(error.starts_with(expected), "{schema}: {error}");
        assert!(error.len() < 1_000, "{error}");
    }
    let deep = (0..40).fold(json!({}), |inner, _| json!({"not": inner}));
    let error = check_schema(&deep).unwrap_err();
    assert_eq!(error.problem, "it is deeper than 32 levels");
}

/// A supervisor lets another process do this, but the doors check the schema themselves.
#[test]
fn checking_a_hostile_schema_is_fast_and_ends() {
    let chain = |width: usize| {
        let mut definitions = serde_json::Map::new();
        for number in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), json!({"anyOf": vec![next; width]}));
        }
        definitions.insert("d60".to_owned(), json!({"type": "null"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    let began = Instant::now();
    for schema in [
        chain(2),
        chain(6),
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"properties": {"a": {"pattern": "(a+)+$"}}}),
    ] {
        let _ = check_schema(&schema);
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let schema = json!({"pattern": "^(a+)+$"});
    assert!(fitting_value(&schema, &format!("\"{}!\"", "a".repeat(50_000))).is_err());
}
