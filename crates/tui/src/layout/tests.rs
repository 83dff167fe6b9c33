use session::Conversation;

use super::*;
use crate::Keys;
use crate::controls::Ownership;
use crate::testing::{TestTask, changing, done, failed, queued, running, views};

fn shown(tasks: &[TestTask], columns: usize, rows: usize, keys: &str) -> Vec<String> {
    let views = views(tasks);
    let mut conversation = Conversation::with_prompt("Do it.", 1);
    let said: Vec<_> = (1..=40).map(|number| format!("line {number}  ")).collect();
    conversation
        .apply(&crate::testing::said(&said.join("\n")), &session::PreviewContext::default());
    let scene =
        Scene { tasks: &views, elapsed_ms: 12_000, has_keys: true, opened: Some(&conversation) };
    let mut controls = Controls::new(Ownership::Owner);
    let size = Size { columns, rows };
    for key in Keys::default().read(keys.as_bytes()) {
        controls.press(key, &views);
        layout(&scene, size, &mut controls);
    }
    let lines = layout(&scene, size, &mut controls);
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}

#[test]
fn there_is_room_for_everything() {
    let tasks = [
        running("one", &["I look.", "I see."]),
        queued("two"),
        done("three"),
        failed("four", "No."),
    ];
    assert_eq!(
        shown(&tasks, 100, 24, ""),
        [
            " 2/4 ━━━━━━━───────  1 running · 1 queued · 1 done · 1 failed                            0:12",
            " ⠋ one    pi  haiku-4-5  waiting                                3s                       0:12/10:00",
            " ┃ I look.",
            " ┃ I see.",
            "",
            " ○ two    pi  haiku-4-5  queued",
            " ✓ three  pi  haiku-4-5                                                                  0:12",
            " ✗ four   pi  haiku-4-5  No.                                                             0:12",
            " ↑↓ select   ⏎ open   s stop   m tell   S stop all   ? keys",
        ]
    );
}

#[test]
fn what_a_task_changed_in_its_worktree_is_said_while_others_run() {
    let tasks = [changing("fix", 3), changing("look", 0), running("one", &["I look."])];
    let lines = shown(&tasks, 100, 24, "");
    let line = |name: &str| lines.iter().find(|line| line.contains(&format!("✓ {name} "))).unwrap();
    assert!(line("fix").contains("3 files +40 −2"), "{lines:#?}");
    assert!(line("look").contains("no changes"), "{lines:#?}");
    assert_eq!(lines.join("\n").matches("+40").count(), 1, "{lines:#?}");
}

#[test]
fn one_task_needs_no_overview() {
    let lines = shown(&[running("one", &["I look."])], 80, 24, "");
    assert!(lines[0].starts_with(" ⠋ one  pi  haiku-4-5  waiting "), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), " ⏎ open   s stop   m tell   ? keys");
}

#[test]
fn windows_come_before_those_that_are_only_counted() {
    let mut tasks: Vec<TestTask> = (0..60).map(|number| done(&format!("d{number}"))).collect();
    tasks.extend((0..4).map(|number| running(&format!("r{number}"), &["a", "b", "c", "d"])));
    tasks.extend((0..36).map(|number| queued(&format!("q{number}"))));
    let lines = shown(&tasks, 40, 10, "");
    assert_eq!(lines[0], " 60/100   4 running · 36 queued    0:12");
    assert!(lines[1].starts_with(" ⠋ r0 ") && lines[4].starts_with(" ⠏ r3 "), "{lines:#?}");
    assert!(lines[5].starts_with(" ○ q0") && lines[6].starts_with(" ○ q1"), "{lines:#?}");
    assert_eq!(
        lines[7..],
        ["   … 94 more: 60 done, 34 queued", " ↑↓ select   ⏎ open   s stop   ? keys"]
    );
    let lines = shown(&tasks, 80, 24, "");
    assert!(lines[1].starts_with(" ⠋ r0 "), "{lines:#?}");
    assert_eq!(lines[2..6], [" ┃ b", " ┃ c", " ┃ d", ""]);
    assert_eq!(lines[21], "   … 96 more: 60 done, 36 queued");
    // The selected one is seen, whatever it is.
    let lines = shown(&tasks, 40, 10, "\x1b[A");
    assert!(lines[6].starts_with("❯○ q35"), "{lines:#?}");
    assert_eq!(lines[7], "   … 94 more: 60 done, 34 queued");
}

