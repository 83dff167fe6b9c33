use serde_json::json;

use super::*;
use crate::{ArgumentError, BackgroundArguments, MOST_TASKS};

/// What a user with several logins has.
const MODELS: [&str; 20] = [
    "anthropic/claude-opus-4-5",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-haiku-4-5",
    "anthropic/claude-opus-4-1-20250805",
    "anthropic/claude-3-7-sonnet-latest",
    "openai/gpt-5.2",
    "openai/gpt-5.1-codex-max",
    "openai/gpt-5-mini",
    "openai/gpt-4.1",
    "openai/o4-mini",
    "google/gemini-3-pro-preview",
    "google/gemini-2.5-flash",
    "github-copilot/gpt-5.1-codex",
    "github-copilot/claude-sonnet-4.5",
    "github-copilot/grok-code-fast-1",
    "xai/grok-4-1-fast",
    "mistral/devstral-medium-latest",
    "deepseek/deepseek-reasoner",
    "openrouter/moonshotai/kimi-k2-thinking",
    "openrouter/qwen/qwen3-coder-480b-a35b",
];

/// What a user has who has written a few presets.
const PRESETS: [(&str, &str); 5] = [
    ("scout", "Finds where things are in a code base, and reports paths and line numbers."),
    ("reviewer", "Reviews a change for mistakes, risks and missing tests, without changing files."),
    ("worker", "Implements a change that is described in full, and runs the project's own checks."),
    ("planner", "Turns findings and a goal into a plan of small steps, file by file."),
    ("researcher", "Reads documentation and sources, and answers a question with references."),
];

fn models() -> Vec<String> {
    MODELS.map(str::to_owned).to_vec()
}

fn choices() -> Choices {
    let presets = PRESETS.map(|(name, about)| (name.to_owned(), about.to_owned())).to_vec();
    Choices { models: models(), presets }
}

fn names(families: ToolFamilies) -> Vec<&'static str> {
    describe_tools(&choices(), families).into_iter().map(|tool| tool.name).collect()
}

#[test]
fn the_tools_are_in_a_fixed_order_and_either_family_can_be_left_out() {
    let profiles = [
        "delegate_to_subagents",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
    ];
    let presets =
        ["subagent", "background_agent", "background_agent_status", "background_agent_control"];
    assert_eq!(names(ToolFamilies::Profiles), profiles);
    assert_eq!(names(ToolFamilies::Presets), presets);
    assert_eq!(names(ToolFamilies::All), [&profiles[..], &presets[..]].concat());
}

#[test]
fn a_description_is_plain_data() {
    let tools = describe_tools(&Choices::default(), ToolFamilies::Profiles);
    assert_eq!(
        serde_json::to_value(&tools[1]).unwrap(),
        json!({
            "name": "get_subagent_output",
            "label": "Get Sub-agent Output",
            "description": "The final answer of a sub-agent's session.",
            "parameters": {
                "type": "object",
                "properties": {"sessionId": {"type": "string"}},
                "required": ["sessionId"],
            },
        })
    );
    assert_eq!(
        serde_json::to_value(&tools[0]).unwrap()["promptSnippet"],
        "Use when the user wants multiple independent tasks done in parallel"
    );
}

/// Counted with o200k_base over what a request has of the tools: the JSON that describes them, and
/// the lines in the system prompt.
#[test]
fn all_tools_together_cost_less_than_1900_tokens_with_20_models_and_5_presets() {
    let encoding = tiktoken_rs::o200k_base().unwrap();
    for (families, most) in [
        (ToolFamilies::All, 1_900),
        (ToolFamilies::Profiles, 1_100),
        (ToolFamilies::Presets, 1_100),
    ] {
        let tools = describe_tools(&choices(), families);
        let mut sent: Vec<String> = tools
            .iter()
            .filter_map(|tool| Some(format!("- {}: {}\n", tool.name, tool.prompt_snippet?)))
            .collect();
        let described = tools.iter().map(|tool| {
            let ToolDescription { name, description, parameters, .. } = tool;
            json!({"name": name, "description": description, "parameters": parameters})
        });
        sent.push(Value::from_iter(described).to_string());
        let count = encoding.encode_ordinary(&sent.concat()).len();
        assert!(count < most, "{families:?}: {count} tokens");
    }
}

