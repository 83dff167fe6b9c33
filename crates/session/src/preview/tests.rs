use serde_json::json;

use super::*;
use crate::testing::Random;

fn context(width: usize) -> PreviewContext {
    PreviewContext { cwd: "/home/u/p".to_owned(), home: Some("/home/u".to_owned()), width }
}

#[test]
fn every_tool_has_its_preview() {
    for (tool, args, expected) in [
        (
            "edit",
            json!({"path": "a.ts", "edits": [{"oldText": "a\n\nb", "newText": "x"}]}),
            "edit → a.ts (1 edit) +1/-2",
        ),
        (
            "edit",
            json!({
                "filePath": "/home/u/p/a.ts",
                "edits": [{"newText": "x"}, {"newText": "y\r\n \t\r\n\u{a0}"}]
            }),
            "edit → a.ts (2 edits) +3/-0",
        ),
        ("edit", json!({"path": "a.ts", "edits": []}), "edit → a.ts"),
        ("edit", json!({"path": "", "filePath": "b"}), "edit → b"),
        ("edit", json!({}), "edit → ..."),
        ("write", json!({"path": "a", "content": "one\n\n two \n"}), "write → a +2"),
        ("write", json!({"path": "a"}), "write → a +0"),
        ("grep", json!({"pattern": "x+"}), "grep → /x+/"),
        ("grep", json!({"pattern": "x", "glob": "*.rs", "path": "src"}), "grep → /x/ → *.rs"),
        ("grep", json!({"pattern": "x", "path": "/home/u/p/src/"}), "grep → /x/ → src/"),
        ("grep", json!({}), "grep → /.../"),
        ("read", json!({"path": "a.ts", "offset": 0, "limit": 1}), "read → a.ts+1 (1 lines)"),
        ("read", json!({"path": "a", "offset": 5, "limit": 10.0}), "read → a:5+10 (10 lines)"),
        ("read", json!({"path": "/home/u/q/z", "offset": 5}), "read → ~/q/z:5"),
        ("read", json!({"path": "a"}), "read → a"),
        ("ls", json!({"path": "/home/u/p/src/"}), "ls → src/"),
        ("ls", json!({"path": "src/"}), "ls → src/"),
        ("ls", json!({"path": "/home/u/p"}), "ls → ."),
        ("ls", json!({}), "ls → ."),
        ("find", json!({"pattern": "*.ts", "path": "/home/u/p/src"}), "find → *.ts in src"),
        ("find", json!({"pattern": "*.ts"}), "find → *.ts"),
        ("bash", json!({"command": "cd /home/u/p && ls"}), "bash → ls"),
        ("bash", json!({"command": "cd /home/u/p"}), "bash → cd ."),
        ("bash", json!({"command": "cd /home/u/p && "}), "bash → cd ."),
        ("bash", json!({"command": "cd /home/u/p; ls"}), "bash → cd .; ls"),
        ("bash", json!({}), "bash → ..."),
        (
            "bash",
            json!({"command": "npm run build -- --aaaaaaaaaaaaaaaaaaaaaa && npm test \
                               && echo donedonedonedonedonedone && x"}),
            "bash → npm run build -- --aaaaaaaaaaaaaaaaaaaaaa && npm test &&\n\
             │ echo donedonedonedonedonedone && x",
        ),
        ("delegate_to_subagents", json!({"tasks": [{}]}), "delegate_to_subagents → 1 task"),
        ("delegate_to_subagents", json!({}), "delegate_to_subagents → 0 tasks"),
        (
            "delegate_to_subagents",
            json!({"profile": "x", "tasks": [{"profile": "a"}, {"profile": ""}, {"profile": "b"}]}),
            "delegate_to_subagents → 3 tasks [a, b]",
        ),
        (
            "delegate_to_subagents",
            json!({"profile": "x", "tasks": [{}, {}]}),
            "delegate_to_subagents → 2 tasks [x]",
        ),
        ("write_todos", json!({"todos": [{"text": "a"}]}), "write_todos → 1 todos written"),
        ("write_todos", json!({}), "write_todos → 0 todos written"),
        ("edit_todos", json!({"todos": [{"text": "a"}, {"text": "b"}]}), "edit_todos → a, b"),
        (
            "edit_todos",
            json!({"todos": [{"text": "x".repeat(49)}]}),
            &format!("edit_todos → {}...", "x".repeat(45)),
        ),
        (
            "edit_todos",
            json!({"action": "complete", "indices": [1, 2]}),
            "edit_todos → complete [1,2]",
        ),
        ("edit_todos", json!({"todos": []}), "edit_todos → ? []"),
        ("list_todos", json!({"x": 1}), "list_todos"),
        ("list_subagent_profiles", json!({}), "list_subagent_profiles"),
        ("lsp_diagnostics", json!({"file": "/home/u/p/a.rs"}), "lsp_diagnostics → a.rs"),
        ("lsp_diagnostics", json!({}), "lsp_diagnostics → ..."),
        (
            "lsp_find_references",
            json!({"file": "a.rs", "line": 3, "column": 0}),
            "lsp_find_references → a.rs:3:0",
        ),
        ("lsp_goto_definition", json!({"file": "a.rs"}), "lsp_goto_definition → a.rs:?:?"),
        ("lsp_call_hierarchy", json!({"line": 1}), "lsp_call_hierarchy → ...:1:?"),
        ("lsp_find_symbol", json!({"query": "main"}), "lsp_find_symbol → main"),
        (
            "lsp_refactor_symbol",
            json!({"file": "a.rs", "line": 3, "column": 4, "newName": "n"}),
            "lsp_refactor_symbol → a.rs:3:4 → n",
        ),
        ("lint_files", json!({}), "lint → (all)"),
        ("lint_files", json!({"files": ["a", "/home/u/p/b", "c"]}), "lint → a, b, c"),
        ("lint_files", json!({"files": ["a", "b", "c", "d"]}), "lint → a, b, ... +2 more"),
        ("fetch_content", json!({"url": "https://a.b/c"}), "fetch_content → https://a.b/c"),
        (
            "fetch_content",
            json!({"url": "u".repeat(44)}),
            &format!("fetch_content → {}...", "u".repeat(40)),
        ),
        ("web_search", json!({"query": "rust"}), "web_search → rust"),
        ("web_search", json!({}), "web_search → ..."),
        ("fetch_repo", json!({"url": "u".repeat(90)}), &format!("fetch_repo → {}", "u".repeat(90))),
        ("get_subagent_output", json!({"sessionId": "0123"}), "get_subagent_output → 0123"),
        ("get_subagent_session", json!({}), "get_subagent_session → ..."),
        ("workflow_step", json!({"action": "next"}), "workflow_step → next"),
        ("workflow_step", json!({}), "workflow_step → ?"),
        ("deploy", json!({}), "deploy"),
        ("deploy", json!(null), "deploy"),
        ("deploy", json!({"to": "staging", "at": [1]}), r#"deploy {"to":"staging","at":[1]}"#),
        ("deploy", json!("x".repeat(60)), &format!("deploy \"{}...", "x".repeat(49))),
        ("deploy", json!([]), "deploy []"),
    ] {
        assert_eq!(preview(tool, &args, &context(60)), expected, "{tool} {args}");
    }
}

#[test]
fn paths_within_commands_are_short() {
    let args = json!({"command": "cat /etc/passwd /home/u/p/src/x https://a.b/c/d /tmp"});
    let expected = "bash → cat /etc/passwd src/x https://a.b/c/d /tmp";
    assert_eq!(preview("bash", &args, &context(90)), expected);
}

#[test]
fn arguments_cannot_forge_lines_or_colours() {
    let args = json!({"path": "a\n→ bash → rm\u{1b}[31m"});
    assert_eq!(preview("read", &args, &context(60)), "read → a → bash → rm");
    assert_eq!(
        preview("a\nb\u{9b}1mc", &json!({"x": "\u{7f}\u{9b}2J"}), &context(60)),
        "a bc {\"x\":\"\"}"
    );
}

#[test]
fn any_arguments_at_all_have_a_preview() {
    let mut random = Random::default();
    for _ in 0..20_000 {
        let context = PreviewContext {
            cwd: random.text(),
            home: random.is_lucky().then(|| random.text()),
            width: random.below(70),
        };
        let tool = random.choose(TOOLS);
        let args = random.value(3);
        let preview = preview(tool, &args, &context);
        assert!(!preview.is_empty(), "{tool} {args}");
        assert!(tool == "bash" || !preview.contains('\n'), "{tool} {args}: {preview}");
        assert!(!preview.contains(|c: char| c.is_control() && c != '\n'), "{tool} {args}");
    }
}

const TOOLS: &[&str] = &[
    "edit",
    "write",
    "grep",
    "read",
    "ls",
    "find",
    "bash",
    "delegate_to_subagents",
    "write_todos",
    "edit_todos",
    "list_todos",
    "lsp_diagnostics",
    "lsp_find_references",
    "lsp_refactor_symbol",
    "lsp_find_symbol",
    "lint_files",
    "fetch_content",
    "web_search",
    "fetch_repo",
    "get_subagent_output",
    "workflow_step",
    "other",
    "narzędzie\n",
];
