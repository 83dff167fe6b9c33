use std::fs;

use super::*;

fn load(user: &str, project: &str) -> (Settings, Vec<String>) {
    in_world(user, project, load_settings)
}

fn in_world<T>(user: &str, project: &str, look: fn(&Surroundings) -> T) -> T {
    let top = tempfile::tempdir().unwrap();
    let cwd = top.path().join("project");
    let agent_dir = top.path().join("agent");
    fs::create_dir_all(cwd.join(".pi")).unwrap();
    fs::create_dir_all(&agent_dir).unwrap();
    for (path, text) in
        [(agent_dir.join("settings.json"), user), (cwd.join(".pi/settings.json"), project)]
    {
        if !text.is_empty() {
            fs::write(path, text).unwrap();
        }
    }
    look(&Surroundings::new(cwd, agent_dir))
}

#[test]
fn without_files_there_are_defaults_and_no_warnings() {
    assert_eq!(load("", ""), (Settings::default(), Vec::new()));
    assert_eq!(load("{}", r#"{"theme": "dark"}"#), (Settings::default(), Vec::new()));
}

#[test]
fn the_project_wins_and_numbers_are_clamped() {
    let user = r#"{"subagents": {"extend_timeout_debounce": 7, "looping_tool_count": 99,
        "maxLinesPerWindow": 20, "commandPreviewWidth": 5, "maxConcurrency": 0}}"#;
    let project = r#"{"subagents": {"extend_timeout_debounce": -1}}"#;
    let (settings, warnings) = load(user, project);
    assert_eq!((settings.max_lines_per_window, settings.max_concurrency), (20, 1));
    assert_eq!(settings.command_preview_width, Some(20));
    assert_eq!(settings.extend_timeout_debounce, 0.0);
    assert_eq!(settings.looping_tool_count, 50);
    assert!(warnings.is_empty());
}