#[test]
fn presets_are_offered_with_what_they_are_for_as_far_as_there_is_room() {
    let tools = describe_tools(&choices(), ToolFamilies::Presets);
    let names = json!(PRESETS.map(|(name, _)| name));
    for tool in &tools[..2] {
        for (name, about) in PRESETS {
            assert!(tool.description.contains(&format!("\n{name}: {about}")), "{}", tool.name);
        }
        assert_eq!(tool.parameters["properties"]["preset"]["enum"], names, "{}", tool.name);
    }
    let named = |count: usize| Choices {
        models: Vec::new(),
        presets: (0..count).map(|number| (format!("preset-{number}"), "x".repeat(80))).collect(),
    };
    for (count, is_listed) in [(24, true), (25, false), (1_000, false)] {
        let tool = describe_tools(&named(count), ToolFamilies::Presets).remove(0);
        let preset = &tool.parameters["properties"]["preset"];
        assert_eq!(preset.get("enum").is_some(), is_listed, "{count}");
        assert!(tool.description.len() < 1_000, "{}", tool.description);
        assert!(tool.description.ends_with(&format!("and {} more", count - 6)), "{count}");
    }
    let none = describe_tools(&Choices::default(), ToolFamilies::Presets).remove(0);
    assert!(!none.description.contains("Presets"), "{}", none.description);
}

#[test]
fn models_are_listed_in_their_order_while_they_are_few() {
    let model_of = |models: &[String]| {
        let choices = Choices { models: models.to_vec(), presets: Vec::new() };
        let tools = describe_tools(&choices, ToolFamilies::Presets);
        let of_subagent = &tools[0].parameters["properties"];
        let of_background = &tools[1].parameters["properties"]["model"];
        assert_eq!(of_background, &of_subagent["model"]);
        // It has just been said.
        let in_tasks = &of_subagent["tasks"]["items"]["properties"]["model"];
        assert_eq!(in_tasks, &json!({"type": "string"}));
        let delegate = describe_tools(&choices, ToolFamilies::Profiles).remove(0).parameters;
        let of_delegate = &delegate["properties"]["tasks"]["items"]["properties"]["model"];
        assert_eq!(of_delegate, &of_subagent["model"]);
        of_subagent["model"].clone()
    };
    let numbered = |count: usize| -> Vec<String> {
        (0..count).rev().map(|number| format!("provider/model-{number}")).collect()
    };
    assert_eq!(
        model_of(&["b/x".to_owned(), "a/y".to_owned(), "b/x".to_owned()])["enum"],
        json!(["b/x", "a/y"])
    );
    assert_eq!(model_of(&numbered(24))["enum"], json!(numbered(24)));
    for too_many_or_none in [numbered(25), Vec::new()] {
        let model = model_of(&too_many_or_none);
        assert_eq!((&model["type"], model.get("enum")), (&json!("string"), None));
    }
}

fn parse(tool: &str, arguments: &Value) -> Result<(), ArgumentError> {
    let most_tasks = Some(MOST_TASKS);
    match tool {
        "delegate_to_subagents" => DelegateArguments::parse(arguments, most_tasks).map(drop),
        "get_subagent_output" | "get_subagent_session" => {
            SessionArguments::parse(arguments).map(drop)
        }
        "list_subagent_profiles" => NoArguments::parse(arguments).map(drop),
        "subagent" => SubagentArguments::parse(arguments, most_tasks).map(drop),
        "background_agent" => BackgroundArguments::parse(arguments).map(drop),
        "background_agent_status" => StatusArguments::parse(arguments).map(drop),
        "background_agent_control" => ControlArguments::parse(arguments).map(drop),
        other => panic!("no parser for {other}"),
    }
}

/// Arguments that have every field of a tool in every form.
fn examples(tool: &str) -> Vec<Value> {
    let model = MODELS[7];
    let preset_task = json!({"preset": "scout", "task": "Look.", "model": model, "cwd": "/x"});
    match tool {
        "delegate_to_subagents" => vec![json!({"profile": "fast", "tasks": [
            {"name": "a", "prompt": "p"},
            {"name": "b", "prompt": "q", "cwd": "/x", "profile": "r", "timeout": 1.5,
             "resume": "0123456789abcdef", "model": MODELS[3], "agent": "pi", "files": [
                "a.rs", {"path": "b"}, {"path": "c", "start": 0}, {"path": "d", "start": 1, "end": 2},
                {"path": "e", "head": 1}, {"path": "f", "tail": 1}]},
        ]})],
        "get_subagent_output" | "get_subagent_session" => {
            vec![json!({"sessionId": "0123456789abcdef"})]
        }
        "list_subagent_profiles" => vec![json!({})],
        "subagent" => vec![preset_task.clone(), json!({"tasks": [preset_task]})],
        "background_agent" => vec![preset_task],
        "background_agent_status" => {
            vec![json!({}), json!({"runId": "r", "includeCompleted": true})]
        }
        "background_agent_control" => vec![
            json!({"runId": "r", "action": "stop"}),
            json!({"runId": "r", "action": "message", "message": "Look in src."}),
        ],
        other => panic!("no examples for {other}"),
    }
}

