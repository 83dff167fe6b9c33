//! Our extension inside of a child of ours.

use serde_json::json;

use crate::{Inside, TOOLS, call, delegate, extension, offered, task, told};

/// A world in which the extension is installed, so that children that are pi load it too.
fn installed() -> Inside {
    let inside = Inside::with_pi_children();
    inside.agent_file(
        "models.json",
        &json!({"providers": {
            "fake": inside.provider(&["fake-1"]),
            "github-copilot": inside.provider(&["gpt-4o"]),
        }}),
    );
    inside.settings(json!({"packages": [extension()]}));
    inside
}

#[test]
fn a_child_has_none_of_our_tools() {
    let inside = installed();
    let child = task("child", &json!([{"text": "Done."}]));
    let prompt = crate::calling(&[delegate(&[child])]);
    let mut command = inside.pi_without_extension(&["--mode", "json", "-p", &prompt]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let asked = inside.asked();
    let ours = |index: usize| {
        offered(&asked[index]).iter().filter(|tool| TOOLS.contains(&tool.as_str())).count()
    };
    assert_eq!(asked.len(), 3);
    assert_eq!((ours(0), ours(1), ours(2)), (TOOLS.len(), 0, TOOLS.len()));
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn requests_of_a_child_to_copilot_are_the_agents() {
    for is_installed in [true, false] {
        requests_to_copilot(is_installed);
    }
}

/// The same whether a child finds the extension by itself, or its parent was merely told of it.
fn requests_to_copilot(is_installed: bool) {
    let inside = installed();
    if !is_installed {
        inside.settings(json!({"subagents": {"agent": "pi"}}));
    }
    inside.scout("model: github-copilot/gpt-4o");
    let item = |model: Option<&str>| {
        let mut item = json!({"preset": "scout", "task": told(&json!([{"text": "Done."}]))});
        if let Some(model) = model {
            item["model"] = model.into();
        }
        call("subagent", item)
    };
    let prompt = crate::calling(&[item(None), item(Some("fake/fake-1"))]);
    let arguments = ["--mode", "json", "-p", &prompt];
    let mut command =
        if is_installed { inside.pi_without_extension(&arguments) } else { inside.pi(&arguments) };
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let requests = inside.llm.requests().into_iter().filter(|request| request.method == "POST");
    let initiators: Vec<(String, Option<String>)> = requests
        .map(|request| {
            let initiator = request.header("x-initiator").map(str::to_owned);
            (request.body["model"].as_str().unwrap().to_owned(), initiator)
        })
        .collect();
    let of =
        |model: &str, initiator: Option<&str>| (model.to_owned(), initiator.map(str::to_owned));
    assert_eq!(
        initiators,
        [
            of("fake-1", None),
            of("gpt-4o", Some("agent")),
            of("fake-1", None),
            of("fake-1", None),
            of("fake-1", None),
        ]
    );
    inside.world.wait_until_nothing_is_left();
}
