//! What holds for every layout of a file: nothing that was in it is lost, and putting the entry in
//! and taking it out again is as if nothing had happened.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::decision::{Installation, Removal, installation, removal};
use super::table::{CLIENTS, Client};
use crate::config::{EntryPath, Format};

const PROGRAM: &str = "/opt/new tools/pi-subagents";
const OLD_PROGRAM: &str = "/old \"quoted\\path\"/pi-subagents";

/// How a text is laid out, apart from what it says.
#[derive(Clone, Debug)]
struct Layout {
    has_mark: bool,
    line_end: &'static str,
    indentation: &'static str,
    has_last_line_end: bool,
}

impl Layout {
    /// A text that was written with `\n` and tabs, in this layout.
    fn apply(&self, text: &str) -> String {
        let text = text.trim_end_matches('\n').replace('\t', self.indentation);
        let last = if self.has_last_line_end && !text.is_empty() { "\n" } else { "" };
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        format!("{mark}{text}{last}").replace('\n', self.line_end)
    }
}

fn layout() -> impl Strategy<Value = Layout> {
    let line_end = prop_oneof![Just("\n"), Just("\r\n")];
    let indentation = prop_oneof![Just("\t"), Just("  "), Just("    "), Just("   ")];
    (any::<bool>(), line_end, indentation, any::<bool>()).prop_map(
        |(has_mark, line_end, indentation, has_last_line_end)| Layout {
            has_mark,
            line_end,
            indentation,
            has_last_line_end,
        },
    )
}

/// Something between two things, where comments may be.
fn trivia() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        1 => Just(" // at the end of a line"),
        1 => Just(" /* in between */"),
        1 => Just("\n"),
        1 => Just("\n\t\t// on its own: \"pi-subagents\": {"),
        1 => Just("\n\t\t/* over\n\t\tlines */"),
    ]
}

/// Properties of an object, over lines.
fn properties(most: usize, more_follow: bool) -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1"),
        Just("\"text with // and \\\" and }\""),
        Just("{}"),
        Just("[\n\t\t\t1,\n\t\t\t2\n\t\t]"),
        Just("{ \"command\": \"npx\", \"env\": { \"KEY\": \"secret\" } }"),
        Just("{\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": []\n\t\t}"),
    ];
    let property = (value, trivia(), trivia());
    (prop::collection::vec(property, 0..=most), any::<bool>()).prop_map(
        move |(all, has_last_comma)| {
            let count = all.len();
            let lines = all.into_iter().enumerate().map(|(index, (value, before, after))| {
                let is_last = index + 1 == count;
                let comma = if !is_last || more_follow || has_last_comma { "," } else { "" };
                format!("{before}\n\t\t\"name-{index}\": {value}{comma}{after}")
            });
            lines.collect()
        },
    )
}

fn jsonc() -> impl Strategy<Value = String> {
    let whole = prop_oneof![
        Just("".to_owned()),
        Just(" \n \n".to_owned()),
        Just("{}".to_owned()),
        Just("{ }".to_owned()),
        Just("{\n}".to_owned()),
        Just("// nothing else".to_owned()),
        Just("// above\n{}\n// below".to_owned()),
        Just("{\"a\":1,\"SECTION\":{\"b\":{\"c\":[1,2]}},\"d\":{}}".to_owned()),
        Just("{\"SECTION\":{}}".to_owned()),
        Just("{\"a\": 1, /* odd */ }".to_owned()),
        Just("{\"SECTION\": {\"b\": 1,},}".to_owned()),
        Just("{ // first\n\t\"SECTION\" /* odd */ : /* odder */ {\n\t}\n}".to_owned()),
    ];
    let others = properties(2, true);
    let servers = properties(3, false);
    let built = (others, servers, trivia(), 0..3_usize, any::<bool>()).prop_map(
        |(others, servers, inside, place, has_last_comma)| {
            let section = format!("\n\t\"SECTION\": {{{servers}{inside}\n\t}}");
            let last = if has_last_comma { "," } else { "" };
            match place {
                0 => format!("{{{others}{section}{last}\n}}"),
                1 => format!("{{{section},{others}\n}}"),
                _ => format!("{{{others}\n}}"),
            }
        },
    );
    prop_oneof![1 => whole, 3 => built]
}

fn toml() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("# a comment\n"),
        Just("\n"),
        Just("model = \"a\" # why\n"),
        Just("[profiles.one]\nmodel = \"b\"\n"),
        Just("[mcp_servers.first]\ncommand = \"npx\"\nargs = [\n\t\"-y\", # odd\n]\n"),
        Just("[mcp_servers.first.env]\nKEY = \"secret\"\n"),
        Just("[mcp_servers]\n"),
        Just("[mcp_servers.\"second one\"]\nurl = '''\n[mcp_servers.pi-subagents]\n'''\n"),
        Just("[[hooks]]\nname = \"x\"\n\n[[hooks]]\nwhen = 2026-01-01\nratio = 1.5\n"),
    ];
    // A table may stand there only once, so that what is drawn twice is left out.
    prop::collection::vec(piece, 0..7).prop_map(|pieces| {
        let mut text = String::new();
        for piece in pieces {
            let with_piece = format!("{text}{piece}");
            let is_free = piece.starts_with(['#', '\n']) || !text.contains(piece);
            if is_free && Format::Toml.entry(&with_piece, CODEX).is_ok() {
                text = with_piece;
            }
        }
        text
    })
}

