//! What a user of pi sees.

use serde_json::{Value, json};
use test_support::wait_until;

use crate::terminal::veiled;
use crate::{Inside, bash, call, calling, delegate, task, task_with, told};

#[test]
fn windows_are_seen_live_expanded_and_at_the_end() {
    let inside = Inside::with_settings(json!({"agent": "builtin", "maxLinesPerWindow": 3}));
    inside.profile("careful", "model: fake/fake-2\nthinkingLevel: low");
    let script = json!([
        {"text": "One.\nTwo.\nThree.\nFour.", "tools": [
            {"name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.02; done"}},
        ]},
        {"text": "I am done."},
    ]);
    let quick = json!([{"text": "Quickly said."}]);
    let tasks = [
        task_with("slow", &script, json!({"profile": "careful", "timeout": 300})),
        task("quick", &quick),
    ];
    let terminal = inside.terminal_calling(&[delegate(&tasks)]);
    let screen = terminal.wait_for(&[
        "delegate_to_subagents 2 sub-agents profiles: [careful]",
        "1/2 ━━━━━━━━━━━━────────────  1 running · 1 done",
        " slow   builtin  fake-2 low  bash  until [ -e go ]; do sleep 0.02; done",
        "┃ Three.",
        "┃ Four.",
        "┃ bash   until [ -e go ]; do sleep 0.02; done",
        "✓ quick  builtin  fake-1      Quickly said.",
        "/5:00",
    ]);
    assert!(!screen.contains("┃ Two."), "{screen}");
    // The clock goes on although nothing is said.
    let clock = || {
        let screen = terminal.screen();
        let before = screen.split("/5:00").next().unwrap_or_default();
        before.rsplit(' ').next().unwrap_or_default().to_owned()
    };
    for _ in 0..2 {
        let shown = clock();
        wait_until(|| clock() != shown);
    }
    terminal.press("C-o");
    terminal.wait_for(&["┃ One.", "┃ Two.", "┃ Four.", "profile careful · session "]);
    terminal.press("C-o");
    inside.project_file("go", "");
    let screen = terminal.wait_for(&[
        "2/2 ━━━━━━━━━━━━━━━━━━━━━━━━  2 done",
        "✓ slow   builtin  fake-2 low  I am done.",
        "✓ quick  builtin  fake-1      Quickly said.",
        "sessions ",
        " · ctrl+o opens",
        "All calls are over.",
    ]);
    assert!(!screen.contains('┃') && !screen.contains("get_subagent_output"), "{screen}");
    terminal.press("C-o");
    terminal.wait_for(&["┃ One.", "┃ bash   until", "I am done."]);
    terminal.quit();
}

#[test]
fn long_answers_are_cut_in_a_row_and_wrapped_when_they_are_opened() {
    let inside = Inside::new();
    // More than two rows of the terminal.
    let words: Vec<String> = (1..=50).map(|number| format!("piece{number}")).collect();
    let said = format!("{}.", words.join(" "));
    let terminal = inside.terminal_calling(&[delegate(&[answering("talk", &said)])]);
    let whole = |screen: &str| {
        let rows = screen.lines().map(str::trim).collect::<Vec<&str>>().join(" ");
        rows.contains(&said)
    };
    let screen = terminal.wait_for(&["✓ talk", " piece1 piece2 ", "…", "All calls are over."]);
    assert!(!whole(&screen), "{screen}");
    terminal.press("C-o");
    wait_until(|| whole(&terminal.screen()));
    let id = inside.entries("pi-subagents")[0]["sessionId"].as_str().unwrap().to_owned();
    terminal.submit_calls(&[call("get_subagent_output", json!({"sessionId": id}))]);
    let header = format!("get_subagent_output {id}");
    // The opened answer above it ends with the same words.
    wait_until(|| {
        let screen = terminal.screen();
        let output = screen.split_once(&header);
        output.is_some_and(|(_, output)| whole(output) && !output.contains('…'))
    });
    terminal.quit();
}

