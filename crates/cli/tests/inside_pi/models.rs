//! For which models the tools are described, and what follows the user through pi's tree.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use test_support::write_program;

use crate::remote::Remote;
use crate::{Inside, call, delegate, offered, task};

/// An extension for what only a user or another extension can do: `/offer` changes the models that
/// there are, and `/go` moves in the tree.
const OTHER: &str = r#"
export default function (pi) {
  let leaf;
  pi.registerCommand("offer", {
    handler: async (args, ctx) => {
      const [baseUrl, ...ids] = args.split(" ");
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const models = ids.map((id) => ({
        id, name: id, reasoning: false, input: ["text"], cost, contextWindow: 100000, maxTokens: 1000,
      }));
      pi.registerProvider("late", { baseUrl, apiKey: "k", api: "openai-completions", models });
      ctx.ui.notify("offered", "info");
    },
  });
  pi.registerCommand("go", {
    handler: async (args, ctx) => {
      const first = ctx.sessionManager.getEntries()[0].id;
      const from = ctx.sessionManager.getLeafId();
      await ctx.navigateTree(args === "back" ? leaf : first);
      leaf = from;
      ctx.ui.notify(`went ${args}`, "info");
    },
  });
}
"#;

/// A pi with both extensions, and a bridge whose input is written down.
fn start(inside: &Inside) -> Remote {
    let extension = inside.world.path("other.mjs");
    fs::write(&extension, OTHER).unwrap();
    let program = inside.world.path("noted-bridge");
    let text = format!(
        "#!/bin/sh\ntee -a '{}' | '{}' \"$@\"\n",
        heard(inside).display(),
        env!("CARGO_BIN_EXE_pi-subagents")
    );
    write_program(&program, &text);
    let mut command: Command = inside.pi(&["--mode", "rpc", "--extension"]);
    command.arg(extension).env("PI_SUBAGENTS_BIN", program);
    Remote::start(command)
}

fn heard(inside: &Inside) -> PathBuf {
    inside.world.path("heard.jsonl")
}

/// The models that the latest request offers for `subagent`.
fn offered_models(inside: &Inside) -> Value {
    let request = inside.asked().pop().unwrap();
    let tools = request["tools"].as_array().unwrap();
    let subagent = tools.iter().find(|tool| tool["function"]["name"] == "subagent").unwrap();
    subagent["function"]["parameters"]["properties"]["model"]["enum"].clone()
}

/// The presets that the latest request offers for `subagent`.
fn offered_presets(inside: &Inside) -> Value {
    let request = inside.asked().pop().unwrap();
    let tools = request["tools"].as_array().unwrap();
    let subagent = tools.iter().find(|tool| tool["function"]["name"] == "subagent").unwrap();
    subagent["function"]["parameters"]["properties"]["preset"]["enum"].clone()
}

#[test]
fn a_preset_that_is_written_meanwhile_is_offered_with_the_next_request() {
    let inside = Inside::new();
    let mut pi = start(&inside);
    pi.call_once(call("list_subagent_profiles", json!({})));
    assert_eq!(offered_presets(&inside), Value::Null);
    inside.scout("model: fake/fake-1");
    pi.call_once(call("list_subagent_profiles", json!({})));
    assert_eq!(offered_presets(&inside), json!(["scout"]));
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn the_tools_are_described_anew_when_there_are_other_models() {
    let inside = Inside::new();
    let mut pi = start(&inside);
    let look = || call("list_subagent_profiles", json!({}));
    pi.call_once(look());
    assert_eq!(offered_models(&inside), json!(["fake/fake-1", "fake/fake-2"]));
    let base_url = inside.llm.base_url();
    pi.converse(&format!("/offer {base_url} one two"), &[], ("offered", "info"));
    pi.call_once(look());
    let with_late = json!(["fake/fake-1", "fake/fake-2", "late/one", "late/two"]);
    assert_eq!(offered_models(&inside), with_late);
    // The same models in another order are the same models.
    pi.converse(&format!("/offer {base_url} two one"), &[], ("offered", "info"));
    pi.call_once(look());
    assert_eq!(offered_models(&inside), with_late);
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn without_models_nothing_is_started_until_there_are_some() {
    let inside = Inside::new();
    inside.agent_file("models.json", &json!({}));
    inside.agent_file("settings.json", &json!({"subagents": {"agent": "builtin"}}));
    let mut pi = start(&inside);
    pi.ask(&json!({"type": "get_state"}));
    assert!(!heard(&inside).exists(), "a bridge was started");
    pi.converse(&format!("/offer {} one", inside.llm.base_url()), &[], ("offered", "info"));
    pi.ask(&json!({"type": "set_model", "provider": "late", "modelId": "one"}));
    pi.call_once(call("list_subagent_profiles", json!({})));
    assert_eq!(offered_models(&inside), json!(["late/one"]));
    assert_eq!(
        offered(&inside.asked()[0]).len(),
        crate::TOOLS.len() + 4,
        "pi's own are there, too"
    );
    pi.close();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn what_is_remembered_follows_the_branch() {
    let inside = Inside::new();
    let mut pi = start(&inside);
    let result = pi.call_once(delegate(&[task("count", &json!([{"text": "Four."}]))]));
    let output = || call("get_subagent_output", json!({"sessionId": result.sessions()[0]}));
    // Only what pi remembers counts: the store would know all branches.
    fs::remove_dir_all(inside.world.project().join(".pi")).unwrap();
    assert_eq!(pi.call_once(output()).answer(), "Four.");
    pi.converse("/go away", &[], ("went away", "info"));
    let refused = pi.call_once(output());
    assert!(refused.is_error && refused.text.contains("not found"), "{refused:?}");
    pi.converse("/go back", &[], ("went back", "info"));
    assert_eq!(pi.call_once(output()).answer(), "Four.");
    pi.close();
    inside.world.wait_until_nothing_is_left();
}
