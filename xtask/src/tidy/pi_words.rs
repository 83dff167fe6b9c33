//! The words of pi: the records of its stream, and the flags of its command line.
//!
//! Only the files that describe an agent know how it is started and how it speaks, so that an agent of another
//! make is added in one place.

use super::Violation;
use super::invariants::product_crate;
use super::rust_source::is_identifier_byte;
use super::tree::{TextFile, Tree};

/// The records of pi's JSON mode that we read, and fields that no other record has. They are found in literals,
/// and as names that serde turns into such a text.
///
/// `toolCallId` and `stopReason` are not among them: the book of sessions and our own results contain them too.
const RECORDS: &[&str] = &[
    "agent_end",
    "agent_settled",
    "agent_start",
    "assistantMessageEvent",
    "auto_retry_end",
    "auto_retry_start",
    "compaction_end",
    "compaction_start",
    "message_end",
    "message_start",
    "message_update",
    "tool_execution_end",
    "tool_execution_start",
    "tool_execution_update",
    "turn_end",
    "turn_start",
    "willRetry",
];

/// The flags that pi takes. Those that our own commands take as well, such as `--model`, are left
/// out: they may mean either.
const FLAGS: &[&str] = &[
    "--append-system-prompt",
    "--exclude-tools",
    "--extension",
    "--mode",
    "--no-builtin-tools",
    "--no-context-files",
    "--no-extensions",
    "--no-prompt-templates",
    "--no-session",
    "--no-skills",
    "--no-tools",
    "--session",
    "--skill",
    "--system-prompt",
    "--thinking",
];

/// The built-in agent takes pi's flags and speaks as pi does.
const BUILT_IN_AGENT: &str = "agent";

/// The files that may contain flags although they do not describe pi, each with its reason beside it.
const EXEMPT: &[&str] = &[
    // The command line of the built-in agent.
    "crates/cli/src/arguments/agent.rs",
    // `profile create` has options of the same names, for the fields of a profile.
    "crates/cli/src/arguments/profile.rs",
    // It tells the user, in words that are specified, why two fields of a profile exclude each other.
    "crates/plan/src/definition/validate.rs",
];

/// Looks for the words in the product's code.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let files = tree.rust_files().filter(|file| {
        product_crate(file).is_some_and(|name| name != BUILT_IN_AGENT) && !describes_pi(file)
    });
    files.flat_map(check_file).collect()
}

/// Whether the file is `pi.rs` or `pi_….rs`, or in a directory `pi`.
fn describes_pi(file: &TextFile) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    name == "pi.rs" || name.starts_with("pi_") || file.directories().any(|name| name == "pi")
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let flags = if EXEMPT.contains(&file.path.as_str()) { &[] } else { FLAGS };
    let names: Vec<(&str, [String; 2])> =
        RECORDS.iter().map(|record| (*record, [snake_case(record), camel_case(record)])).collect();
    let lines = file.product_literals.lines().zip(file.product_code.lines()).enumerate();
    let found = lines.flat_map(|(index, (literals, code))| {
        let in_literals =
            RECORDS.iter().chain(flags).copied().filter(move |word| stands_in(word, literals));
        let in_code = names.iter().filter_map(move |(record, names)| {
            names.iter().any(|name| stands_in(name, code)).then_some(*record)
        });
        in_literals.chain(in_code).map(move |word| (index + 1, word))
    });
    let violations = found.map(|(line, word)| {
        let rule = format!(
            "`{word}`: only the files `pi.rs` and `pi_….rs`, the directories `pi` and the built-in \
             agent know the records and the flags of pi."
        );
        Violation::new(&file.path, line, rule)
    });
    violations.collect()
}

/// Whether the line contains the word, and not only as part of a longer one.
fn stands_in(word: &str, line: &str) -> bool {
    let goes_on =
        |byte: Option<u8>| byte.is_some_and(|byte| is_identifier_byte(byte) || byte == b'-');
    line.match_indices(word).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + word.len()..]);
        !goes_on(before.bytes().last()) && !goes_on(after.bytes().next())
    })
}

/// `willRetry` as serde wants the name of a field: `will_retry`.
fn snake_case(record: &str) -> String {
    let mut name = String::new();
    for letter in record.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// `message_end` as serde wants the name of a variant: `MessageEnd`.
fn camel_case(record: &str) -> String {
    let snake = snake_case(record);
    let parts = snake.split('_').flat_map(|part| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[(path, text)]));
        let words = violations.iter().map(|violation| {
            let word = violation.rule.split('`').nth(1).unwrap_or_default();
            format!("{}: {word}", violation.line)
        });
        words.collect()
    }

    const PATH: &str = "crates/runner/src/supervisor/interpreter.rs";

    #[test]
    fn records_and_flags_are_found_in_literals() {
        let text = "fn a() {\n    f(b\"{\\\"type\\\":\\\"message_end\\\"\");\n    g(\"--no-session\");\n}\n";
        assert_eq!(found(PATH, text), ["2: message_end", "3: --no-session"]);
        assert_eq!(
            found(PATH, "f(\"--mode json --no-tools=false\")"),
            ["1: --mode", "1: --no-tools"]
        );
        assert_eq!(found(PATH, "f(\"\\\"willRetry\\\":true\")"), ["1: willRetry"]);
    }

    #[test]
    fn records_are_found_where_serde_makes_them_of_a_name() {
        assert_eq!(
            found(PATH, "enum Record {\n    MessageEnd { message: Message },\n}"),
            ["2: message_end"]
        );
        assert_eq!(found(PATH, "will_retry: bool,"), ["1: willRetry"]);
        assert_eq!(found(PATH, "fn tool_execution_start() {}"), ["1: tool_execution_start"]);
    }

    #[test]
    fn longer_words_comments_and_tests_are_passed_over() {
        for text in [
            "LastWord::MessageEnded",
            "f(\"--thinking-level\", \"--sessions\", \"--skills\")",
            "// --no-session and message_end",
            "/// `--system-prompt`\nsystem_prompt: String,",
            "#[cfg(test)]\nmod tests {\n    const RECORD: &str = \"message_end\";\n}\n",
        ] {
            assert_eq!(found(PATH, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_files_about_pi_and_the_tests_may_contain_them() {
        let text = "f(\"message_end\", \"--no-session\");";
        for path in [
            "crates/protocol/src/pi/mod.rs",
            "crates/protocol/src/pi/stream/delta.rs",
            "crates/runner/src/dialect/pi.rs",
            "crates/runner/src/dialect/pi_tests.rs",
            "crates/agent/src/run.rs",
            "crates/test-support/src/fake_agent.rs",
            "crates/cli/tests/spine/ends.rs",
            "crates/cli/testing/bench-runs.rs",
            "xtask/src/tidy/pi_words.rs",
        ] {
            assert_eq!(found(path, text), [""; 0], "{path}");
        }
        assert_eq!(found("crates/protocol/src/piece.rs", text).len(), 2);
        assert_eq!(found("crates/cli/src/arguments/agent.rs", text), ["1: message_end"]);
    }
}
