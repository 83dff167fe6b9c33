//! Real files.

use std::fs;

use proptest::prelude::*;
use serde_json::json;

use crate::tools::testing::TestDirectory;

/// Edits a file with this content and returns what is in it then, or the error.
fn edit(content: &[u8], edits: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let directory = TestDirectory::new();
    directory.file("f", content);
    let edits: Vec<_> =
        edits.iter().map(|(old, new)| json!({"oldText": old, "newText": new})).collect();
    let result = directory.run("edit", &json!({"path": "f", "edits": edits}));
    let after = directory.content("f");
    match result {
        Ok(_) => Ok(after),
        Err(error) => {
            assert_eq!(after, content, "a failure changes nothing");
            Err(error.0)
        }
    }
}

#[test]
fn texts_are_replaced_where_they_are() {
    for (content, edits, expected) in [
        ("one two three", &[("two", "2")][..], "one 2 three"),
        ("one two three", &[("three", "3"), ("one", "1")], "1 two 3"),
        // Every text is looked for in the original.
        ("a b", &[("a", "b"), ("b", "a")], "b a"),
        ("a\nb\nc\n", &[("b\n", "")], "a\nc\n"),
        ("a\nb", &[("a\nb", "x\ny\nz")], "x\ny\nz"),
        ("aXbXc", &[("aX", "1"), ("bX", "2")], "12c"),
        ("100% $1 \\1", &[("$1", "$& $1")], "100% $& $1 \\1"),
        ("日本語", &[("本", "x")], "日x語"),
    ] {
        assert_eq!(edit(content.as_bytes(), edits), Ok(expected.as_bytes().to_vec()));
    }
}