#[test]
fn failures_are_counted_on_every_screen() {
    let mut tasks: Vec<TestTask> = (0..60).map(|number| done(&format!("d{number}"))).collect();
    tasks.extend((0..4).map(|number| running(&format!("r{number}"), &["a"])));
    tasks.extend((0..36).map(|number| queued(&format!("q{number}"))));
    tasks.push(failed("f", "No."));
    for (columns, expected) in [
        (80, " 61/101 ━━━━━━━━──────  4 running · 36 queued · 60 done · 1 failed   0:12"),
        (50, " 61/101   4 running · 36 queued · 1 failed   0:12"),
        (40, " 61/101   4 running · 1 failed     0:12"),
    ] {
        assert_eq!(shown(&tasks, columns, 10, "")[0], expected);
    }
}

#[test]
fn windows_become_two_lines_and_then_one() {
    let tasks: Vec<TestTask> =
        (0..8).map(|number| running(&format!("r{number}"), &["a", "b"])).collect();
    let bars = |rows: usize| {
        let lines = shown(&tasks, 80, rows, "");
        lines.iter().filter(|line| line.starts_with(" ┃")).count()
    };
    assert_eq!((bars(36), bars(20), bars(12)), (16, 8, 0));
    let lines = shown(&tasks, 80, 8, "");
    assert_eq!(lines[5], "   … 4 more: 4 running");
    // Rows that are left over are not blank rows between some of them.
    let lines = shown(&tasks, 80, 22, "");
    assert_eq!((lines.len(), lines.iter().any(String::is_empty)), (18, false), "{lines:#?}");
}

#[test]
fn a_window_shows_the_last_lines() {
    let said: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let lines = shown(&[running("one", &said)], 40, 8, "");
    assert_eq!(lines[1..6], [" ┃ line 36", " ┃ line 37", " ┃ line 38", " ┃ line 39", ""]);
    let lines = shown(&[running("one", &said)], 40, 60, "");
    assert_eq!(lines.len(), 18, "the task, fifteen lines, a blank one and the keys");
}

#[test]
fn words_are_broken_between_words_and_a_tool_is_named_once() {
    let said = running("one", &["The token is compared with two equal signs."]);
    assert_eq!(
        shown(&[said], 30, 10, "")[1..3],
        [" ┃ The token is compared with", " ┃ two equal signs."]
    );
    let tools = crate::testing::working("one");
    let lines = shown(&[tools], 80, 12, "");
    assert_eq!(
        lines[1..6],
        [
            " ┃ bash   cargo test -p auth             test result: ok. 41 passed",
            " ┃ edit   src/errors.rs                  +2 −1",
            " ┃ read   missing.rs                     ✗ No such file",
            "",
            " ⏎ open   s stop   m tell   ? keys",
        ]
    );
    assert!(lines[0].contains("  bash  sleep 9 "), "{lines:#?}");
}

#[test]
fn what_a_task_does_now_is_told_below_its_line_only_if_it_is_cut_there() {
    let task = [crate::testing::calling("one", "cargo test --workspace --all-features")];
    let whole = shown(&task, 120, 12, "");
    assert!(whole[0].contains("  bash  cargo test --workspace --all-features "), "{whole:#?}");
    assert_eq!(whole[1..3], [" ┃ I test.", ""]);
    let cut = shown(&task, 60, 12, "");
    assert!(cut[0].contains("  bash  cargo test"), "{cut:#?}");
    assert_eq!(cut[1..4], [" ┃ I test.", " ┃ bash   cargo test --workspace --all-features", ""]);
}

#[test]
fn what_runs_moves_and_nothing_else() {
    let tasks = [running("one", &["x"]), done("two"), queued("three")];
    let views = views(&tasks);
    let mut controls = Controls::new(Ownership::Owner);
    let mut at = |elapsed_ms| {
        let scene = Scene { tasks: &views, elapsed_ms, has_keys: true, opened: None };
        layout(&scene, Size { columns: 90, rows: 24 }, &mut controls)
    };
    let (before, after) = (at(12_000), at(12_100));
    let changed: Vec<usize> =
        (0..before.len()).filter(|index| before[*index] != after[*index]).collect();
    assert_eq!(changed, [1]);
    assert_eq!(after[1].text().replace('⠙', "⠋"), before[1].text());
}