/// A task whose answer cannot be read in its prompt.
fn answering(name: &str, answer: &str) -> Value {
    let mut task = task(name, &json!([{"text": answer}]));
    let prompt = veiled(task["prompt"].as_str().unwrap());
    task["prompt"] = prompt.replace('*', r"\u002a").replace('#', r"\u0023").into();
    task
}

#[test]
fn answers_are_rendered_as_markdown() {
    let inside = Inside::new();
    let answer = "## Findings\n\nOnly **two** things:\n\n1. *first*\n2. `second`\n";
    let terminal = inside.terminal_calling(&[delegate(&[answering("look", answer)])]);
    terminal.wait_for(&["✓ look", "  Findings", "All calls are over."]);
    terminal.press("C-o");
    let screen = terminal.wait_for(&["Only two things:", "1. first", "2. second", "Findings"]);
    assert!(!screen.contains("**") && !screen.contains("##"), "{screen}");
    // The records are gone: what the model was told has the answer, too.
    std::fs::remove_dir_all(inside.world.project().join(".pi")).unwrap();
    terminal.quit();
    let terminal = inside.terminal(&["--continue"]);
    terminal.wait_for(&["✓ look", "  Findings", "All calls are over."]);
    terminal.press("C-o");
    terminal.wait_for(&["Only two things:", "1. first"]);
    terminal.quit();
}

#[test]
fn the_words_of_a_task_with_a_preset_are_seen() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let words = veiled(&told(&json!([{"text": "Here it is."}])));
    let item = || json!({"preset": "scout", "task": words});
    let terminal = inside.terminal_of(
        (100, 60),
        &[call("subagent", item()), call("subagent", json!({"tasks": [item(), item()]}))],
    );
    let screen = terminal.wait_for(&[
        "subagent scout  Do it. <<SCRIPT>>",
        "subagent 2 sub-agents presets: [scout, scout]",
        "#1 scout  Do it. ",
        "#2 scout  Do it. ",
        "2/2 ━",
        "All calls are over.",
    ]);
    assert_eq!(screen.matches("Here it is.").count(), 3, "only the answers: {screen}");
    terminal.quit();
}

#[test]
fn sixteen_tasks_have_a_line_each_on_a_small_screen() {
    let inside = Inside::with_settings(json!({"agent": "builtin", "maxConcurrency": 16}));
    let script = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": "Done."}]);
    let names: Vec<String> = (1..=16).map(|number| format!("survey-{number:02}")).collect();
    let tasks: Vec<Value> = names.iter().map(|name| task(name, &script)).collect();
    let terminal = inside.terminal_of((80, 36), &[delegate(&tasks)]);
    let mut seen: Vec<&str> = names.iter().map(String::as_str).collect();
    seen.extend(["0/16 ─", "16 running"]);
    wait_until(|| terminal.screen().matches("bash  until [ -e").count() == 16);
    let screen = terminal.wait_for(&seen);
    assert!(!screen.contains('┃'), "{screen}");
    inside.project_file("go", "");
    seen.extend(["16/16 ━", "16 done", " … 12 more · ctrl+o opens"]);
    seen.retain(|text| *text != "0/16 ─" && *text != "16 running");
    terminal.wait_for(&seen);
    terminal.quit();
}

/// pi ends with an error if a row is wider than its screen.
#[test]
fn a_narrow_screen_is_enough() {
    let inside = Inside::new();
    let script = json!([
        {"text": "宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽 is wide.", "tools": [
            {"name": "bash", "args": {"command": "until [ -e go ]; do sleep 0.02; done # and so on and on"}},
        ]},
        {"text": "| a | b |\n|---|---|\n| one | two |\n\n宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽"},
    ]);
    let names = ["a-long-name-for-a-small-screen", "b"];
    let terminal =
        inside.terminal_of((40, 50), &[delegate(&names.map(|name| task(name, &script)))]);
    terminal.wait_for(&["0/2", "2 running", "a-long-name-for", "┃ bash   until"]);
    terminal.submit("/agents");
    terminal.wait_for(&["this session", "⏎ look   m message"]);
    terminal.press("Enter");
    terminal.wait_for(&["↑↓ scroll   m message", "┃ bash   until"]);
    terminal.press("Escape");
    terminal.wait_for(&["this session"]);
    terminal.press("Escape");
    terminal.wait_until_gone("this session");
    inside.project_file("go", "");
    terminal.wait_for(&["2/2", "2 done", "sessions ", "All calls are over."]);
    terminal.press("C-o");
    terminal.wait_for(&["│ one"]);
    terminal.quit();
}