const CODEX: EntryPath = EntryPath { section: &["mcp_servers"], name: "pi-subagents" };

/// A client that is shown by its name, if a test fails.
#[derive(Clone, Copy)]
struct Named(&'static Client);

impl std::fmt::Debug for Named {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.name)
    }
}

fn client_and_text() -> impl Strategy<Value = (Named, String)> {
    (0..CLIENTS.len(), jsonc(), toml(), layout()).prop_map(|(index, jsonc, toml, layout)| {
        let client = &CLIENTS[index];
        let section = client.form.entry_path().section.join(".");
        let text = match client.format {
            Format::Jsonc => jsonc.replace("SECTION", &section),
            Format::Toml => toml,
        };
        (Named(client), layout.apply(&text))
    })
}

fn says(client: &'static Client, text: &str) -> Value {
    let root = EntryPath { section: &[], name: client.form.entry_path().section[0] };
    client.format.entry(text, root).unwrap().unwrap_or(json!({}))
}

/// Whether there is more in a text than a mark and white space.
fn says_something(text: &str) -> bool {
    text.contains(|character: char| !character.is_whitespace() && character != '\u{feff}')
}

/// Whether all that is not white space or a comma stands in the other text, in the same order.
fn is_kept(before: &str, after: &str) -> bool {
    let mut after = after.chars();
    let counts = |character: &char| !character.is_whitespace();
    before.chars().filter(counts).all(|character| after.any(|other| other == character))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_put_in_and_taken_out_again_was_never_there((Named(client), before) in client_and_text()) {
        prop_assert!(client.format.entry(&before, client.form.entry_path()).is_ok(), "{before:?}");
        let Installation::Add { text } = installation(client, Some(&before), OLD_PROGRAM, false)? else {
            return Err(TestCaseError::fail("nothing was added"));
        };
        // Everything is kept, in its layout.
        prop_assert!(is_kept(&before, &text), "{text}");
        prop_assert_eq!(before.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        if before.contains('\n') && says_something(&before) {
            let returns = text.matches("\r\n").count();
            let line_feeds = text.matches('\n').count();
            prop_assert_eq!(returns, if before.contains('\r') { line_feeds } else { 0 });
            prop_assert_eq!(before.ends_with('\n'), text.ends_with('\n'));
        }
        // Once is enough, and another program takes the place of the first.
        let again = installation(client, Some(&text), OLD_PROGRAM, false)?;
        prop_assert_eq!(again, Installation::Unchanged { program: OLD_PROGRAM.to_owned() });
        let Installation::Update { text: updated, .. } = installation(client, Some(&text), PROGRAM, false)? else {
            return Err(TestCaseError::fail("nothing was updated"));
        };
        let added = installation(client, Some(&before), PROGRAM, false)?;
        prop_assert_eq!(added, Installation::Add { text: updated.clone() });
        // Both are undone to the byte.
        for text in [&text, &updated] {
            let removed = removal(client, text, Some(&before), false)?;
            prop_assert_eq!(removed, Removal::Restore { text: before.clone() });
        }
    }

    #[test]
    fn what_was_changed_since_stays((Named(client), before) in client_and_text()) {
        let Installation::Add { text } = installation(client, Some(&before), PROGRAM, false)? else {
            return Err(TestCaseError::fail("nothing was added"));
        };
        let since = EntryPath { name: "since", ..client.form.entry_path() };
        let entry = json!({ "command": "another" });
        let changed = client.format.insert(&text, since, &entry)?;
        let Removal::TakeOut { text: taken } = removal(client, &changed, Some(&before), false)? else {
            return Err(TestCaseError::fail("nothing was taken out"));
        };
        let without_us = client.format.insert(&before, since, &entry)?;
        prop_assert_eq!(says(client, &taken), says(client, &without_us));
        prop_assert!(is_kept(&before, &taken), "{taken}");
        // And without a backup there is nothing to compare with.
        match removal(client, &text, None, false)? {
            Removal::TakeOut { text: taken } => {
                prop_assert_eq!(says(client, &taken), says(client, &before));
                prop_assert!(is_kept(&before, &taken), "{taken}");
                if client.format == Format::Toml {
                    prop_assert_eq!(taken, before);
                }
            }
            Removal::DropFile => prop_assert_eq!(says(client, &before), json!({})),
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }
}
