//! The built-in agent beside the real pi: the same script, and what both make of it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::pi_stream;

use crate::{KEY_OF_MODELS, PiWorld, bash};

/// What one of the two has made of a script.
struct Told {
    /// Our own events, without what is different in every run.
    events: Vec<Value>,
    /// The records of the agent's own stream, without deltas.
    records: Vec<Value>,
    /// What the caller of the run is told.
    task: Value,
    /// What the model was asked, without the words of the system prompt.
    requests: Vec<Value>,
    /// The exit code of the agent, unless it was stopped.
    code: Option<Value>,
}

/// Whose model is asked.
#[derive(Clone, Copy)]
enum Speaks {
    OpenAi,
    Responses,
    Azure,
    Anthropic,
    Gemini,
}

/// Lets the model speak so.
fn speak(pi: &PiWorld, speaks: Speaks) {
    let (api, base_url) = match speaks {
        Speaks::OpenAi => return,
        Speaks::Responses => ("openai-responses", pi.llm.base_url()),
        Speaks::Azure => ("azure-openai-responses", pi.llm.base_url()),
        Speaks::Anthropic => ("anthropic-messages", pi.llm.root_url()),
        Speaks::Gemini => ("google-generative-ai", format!("{}/v1beta", pi.llm.root_url())),
    };
    // Neither samples the arguments of tools by their schema then, which ours never does.
    let compat = json!({"supportsStrictMode": false});
    let model =
        json!({"id": "fake-1", "reasoning": true, "contextWindow": 1_000_000, "compat": compat});
    let provider = json!({
        "baseUrl": base_url, "api": api, "apiKey": KEY_OF_MODELS, "models": [model],
    });
    pi.agent_file("models.json", &json!({"providers": {"fake": provider}}).to_string());
}

/// Takes out of a request what both may say in their own words: the system prompt, and the id of the conversation.
fn neutral(request: &mut Value, speaks: Speaks) {
    let prompt = match speaks {
        Speaks::OpenAi => &mut request["messages"][0]["content"],
        Speaks::Responses | Speaks::Azure => &mut request["input"][0]["content"],
        Speaks::Anthropic => &mut request["system"][0]["text"],
        Speaks::Gemini => &mut request["systemInstruction"]["parts"][0]["text"],
    };
    assert!(prompt.is_string(), "{request:#}");
    *prompt = Value::Null;
    if let Some(key) = request.get_mut("prompt_cache_key") {
        assert!(key.is_string(), "{key}");
        *key = Value::Null;
    }
}

