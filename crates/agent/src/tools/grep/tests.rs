//! Real files.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;
use crate::message::text_of;
use crate::tools::testing::TestDirectory;

#[test]
fn lines_are_found_in_the_order_of_paths() {
    let directory = TestDirectory::new();
    directory.file("b.txt", "one\nTwo\nthree two\n");
    directory.file("a/deep.txt", "two");
    directory.file(".hidden", "two\r\nend\r\n");
    directory.file("a.txt", "no match");
    for (arguments, expected) in [
        (json!({"pattern": "two"}), ".hidden:1: two\na/deep.txt:1: two\nb.txt:3: three two"),
        (json!({"pattern": "two", "path": "a"}), "deep.txt:1: two"),
        (json!({"pattern": "two", "path": "b.txt"}), "b.txt:3: three two"),
        (
            json!({"pattern": "two", "path": "b.txt", "ignoreCase": true}),
            "b.txt:2: Two\nb.txt:3: three two",
        ),
        (json!({"pattern": "^T", "path": "b.txt"}), "b.txt:2: Two"),
        (json!({"pattern": "o$", "path": "b.txt"}), "b.txt:2: Two\nb.txt:3: three two"),
        (json!({"pattern": "t.o"}), ".hidden:1: two\na/deep.txt:1: two\nb.txt:3: three two"),
        (json!({"pattern": "t.o", "literal": true}), "No matches found"),
        (json!({"pattern": "two", "glob": "*.txt"}), "a/deep.txt:1: two\nb.txt:3: three two"),
        (json!({"pattern": "two", "glob": "!*.txt"}), ".hidden:1: two"),
        (json!({"pattern": "two", "glob": "a/*.txt"}), "a/deep.txt:1: two"),
        (json!({"pattern": "two", "glob": "a/*.txt", "path": "a"}), "deep.txt:1: two"),
        (
            json!({"pattern": "two", "glob": ""}),
            ".hidden:1: two\na/deep.txt:1: two\nb.txt:3: three two",
        ),
        (json!({"pattern": "-e", "literal": "true"}), "No matches found"),
    ] {
        assert_eq!(directory.text("grep", &arguments), expected, "{arguments}");
        let output = directory.run("grep", &arguments).unwrap();
        assert_eq!(output.details, None);
    }
}

#[test]
fn the_lines_around_are_shown_once() {
    let directory = TestDirectory::new();
    directory.file("f", "1\n2\nx3\n4\nx5\n6\n7\n8\n9\n10\nx11\n12\n");
    assert_eq!(
        directory.text("grep", &json!({"pattern": "x", "context": 1})),
        "f-2- 2\nf:3: x3\nf-4- 4\nf:5: x5\nf-6- 6\nf-10- 10\nf:11: x11\nf-12- 12"
    );
    // The lines behind the last match belong to it, up to the next match.
    assert_eq!(
        directory.text("grep", &json!({"pattern": "x", "context": 2, "limit": 1})),
        "f-1- 1\nf-2- 2\nf:3: x3\nf-4- 4\n\n\
         [1 matches limit reached. Use limit=2 for more, or refine pattern]"
    );
    assert_eq!(
        directory.text("grep", &json!({"pattern": "x", "context": 1, "limit": 2})),
        "f-2- 2\nf:3: x3\nf-4- 4\nf:5: x5\nf-6- 6\n\n\
         [2 matches limit reached. Use limit=4 for more, or refine pattern]"
    );
}

#[test]
fn what_git_ignores_is_left_out() {
    let directory = TestDirectory::new();
    for name in ["a", "a.skip", ".git/config", "skipped/b"] {
        directory.file(name, "needle\n");
    }
    directory.file(".gitignore", "*.skip\nskipped\n");
    assert_eq!(directory.text("grep", &json!({"pattern": "needle"})), "a:1: needle");
    // What is named is searched.
    let arguments = json!({"pattern": "needle", "path": "a.skip"});
    assert_eq!(directory.text("grep", &arguments), "a.skip:1: needle");
}