#[test]
fn names_have_the_accent_colour_of_the_theme() {
    // Of the pinned pi, and of the newest one.
    for (theme, accents) in
        [("dark", ["138;190;183", "167;152;215"]), ("light", ["90;128;128", "116;89;180"])]
    {
        let inside = Inside::new();
        inside.settings(json!({"subagents": {"agent": "builtin"}, "theme": theme}));
        let failing = json!([{"error": 400, "error_message": "no such luck"}]);
        let tasks = [task("good", &json!([{"text": "Done."}])), task("bad", &failing)];
        let terminal = inside.terminal_calling(&[delegate(&tasks)]);
        terminal.wait_for(&["✓ good", "✗ bad", "no such luck", "All calls are over."]);
        let painted = terminal.painted();
        for name in ["good", "bad"] {
            let row = painted.lines().find(|row| row.contains(name) && row.contains("builtin"));
            let (before, _) = row.unwrap().split_once(name).unwrap();
            let colour = before.rsplit("38;2;").next().unwrap();
            let is_accent = accents.iter().any(|accent| colour.starts_with(accent));
            assert!(is_accent, "{theme}: {before:?}");
        }
        terminal.quit();
    }
}

#[test]
fn a_reason_takes_the_room_of_empty_cells() {
    let inside = Inside::new();
    let done = json!([{"text": "Done."}]);
    let tasks =
        [task("good", &done), task_with("nowhere", &done, json!({"cwd": "/no/such/directory"}))];
    let terminal = inside.terminal_of((130, 40), &[delegate(&tasks)]);
    let reason = "Failed to spawn sub-agent process: the working directory /no/such/directory does not exist";
    terminal.wait_for(&["✗ nowhere", reason, "All calls are over."]);
    terminal.quit();
}

#[test]
fn profiles_are_shown_whole_and_a_status_is_expanded() {
    let inside = Inside::with_settings(json!({"agent": "builtin", "maxLinesPerWindow": 2}));
    inside.scout("model: fake/fake-1");
    let names: Vec<String> = (0..5).map(|number| format!("profile-{number}")).collect();
    for name in &names {
        inside.profile(name, &format!("tools: [{}]", vec!["read"; 40].join(", ")));
    }
    let script = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": "Found it."}]);
    let start = || call("background_agent", json!({"preset": "scout", "task": told(&script)}));
    let terminal = inside.terminal_calling(&[
        call("list_subagent_profiles", json!({})),
        start(),
        start(),
        start(),
        call("background_agent_status", json!({})),
    ]);
    let lines: Vec<String> = names.iter().map(|name| format!("profile: {name},")).collect();
    let mut seen: Vec<&str> = lines.iter().map(String::as_str).collect();
    seen.extend(["All calls are over.", "... (2 more lines)"]);
    let screen = terminal.wait_for(&seen);
    // Each of them has a word that is longer than the terminal is wide.
    let rows = screen.lines().map(str::trim).collect::<String>();
    assert_eq!(rows.matches("read").count(), 5 * 40, "{screen}");
    assert_eq!(screen.matches(" [scout]: ").count(), 1, "{screen}");
    terminal.press("C-o");
    wait_until(|| terminal.screen().matches(" [scout]: ").count() == 3);
    inside.project_file("go", "");
    terminal.wait_until_gone("bg: ");
    terminal.quit();
    inside.world.wait_until_nothing_is_left();
}

