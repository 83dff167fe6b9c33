use super::*;
use crate::Keys;
use crate::fit::line_width;
use crate::testing::{TestTask, done, failed, queued, running, views};

fn shown(tasks: &[TestTask], columns: usize, rows: usize, keys: &str) -> Vec<String> {
    let views = views(tasks);
    let scene = Scene { tasks: &views, elapsed_ms: 12_000, has_keys: true };
    let mut controls = Controls::new(Ownership::Owner);
    let size = Size { columns, rows };
    for key in Keys::default().read(keys.as_bytes()) {
        controls.press(key, &views);
        controls.drawn(&layout(&scene, size, &controls));
    }
    layout(&scene, size, &controls).lines.iter().map(Line::text).collect()
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
        shown(&tasks, 80, 24, ""),
        [
            "Sub-agents: 1 running, 1 done, 1 error, 1 queued • ━━━━━╌╌╌╌╌ 2/4 • 12s",
            "⏳ one • 0 tools • 12s/600s",
            "  waiting • 3s",
            "  I look.",
            "  I see.",
            "· two • queued",
            "✓ three • 0 tools • 12s/600s",
            "✗ four • No. • 0 tools • 12s/600s",
            "↑ ↓ select • Ctrl+O expand • s stop • S stop all • ? help",
        ]
    );
}

#[test]
fn one_task_needs_no_overview() {
    let lines = shown(&[running("one", &["I look."])], 80, 24, "");
    assert_eq!(lines[0], "⏳ one • 0 tools • 12s/600s");
    assert_eq!(lines.last().unwrap(), "Ctrl+O expand • s stop • ? help");
}

#[test]
fn windows_come_before_those_that_are_only_counted() {
    let mut tasks: Vec<TestTask> = (0..60).map(|number| done(&format!("d{number}"))).collect();
    tasks.extend((0..4).map(|number| running(&format!("r{number}"), &["a", "b", "c", "d"])));
    tasks.extend((0..36).map(|number| queued(&format!("q{number}"))));
    assert_eq!(
        shown(&tasks, 40, 10, ""),
        [
            "Sub-agents: 4 running, 60 done, 36 que…",
            "⏳ r0 • waiting 3s • 0 tools • 12s/600s",
            "⏳ r1 • waiting 3s • 0 tools • 12s/600s",
            "⏳ r2 • waiting 3s • 0 tools • 12s/600s",
            "⏳ r3 • waiting 3s • 0 tools • 12s/600s",
            "· q0 • queued",
            "· q1 • queued",
            "… and 94 more: 60 done, 34 queued",
            "↑ ↓ select • ? help",
        ]
    );
    let lines = shown(&tasks, 80, 24, "");
    assert_eq!(lines[1..6], ["⏳ r0 • 0 tools • 12s/600s", "  waiting • 3s", "  b", "  c", "  d"]);
    assert_eq!(lines[21], "… and 96 more: 60 done, 36 queued");
    // The selected one is seen, whatever it is.
    let lines = shown(&tasks, 40, 10, "\x1b[A");
    assert_eq!(lines[6], "❯ · q35 • queued");
    assert_eq!(lines[7], "… and 94 more: 60 done, 34 queued");
}

#[test]
fn more_windows_than_rows_are_counted_too() {
    let tasks: Vec<TestTask> =
        (0..16).map(|number| running(&format!("r{number}"), &["a"])).collect();
    let lines = shown(&tasks, 40, 10, "");
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[7], "… and 10 more: 10 running");
    let lines = shown(&tasks, 40, 19, "");
    assert_eq!(lines.iter().filter(|line| line.contains("waiting 3s")).count(), 16);
}

#[test]
fn a_window_shows_what_is_done_now_and_the_last_lines() {
    let said: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let lines = shown(&[running("one", &said)], 40, 8, "");
    assert_eq!(lines[1..6], ["  waiting • 3s", "  line 36", "  line 37", "  line 38", "  line 39"]);
    let lines = shown(&[running("one", &said)], 40, 60, "");
    assert_eq!(lines.len(), 18, "a header, what it does, fifteen lines and the keys");
}

#[test]
fn the_selected_one_is_expanded_and_scrolled() {
    let said: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let tasks = [done("a"), running("one", &said)];
    let lines = shown(&tasks, 40, 9, "\x0f");
    assert_eq!(lines[1], "⏳ one • 0 tools • 12s/600s");
    assert_eq!((lines[3].as_str(), lines[6].as_str()), ("  line 36", "  line 39"));
    let lines = shown(&tasks, 40, 9, "\x0f\x1b[5~\x1b[5~");
    assert_eq!((lines[3].as_str(), lines[6].as_str()), ("  line 28", "  line 31"));
    let lines = shown(&tasks, 40, 9, "\x0f\x1b[H");
    assert_eq!(lines[3], "  line 0");
    let wide = [running("one", &["ab日本語"])];
    assert_eq!(shown(&wide, 9, 9, "\r")[2..4], ["  ab日本", "語"]);
}

#[test]
fn help_and_questions_have_their_place() {
    let lines = shown(&[queued("a"), queued("b")], 80, 24, "?");
    assert!(lines.iter().any(|line| line.starts_with("  Ctrl-C         stop all")), "{lines:#?}");
    assert_eq!(shown(&[queued("a"), queued("b")], 80, 3, "s").last().unwrap(), SELECT);
    let views_of = [running("a", &[])];
    let views = views(&views_of);
    let mut controls = Controls::new(Ownership::Watcher);
    controls.press(crate::Key::Character('s'), &views);
    let scene = Scene { tasks: &views, elapsed_ms: 0, has_keys: true };
    let lines = layout(&scene, Size { columns: 80, rows: 24 }, &controls).lines;
    assert_eq!(lines.last().unwrap().text(), "Stop a? y/n");
}

const SELECT: &str = "Select an agent first: ↑ ↓";

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
                for keys in ["", "j", "k\x0f", "j\x0f\x1b[5~", "?", "s"] {
                    let lines = shown(&tasks, columns, rows, keys);
                    let what = format!("{count} {mix:?} {columns}x{rows} {keys:?} {lines:#?}");
                    assert!(lines.len() < rows.max(1), "{what}");
                    let is_narrow =
                        |line: &String| line_width(&Line::of(Role::Plain, line)) < columns.max(1);
                    assert!(lines.iter().all(is_narrow), "{what}");
                    if keys.len() < 2 && keys != "?" && rows >= 10 {
                        let seen = lines.iter().filter(|line| {
                            let line = line.trim_start_matches(['❯', ' ']);
                            line.starts_with(['⏳', '·', '✓', '✗'])
                        });
                        let counted = lines.iter().find_map(|line| {
                            let words = line.strip_prefix("… and ")?;
                            words.split(' ').next()?.parse::<usize>().ok()
                        });
                        assert_eq!(seen.count() + counted.unwrap_or(0), count, "{what}");
                    }
                }
            }
        }
    }
}
