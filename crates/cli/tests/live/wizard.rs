//! `profile create` and `profile edit`, step by step.

use test_support::write_program;

use super::terminal::Terminal;
use super::*;

/// An editor that replaces the file with a text.
fn editor(world: &World, text: &str) -> String {
    let path = world.path("editor");
    write_program(&path, &format!("#!/bin/sh\nprintf '%s' '{text}' > \"$1\"\n"));
    path.to_str().unwrap().to_owned()
}

fn wizard(world: &World, arguments: &[&str], editor: &str) -> Terminal {
    asking(world, &[&["profile"], arguments].concat(), editor)
}

fn asking(world: &World, arguments: &[&str], editor: &str) -> Terminal {
    let mut command = on_terminal(world.command(arguments));
    command.env("EDITOR", editor);
    Terminal::start(&command, 110, 40)
}

/// Waits for each question and presses what answers it.
fn answer(terminal: &mut Terminal, answers: &[(&str, &str)]) {
    for (question, keys) in answers {
        terminal.wait_for(question);
        terminal.press(keys);
    }
}

#[test]
fn a_profile_is_made_in_eleven_steps_and_changed_with_what_is_there() {
    let world = world();
    let editor = editor(&world, "You review code.");
    let mut terminal = wizard(&world, &["create", "reviewer"], &editor);
    answer(
        &mut terminal,
        &[
            ("Save to which scope?", "\r"),
            ("Provider (e.g. anthropic, openai, dashscope):", "anthropic\r"),
            ("Model (supports provider/id and :thinking shorthand):", "claude-haiku-4-5\r"),
            ("Set a custom system prompt?", "y\r"),
            ("Append text to the default system prompt?", "n\r"),
            ("Set a thinking level?", "y\r"),
            ("Thinking level:", "\u{1b}[B\u{1b}[B\r"),
            ("Restrict which tools the subagent can use?", "y\r"),
            ("Disable all tools?", "n\r"),
            ("Select tool mode:", "\r"),
            ("Tool allowlist", "read, grep\r"),
            ("Limit what the subagent may change?", "y\r"),
            ("Access:", "\u{1b}[B\r"),
            ("Configure extension loading?", "n\r"),
            ("Configure skill loading for the subagent?", "n\r"),
            ("Save this profile?", "y\r"),
            ("Profile \"reviewer\" saved to global agent-profiles.", ""),
        ],
    );
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    let file = world.agent_dir().join("agent-profiles/reviewer.md");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "---\nname: reviewer\nprovider: anthropic\nmodel: claude-haiku-4-5\nthinkingLevel: low\n\
         access: workspace\ntools: read,grep\n---\n\nYou review code.\n"
    );
    // The line contains the present value already, and Enter alone keeps it.
    let mut terminal = wizard(&world, &["edit", "reviewer"], "true");
    answer(
        &mut terminal,
        &[
            ("Save to which scope?", "\r"),
            ("Provider", "\r"),
            ("Model", "\u{7f}\u{7f}\u{7f}\u{7f}-5\r"),
            ("A custom system prompt is set. Keep it?", "y\r"),
            ("Append text to the default system prompt?", "n\r"),
            ("Thinking level is low. Set one?", "n\r"),
            ("Tool config is set. Change it?", "n\r"),
            ("Access is workspace. Change it?", "n\r"),
            ("Configure extension loading?", "n\r"),
            ("Configure skill loading for the subagent?", "n\r"),
            ("Save this profile?", "y\r"),
        ],
    );
    assert_eq!(terminal.finish(), Some(0));
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("provider: anthropic\nmodel: claude-haiku-5\naccess: workspace\ntools"),
        "{text}"
    );
    world.assert_nothing_left();
}

#[test]
fn a_preset_is_made_step_by_step_like_a_profile() {
    let world = world();
    let editor = editor(&world, "You look around.");
    let mut terminal = asking(&world, &["preset", "create", "finder"], &editor);
    answer(
        &mut terminal,
        &[
            ("Save to which scope?", "\r"),
            ("Description (models choose by it):", "Looks around\r"),
            ("Provider", "\r"),
            ("Model", "a/one\r"),
            ("Add instructions to the system prompt?", "y\r"),
            ("Set a thinking level?", "n\r"),
            ("Restrict which tools the subagent can use?", "n\r"),
            ("Limit what the subagent may change?", "n\r"),
            ("Configure extension loading?", "n\r"),
            ("Configure skill loading for the subagent?", "n\r"),
            ("Save this preset?", "y\r"),
            ("Preset \"finder\" saved to global subagents.", ""),
        ],
    );
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    let text = fs::read_to_string(world.agent_dir().join("subagents/finder.md")).unwrap();
    assert_eq!(
        text,
        "---\nname: finder\ndescription: Looks around\nmodel: a/one\n---\n\nYou look around.\n"
    );
}

#[test]
fn init_asks_which_presets_are_wanted() {
    let world = world();
    let directory = world.agent_dir().join("subagents");
    let files = || fs::read_dir(&directory).unwrap().count();
    let before = files();
    let mut terminal = asking(&world, &["init"], "true");
    answer(&mut terminal, &[("Which presets do you want?", "\u{1b}")]);
    assert_eq!(terminal.finish(), Some(2));
    assert_eq!(files(), before);
    let mut terminal = asking(&world, &["init"], "true");
    // The second of them.
    answer(&mut terminal, &[("Which presets do you want?", "\u{1b}[B \r"), ("Try: ", "")]);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_usable();
    assert_eq!(files(), before + 1);
    assert!(directory.join("reviewer.md").exists());
}

#[test]
fn leaving_changes_nothing_and_keeps_a_usable_terminal() {
    let world = world();
    let (choose, escape, ctrl_c) = ("\r", "\u{1b}", "\u{3}");
    for answers in [
        &[("Save to which scope?", escape)][..],
        &[("Save to which scope?", choose), ("Provider", ctrl_c)],
        // Escape skips a question, and Ctrl-C the others.
        &[("Save to which scope?", choose), ("Provider", escape), ("Model", ctrl_c)],
    ] {
        let mut terminal = wizard(&world, &["create", "reviewer"], "true");
        answer(&mut terminal, answers);
        assert_eq!(terminal.finish(), Some(2));
        terminal.assert_usable();
        assert!(terminal.text().contains("nothing was saved"), "{}", terminal.text());
        assert!(!world.agent_dir().join("agent-profiles").exists());
    }
}

#[test]
fn what_a_projects_profile_says_is_shown_without_escape_sequences() {
    let world = world();
    let directory = world.project().join(".pi/agent-profiles");
    fs::create_dir_all(&directory).unwrap();
    let text = "---\nname: evil\nprovider: \"a\\e[31m\\e]0;owned\\ab\"\n---\n";
    fs::write(directory.join("evil.md"), text).unwrap();
    let mut terminal = wizard(&world, &["edit", "evil"], "true");
    answer(
        &mut terminal,
        &[
            ("Save to which scope?", "\r"),
            ("Provider (e.g. anthropic, openai, dashscope): ab", "\u{3}"),
        ],
    );
    assert_eq!(terminal.finish(), Some(2));
    assert!(!terminal.bytes().contains("owned"), "{:?}", terminal.bytes());
}
