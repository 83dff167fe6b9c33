//! `/profile`, from the first profile to none, through the dialogs of pi.

use std::fs;

use serde_json::{Value, json};

use crate::Inside;
use crate::remote::Dialog;

fn dialog(method: &'static str, title: &str, answer: Value) -> Dialog {
    Dialog { method, title: title.to_owned(), answer }
}

fn select(title: &str, value: &str) -> Dialog {
    dialog("select", title, json!({"value": value}))
}

fn input(title: &str, value: &str) -> Dialog {
    dialog("input", title, json!({"value": value}))
}

/// What has a value already is edited.
fn edit(title: &str, value: &str) -> Dialog {
    dialog("editor", title, json!({"value": value}))
}

fn confirm(title: &str, is_confirmed: bool) -> Dialog {
    dialog("confirm", title, json!({"confirmed": is_confirmed}))
}

const NONE: &str = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or \
                    use /profile create.";
const USAGE: &str =
    "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>|import <name>]";

#[test]
fn a_profile_from_its_creation_to_its_end() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    pi.converse("/profile list", &[], (NONE, "info"));
    let scopes = [
        "Global (~/.pi/agent/agent-profiles/reviewer.md)",
        "Project (.pi/agent-profiles/reviewer.md)",
    ];
    pi.converse(
        "/profile create reviewer",
        &[
            select("Save to which scope?", scopes[0]),
            input("Provider (e.g. anthropic, openai, dashscope):", "fake"),
            input("Model (supports provider/id and :thinking shorthand):", "fake-2"),
            confirm("System prompt?", true),
            edit("System prompt:", "Review.\nBe kind."),
            confirm("Append to system prompt?", true),
            input("Append text:", "Say why."),
            confirm("Thinking level?", true),
            select("Thinking level:", "low"),
            confirm("Configure tools?", true),
            confirm("Disable all tools?", false),
            select("Select tool mode:", "Allowlist (only these tools)"),
            input("Tool allowlist (comma-separated, e.g. read,bash,grep):", "read, bash"),
            confirm("Configure access?", false),
            confirm("Configure extensions?", true),
            confirm("Disable all extensions?", true),
            confirm("Configure skills?", false),
            confirm("Save profile \"reviewer\"?", true),
        ],
        ("Profile \"reviewer\" saved to global agent-profiles.", "info"),
    );
    let path = inside.world.agent_dir().join("agent-profiles/reviewer.md");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "---\nname: reviewer\nprovider: fake\nmodel: fake-2\nthinkingLevel: low\n\
         appendSystemPrompt: Say why.\nnoExtensions: true\ntools: read,bash\n---\n\n\
         Review.\nBe kind.\n"
    );
    let summary = "profile: reviewer, model=fake-2, thinking=low, custom-system-prompt, \
                   appended-system-prompt, tools=[read,bash]";
    let list = format!("Subagent profiles:\n  {summary}");
    for command in ["/profile", "/profile list"] {
        pi.converse(command, &[], (&list, "info"));
    }
    pi.send(&json!({"type": "prompt", "message": "/profile reviewer"}));
    let notice = pi.wait_for(|record| record["method"] == "notify");
    let detail = notice["message"].as_str().unwrap();
    assert!(detail.starts_with("Profile: reviewer\n  provider:          fake\n"), "{detail}");

    pi.converse(
        "/profile edit reviewer",
        &[
            select("Save to which scope?", scopes[0]),
            edit("Provider (e.g. anthropic, openai, dashscope):", "fake"),
            edit("Model (supports provider/id and :thinking shorthand):", "fake-1"),
            confirm("System prompt?", false),
            confirm("Append to system prompt?", false),
            confirm("Thinking level?", false),
            confirm("Configure tools?", false),
            confirm("Configure access?", false),
            confirm("Configure extensions?", false),
            confirm("Configure skills?", false),
            confirm("Save profile \"reviewer\"?", true),
        ],
        ("Profile \"reviewer\" saved to global agent-profiles.", "info"),
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "---\nname: reviewer\nprovider: fake\nmodel: fake-1\nnoExtensions: true\n\
         tools: read,bash\n---\n"
    );
    pi.converse(
        "/profile delete reviewer",
        &[confirm("Delete profile?", true)],
        ("Profile \"reviewer\" deleted.", "info"),
    );
    assert!(!path.exists());
    pi.converse("/profile list", &[], (NONE, "info"));
    pi.close();
    inside.world.wait_until_nothing_is_left();
    assert_eq!(inside.llm.request_count(), 0, "no model is asked");
}

#[test]
fn what_cannot_be_done_is_said() {
    let inside = Inside::new();
    inside.profile("here", "model: fake/fake-1");
    let mut pi = inside.remote(&[]);
    for (command, message, level) in [
        ("/profile something else", USAGE, "warning"),
        ("/profile show", "Usage: /profile show <name>", "warning"),
        ("/profile show gone", "Profile \"gone\" not found. Available: here", "error"),
        (
            "/profile create",
            "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)",
            "warning",
        ),
        (
            "/profile create no/name",
            "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)",
            "warning",
        ),
        (
            "/profile create here",
            "Profile \"here\" already exists. Use /profile edit here to modify it.",
            "warning",
        ),
        ("/profile edit", "Usage: /profile edit <name>", "warning"),
        (
            "/profile edit gone",
            "Profile \"gone\" not found. Use /profile create gone to create it.",
            "error",
        ),
        ("/profile delete", "Usage: /profile delete <name>", "warning"),
    ] {
        pi.converse(command, &[], (message, level));
    }
    let delete = |is_confirmed| [confirm("Delete profile?", is_confirmed)];
    pi.converse("/profile delete here", &delete(true), ("Profile \"here\" deleted.", "info"));
    pi.close();
}

#[test]
fn a_question_that_is_cancelled_skips_its_field() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    let path = "~/.pi/agent/agent-profiles/half.md";
    let cancelled = json!({"cancelled": true});
    let cancel = |method, title| dialog(method, title, cancelled.clone());
    let dialogs = [
        select("Save to which scope?", &format!("Global ({path})")),
        cancel("input", "Provider (e.g. anthropic, openai, dashscope):"),
        input("Model (supports provider/id and :thinking shorthand):", "fake/fake-2"),
        confirm("System prompt?", true),
        cancel("editor", "System prompt:"),
        cancel("confirm", "Append to system prompt?"),
        confirm("Thinking level?", true),
        cancel("select", "Thinking level:"),
        confirm("Configure tools?", false),
        confirm("Configure access?", false),
        confirm("Configure extensions?", false),
        confirm("Configure skills?", false),
        confirm("Save profile \"half\"?", true),
    ];
    let saved = "Profile \"half\" saved to global agent-profiles.";
    pi.converse("/profile create half", &dialogs, (saved, "info"));
    pi.converse(
        "/profile list",
        &[],
        ("Subagent profiles:\n  profile: half, model=fake/fake-2", "info"),
    );
    pi.close();
}

#[test]
fn a_wizard_that_is_left_writes_nothing() {
    let inside = Inside::new();
    let mut pi = inside.remote(&[]);
    let cancelled = json!({"cancelled": true});
    // The list that follows shows that nothing more was said about it.
    pi.send(&json!({"type": "prompt", "message": "/profile create half"}));
    let request = pi.wait_for(|record| record["method"] == "select");
    let mut response = cancelled;
    response["type"] = "extension_ui_response".into();
    response["id"] = request["id"].clone();
    pi.send(&response);
    pi.converse("/profile list", &[], (NONE, "info"));
    assert_eq!(pi.shown("notify").len(), 1);
    pi.close();
}