#[test]
fn windows_come_back_with_the_session() {
    let inside = Inside::new();
    let script = json!([bash("echo four"), {"text": "There are {{result:0}}"}]);
    inside.stream(&[], &veiled(&calling(&[delegate(&[task("count", &script)])])));
    let terminal = inside.terminal(&["--continue"]);
    terminal.wait_for(&[
        "delegate_to_subagents 1 sub-agent",
        "✓ count  builtin  fake-1  There are four",
        "session ",
    ]);
    terminal.press("C-o");
    terminal.wait_for(&["┃ I run echo.", "┃ bash   echo four", "There are four"]);
    terminal.quit();
}

#[test]
fn sessions_are_there_after_a_reload() {
    let inside = Inside::new();
    let terminal =
        inside.terminal_calling(&[delegate(&[task("count", &json!([{"text": "Four."}]))])]);
    terminal.wait_for(&["All calls are over."]);
    let id = inside.entries("pi-subagents")[0]["sessionId"].as_str().unwrap().to_owned();
    let bridge = inside.of_role("bridge");
    terminal.submit("/reload");
    wait_until(|| {
        let new = inside.of_role("bridge");
        new.len() == 1 && new != bridge
    });
    terminal.wait_for(&["Reloaded keybindings"]);
    std::fs::remove_dir_all(inside.world.project().join(".pi")).unwrap();
    let get = call("get_subagent_output", json!({"sessionId": id}));
    terminal.submit_calls(&[get]);
    terminal.wait_for(&[&format!("get_subagent_output {id}"), "Four."]);
    terminal.quit();
}

#[test]
fn background_runs_are_in_the_footer_and_their_end_is_a_message() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let answer = "# Found\n\nOne.\n\nTwo.\n\nThree.\n\nThe **last** line.";
    let script = json!([bash("until [ -e go ]; do sleep 0.02; done"), {"text": answer}]);
    let start = call("background_agent", json!({"preset": "scout", "task": told(&script)}));
    let terminal = inside.terminal_calling(&[start]);
    terminal.wait_for(&[
        "background_agent scout  Do it. ",
        "All calls are over.",
        "bg: 1 running / 1 total",
    ]);
    inside.project_file("go", "");
    terminal.wait_until_gone("bg: ");
    let screen = terminal.wait_for(&[
        "Background agent scout finished\n",
        "✓ scout · 0:0",
        " · Do it. <<SCRIPT>>",
        "  One.",
        " more lines, ctrl+o)",
    ]);
    assert!(!screen.contains("bg-complete") && !screen.contains("The last line."), "{screen}");
    terminal.press("C-o");
    let screen = terminal.wait_for(&["✓ scout · 0:0", "  One.", "  Three.", "The last line."]);
    assert!(!screen.contains(" more lines, ctrl+o)"), "{screen}");
    terminal.quit();
}

#[test]
fn the_end_of_a_background_run_that_failed_says_why() {
    let inside = Inside::new();
    inside.scout("model: fake/fake-1");
    let failing = json!([{"error": 400, "error_message": "no such luck"}]);
    let start = call("background_agent", json!({"preset": "scout", "task": told(&failing)}));
    let terminal = inside.terminal_calling(&[start]);
    terminal.wait_for(&["Background agent scout failed: ", "✗ scout · 0:0", "no such luck"]);
    terminal.wait_until_gone("bg: ");
    terminal.quit();
}

#[test]
fn an_escape_stops_the_children() {
    let inside = Inside::new();
    let script = json!([bash("touch working; sleep 1000")]);
    let terminal = inside.terminal_calling(&[delegate(&[task("slow", &script)])]);
    wait_until(|| inside.world.project().join("working").exists());
    terminal.wait_for(&["┃ bash   touch working; sleep 1000"]);
    terminal.press("Escape");
    wait_until(|| inside.of_role("supervise").is_empty());
    terminal.wait_for(&["✗ slow  builtin  fake-1  Cancelled before it had finished"]);
    terminal.quit();
}
