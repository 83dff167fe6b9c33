//! Files that are not changed, and the errors about them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::Home;

#[test]
fn a_broken_file_is_named_with_the_line() {
    for (client, path, contents, expected) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"a\": 1,\n  \"b\" 2\n}",
            "line 3: expected colon after the string or word in object property",
        ),
        ("cursor", ".cursor/mcp.json", "{\n  \"a\": [1,\n}", "line 3: unexpected close brace"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{} {}",
            "line 1: text cannot contain more than one JSON value",
        ),
        ("cursor", ".cursor/mcp.json", "{'a': 1}", "line 1: single-quoted strings are not allowed"),
        ("cursor", ".cursor/mcp.json", "[]", "line 1: the top level is not an object"),
        ("cursor", ".cursor/mcp.json", "null", "line 1: the top level is not an object"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\n  \"mcpServers\": []\n}",
            "line 2: `mcpServers` is not an object",
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\n\n\n  \"mcp\": false\n}",
            "line 4: `mcp` is not an object",
        ),
        ("codex", ".codex/config.toml", "a = 1\nb = [\n", "line 2: unclosed array, expected `]`"),
        ("codex", ".codex/config.toml", "a = 1\r\na = 2\r\n", "line 2: duplicate key"),
        (
            "codex",
            ".codex/config.toml",
            "\nmcp_servers = 3\n",
            "line 2: `mcp_servers` is not a table",
        ),
    ] {
        let home = Home::new().with_file(path, contents);
        home.refuses(client, &format!("~/{path}, {expected}"));
    }
}

#[test]
fn what_cannot_be_changed_alone_is_not_changed() {
    let unchangeable = "what is there cannot be changed without touching what stands around it";
    for (client, path, contents, line) in [
        ("codex", ".codex/config.toml", "\nmcp_servers = { a = { command = \"b\" } }\n", 2),
        ("cursor", ".cursor/mcp.json", "{\n\"mcpServers\": {},\n\"mcpServers\": {}}", 2),
    ] {
        let home = Home::new().with_file(path, contents);
        let before = home.everything();
        let error = home.setup(client).install().unwrap_err();
        let expected = format!("{}, line {line}: {unchangeable}", home.at(path).display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(home.everything(), before);
    }
}

#[test]
fn another_server_of_our_name_is_not_ours() {
    for (client, path, contents, line) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\n\"pi-subagents\": {\"command\": \"npx\", \"args\": [\"mcp\"]}}}",
            2,
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"pi-subagents\": {\"command\": \"/a/pi-subagents\", \"args\": [\"bridge\"]}}}",
            1,
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"pi-subagents\": {\"url\": \"https://example.org\"}}}",
            1,
        ),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"pi-subagents\": 3}}", 1),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"mcp\": {\"pi-subagents\": {\"command\": [\"sh\", \"mcp\"]}}}",
            1,
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.pi-subagents]\nurl = \"https://example.org\"\n",
            1,
        ),
    ] {
        let home = Home::new().with_file(path, contents);
        home.refuses(
            client,
            &format!("~/{path}, line {line}: another server is called pi-subagents"),
        );
    }
}

#[test]
fn what_is_no_file_of_text_is_refused() {
    let path = ".cursor/mcp.json";
    let home = Home::new().with_file(path, b"{\n\"a\": \"\xff\xfe\"\n}");
    home.refuses("cursor", "~/.cursor/mcp.json, line 2: this is not UTF-8");

    fs::remove_file(home.at(path)).unwrap();
    fs::create_dir(home.at(path)).unwrap();
    home.refuses("cursor", "~/.cursor/mcp.json is not a file");

    fs::remove_dir(home.at(path)).unwrap();
    symlink("../nowhere.json", home.at(path)).unwrap();
    home.refuses("cursor", "~/.cursor/mcp.json is a link to ../nowhere.json, which is not there");

    fs::remove_file(home.at(path)).unwrap();
    symlink("mcp.json", home.at(path)).unwrap();
    let error = home.setup("cursor").install().unwrap_err();
    assert!(error.to_string().contains("mcp.json cannot be read"), "{error}");
}

#[test]
fn what_cannot_be_read_is_not_replaced() {
    let home = Home::new().with_file(".cursor/mcp.json", "{}");
    let path = home.at(".cursor/mcp.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The administrator can read this file, too.
    if fs::read(&path).is_ok() {
        return;
    }
    let error = home.setup("cursor").install().unwrap_err();
    assert!(error.to_string().contains("mcp.json cannot be read"), "{error}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(home.read(".cursor/mcp.json"), "{}");
}

#[test]
fn what_can_be_put_in_by_hand_is_what_would_be_written() {
    for client in ["claude", "codex", "cursor", "vscode", "gemini", "opencode"] {
        let home = Home::new();
        let snippet = home.setup(client).snippet();
        let report = home.setup(client).install().unwrap();
        assert_eq!(fs::read_to_string(report.path).unwrap(), snippet);
    }
}