#[test]
fn marks_line_ends_and_bytes_stay_as_they_are() {
    for (content, change, expected) in [
        (&b"\xef\xbb\xbfa\nb\n"[..], ("a", "x"), &b"\xef\xbb\xbfx\nb\n"[..]),
        (b"a\r\nb\r\nc\r\n", ("a\nb", "x\ny\nz"), b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", ("a\r\nb\r\n", "x\r\n"), b"x\r\n"),
        (b"a\nb\r\nc\n", ("c", "x\ny"), b"a\nb\r\nx\ny\n"),
        (b"a\r\nb\nc\n", ("c", "x\ny"), b"a\r\nb\nx\r\ny\n"),
        (b"old\rmac\r", ("mac", "x"), b"old\rx\r"),
        (b"a\r\r\nb", ("b", "x"), b"a\r\r\nx"),
        (b"\xe9t\xe9 a\xff\n\xe2\x82", ("a", "b"), b"\xe9t\xe9 b\xff\n\xe2\x82"),
        (b"\xef\xbb\xbf\r\na\xff", ("a", "é"), b"\xef\xbb\xbf\r\n\xc3\xa9\xff"),
    ] {
        assert_eq!(edit(content, &[change]), Ok(expected.to_vec()), "{content:?}");
    }
}

#[test]
fn what_models_get_wrong_is_forgiven() {
    for (content, edits, expected) in [
        // Spaces at the ends of lines, which stay in lines that are not touched.
        ("a  \nb\t\nc  \n", &[("a\nb", "x\ny")][..], "x\ny\nc  \n"),
        ("let s = “hi”;\n“keep”\n", &[("let s = \"hi\";", "let s = 1;")], "let s = 1;\n“keep”\n"),
        ("it’s – so\u{a0}— here\n", &[("it's - so - here", "x")], "x\n"),
        ("ﬁne\n", &[("fine", "x")], "x\n"),
        // The rest of a line that is touched becomes simple as well.
        ("“a” “b”\n“c”\n", &[("\"a\"", "x")], "x \"b\"\n“c”\n"),
        ("a \nb\nc \nd\n", &[("a\nb", "1"), ("c\nd", "2")], "1\n2\n"),
        ("a – b – c\n", &[("a -", "1"), ("- c", "2")], "1 b 2\n"),
        ("a \nb", &[("a\nb", "x")], "x"),
    ] {
        let expected = expected.as_bytes().to_vec();
        assert_eq!(edit(content.as_bytes(), edits), Ok(expected), "{content}");
    }
}

#[test]
fn an_exact_place_is_preferred_to_one_that_is_forgiven() {
    let after = edit("a – b\na - b\n".as_bytes(), &[("a - b", "x")]);
    assert_eq!(after, Ok("a – b\nx\n".as_bytes().to_vec()));
}

#[test]
fn what_cannot_be_done_is_told_and_nothing_is_changed() {
    let whitespace = "must match exactly including all whitespace and newlines.";
    let unique = "Please provide more context to make it unique.";
    for (content, edits, expected) in [
        (
            "a",
            &[("x", "y")][..],
            format!("Could not find the exact text in f. The old text {whitespace}"),
        ),
        (
            "a",
            &[("a", "b"), ("x", "y")],
            format!("Could not find edits[1] in f. The oldText {whitespace}"),
        ),
        (
            "a a a",
            &[("a", "b")],
            format!("Found 3 occurrences of the text in f. The text must be unique. {unique}"),
        ),
        (
            "a b b",
            &[("a", "x"), ("b", "y")],
            format!("Found 2 occurrences of edits[1] in f. Each oldText must be unique. {unique}"),
        ),
        (
            "“a” “a”",
            &[("\"a\"", "x")],
            format!("Found 2 occurrences of the text in f. The text must be unique. {unique}"),
        ),
        ("a", &[("", "x")], "oldText must not be empty in f.".to_owned()),
        ("a", &[("a", "x"), ("", "x")], "edits[1].oldText must not be empty in f.".to_owned()),
        (
            "abc",
            &[("bc", "x"), ("ab", "y")],
            "edits[1] and edits[0] overlap in f. Merge them into one edit or target disjoint \
             regions."
                .to_owned(),
        ),
        (
            "a",
            &[("a", "a")],
            "No changes made to f. The replacement produced identical content. This might \
             indicate an issue with special characters or the text not existing as expected."
                .to_owned(),
        ),
        (
            "a b",
            &[("a", "a"), ("b", "b")],
            "No changes made to f. The replacements produced identical content.".to_owned(),
        ),
        (
            "a",
            &[("  ", "x")],
            format!("Could not find the exact text in f. The old text {whitespace}"),
        ),
        (
            "",
            &[("a", "x")],
            format!("Could not find the exact text in f. The old text {whitespace}"),
        ),
        ("a\u{10ff80}", &[("a", "x")], "Could not edit file: f. It is a binary file.".to_owned()),
    ] {
        assert_eq!(edit(content.as_bytes(), edits), Err(expected), "{content}");
    }
}

#[test]
fn edits_are_understood_in_every_form() {
    for arguments in [
        json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]}),
        json!({"path": "f", "edits": "[{\"oldText\": \"a\", \"newText\": \"b\"}]"}),
        json!({"path": "f", "edits": {"oldText": "a", "newText": "b"}}),
        json!({"path": "f", "edits": "{\"oldText\": \"a\", \"newText\": \"b\"}"}),
        json!({"path": "f", "oldText": "a", "newText": "b"}),
        json!({"path": "f", "edits": [], "oldText": "a", "newText": "b"}),
        json!({"path": "f", "edits": null, "oldText": "a", "newText": "b"}),
    ] {
        let directory = TestDirectory::new();
        directory.file("f", "a");
        let text = directory.text("edit", &arguments);
        assert_eq!(text, "Successfully replaced 1 block(s) in f.", "{arguments}");
        assert_eq!(directory.content("f"), b"b", "{arguments}");
    }
    let directory = TestDirectory::new();
    directory.file("f", "1 2");
    let both = json!({
        "path": "f", "edits": [{"oldText": 1, "newText": true}], "oldText": "2", "newText": "x",
    });
    assert_eq!(directory.text("edit", &both), "Successfully replaced 2 block(s) in f.");
    assert_eq!(directory.content("f"), b"true x");
    assert_eq!(
        directory.error("edit", &json!({"path": "f", "edits": []})),
        "Edit tool input is invalid. edits must contain at least one replacement."
    );
}

#[test]
fn what_is_no_file_to_edit_is_refused() {
    let directory = TestDirectory::new();
    fs::create_dir(directory.path("d")).unwrap();
    process::make_named_pipe(&directory.path("pipe")).unwrap();
    let large = fs::File::create(directory.path("large")).unwrap();
    large.set_len(64 * 1024 * 1024 + 1).unwrap();
    directory.file("file", "");
    let pipe = directory.path("pipe").display().to_string();
    for (path, expected) in [
        ("missing", "Could not edit file: missing. Error code: ENOENT.".to_owned()),
        ("file/x", "Could not edit file: file/x. Error code: ENOTDIR.".to_owned()),
        ("d", "EISDIR: illegal operation on a directory, read".to_owned()),
        ("pipe", format!("Not a regular file: {pipe}")),
        ("large", "Could not edit file: large. It is larger than 64.0MB.".to_owned()),
    ] {
        let arguments = json!({"path": path, "oldText": "a", "newText": "b"});
        assert_eq!(directory.error("edit", &arguments), expected);
    }
}

