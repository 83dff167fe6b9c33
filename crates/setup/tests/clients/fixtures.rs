//! Realistic files, before and after.

use pi_subagents_setup::clients::{Outcome, Report, Scope};

use crate::Home;

/// A client, the path of its file, and its text.
const FIXTURES: &[(&str, &str, &str)] = &[
    ("claude", ".claude.json", include_str!("../fixtures/claude.json")),
    ("codex", ".codex/config.toml", include_str!("../fixtures/codex.toml")),
    ("cursor", ".cursor/mcp.json", include_str!("../fixtures/cursor.json")),
    ("vscode", ".config/Code/User/mcp.json", include_str!("../fixtures/vscode.json")),
    ("gemini", ".gemini/settings.json", include_str!("../fixtures/gemini.json")),
    ("opencode", ".config/opencode/opencode.jsonc", include_str!("../fixtures/opencode.jsonc")),
    ("opencode", ".config/opencode/opencode.jsonc", include_str!("../fixtures/opencode2.jsonc")),
];

#[test]
fn an_entry_is_added_and_everything_else_stays() {
    for (index, (client, path, before)) in FIXTURES.iter().enumerate() {
        let home = Home::new().with_file(path, before);
        let report = home.install(client, Outcome::Added);
        assert_eq!(report.path, home.at(path));
        let after = home.read(path);
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("{client}_{index}"), after);
        });
        // Except for a comma after the last entry, every line is unchanged.
        let mut lines = after.lines();
        for line in before.lines() {
            let is_it = |after: &str| after == line || after == format!("{line},");
            assert!(lines.any(is_it), "{client} has lost {line:?}:\n{after}");
        }
        assert_eq!(before.matches('\r').count() > 0, after.contains('\r'), "{client}");
        assert_eq!(before.ends_with('\n'), after.ends_with('\n'), "{client}");
    }
}

#[test]
fn removing_restores_every_byte_and_leaves_nothing() {
    for (client, path, before) in FIXTURES {
        let home = Home::new().with_file(path, before);
        let everything = home.everything();
        home.install(client, Outcome::Added);
        assert_ne!(home.everything(), everything);
        home.remove(client, Outcome::Restored);
        assert_eq!(home.everything(), everything, "{client}");
        home.remove(client, Outcome::Nothing);
        assert_eq!(home.everything(), everything, "{client}");
    }
}

#[test]
fn nothing_of_another_server_is_shown() {
    for (client, path, before) in FIXTURES {
        // In one line, the keys of other servers are beside our entry.
        let has_comments = !["claude", "cursor"].contains(client);
        let line_end = if has_comments { "\n" } else { " " };
        let one_line = before.lines().collect::<Vec<&str>>().join(line_end);
        for before in [*before, &one_line] {
            let home = Home::new().with_file(path, before);
            for report in
                [home.install(client, Outcome::Added), home.remove(client, Outcome::Restored)]
            {
                assert!(before.contains("SECRET") || *client == "vscode", "{client}");
                assert!(report.diff.contains("/usr/local/bin/pi-subagents"), "{}", report.diff);
                for word in ["SECRET", "npx", "uvx", "https", "someone", "figma"] {
                    assert!(!report.diff.contains(word), "{client} shows {word}: {}", report.diff);
                }
            }
        }
    }
}

#[test]
fn what_the_user_has_put_into_our_entry_is_not_shown_either() {
    for (client, path, what, secret) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "\"args\": [\"mcp\"]",
            ",\n      \"env\": { \"KEY\": \"SECRET\" }",
        ),
        ("codex", ".codex/config.toml", "tool_timeout_sec = 21600", "\nenv = { KEY = \"SECRET\" }"),
        (
            "codex",
            ".codex/config.toml",
            "tool_timeout_sec = 21600",
            "\n\n[mcp_servers.pi-subagents.env]\nKEY = \"SECRET\"",
        ),
    ] {
        for before in ["", "# more\n"] {
            let home = Home::new();
            if !before.is_empty() && client == "codex" {
                home.write(path, before);
            }
            home.setup(client).install().unwrap();
            let text = home.read(path);
            home.write(path, text.replace(what, &format!("{what}{secret}")));
            assert!(home.read(path).contains("SECRET"));
            let report = home.setup(client).remove().unwrap();
            assert!(report.diff.contains("KEY") || report.diff.contains("env"), "{}", report.diff);
            assert!(
                report.diff.contains('…') && !report.diff.contains("SECRET"),
                "{}",
                report.diff
            );
        }
    }
}

#[test]
fn no_value_of_another_entry_is_shown_wherever_it_stands() {
    let toml = "[mcp_servers.pi-subagents]\ncommand = \"/old/pi-subagents\"\nargs = [\"mcp\"]\nenv_vars = []\n";
    for (client, path, text) in [
        (
            "claude",
            ".claude.json",
            r#"{"mcpServers": {"pi-subagents": {"command": "/old/pi-subagents", "args": ["mcp", "SECRET"]}}}"#
                .to_owned(),
        ),
        (
            "codex",
            ".codex/config.toml",
            format!(
                "{toml}[[mcp_servers.pi-subagents.more]]\nkey = \"SECRET\"\n\
                 [mcp_servers.pi-subagents.env]\nKEY = \"SECRET\"\n"
            ),
        ),
        (
            "codex",
            ".codex/config.toml",
            format!(
                "{toml}[mcp_servers.other.env]\nKEY = \"SECRET\"\n\
                 [mcp_servers.pi-subagents.env]\nKEY = \"SECRET\"\n"
            ),
        ),
    ] {
        let home = Home::new().with_file(path, &text);
        let report = home.install(client, Outcome::Updated);
        assert!(!report.diff.contains("SECRET"), "{}", report.diff);
        assert_eq!(home.read(path), text.replace("/old/pi-subagents", home.program));
        // If tables of other servers are between ours, the change is refused.
        if let Ok(report) = home.setup(client).remove() {
            assert!(!report.diff.contains("SECRET"), "{}", report.diff);
        }
    }
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let cursor = include_str!("../fixtures/cursor.json");
    let mut home = Home::new().with_file(".cursor/mcp.json", cursor);
    let mut shown = Vec::new();
    let mut show = |report: Report, home: &Home| {
        shown.push(report.diff.replace(home.at("").to_str().unwrap(), "~/"));
    };
    show(home.install("cursor", Outcome::Added), &home);
    home.program = "/opt/pi-subagents";
    show(home.install("cursor", Outcome::Updated), &home);
    show(home.remove("cursor", Outcome::Restored), &home);
    home.scope = Scope::Project;
    home.is_found_by_name = true;
    show(home.install("codex", Outcome::Created), &home);
    show(home.remove("codex", Outcome::Deleted), &home);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("diffs", shown.join("\n\n"));
    });
}