/// What one change makes of a value: at every place another value, a field less or one more, and
/// lists of other lengths.
fn changed(value: &Value) -> Vec<Value> {
    let mut all = vec![json!(0), json!(1), json!(-1), json!(2.5), json!("x"), json!(true)];
    all.extend([json!([]), json!({}), json!(["x"]), json!([5])]);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let mut fewer = fields.clone();
                fewer.shift_remove(name);
                all.push(Value::Object(fewer));
                all.extend(changed(field).into_iter().map(|field| {
                    let mut other = fields.clone();
                    other[name] = field;
                    Value::Object(other)
                }));
            }
            let mut more = fields.clone();
            more.insert("unheardOf".to_owned(), json!("x"));
            all.push(Value::Object(more));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                all.extend(changed(item).into_iter().map(|item| {
                    let mut other = items.clone();
                    other[index] = item;
                    Value::Array(other)
                }));
            }
            let of_length = |length| items.iter().cycle().take(length).cloned().collect();
            all.extend([MOST_TASKS, MOST_TASKS + 1].map(of_length).map(Value::Array));
        }
        _ => {}
    }
    all
}

#[test]
fn schemas_and_parsers_agree() {
    for tool in describe_tools(&choices(), ToolFamilies::All) {
        for example in examples(tool.name) {
            parse(tool.name, &example).unwrap();
            assert!(takes(&tool.parameters, &example), "{}: {example}", tool.name);
            for arguments in changed(&example) {
                let parsed = parse(tool.name, &arguments);
                if takes(&tool.parameters, &arguments) == parsed.is_ok() {
                    continue;
                }
                // The only differences: unknown fields, which models and presets there are, and which fields need each other.
                match parsed {
                    Ok(()) => assert!(has_other_name(&arguments), "{}: {arguments}", tool.name),
                    Err(error) => assert!(
                        error.field.ends_with("unheardOf")
                            || tool.name == "subagent"
                                && (error.to_string()
                                    == "arguments: must have preset and task, or tasks"
                                    || error.problem == "is missing"),
                        "{}: {arguments}: {error}",
                        tool.name
                    ),
                }
            }
        }
    }
}

fn has_other_name(arguments: &Value) -> bool {
    let is_other = |call: &Value| {
        let is_unknown = |field: &str, known: &[&str]| {
            call.get(field).and_then(Value::as_str).is_some_and(|name| !known.contains(&name))
        };
        is_unknown("model", &MODELS) || is_unknown("preset", &PRESETS.map(|(name, _)| name))
    };
    let tasks = arguments.get("tasks").and_then(Value::as_array);
    is_other(arguments) || tasks.is_some_and(|tasks| tasks.iter().any(is_other))
}

#[test]
fn what_a_schema_does_not_say_the_parser_refuses() {
    let task = json!({"preset": "scout", "task": "t"});
    let with_files =
        |file: Value| json!({"tasks": [{"name": "a", "prompt": "p", "files": [file]}]});
    for (name, arguments) in [
        ("get_subagent_output", json!({"sessionId": " "})),
        ("subagent", json!({"preset": "scout", "tasks": [task]})),
        ("subagent", json!({})),
        ("delegate_to_subagents", with_files(json!({"path": "a", "head": 1, "tail": 1}))),
        ("delegate_to_subagents", with_files(json!({"path": "a", "start": 1, "tail": 1}))),
    ] {
        let tools = describe_tools(&choices(), ToolFamilies::All);
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        assert!(takes(&tool.parameters, &arguments), "{arguments}");
        assert!(parse(name, &arguments).is_err(), "{arguments}");
    }
    // And the other way round: what a model leaves out by saying so.
    let arguments = json!({"preset": "a", "task": "t", "model": null, "cwd": null});
    assert_eq!(parse("background_agent", &arguments), Ok(()));
}

/// Whether a schema takes a value. It knows the words that our schemas use, and no others.
fn takes(schema: &Value, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(word, rule)| match word.as_str() {
        "description" => true,
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.is_i64(),
            other => panic!("unknown type {other}"),
        },
        "enum" => rule.as_array().unwrap().contains(value),
        "anyOf" => rule.as_array().unwrap().iter().any(|schema| takes(schema, value)),
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "minItems" => {
            value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap())
        }
        "maxItems" => {
            value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap())
        }
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| takes(rule, item))),
        "properties" => value.as_object().is_none_or(|fields| {
            fields
                .iter()
                .all(|(name, field)| rule.get(name).is_none_or(|schema| takes(schema, field)))
        }),
        "required" => value.as_object().is_none_or(|fields| {
            rule.as_array().unwrap().iter().all(|name| fields.contains_key(name.as_str().unwrap()))
        }),
        other => panic!("unknown word {other}"),
    })
}
