//! Repeating and undoing a change, and what other programs do in between.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use pi_subagents_setup::clients::{CLIENTS, Outcome, Scope};

use crate::{Home, PROGRAM};

const CURSOR: &str = ".cursor/mcp.json";
const BACKUP: &str = ".cursor/mcp.json.pi-subagents-backup";

#[test]
fn the_second_time_nothing_is_written() {
    for client in CLIENTS {
        let home = Home::new();
        let path = home.install(client.name, Outcome::Created).path;
        let before = (home.everything(), fs::metadata(&path).unwrap().ino());
        let report = home.install(client.name, Outcome::Unchanged);
        assert_eq!((report.diff.as_str(), report.program.as_deref()), ("", Some(PROGRAM)));
        assert_eq!((home.everything(), fs::metadata(&path).unwrap().ino()), before);
    }
}

#[test]
fn a_file_that_was_not_there_is_gone_again_with_its_directories() {
    for scope in [Scope::User, Scope::Project] {
        for client in CLIENTS {
            let mut home = Home::new();
            home.scope = scope;
            let before = home.everything();
            home.install(client.name, Outcome::Created);
            // The program was moved in between.
            home.program = "/opt/pi-subagents";
            home.install(client.name, Outcome::Updated);
            home.remove(client.name, Outcome::Deleted);
            assert_eq!(home.everything(), before, "{}", client.name);
            home.remove(client.name, Outcome::Nothing);
        }
    }
}

#[test]
fn a_directory_with_something_else_in_it_stays() {
    let home = Home::new();
    home.install("vscode", Outcome::Created);
    home.write(".config/Code/settings.json", "{}");
    home.remove("vscode", Outcome::Deleted);
    assert!(home.at(".config/Code").is_dir() && !home.at(".config/Code/User").exists());
}

#[test]
fn a_dry_run_tells_the_same_and_writes_nothing() {
    for before in [None, Some(include_str!("../fixtures/cursor.json"))] {
        let mut home = Home::new();
        if let Some(before) = before {
            home.write(CURSOR, before);
        }
        let outcome = if before.is_some() { Outcome::Added } else { Outcome::Created };
        let untouched = home.everything();
        home.is_dry_run = true;
        let planned = home.install("cursor", outcome);
        assert_eq!(home.everything(), untouched);
        home.is_dry_run = false;
        assert_eq!(home.install("cursor", outcome), planned);
        let installed = home.everything();
        let outcome = if before.is_some() { Outcome::Restored } else { Outcome::Deleted };
        home.is_dry_run = true;
        let planned = home.remove("cursor", outcome);
        assert_eq!(home.everything(), installed);
        home.is_dry_run = false;
        assert_eq!(home.remove("cursor", outcome), planned);
        assert_eq!(home.everything(), untouched);
    }
}

#[test]
fn the_backup_is_the_last_text_without_our_entry() {
    let before = include_str!("../fixtures/cursor.json");
    let mut home = Home::new().with_file(CURSOR, before);
    fs::set_permissions(home.at(CURSOR), fs::Permissions::from_mode(0o640)).unwrap();
    let report = home.install("cursor", Outcome::Added);
    assert_eq!(report.backup, Some(home.at(BACKUP)));
    assert_eq!(home.read(BACKUP), before);
    for path in [CURSOR, BACKUP] {
        assert_eq!(fs::metadata(home.at(path)).unwrap().mode() & 0o7777, 0o640, "{path}");
    }
    home.program = "/opt/pi-subagents";
    home.install("cursor", Outcome::Updated);
    assert_eq!(home.read(BACKUP), before);
    // The user has replaced the entry by another one.
    home.write(CURSOR, "{\"mcpServers\": {}}");
    home.install("cursor", Outcome::Added);
    assert_eq!(home.read(BACKUP), "{\"mcpServers\": {}}");
    // Or has removed the entry, and left our backup.
    let with_entry = home.read(CURSOR);
    home.write(CURSOR, "{}");
    assert_eq!(home.remove("cursor", Outcome::Nothing).backup, Some(home.at(BACKUP)));
    home.write(CURSOR, with_entry);
    // An entry that was put in by hand is no reason to have no backup.
    fs::remove_file(home.at(BACKUP)).unwrap();
    let by_hand = home.read(CURSOR);
    home.program = PROGRAM;
    home.install("cursor", Outcome::Updated);
    assert_eq!(home.read(BACKUP), by_hand);
    // And a backup with our entry in it is never what is restored.
    home.remove("cursor", Outcome::TakenOut);
    assert!(!home.read(CURSOR).contains("pi-subagents") && !home.at(BACKUP).exists());
}

