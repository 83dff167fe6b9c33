//! How files are written: in one step, through links, with their mode and owner.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use pi_subagents_setup::clients::{Outcome, Scope};

use crate::Home;

fn mode(home: &Home, path: &str) -> u32 {
    fs::symlink_metadata(home.at(path)).unwrap().mode() & 0o7777
}

#[test]
fn a_link_stays_and_what_is_behind_it_is_changed() {
    let before = include_str!("../fixtures/gemini.json");
    let home = Home::new().with_file("dotfiles/gemini/settings.json", before);
    fs::create_dir(home.at(".gemini")).unwrap();
    symlink("../dotfiles/link.json", home.at(".gemini/settings.json")).unwrap();
    symlink("gemini/settings.json", home.at("dotfiles/link.json")).unwrap();
    let everything = home.everything();
    home.install("gemini", Outcome::Added);
    assert!(home.at(".gemini/settings.json").is_symlink());
    assert!(home.read("dotfiles/gemini/settings.json").contains("pi-subagents"));
    assert_eq!(home.read(".gemini/settings.json.pi-subagents-backup"), before);
    home.remove("gemini", Outcome::Restored);
    assert_eq!(home.everything(), everything);

    // The target of a link existed before, whatever it contains.
    let created = home.setup("gemini").snippet();
    home.write("dotfiles/gemini/settings.json", created);
    home.remove("gemini", Outcome::TakenOut);
    assert_eq!(home.read("dotfiles/gemini/settings.json"), "{\n  \"mcpServers\": {}\n}\n");
}

#[test]
fn a_link_to_the_directory_stays_too() {
    let home = Home::new().with_file("dotfiles/cursor/mcp.json", "{}");
    symlink("dotfiles/cursor", home.at(".cursor")).unwrap();
    let everything = home.everything();
    home.install("cursor", Outcome::Added);
    assert!(home.at(".cursor").is_symlink());
    home.remove("cursor", Outcome::Restored);
    assert_eq!(home.everything(), everything);
}

#[test]
fn the_mode_stays_and_a_new_file_of_the_users_is_private() {
    let mut home = Home::new().with_file(".cursor/mcp.json", "{}");
    for expected in [0o600, 0o644, 0o664, 0o600] {
        let path = home.at(".cursor/mcp.json");
        fs::set_permissions(path, fs::Permissions::from_mode(expected)).unwrap();
        home.install("cursor", Outcome::Added);
        assert_eq!(mode(&home, ".cursor/mcp.json"), expected);
        home.remove("cursor", Outcome::Restored);
        assert_eq!(mode(&home, ".cursor/mcp.json"), expected);
    }
    home.install("claude", Outcome::Created);
    assert_eq!(mode(&home, ".claude.json"), 0o600);
    home.scope = Scope::Project;
    home.install("claude", Outcome::Created);
    fs::write(home.at("project/usual"), "").unwrap();
    let usual = mode(&home, "project/usual");
    assert_eq!(mode(&home, "project/.mcp.json"), usual, "as the umask has it");
}

#[test]
fn the_owner_stays() {
    let home = Home::new().with_file(".cursor/mcp.json", "{}");
    // Only the administrator can replace files of other users.
    if chown(home.at(".cursor/mcp.json"), Some(1234), Some(4321)).is_err() {
        return;
    }
    let owner = |path: &str| {
        let metadata = fs::metadata(home.at(path)).unwrap();
        (metadata.uid(), metadata.gid())
    };
    home.install("cursor", Outcome::Added);
    assert_eq!(owner(".cursor/mcp.json"), (1234, 4321));
    assert_eq!(owner(".cursor/mcp.json.pi-subagents-backup"), (1234, 4321));
    home.remove("cursor", Outcome::Restored);
    assert_eq!(owner(".cursor/mcp.json"), (1234, 4321));
}

#[test]
fn nothing_is_left_where_nothing_can_be_written() {
    let home = Home::new().with_file(".cursor/mcp.json", "{}");
    let directory = home.at(".cursor");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).unwrap();
    // The administrator can write there, too.
    let is_almighty = fs::write(directory.join("probe"), "").is_ok();
    if !is_almighty {
        let error = home.setup("cursor").install().unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
}