#[test]
fn every_setting_is_read_and_everything_else_is_told_apart() {
    for name in SETTINGS {
        let (_, warnings) = load(&format!(r#"{{"subagents": {{"{name}": [7]}}}}"#), "");
        assert!(warnings.len() == 1 && warnings[0].contains(name), "{name}: {warnings:?}");
    }
    let user = r#"{"theme": "dark", "subagents": {"maxConcurency": 2, "tools": "all"}}"#;
    let files = in_world(user, "", inspect_settings);
    let told: Vec<(bool, &[String])> =
        files.iter().map(|file| (file.is_there, file.unknown.as_slice())).collect();
    assert_eq!(told, [(true, ["maxConcurency".to_owned()].as_slice()), (false, &[])]);
    let (_, warnings) = load(r#"{"subagents": {"dailyCostUSD": 1, "colour": 2}}"#, "");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let said = "there is no setting \"subagents.dailyCostUSD\". Did you mean dailyCostUsd?";
    assert!(warnings[0].ends_with(said), "{warnings:?}");
}

#[test]
fn either_family_of_tools_can_be_left_out() {
    let tools = |word: &str| format!(r#"{{"subagents": {{"tools": "{word}"}}}}"#);
    for (word, families) in ToolFamilies::WORDS {
        let (settings, warnings) = load(&tools("presets"), &tools(word));
        assert_eq!((settings.tools, warnings), (families, Vec::new()));
    }
}

#[test]
fn a_project_cannot_choose_the_program() {
    let array = r#"{"subagents": {"agent": ["evil"]}}"#;
    let (settings, warnings) = load("", array);
    assert_eq!(settings.agent, None);
    assert!(warnings[0].contains("a project may set"), "{warnings:?}");
    assert_eq!(load(array, "").0.agent, Some(Agent::Program(vec!["evil".to_owned()])));
    let word = r#"{"subagents": {"agent": "pi"}}"#;
    assert_eq!(load(array, word).0.agent, Some(Agent::Pi));
}

#[test]
fn a_limit_that_is_not_understood_is_not_taken_for_none() {
    for (user, project, is_blocked) in [
        (r#"{"subagents": {"access": "read",}}"#, "", true),
        (r#"{"subagents": {"maxConcurrency": 2,}}"#, "", false),
        (r#"{"subagents": "read"}"#, "", true),
        (r#"{"subagents": {"acess": "read"}}"#, "", true),
        ("", r#"{"subagents": {"acess": "read"}}"#, true),
        ("", r#"{"subagents": {"access": "read",}}"#, false),
        (r#"{"subagents": {"colour": "red"}}"#, "", false),
    ] {
        let (settings, warnings) = load(user, project);
        let message = format!("{user}{project}: {warnings:?}");
        assert_eq!(settings.unknown_access.is_some(), is_blocked, "{message}");
        assert!(!is_blocked || warnings.len() == 1, "{message}");
        let files = in_world(user, project, inspect_settings);
        assert_eq!(files.iter().any(|file| file.blocks_tasks), is_blocked, "{message}");
    }
}

#[test]
fn a_project_does_not_decide_about_the_money_of_the_day() {
    let settings = r#"{"subagents": {"dailyCostUsd": 2.5}}"#;
    assert_eq!(load(settings, "").0.daily_cost_usd, Some(2.5));
    let (loaded, warnings) = load("", settings);
    assert_eq!(loaded.daily_cost_usd, None);
    assert!(warnings[0].contains("a project cannot set"), "{warnings:?}");
}

#[test]
fn a_project_can_lower_access_and_raise_nothing() {
    let with = |settings: &str| format!(r#"{{"subagents": {{{settings}}}}}"#);
    for (user, project, expected) in [
        ("workspace", "read", Access::Read),
        ("read", "full", Access::Read),
        ("full", "workspace", Access::Workspace),
    ] {
        let access = |word: &str| with(&format!(r#""access": "{word}""#));
        let (settings, warnings) = load(&access(user), &access(project));
        assert_eq!((settings.access, warnings), (Some(expected), Vec::new()));
    }
    let (settings, warnings) = load("", &with(r#""access": "full""#));
    assert_eq!((settings.access, warnings), (None, Vec::new()), "some agents get less than that");
    let paths = with(r#""writablePaths": ["~/.cache", "/opt/x"]"#);
    let (settings, warnings) = load("", &paths);
    assert_eq!(settings.writable_paths, None);
    assert!(warnings[0].contains("a project cannot set"), "{warnings:?}");
    let (settings, _) = load(&paths, "");
    assert_eq!(settings.writable_paths.unwrap(), ["~/.cache", "/opt/x"]);
}

#[test]
fn a_project_cannot_name_the_server_of_the_fleet() {
    let fleet = r#"{"subagents": {"fleet": {"url": "nats://127.0.0.1", "ca": "/ca.pem"}}}"#;
    let (settings, warnings) = load("", fleet);
    assert_eq!(settings.fleet, FleetSettings::default());
    assert!(warnings[0].contains("a project cannot set"), "{warnings:?}");
    let (settings, warnings) = load(fleet, "");
    assert_eq!(settings.fleet.url.as_deref(), Some("nats://127.0.0.1"));
    assert_eq!((settings.fleet.ca, warnings), (Some("/ca.pem".into()), Vec::new()));
}

#[test]
fn a_limit_that_is_not_understood_is_kept_as_a_reason_to_refuse() {
    for value in [r#""raed""#, "5", "null"] {
        let (settings, warnings) = load(&format!(r#"{{"subagents": {{"access": {value}}}}}"#), "");
        assert_eq!(settings.unknown_access.as_ref(), warnings.first(), "{value}");
        assert!(warnings[0].contains("\"subagents.access\" must be \"read\""), "{warnings:?}");
    }
}

#[test]
fn what_is_wrong_is_a_warning_that_names_file_and_field() {
    for (text, expected) in [
        ("{", "it is not JSON"),
        (r#"{"subagents": []}"#, "\"subagents\" must be an object"),
        (r#"{"subagents": {"agent": "cluade"}}"#, "Did you mean claude?"),
        (r#"{"subagents": {"looping_tool_count": "5"}}"#, "\"subagents.looping_tool_count\""),
        (r#"{"subagents": {"tools": "none"}}"#, "\"subagents.tools\" must be"),
        (r#"{"subagents": {"tools": ["presets"]}}"#, "\"subagents.tools\" must be"),
    ] {
        let (settings, warnings) = load("", text);
        assert_eq!(settings, Settings::default());
        assert!(
            warnings.len() == 1
                && warnings[0].contains("settings.json")
                && warnings[0].contains(expected),
            "{text}: {warnings:?}"
        );
    }
}
