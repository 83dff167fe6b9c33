//! Real files.

use std::fs;
use std::io::Write as _;

use base64::Engine as _;
use serde_json::json;

use super::*;
use crate::message::text_of;
use crate::tools::testing::TestDirectory;

#[test]
fn lines_are_chosen_by_offset_and_limit() {
    let directory = TestDirectory::new();
    directory.file("a", "one\ntwo\nthree\nfour\n");
    directory.file("open", "one\ntwo");
    directory.file("empty", "");
    directory.file("bytes", b"a\xffb\xe2\x82\r\n\xef\xbb\xbf");
    for (arguments, expected) in [
        (json!({"path": "a"}), "one\ntwo\nthree\nfour\n"),
        (json!({"path": "a", "offset": 0}), "one\ntwo\nthree\nfour\n"),
        (json!({"path": "a", "offset": -3}), "one\ntwo\nthree\nfour\n"),
        (json!({"path": "a", "offset": 3}), "three\nfour\n"),
        (json!({"path": "a", "offset": "3", "limit": "9"}), "three\nfour\n"),
        (json!({"path": "a", "offset": 5}), ""),
        (
            json!({"path": "a", "limit": 2}),
            "one\ntwo\n\n[3 more lines in file. Use offset=3 to continue.]",
        ),
        (
            json!({"path": "a", "offset": 2, "limit": 1}),
            "two\n\n[3 more lines in file. Use offset=3 to continue.]",
        ),
        // What is behind the last newline is the last line.
        (
            json!({"path": "a", "limit": 4}),
            "one\ntwo\nthree\nfour\n\n[1 more lines in file. Use offset=5 to continue.]",
        ),
        (json!({"path": "a", "limit": 5}), "one\ntwo\nthree\nfour\n"),
        (json!({"path": "a", "limit": 0}), "\n\n[5 more lines in file. Use offset=1 to continue.]"),
        (json!({"path": "open"}), "one\ntwo"),
        (json!({"path": "open", "limit": 2}), "one\ntwo"),
        (json!({"path": "open", "offset": 2, "limit": 1e300}), "two"),
        (json!({"path": "empty"}), ""),
        (json!({"path": "bytes"}), "a\u{fffd}b\u{fffd}\r\n\u{feff}"),
    ] {
        assert_eq!(
            directory.run("read", &arguments),
            Ok(ToolOutput::text(expected)),
            "{arguments}"
        );
    }
    assert_eq!(
        directory.error("read", &json!({"path": "a", "offset": 6})),
        "Offset 6 is beyond end of file (5 lines total)"
    );
}

#[test]
fn long_files_are_read_in_parts() {
    let directory = TestDirectory::new();
    let all: String = (1..=5000).map(|number| format!("{number}\n")).collect();
    directory.file("lines", &all);
    let output = directory.run("read", &json!({"path": "lines", "offset": 1001})).unwrap();
    let text = text_of(&output.content);
    let (shown, notice) = text.split_once("\n\n").unwrap();
    assert_eq!((shown.lines().next(), shown.lines().last()), (Some("1001"), Some("3000")));
    assert_eq!(notice, "[Showing lines 1001-3000 of 5001. Use offset=3001 to continue.]");
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(truncation["truncatedBy"], "lines");
    assert_eq!(truncation["totalLines"], 4000);

    directory.file("wide", format!("{}\n", "x".repeat(1023)).repeat(60));
    let text = directory.text("read", &json!({"path": "wide"}));
    let notice = "\n\n[Showing lines 1-50 of 61 (50.0KB limit). Use offset=51 to continue.]";
    assert!(text.ends_with(notice), "{}", &text[text.len() - 100..]);
    assert_eq!(text.len(), 50 * 1024 - 1 + notice.len());

    directory.file("one", format!("short\n{}\nshort", "é".repeat(30_000)));
    let arguments = json!({"path": "one", "offset": 2});
    let output = directory.run("read", &arguments).unwrap();
    assert_eq!(
        text_of(&output.content),
        "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' one | head -c 51200]"
    );
    assert_eq!(output.details.unwrap()["truncation"]["firstLineExceedsLimit"], true);
}

#[test]
fn a_file_of_any_size_can_be_read() {
    let directory = TestDirectory::new();
    let mut file = fs::File::create(directory.path("huge")).unwrap();
    file.write_all(b"first\nsecond\n").unwrap();
    // A hole takes no space, and no memory if it is not kept.
    file.set_len(256 * 1024 * 1024).unwrap();
    let text = directory.text("read", &json!({"path": "huge", "limit": 2}));
    assert_eq!(text, "first\nsecond\n\n[1 more lines in file. Use offset=3 to continue.]");
    let text = directory.text("read", &json!({"path": "huge"}));
    assert_eq!(
        text,
        "first\nsecond\n\n[Showing lines 1-2 of 3 (50.0KB limit). Use offset=3 to continue.]"
    );
}

