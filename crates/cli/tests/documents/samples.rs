//! Samples of what is printed, compared with what is printed.

use std::fs;

use serde_json::json;
use test_support::{write_file, write_program};

use super::{Examples, blocks, root};

/// What the page about `setup` shows is what it makes of that file.
#[test]
fn setup_changes_a_file_as_its_page_shows() {
    let page = root().join("docs/use/setup.md");
    let examples = Examples::fresh(&page);
    let blocks = blocks(&fs::read_to_string(&page).unwrap());
    let shown = blocks.iter().find(|block| block.name == "setup").unwrap();
    let column = shown.text.lines().next().unwrap().rfind('{').unwrap();
    let side = |is_left: bool| -> String {
        let lines = shown.text.lines().map(|line| {
            let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
            let part = if is_left { &line[..at] } else { &line[at..] };
            part.trim_end().to_owned()
        });
        lines.collect::<Vec<String>>().join("\n").trim_end().to_owned() + "\n"
    };
    let file = examples.world.home().join(".gemini/settings.json");
    write_file(&file, &side(true));
    examples.shell("pi-subagents setup gemini");
    let text = fs::read_to_string(&file).unwrap();
    let program = text.split('"').find(|text| text.ends_with("/pi-subagents")).unwrap().to_owned();
    assert_eq!(
        text.replace(&program, "/home/me/.cargo/bin/pi-subagents").trim_end(),
        side(false).trim_end()
    );
}

/// What the page about `doctor` shows is what it says on such a machine. Only a model that answers and a server of models
/// are not there.
#[test]
fn doctor_says_what_its_page_shows() {
    let page = root().join("docs/use/doctor.md");
    let examples = Examples::fresh(&page);
    let world = &examples.world;
    for (name, version) in [("pi", "0.87.1"), ("claude", "2.1.325 (Claude Code)")] {
        write_program(&world.path("bin").join(name), &format!("#!/bin/sh\necho '{version}'\n"));
    }
    let settings = json!({
        "defaultProvider": "anthropic", "defaultModel": "claude-opus-4-8",
        "subagents": {"maxConcurency": 3},
    });
    write_file(&world.agent_dir().join("settings.json"), &settings.to_string());
    let keys = json!({"groq": {"type": "api_key", "key": "key-0123456789"}});
    write_file(&world.agent_dir().join("auth.json"), &keys.to_string());
    let said = examples.shell("ANTHROPIC_API_KEY=key-9876543210 pi-subagents doctor").stdout;
    let home = world.home().display().to_string();
    let bin = world.path("bin").display().to_string();
    let said = said.replace(&home, "/home/me").replace(&bin, "/usr/local/bin");
    let blocks = blocks(&fs::read_to_string(&page).unwrap());
    let shown = blocks.iter().find(|block| block.name == "doctor").unwrap();
    let needs_more = ["answered", "Ollama runs", "put into"];
    let mut left = said.as_str();
    let mut compared = 0;
    for line in shown.text.lines().filter(|line| !needs_more.iter().any(|it| line.contains(it))) {
        let at = left.find(&format!("{line}\n"));
        assert!(at.is_some(), "{line:?} is not in, or not in this order:\n{said}");
        left = &left[at.unwrap() + line.len()..];
        compared += usize::from(!line.is_empty());
    }
    assert!(compared > 10, "{compared}");
}