/// One value on each line.
fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Plays a script to one of the two, in a world of its own.
fn play(agent: &str, script: &Value, speaks: Speaks) -> Told {
    let pi = PiWorld::new(script);
    speak(&pi, speaks);
    pi.project_file("notes.txt", "one\ntwo\nthree\n");
    pi.project_file("src/main.rs", "fn main() {}\n");
    let tools = "read,bash,edit,write,ls";
    pi.worker(&format!("tools: {tools}\nthinkingLevel: medium"), "");
    let ran = pi.run(&["--agent", agent, "--profile", "worker"]);
    let task = ran.task();
    let directory = Path::new(task["runDir"].as_str().unwrap());
    let world = pi.world.path("").to_string_lossy().into_owned();
    let parse = |text: &str| -> Vec<Value> {
        let text = text.replace(&world, "/world/");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let read = |name: &str| parse(&fs::read_to_string(directory.join(name)).unwrap());
    let events = read("events.jsonl");
    let is_stopped = events.iter().any(|event| event["type"] == "stopping");
    let code = events.last().filter(|_| !is_stopped).map(|event| event["exitCode"].clone());
    let events = pi_stream::in_one_order(events.into_iter().filter_map(settled));
    let records = pi_stream::comparable(read("stdout.log"));
    let mut requests = parse(&lines(&pi.asked()));
    for request in &mut requests {
        neutral(request, speaks);
    }
    Told { events, records, task, requests, code }
}

/// An event without what is different in every run.
fn settled(mut event: Value) -> Option<Value> {
    // On a busy machine pi lingers so long after its last word that it is stopped.
    if event["type"] == "stopping" && event["cause"] == "last_word" {
        return None;
    }
    let fields = event.as_object_mut().unwrap();
    for name in ["seq", "at", "pid", "agent", "signal", "exitCode"] {
        fields.remove(name);
    }
    Some(event)
}

/// Plays a script to both, and checks that they make the same of it. Returns what ours made.
#[track_caller]
fn same(script: &Value, speaks: Speaks) -> Told {
    let [pis, ours] = std::thread::scope(|scope| {
        ["pi", "builtin"]
            .map(|agent| scope.spawn(move || play(agent, script, speaks)))
            .map(|playing| playing.join().unwrap())
    });
    let (pi_events, our_events) = (lines(&pis.events), lines(&ours.events));
    assert!(pi_events == our_events, "pi tells\n{pi_events}\nand ours tells\n{our_events}");
    for key in ["outcome", "output", "error", "model", "usage"] {
        assert_eq!(pis.task[key], ours.task[key], "{key}");
    }
    assert_eq!(pis.requests.len(), ours.requests.len());
    for (pis, ours) in pis.requests.iter().zip(&ours.requests) {
        // The order of fields has no meaning.
        let is_same = pis == ours;
        let (pis, ours) = (format!("{pis:#}"), format!("{ours:#}"));
        let differing = pis.lines().zip(ours.lines()).find(|(pis, ours)| pis != ours);
        assert!(is_same, "pi asks {differing:?}\n{pis}\nours asks\n{ours}");
    }
    if let (Some(pis), Some(ours)) = (&pis.code, &ours.code) {
        assert_eq!(pis, ours);
    }

    pi_stream::assert_same_shapes(&pis.records, &ours.records);
    ours
}

/// The same, for a script that leads to an answer.
#[track_caller]
fn same_answer(script: &Value, speaks: Speaks, answer: &str) {
    let told = same(script, speaks);
    assert_eq!(told.task["outcome"], "completed", "{:#}", told.task);
    assert_eq!(told.task["output"], answer);
}

fn tool(name: &str, args: &Value) -> Value {
    json!({"name": name, "args": args})
}

#[test]
fn an_answer() {
    let script = json!([{"text": "An answer\nof two lines.", "chunk": 3,
        "usage": {"input": 300, "output": 70, "cached": 100}}]);
    same_answer(&script, Speaks::OpenAi, "An answer\nof two lines.");
}

#[test]
fn thinking_before_a_tool_and_before_the_answer() {
    let script = json!([
        {"thinking": "First I look.", "text": "Looking.",
         "tools": [tool("read", &json!({"path": "notes.txt", "offset": 2, "limit": 1}))],
         "usage": {"input": 100, "output": 40, "thinking": 15}},
        {"thinking": "Now I know.", "text": "It says {{result:0}}"},
    ]);
    same(&script, Speaks::OpenAi);
}

#[test]
fn tools_side_by_side() {
    let script = json!([
        {"text": "All at once.", "tools": [
            tool("read", &json!({"path": "notes.txt"})),
            tool("ls", &json!({"path": "."})),
            tool("read", &json!({"path": "src/main.rs"})),
        ]},
        {"tools": [
            tool("edit", &json!({"path": "notes.txt", "edits": [
                {"oldText": "one", "newText": "1"}, {"oldText": "three", "newText": "3"},
            ]})),
            tool("write", &json!({"path": "new/file.txt", "content": "new\n"})),
            tool("bash", &json!({"command": "echo out; echo err >&2"})),
        ]},
        bash("cat notes.txt new/file.txt"),
        {"text": "done"},
    ]);
    same_answer(&script, Speaks::OpenAi, "done");
}

#[test]
fn tools_that_fail() {
    let script = json!([
        {"tools": [
            tool("read", &json!({"path": "missing.txt"})),
            tool("teleport", &json!({"to": "mars"})),
            tool("edit", &json!({"path": "notes.txt", "edits": [{"oldText": "ten", "newText": "10"}]})),
            tool("ls", &json!({"path": "nowhere"})),
            tool("read", &json!({})),
        ]},
        bash("echo before; exit 3"),
        {"tools": [tool("bash", &json!({"command": "echo early; sleep 60", "timeout": 0.3}))]},
        {"text": "nothing worked"},
    ]);
    same_answer(&script, Speaks::OpenAi, "nothing worked");
}

#[test]
fn all_kinds_of_characters() {
    let script = json!([
        {"text": "Grüße, 世界 👩‍👩‍👧 \u{2028}\"\\\t", "chunk": 1, "tools": [
            tool("bash", &json!({"command": "printf 'ünï\\n\\377\\342\\202x\\r\\n\\ty'"})),
            tool("write", &json!({"path": "日本.txt", "content": "é\u{301}\r\n🎉"})),
        ]},
        {"tools": [tool("read", &json!({"path": "日本.txt"}))]},
        {"text": "🎉 {{result:0}} {{result:2}}", "chunk": 1},
    ]);
    same(&script, Speaks::OpenAi);
}

#[test]
fn a_provider_that_refuses() {
    let told = same(&json!([{"error": 400}]), Speaks::OpenAi);
    assert_eq!(told.task["outcome"], "provider_error", "{:#}", told.task);
}

#[test]
fn a_provider_that_fails_twice() {
    let script = json!([
        bash("echo first"),
        {"error": 500, "times": 2, "text": "better now"},
    ]);
    same_answer(&script, Speaks::OpenAi, "better now");
}

#[test]
fn a_provider_that_fails_for_good() {
    let told = same(&json!([{"error": 503}]), Speaks::OpenAi);
    assert_eq!(told.task["outcome"], "provider_error", "{:#}", told.task);
    assert_eq!(told.requests.len(), 4);
}

#[test]
fn a_loop() {
    // The fifth one waits to be stopped, so that there is never a sixth question.
    let again = "echo >> calls; [ $(wc -l < calls) -lt 5 ] || sleep 600";
    let told = same(&json!(vec![bash(again); 8]), Speaks::OpenAi);
    assert_eq!(told.task["outcome"], "loop", "{:#}", told.task);
}

#[test]
fn anthropics_api() {
    let script = json!([
        {"thinking": "First I look.", "text": "Looking.", "tools": [
            tool("read", &json!({"path": "notes.txt"})), tool("read", &json!({"path": "missing.txt"})),
        ], "usage": {"input": 300, "output": 40, "cached": 100, "written": 50}},
        {"error": 529, "times": 1, "thinking": "Now I know.", "text": "It says {{result:0}}"},
    ]);
    same(&script, Speaks::Anthropic);
}

#[test]
fn a_refusal_in_anthropics_api() {
    let told = same(&json!([{"error": 400}]), Speaks::Anthropic);
    assert_eq!(told.task["outcome"], "provider_error", "{:#}", told.task);
}

/// Every kind of turn, in the newer protocols.
fn conversation() -> Value {
    json!([
        {"thinking": "First I look.\n\nThen I think.", "text": "Looking.", "tools": [
            tool("read", &json!({"path": "notes.txt"})), tool("read", &json!({"path": "missing.txt"})),
        ], "usage": {"input": 300, "output": 40, "cached": 100, "thinking": 10}},
        {"tools": [tool("bash", &json!({"command": "echo one"}))], "thinking": "Only a call."},
        {"error": 503, "times": 1, "thinking": "Now I know.", "text": "It says {{result:0}}"},
    ])
}

#[test]
fn the_responses_api() {
    same(&conversation(), Speaks::Responses);
}

#[test]
fn the_responses_api_at_azure() {
    same(&conversation(), Speaks::Azure);
}

#[test]
fn the_api_of_gemini() {
    same(&conversation(), Speaks::Gemini);
}

#[test]
fn refusals_and_other_ends_in_the_newer_apis() {
    for speaks in [Speaks::Responses, Speaks::Azure, Speaks::Gemini] {
        let told = same(&json!([{"error": 400}]), speaks);
        assert_eq!(told.task["outcome"], "provider_error", "{:#}", told.task);
        let told = same(&json!([{"text": "So far", "finish": "length"}]), speaks);
        assert_eq!(told.task["output"], "So far", "{:#}", told.task);
    }
    let failed = json!([{"text": "So far", "finish": "failed", "error_type": "invalid_prompt"}]);
    let filtered = json!([{"text": "So far", "finish": "content_filter"}]);
    let unsafe_ = json!([{"text": "So far", "finish": "SAFETY"}]);
    for (script, speaks, words) in [
        (&failed, Speaks::Responses, "invalid_prompt: scripted error"),
        (&filtered, Speaks::Responses, "Response incomplete: content_filter"),
        (&unsafe_, Speaks::Gemini, "Provider stopped with: SAFETY"),
    ] {
        let told = same(script, speaks);
        assert_eq!(told.task["outcome"], "provider_error", "{:#}", told.task);
        assert_eq!(told.task["error"], words);
    }
}

/// The smallest pieces of an answer, which no log keeps.
#[track_caller]
fn same_deltas(script: &Value, speaks: Speaks) {
    let [pis, ours] =
        ["pi", concat!(env!("CARGO_BIN_EXE_pi-subagents"), " agent")].map(|program| {
            let pi = PiWorld::new(script);
            speak(&pi, speaks);
            let stream = pi.world.path("stream.jsonl");
            let line = format!("{program} \"$@\" | tee {}", stream.display());
            let agent = json!(["sh", "-c", line, "sh"]).to_string();
            pi.run(&["--agent", &agent]);
            let records = fs::read_to_string(stream).unwrap();
            let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            records.filter(|record| record["type"] == "message_update").collect::<Vec<_>>()
        });
    assert!(pis.len() > 20, "{pis:#?}");
    let events = |records: &[Value]| {
        let event = |record: &Value| format!("{}\n", record["assistantMessageEvent"]);
        records.iter().map(event).collect::<String>()
    };
    let (pi_events, our_events) = (events(&pis), events(&ours));
    assert!(pi_events == our_events, "pi tells\n{pi_events}\nand ours tells\n{our_events}");
    for (pis, ours) in pis.iter().zip(&ours) {
        // pi tells what it knows when it writes the record, which may be after the piece itself.
        let mut differences = pi_stream::differences(pis, ours);
        differences.remove("lacks message_update.usage.reasoning");
        assert!(differences.is_empty(), "{differences:#?}");
    }
}

#[test]
fn deltas() {
    let script = json!([
        {"thinking": "First I think for a while.", "text": "Then I speak for a while.", "tools": [
            tool("bash", &json!({"command": "echo one"})), tool("bash", &json!({"command": "true"})),
        ], "chunk": 10},
        // Cut off in the middle, every time that it is asked for.
        {"text": "An answer that never ends", "cut": true},
    ]);
    same_deltas(&script, Speaks::OpenAi);
    same_deltas(&script, Speaks::Anthropic);
    same_deltas(&script, Speaks::Responses);
    same_deltas(&script, Speaks::Gemini);
}