#[test]
fn what_is_no_text_is_passed_over() {
    let directory = TestDirectory::new();
    directory.file("binary", b"needle\0\nneedle\n");
    // A file that is found to be binary late is passed over as a whole.
    let mut late = b"needle\n".repeat(50_000);
    late.extend_from_slice(b"\0needle\n");
    directory.file("late", late);
    directory.file("latin", b"needle \xe9\n");
    let wide: Vec<u8> = "\u{feff}needle é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    directory.file("wide", wide);
    process::make_named_pipe(&directory.path("pipe")).unwrap();
    symlink("latin", directory.path("link")).unwrap();
    assert_eq!(
        directory.text("grep", &json!({"pattern": "needle", "limit": 1_000_000})),
        "latin:1: needle \u{fffd}\nwide:1: needle é"
    );
    let error = directory.error("grep", &json!({"pattern": "needle", "path": "pipe"}));
    assert_eq!(error, format!("Not a regular file: {}", directory.path("pipe").display()));
}

#[test]
fn limits_are_told() {
    let directory = TestDirectory::new();
    directory.file("f", "needle\n".repeat(150));
    let output = directory.run("grep", &json!({"pattern": "needle"})).unwrap();
    let text = text_of(&output.content);
    let (shown, notice) = text.split_once("\n\n").unwrap();
    assert_eq!(shown.lines().count(), 100);
    assert_eq!(notice, "[100 matches limit reached. Use limit=200 for more, or refine pattern]");
    assert_eq!(output.details, Some(json!({"matchLimitReached": 100})));

    directory.file("f", format!("needle{}\n", "é".repeat(600)).repeat(200));
    let output = directory.run("grep", &json!({"pattern": "needle", "limit": 80})).unwrap();
    let text = text_of(&output.content);
    let first = format!("f:1: needle{}... [truncated]", "é".repeat(494));
    assert_eq!(text.lines().next(), Some(first.as_str()));
    let notices = "[80 matches limit reached. Use limit=160 for more, or refine pattern. 50.0KB \
                   limit reached. Some lines truncated to 500 chars. Use read tool to see full \
                   lines]";
    assert_eq!(text.lines().last(), Some(notices));
    let details = output.details.unwrap();
    assert_eq!(details["linesTruncated"], true);
    assert_eq!(details["truncation"]["totalLines"], 80);

    directory.file("f", format!("needle{}\n", "x".repeat(494)));
    assert!(!directory.text("grep", &json!({"pattern": "needle"})).contains("truncated"));
}

#[test]
fn a_line_without_end_does_not_take_all_memory() {
    let directory = TestDirectory::new();
    directory.file("f", "x".repeat(MEMORY_LIMIT + 1024 * 1024));
    assert_eq!(
        directory.text("grep", &json!({"pattern": "x$"})),
        "No matches found\n\n[1 files or directories could not be read]"
    );
}

#[test]
fn what_cannot_be_read_is_counted() {
    let directory = TestDirectory::new();
    directory.file("a", "needle\n");
    // Permissions would not keep the superuser from reading it; its one line is too long for all.
    directory.file("b", "x".repeat(MEMORY_LIMIT + 1024 * 1024));
    let output = directory.run("grep", &json!({"pattern": "needle"})).unwrap();
    assert_eq!(
        text_of(&output.content),
        "a:1: needle\n\n[1 files or directories could not be read]"
    );
    assert_eq!(output.details, Some(json!({"unreadable": 1})));
}

#[test]
fn patterns_that_make_no_sense_are_told() {
    let directory = TestDirectory::new();
    directory.file("a", "x");
    for (arguments, expected) in [
        (json!({"pattern": "("}), "unclosed group"),
        (json!({"pattern": "a{1000}{1000}{1000}"}), "size limit"),
        (json!({"pattern": "a\nb"}), "not allowed"),
        (json!({"pattern": "a", "glob": "[a"}), "[a"),
    ] {
        let error = directory.error("grep", &arguments);
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(
        directory.text("grep", &json!({"pattern": "(", "literal": true})),
        "No matches found"
    );
}

#[test]
fn a_search_that_finds_nothing_can_be_cancelled() {
    let cancel = Cancel::new().unwrap();
    let matcher = RegexMatcher::new("needle").unwrap();
    std::thread::scope(|scope| {
        let searching = scope.spawn(|| {
            let mut found = Found::new(LIMIT, 0, &cancel);
            // Without an end, and without a match.
            found.search_text(&mut searcher(0), &matcher, io::repeat(b'\n'));
            found.unread
        });
        cancel.cancel();
        assert_eq!(searching.join().unwrap(), 1);
    });
}
