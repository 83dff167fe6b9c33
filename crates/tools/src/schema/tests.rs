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

fn models() -> Vec<String> {
    MODELS.map(str::to_owned).to_vec()
}

fn names(families: ToolFamilies) -> Vec<&'static str> {
    describe_tools(&models(), families).into_iter().map(|tool| tool.name).collect()
}

#[test]
fn the_tools_are_in_a_fixed_order_and_either_family_can_be_left_out() {
    let profiles = [
        "delegate_to_subagents",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
    ];
    let presets = ["subagent", "background_agent", "background_agent_status"];
    assert_eq!(names(ToolFamilies::Profiles), profiles);
    assert_eq!(names(ToolFamilies::Presets), presets);
    assert_eq!(names(ToolFamilies::All), [&profiles[..], &presets[..]].concat());
}

#[test]
fn a_description_is_plain_data() {
    let tools = describe_tools(&[], ToolFamilies::Profiles);
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
                "additionalProperties": false,
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
fn all_tools_together_cost_less_than_1600_tokens_with_20_models() {
    let tools = describe_tools(&models(), ToolFamilies::All);
    let mut sent: Vec<String> = tools
        .iter()
        .filter_map(|tool| Some(format!("- {}: {}\n", tool.name, tool.prompt_snippet?)))
        .collect();
    let described = tools.iter().map(|tool| {
        let ToolDescription { name, description, parameters, .. } = tool;
        json!({"name": name, "description": description, "parameters": parameters})
    });
    sent.push(Value::from_iter(described).to_string());
    let encoding = tiktoken_rs::o200k_base().unwrap();
    let count = encoding.encode_ordinary(&sent.concat()).len();
    assert!(count < 1600, "{count} tokens");
}

#[test]
fn models_are_listed_in_their_order_while_they_are_few() {
    let model_of = |models: &[String]| {
        let tools = describe_tools(models, ToolFamilies::Presets);
        let of_subagent = &tools[0].parameters["properties"];
        let of_task = &of_subagent["tasks"]["items"]["properties"]["model"];
        let of_background = &tools[1].parameters["properties"]["model"];
        assert_eq!(of_task, &of_subagent["model"]);
        assert_eq!(of_background, &of_subagent["model"]);
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
             "resume": "0123456789abcdef", "files": [
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
    for tool in describe_tools(&models(), ToolFamilies::All) {
        for example in examples(tool.name) {
            parse(tool.name, &example).unwrap();
            assert!(takes(&tool.parameters, &example), "{}: {example}", tool.name);
            for arguments in changed(&example) {
                let parsed = parse(tool.name, &arguments);
                if takes(&tool.parameters, &arguments) == parsed.is_ok() {
                    continue;
                }
                // The only differences: which models there are, and which fields need each other.
                match parsed {
                    Ok(()) => assert!(has_other_model(&arguments), "{}: {arguments}", tool.name),
                    Err(error) => assert!(
                        tool.name == "subagent"
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

fn has_other_model(arguments: &Value) -> bool {
    let is_other = |call: &Value| {
        call.get("model").and_then(Value::as_str).is_some_and(|name| !MODELS.contains(&name))
    };
    let tasks = arguments.get("tasks").and_then(Value::as_array);
    is_other(arguments) || tasks.is_some_and(|tasks| tasks.iter().any(is_other))
}

#[test]
fn what_a_schema_does_not_say_the_parser_refuses() {
    let task = json!({"preset": "a", "task": "t"});
    let with_files =
        |file: Value| json!({"tasks": [{"name": "a", "prompt": "p", "files": [file]}]});
    for (name, arguments) in [
        ("get_subagent_output", json!({"sessionId": " "})),
        ("subagent", json!({"preset": "a", "tasks": [task]})),
        ("subagent", json!({})),
        ("delegate_to_subagents", with_files(json!({"path": "a", "head": 1, "tail": 1}))),
        ("delegate_to_subagents", with_files(json!({"path": "a", "start": 1, "tail": 1}))),
    ] {
        let tools = describe_tools(&models(), ToolFamilies::All);
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
        "additionalProperties" => {
            assert_eq!(rule, &json!(false));
            let known = &schema["properties"];
            value
                .as_object()
                .is_none_or(|fields| fields.keys().all(|name| known.get(name).is_some()))
        }
        other => panic!("unknown word {other}"),
    })
}