#[test]
fn what_has_no_content_is_refused_without_waiting() {
    let directory = TestDirectory::new();
    fs::create_dir(directory.path("directory")).unwrap();
    process::make_named_pipe(&directory.path("pipe")).unwrap();
    std::os::unix::fs::symlink("nowhere", directory.path("link")).unwrap();
    directory.file("file", "");
    let at = |name: &str| directory.path(name).display().to_string();
    for (path, expected) in [
        ("directory", "EISDIR: illegal operation on a directory, read".to_owned()),
        ("pipe", format!("Not a regular file: {}", at("pipe"))),
        ("/dev/zero", "Not a regular file: /dev/zero".to_owned()),
        ("link", format!("ENOENT: no such file or directory, access '{}'", at("link"))),
        ("file/x", format!("ENOTDIR: not a directory, access '{}'", at("file/x"))),
    ] {
        assert_eq!(directory.error("read", &json!({"path": path})), expected);
    }
}

#[test]
fn images_are_handed_over() {
    let directory = TestDirectory::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
                \0\0\0\x0aIDAT\x78\x9c\x63\0\x01\0\0\x05\0\x01";
    for (content, mime_type) in [
        (&png[..], "image/png"),
        (b"\xff\xd8\xff\xe0...", "image/jpeg"),
        (b"GIF87a...", "image/gif"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x01\x02\x03\x04WEBP...", "image/webp"),
    ] {
        directory.file("image.txt", content);
        let output = directory.run("read", &json!({"path": "image.txt"})).unwrap();
        let data = base64::prelude::BASE64_STANDARD.encode(content);
        assert_eq!(
            output.content,
            [
                Content::text(format!("Read image file [{mime_type}]")),
                Content::Image { data, mime_type: mime_type.to_owned() },
            ]
        );
        assert_eq!(output.details, None);
    }
}

#[test]
fn what_only_begins_like_an_image_is_a_text() {
    let directory = TestDirectory::new();
    let animated =
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
                     \0\0\0\x08acTL\0\0\0\x01\0\0\0\0\0\0\0\0";
    for content in [
        &b"BMW is a car, and this is long enough for a header of a bitmap"[..],
        b"RIFF....WAVE",
        b"GIF88a",
        b"\xff\xd8\xff\xf7lossless",
        b"\x89PNG\r\n\x1a\nbroken",
        animated,
    ] {
        directory.file("a", content);
        let expected = String::from_utf8_lossy(content);
        assert_eq!(directory.text("read", &json!({"path": "a"})), expected);
    }
}

#[test]
fn images_that_cannot_be_sent_are_left_out() {
    let directory = TestDirectory::new();
    let mut bitmap = vec![0; 60];
    bitmap[..2].copy_from_slice(b"BM");
    bitmap[2] = 60;
    bitmap[10] = 54;
    bitmap[14] = 40;
    bitmap[26] = 1;
    bitmap[28] = 24;
    directory.file("a.bmp", bitmap);
    let omitted = |mime_type: &str, why: &str| {
        ToolOutput::text(format!("Read image file [{mime_type}]\n[Image omitted: {why}]"))
    };
    let why = "could not be converted to a supported inline image format.";
    assert_eq!(directory.run("read", &json!({"path": "a.bmp"})), Ok(omitted("image/bmp", why)));

    let mut large = b"GIF89a".to_vec();
    large.resize(3_538_944, 0);
    directory.file("a.gif", &large);
    assert_eq!(directory.run("read", &json!({"path": "a.gif"})).unwrap().content.len(), 2);
    large.push(0);
    directory.file("a.gif", &large);
    let why = "could not be resized below the inline image size limit.";
    assert_eq!(directory.run("read", &json!({"path": "a.gif"})), Ok(omitted("image/gif", why)));
}

#[test]
fn reading_can_be_cancelled() {
    let directory = TestDirectory::new();
    let file = fs::File::create(directory.path("huge")).unwrap();
    // Far more than could be read in any time.
    file.set_len(8 * 1024 * 1024 * 1024 * 1024).unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| directory.run("read", &json!({"path": "huge"})));
        directory.cancel.cancel();
        assert_eq!(reading.join().unwrap().unwrap_err().0, "Operation aborted");
    });
}
