//! Answers by a schema, through every door.

use std::fs;

use serde_json::{Value, json};
use test_support::fake_agent::saying as says;
use test_support::write_file;

use super::{builtin, findings, outcome, path, run, saying, told};
use crate::builtin::bash;
use crate::world;

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

#[test]
fn an_answer_that_fits_has_its_value() {
    for answer in ["{\"n\": 1}", "Here it is:\n```json\n{\"n\": 1}\n```\nDone."] {
        let world = world();
        write_file(&world.project().join("schema.json"), &schema().to_string());
        let ran = world.play(&says(answer), &["--schema", &path(&world, "schema.json")]);
        assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:?}");
        assert_eq!(
            (&ran.task()["value"], &ran.task()["output"]),
            (&json!({"n": 1}), &json!(answer))
        );
        let result = fs::read(ran.run_dir().join("result.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["value"], json!({"n": 1}));
        let prompt = fs::read_to_string(ran.run_dir().join("prompt.md")).unwrap();
        assert!(prompt.contains(&schema().to_string()), "{prompt}");
        assert!(prompt.starts_with("do it"), "{prompt}");
        world.assert_nothing_left();
    }
}

#[test]
fn an_answer_that_does_not_fit_is_kept_and_is_no_success() {
    let world = world();
    write_file(&world.project().join("schema.json"), &schema().to_string());
    for (answer, problem) in [
        ("{\"n\": \"one\"}", "/n: it is not of type \"integer\""),
        ("{}", "the value: \"n\" is a required property"),
        ("I am done.", "it is not JSON, and has no fenced block with JSON"),
        ("```\n1\n```\n```\n2\n```", "it has 2 fenced blocks, and only one may be there"),
    ] {
        let ran = world.play(&says(answer), &["--schema", &path(&world, "schema.json")]);
        let error = format!("The answer does not fit its schema: {problem}");
        assert_eq!(outcome(&ran), ("invalid_output".into(), error), "{ran:?}");
        assert_eq!((ran.code, &ran.task()["output"]), (Some(1), &json!(answer)));
        assert!(ran.task().get("value").is_none());
    }
    world.assert_nothing_left();
}

#[test]
fn the_agent_is_told_what_does_not_fit_once() {
    let good = builtin(&saying(&["{\"n\": \"one\"}", "{\"n\": 1}"]));
    good.project_file("schema.json", &schema().to_string());
    let ran = run(&good, &["--schema", &path(&good.world, "schema.json")]);
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:?}");
    assert_eq!(ran.task()["value"], json!({"n": 1}));
    assert!(told(&good)[1][0].contains("/n: it is not of type \"integer\""), "{:?}", told(&good));

    let bad = builtin(&saying(&["no", "still no", "never asked"]));
    bad.project_file("schema.json", &schema().to_string());
    let ran = run(&bad, &["--schema", &path(&bad.world, "schema.json")]);
    assert_eq!(outcome(&ran).0, "invalid_output", "{ran:?}");
    assert_eq!((&ran.task()["output"], bad.asked().len()), (&json!("still no"), 2));
}

#[test]
fn the_schema_comes_first_and_both_are_looked_at_again() {
    let builtin = builtin(&json!([
        {"text": "no"}, {"text": "{\"n\": 1}"}, bash("touch fixed"), {"text": "{\"n\": 2}"},
    ]));
    builtin.project_file("schema.json", &schema().to_string());
    let arguments = ["--schema", &path(&builtin.world, "schema.json"), "--check", "[ -e fixed ]"];
    let ran = run(&builtin, &arguments);
    assert_eq!(outcome(&ran), ("completed".into(), String::new()), "{ran:?}");
    assert_eq!(
        findings(&ran.run_dir()),
        [
            "said no",
            "unfit it is not JSON, and has no fenced block with JSON",
            "said {\"n\": 1}",
            "fits",
            "check [ -e fixed ]",
            "failed 1 ",
            "said ",
            "said {\"n\": 2}",
            "fits",
            "check [ -e fixed ]",
            "passed",
            "ended completed"
        ]
    );
    assert_eq!(ran.task()["value"], json!({"n": 2}));
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_starts() {
    let world = world();
    let place = path(&world, "schema.json");
    for (schema, words) in [
        ("{", "it is not JSON"),
        ("[]", "it must be a JSON Schema, which is an object"),
        (r#"{"properties": {"a": {"type": "strin"}}}"#, "at /properties/a/type: "),
        (r#"{"$ref": "https://example.com/x.json"}"#, "example.com"),
    ] {
        write_file(&world.project().join("schema.json"), schema);
        let ran = world.play(&says("1"), &["--schema", &place]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--schema") && ran.stderr.contains(words), "{ran:?}");
    }
    let missing = world.play(&says("1"), &["--schema", "nowhere.json"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("--schema nowhere.json"));
    assert!(world.runs().is_empty());
}

#[test]
fn a_schema_that_refers_to_itself_ends_and_leaves_nothing() {
    let world = world();
    write_file(
        &world.project().join("schema.json"),
        r##"{"allOf": [{"$ref": "#"}, {"$ref": "#"}]}"##,
    );
    let ran = world.play(&says("{}"), &["--schema", &path(&world, "schema.json")]);
    assert_eq!(outcome(&ran).0, "completed", "{ran:?}");
    world.assert_nothing_left();
}

#[test]
fn tasks_have_schemas_of_their_own() {
    let world = world();
    write_file(&world.project().join("text.json"), r#"{"type": "string"}"#);
    let tasks = json!([
        {"name": "own", "prompt": "go", "schema": {"type": "integer"}},
        {"name": "file", "prompt": "go", "schema": "text.json"},
        {"name": "shared", "prompt": "go"},
    ]);
    write_file(&world.project().join("shared.json"), r#"{"type": "number"}"#);
    write_file(&world.project().join("tasks.json"), &tasks.to_string());
    let agent = world.agent(&says("7"));
    let ran = world.run(&[
        "delegate",
        "--json",
        "--agent",
        &agent,
        "--schema",
        "shared.json",
        "tasks.json",
    ]);
    let tasks = ran.json()["tasks"].clone();
    let ends: Vec<String> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| format!("{} {} {}", task["name"], task["outcome"], task["value"]))
        .collect();
    assert_eq!(
        ends,
        [
            "\"own\" \"completed\" 7",
            "\"file\" \"invalid_output\" null",
            "\"shared\" \"completed\" 7"
        ]
    );
    write_file(
        &world.project().join("tasks.json"),
        r#"[{"name": "a", "prompt": "p", "schema": {"type": 5}}]"#,
    );
    let refused = world.run(&["delegate", "--agent", &agent, "tasks.json"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("tasks[0].schema: at /type"), "{refused:?}");
    world.assert_nothing_left();
}