#[test]
fn parallel_edits_of_one_file_are_all_there_in_the_end() {
    let directory = TestDirectory::new();
    let lines: String = (0..24).map(|number| format!("<{number}>\n")).collect();
    directory.file("f", lines);
    std::os::unix::fs::symlink("f", directory.path("link")).unwrap();
    std::thread::scope(|scope| {
        for number in 0..24 {
            let directory = &directory;
            scope.spawn(move || {
                let path = if number % 2 == 0 { "f" } else { "link" };
                let (old, new) = (format!("<{number}>"), format!("[{number}]"));
                directory.text("edit", &json!({"path": path, "oldText": old, "newText": new}));
            });
        }
    });
    let expected: String = (0..24).map(|number| format!("[{number}]\n")).collect();
    assert_eq!(String::from_utf8(directory.content("f")).unwrap(), expected);
}

#[test]
fn changes_are_shown_with_the_lines_around_them() {
    let directory = TestDirectory::new();
    let lines: String = (1..=30).map(|number| format!("line {number}\n")).collect();
    directory.file("f", format!("{lines}end"));
    let edits = json!([
        {"oldText": "line 7\n", "newText": "seven\nand more\n"},
        {"oldText": "line 16\n", "newText": ""},
        {"oldText": "line 30\nend", "newText": "end"},
    ]);
    let details = directory.run("edit", &json!({"path": "f", "edits": edits})).unwrap().details;
    let details = details.unwrap();
    assert_eq!(details["firstChangedLine"], 7);
    let diff = [
        "    ...",
        "  3 line 3",
        "  4 line 4",
        "  5 line 5",
        "  6 line 6",
        "- 7 line 7",
        "+ 7 seven",
        "+ 8 and more",
        "  8 line 8",
        "  9 line 9",
        " 10 line 10",
        " 11 line 11",
        " 12 line 12",
        " 13 line 13",
        " 14 line 14",
        " 15 line 15",
        "-16 line 16",
        " 17 line 17",
        " 18 line 18",
        " 19 line 19",
        " 20 line 20",
        "    ...",
        " 26 line 26",
        " 27 line 27",
        " 28 line 28",
        " 29 line 29",
        "-30 line 30",
        " 31 end",
    ];
    assert_eq!(details["diff"], diff.join("\n"));
    assert_eq!(
        details["patch"],
        "--- f\n+++ f\n@@ -3,18 +3,18 @@\n line 3\n line 4\n line 5\n line 6\n-line 7\n+seven\n\
         +and more\n line 8\n line 9\n line 10\n line 11\n line 12\n line 13\n line 14\n line 15\n\
         -line 16\n line 17\n line 18\n line 19\n line 20\n@@ -26,6 +26,5 @@\n line 26\n line 27\n \
         line 28\n line 29\n-line 30\n end\n\\ No newline at end of file\n"
    );
}

proptest! {
    /// A text that is there once is replaced, and everything around it stays, byte for byte.
    #[test]
    fn everything_else_stays(
        before in "([a-c\r\n\u{feff}é ]|\r\n){0,30}",
        after in "([a-c\r\n\u{feff}é ]|\r\n){0,30}",
        new in "[x-z\n]{0,10}",
    ) {
        let content = format!("{before}<OLD>{after}");
        let first = content.find('\n');
        let is_windows = first.is_some_and(|at| content[..at].ends_with('\r'));
        let newline = if is_windows { "\r\n" } else { "\n" };
        let expected = format!("{before}{}{after}", new.replace('\n', newline));
        let edited = edit(content.as_bytes(), &[("<OLD>", &new)]).unwrap();
        prop_assert_eq!(String::from_utf8(edited).unwrap(), expected);
    }

    /// No content and no edit can make it panic, or change the file in a failure.
    #[test]
    fn nothing_panics(
        content in proptest::collection::vec(any::<u8>(), 0..60),
        old in "[\\PC\n\r \u{a0}“]{0,6}",
        new in "\\PC{0,6}",
    ) {
        let _ = edit(&content, &[(&old, &new)]);
    }
}

#[test]
fn a_difference_that_is_too_long_is_not_shown() {
    let directory = TestDirectory::new();
    let long = "x".repeat(300_000);
    directory.file("f", format!("first\n{long}old{long}"));
    let edits = json!({"path": "f", "edits": [{"oldText": "old", "newText": "new"}]});
    let details = directory.run("edit", &edits).unwrap().details;
    let expected = json!({"diff": "(too long to be shown)", "patch": "", "firstChangedLine": 2});
    assert_eq!(details, Some(expected));
    assert_eq!(directory.content("f"), format!("first\n{long}new{long}").as_bytes());
}
