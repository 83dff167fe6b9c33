//! Which file is the client's.

use pi_subagents_setup::clients::{CLIENTS, Client, Outcome, Scope, Setup};

use crate::Home;

#[track_caller]
fn path(home: &Home, client: &str) -> String {
    let path = home.setup(client).path().unwrap();
    path.strip_prefix(home.top.path()).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_client_has_a_file_of_the_users_and_one_of_the_project() {
    let mut home = Home::new();
    let paths = |home: &Home| -> Vec<String> {
        CLIENTS.iter().map(|client| path(home, client.name)).collect()
    };
    assert_eq!(
        paths(&home),
        [
            "home/.claude.json",
            "home/.codex/config.toml",
            "home/.cursor/mcp.json",
            "home/.config/Code/User/mcp.json",
            "home/.gemini/settings.json",
            "home/.config/opencode/opencode.json",
        ]
    );
    home.is_macos = true;
    assert_eq!(path(&home, "vscode"), "home/Library/Application Support/Code/User/mcp.json");
    assert_eq!(path(&home, "opencode"), "home/.config/opencode/opencode.json");
    home.scope = Scope::Project;
    assert_eq!(
        paths(&home),
        [
            "home/project/.mcp.json",
            "home/project/.codex/config.toml",
            "home/project/.cursor/mcp.json",
            "home/project/.vscode/mcp.json",
            "home/project/.gemini/settings.json",
            "home/project/opencode.json",
        ]
    );
}

#[test]
fn the_files_are_told_to_people() {
    let words = |client: &str| Client::named(client).unwrap().files_in_words();
    let codex = "~/.codex/config.toml ($CODEX_HOME), or .codex/config.toml of the project";
    assert_eq!(words("codex"), codex);
    assert_eq!(words("cursor"), "~/.cursor/mcp.json, or .cursor/mcp.json of the project");
    let opencode = "~/.config/opencode/opencode.jsonc or ~/.config/opencode/opencode.json \
                    ($XDG_CONFIG_HOME), or opencode.jsonc or opencode.json of the project";
    assert_eq!(words("opencode"), opencode);
}

#[test]
fn variables_of_the_clients_count_for_the_users_files_only() {
    let mut home = Home::new();
    for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"] {
        home.variables.insert(name, home.top.path().join("elsewhere").into());
    }
    for (client, expected) in [
        ("claude", "elsewhere/.claude.json"),
        ("codex", "elsewhere/config.toml"),
        ("cursor", "home/.cursor/mcp.json"),
        ("vscode", "elsewhere/Code/User/mcp.json"),
        ("gemini", "elsewhere/.gemini/settings.json"),
        ("opencode", "elsewhere/opencode/opencode.json"),
    ] {
        assert_eq!(path(&home, client), expected);
    }
    home.variables.insert("CODEX_HOME", "relative".into());
    assert_eq!(path(&home, "codex"), "home/project/relative/config.toml");
    home.variables.insert("CODEX_HOME", "".into());
    assert_eq!(path(&home, "codex"), "home/.codex/config.toml");
    home.scope = Scope::Project;
    assert_eq!(path(&home, "claude"), "home/project/.mcp.json");
}

#[test]
fn of_the_two_files_of_opencode_the_one_with_the_entry_is_meant() {
    let home = Home::new().with_file(".config/opencode/opencode.json", "{}");
    assert_eq!(path(&home, "opencode"), "home/.config/opencode/opencode.json");
    home.install("opencode", Outcome::Added);
    home.write(".config/opencode/opencode.jsonc", "{}");
    assert_eq!(path(&home, "opencode"), "home/.config/opencode/opencode.json");
    home.install("opencode", Outcome::Unchanged);
    home.remove("opencode", Outcome::Restored);
    assert_eq!(path(&home, "opencode"), "home/.config/opencode/opencode.jsonc");
}

#[test]
fn the_home_directory_is_no_project() {
    let mut home = Home::new();
    home.scope = Scope::Project;
    let directory = home.top.path().join("home");
    for work in [Setup::install, Setup::remove] {
        let mut setup = home.setup("cursor");
        setup.environment.project.clone_from(&directory);
        let expected = format!("{} is the home directory, and no project", directory.display());
        assert_eq!(work(&setup).unwrap_err().to_string(), expected);
    }
}