#[test]
fn what_was_changed_since_stays() {
    for (client, path, before, from, to) in [
        (
            "cursor",
            CURSOR,
            include_str!("../fixtures/cursor.json"),
            "mcp.linear.app",
            "linear.example.org",
        ),
        (
            "codex",
            ".codex/config.toml",
            include_str!("../fixtures/codex.toml"),
            "\"high\"",
            "\"low\"",
        ),
        ("gemini", ".gemini/settings.json", "{\n  \"ui\": 1\n}\n", "\"ui\": 1", "\"ui\": 2"),
        ("codex", ".codex/config.toml", "model = 'a'", "'a'", "'b'"),
    ] {
        let home = Home::new().with_file(path, before);
        home.install(client, Outcome::Added);
        home.write(path, home.read(path).replace(from, to));
        home.remove(client, Outcome::TakenOut);
        assert_eq!(home.read(path), before.replace(from, to));
        assert_eq!(home.everything().keys().filter(|name| name.contains("backup")).count(), 0);
    }
}

#[test]
fn fields_that_the_user_has_added_to_our_entry_stay_when_it_is_updated() {
    let mut home = Home::new();
    home.install("gemini", Outcome::Created);
    let path = ".gemini/settings.json";
    let text = home.read(path).replace("21600000", "60000, \"trust\": true // mine");
    home.write(path, &text);
    home.install("gemini", Outcome::Unchanged);
    home.program = "/opt/with \"quotes\"/pi-subagents";
    home.install("gemini", Outcome::Updated);
    assert_eq!(home.read(path), text.replace(PROGRAM, "/opt/with \\\"quotes\\\"/pi-subagents"));
    home.remove("gemini", Outcome::TakenOut);
    assert_eq!(home.read(path), "{\n  \"mcpServers\": {}\n}\n");
}

#[test]
fn an_entry_without_the_names_of_keys_gets_them_and_another_list_stays() {
    let path = ".codex/config.toml";
    let names = |home: &Home| home.read(path).lines().nth(3).unwrap().to_owned();
    for end in ["\n", "\r\n"] {
        let home = Home::new();
        home.install("codex", Outcome::Created);
        let ours = home.read(path).replace('\n', end);
        let expected = names(&home);
        assert!(
            expected.starts_with("env_vars = [\"AI_GATEWAY_API_KEY\", \"ANTHROPIC_API_KEY\", ")
        );
        assert!(expected.contains("\"PI_SUBAGENTS_CHILD\""), "{expected}");
        let earlier = ours.replace(&format!("{expected}{end}"), "");
        home.write(path, &earlier);
        home.install("codex", Outcome::Updated);
        assert_eq!(home.read(path), ours);
        home.install("codex", Outcome::Unchanged);
    }
    for own in [
        format!(
            "[mcp_servers.pi-subagents]\ncommand = {PROGRAM:?}\nargs = [\"mcp\"]\nenv_vars = [\"MINE\"]\n"
        ),
        // This cannot be added to without changing the line, which is the user's.
        format!("[mcp_servers]\npi-subagents = {{ command = {PROGRAM:?}, args = [\"mcp\"] }}\n"),
    ] {
        let home = Home::new().with_file(path, &own);
        home.install("codex", Outcome::Unchanged);
        assert_eq!(home.read(path), own);
    }
}

#[test]
fn a_project_gets_a_name_without_a_path() {
    let mut home = Home::new();
    home.scope = Scope::Project;
    let report = home.install("claude", Outcome::Created);
    assert_eq!(report.program.as_deref(), Some(PROGRAM));
    home.is_found_by_name = true;
    let report = home.install("claude", Outcome::Updated);
    assert_eq!(report.program.as_deref(), Some("pi-subagents"));
    assert!(home.read("project/.mcp.json").contains("\"command\": \"pi-subagents\""));
    // A user without the program on `PATH` does not change the entry of the others.
    home.is_found_by_name = false;
    let report = home.install("claude", Outcome::Unchanged);
    assert_eq!(report.program.as_deref(), Some("pi-subagents"));
    // In a file of the user, a path is better: the client may be started with another `PATH`.
    home.scope = Scope::User;
    home.is_found_by_name = true;
    let report = home.install("claude", Outcome::Created);
    assert_eq!(report.program.as_deref(), Some(PROGRAM));
}

#[test]
fn the_copy_survives_several_who_set_up_at_once() {
    let before = "{ \"mcpServers\": {\"git\": {\"command\": \"x\"}}}";
    for _ in 0..20 {
        let home = Home::new().with_file(".cursor/mcp.json", before);
        // A later program is told so, or finds everything up to date.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| home.setup("cursor").install().is_ok());
            }
        });
        home.remove("cursor", Outcome::Restored);
        assert_eq!(home.read(".cursor/mcp.json"), before);
    }
}