#[test]
fn the_selected_one_is_opened_and_closed() {
    let tasks = [done("a"), running("one", &["x"])];
    let lines = shown(&tasks, 60, 9, "\x0f");
    assert!(lines[0].starts_with(" ⠋ one"), "{lines:#?}");
    assert_eq!(lines[1], "   session 0123456789abcdef");
    assert_eq!(lines[5..], ["   line 40", "", " Esc back   ⏎ unfold   m tell   / search   ? keys"]);
    let lines = shown(&tasks, 60, 9, "\x0fg");
    assert_eq!(lines[2..5], ["›❯ Do it.", "", " ● line 1"]);
    assert_eq!(shown(&tasks, 60, 9, "\x0f/li").last().unwrap(), " /li▏");
    assert_eq!(shown(&tasks, 60, 9, "\x0f/nowhere\r").last().unwrap(), " Not found");
    assert_eq!(shown(&tasks, 60, 9, "j\x0f\x1b"), shown(&tasks, 60, 9, "j"));
}

#[test]
fn help_and_questions_have_their_place() {
    let lines = shown(&[queued("a"), queued("b")], 80, 24, "?");
    assert!(
        lines.iter().any(|line| line.starts_with("   Ctrl-C           stop all")),
        "{lines:#?}"
    );
    assert_eq!(shown(&[queued("a"), queued("b")], 80, 3, "s").last().unwrap(), SELECT);
    let views_of = [running("a", &[])];
    let views = views(&views_of);
    let mut controls = Controls::new(Ownership::Watcher);
    controls.press(crate::Key::Character('s'), &views);
    let scene = Scene { tasks: &views, elapsed_ms: 0, has_keys: true, opened: None };
    let lines = layout(&scene, Size { columns: 80, rows: 24 }, &mut controls);
    assert_eq!(lines.last().unwrap().text(), " Stop a? y/n");
}

const SELECT: &str = " Select an agent first: ↑ ↓";

/// Whatever there is and whatever is pressed, nothing is larger than the screen, and nothing is
/// forgotten.
#[test]
fn every_size_holds_every_scene() {
    let wide = "日本語のとても長い行です。".repeat(9);
    let kinds: [fn(usize, &str) -> TestTask; 4] = [
        |number, said| running(&format!("r{number}"), &[said, said, said]),
        |number, _| queued(&format!("q{number}")),
        |number, _| done(&format!("d{number}")),
        |number, said| failed(&format!("f{number}"), said),
    ];
    for count in [0, 1, 2, 4, 16, 100] {
        for mix in [vec![0], vec![1], vec![2, 3], vec![0, 1, 2, 3]] {
            let tasks: Vec<TestTask> =
                (0..count).map(|number| kinds[mix[number % mix.len()]](number, &wide)).collect();
            for (columns, rows) in [(0, 0), (1, 1), (2, 2), (5, 3), (40, 10), (80, 24), (200, 60)] {
                for keys in ["", "j", "k\x0f", "j\x0f\x1b[5~", "?", "s", "j\x0f/line\rn"] {
                    let lines = shown(&tasks, columns, rows, keys);
                    let what = format!("{count} {mix:?} {columns}x{rows} {keys:?} {lines:#?}");
                    assert!(lines.len() < rows.max(1), "{what}");
                    let is_narrow =
                        |line: &String| line_width(&Line::of(Role::Plain, line)) < columns.max(1);
                    assert!(lines.iter().all(is_narrow), "{what}");
                    if keys.len() < 2 && keys != "?" && rows >= 10 {
                        let is_task = |line: &&String| {
                            let mut letters = line.chars().skip(1);
                            letters.next().is_some_and(|mark| {
                                SPINNER.contains(&mark.to_string().as_str()) || "○✓✗".contains(mark)
                            })
                        };
                        let seen = lines.iter().filter(is_task);
                        let counted = lines.iter().find_map(|line| {
                            let words = line.trim_start().strip_prefix("… ")?;
                            words.split(' ').next()?.parse::<usize>().ok()
                        });
                        assert_eq!(seen.count() + counted.unwrap_or(0), count, "{what}");
                    }
                }
            }
        }
    }
}
