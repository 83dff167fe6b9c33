//! The words of agents: the records of their streams, and the flags of their command lines.
//!
//! Only the files that describe an agent know how it is started and how it speaks, so that an agent of another
//! make is added in one place.

use super::Violation;
use super::invariants::product_crate;
use super::rust_source::is_identifier_byte;
use super::tree::{TextFile, Tree};

/// What only the files about one agent contain.
struct Words {
    /// The agent. It is described by the files `NAME.rs` and `NAME_….rs`, and in directories of that name.
    agent: &'static str,
    /// The records that we read, and fields that no other record has. They are found in literals, and as
    /// names that serde turns into such a text.
    records: &'static [&'static str],
    /// The flags that it takes. Those that our own commands take as well, such as `--model`, are left out: they may
    /// mean either.
    flags: &'static [&'static str],
}

/// All agents that have a protocol of their own. The words that two of them share belong to both.
const AGENTS: &[Words] = &[
    Words { agent: "pi", records: PI_RECORDS, flags: PI_FLAGS },
    Words { agent: "claude", records: CLAUDE_RECORDS, flags: CLAUDE_FLAGS },
    Words { agent: "codex", records: CODEX_RECORDS, flags: CODEX_FLAGS },
    Words { agent: "acp", records: ACP_RECORDS, flags: ACP_FLAGS },
];

/// The messages of the Agent Client Protocol, and their fields that no other record has.
const ACP_RECORDS: &[&str] = &[
    "agent_message_chunk",
    "agent_thought_chunk",
    "configOptions",
    "rawInput",
    "rawOutput",
    "session/new",
    "session/prompt",
    "session/request_permission",
    "session/set_config_option",
    "session/set_model",
    "session/update",
    "sessionUpdate",
    "tool_call_update",
    "usage_update",
];

/// The flags of Gemini CLI and of GitHub Copilot.
const ACP_FLAGS: &[&str] = &["--acp"];

const CLAUDE_RECORDS: &[&str] = &[
    "api_retry",
    "content_block_delta",
    "content_block_start",
    "is_api_error_message",
    "message_delta",
    "message_start",
    "message_stop",
    "parent_tool_use_id",
    "structured_output",
    "permission_denials",
    "stream_event",
    "total_cost_usd",
];

const CLAUDE_FLAGS: &[&str] = &[
    "--allowedTools",
    "--append-system-prompt-file",
    "--disable-slash-commands",
    "--disallowedTools",
    "--include-partial-messages",
    "--input-format",
    "--no-session-persistence",
    "--output-format",
    "--permission-mode",
    "--replay-user-messages",
    "--setting-sources",
    "--strict-mcp-config",
    "--system-prompt-file",
];

const CODEX_RECORDS: &[&str] = &[
    "agent_message",
    "collab_tool_call",
    "command_execution",
    "item.completed",
    "item.started",
    "item.updated",
    "mcp_tool_call",
    "thread.started",
    "todo_list",
    "turn.completed",
    "turn.failed",
    "turn.started",
];

const CODEX_FLAGS: &[&str] = &[
    "--ephemeral",
    "--ignore-user-config",
    "--output-schema",
    "--sandbox",
    "--skip-git-repo-check",
];

/// The records of pi's JSON mode and of its RPC mode. `toolCallId` and `stopReason` are not among them: the book of sessions and our own
/// results contain them too.
const PI_RECORDS: &[&str] = &[
    "agent_end",
    "agent_settled",
    "agent_start",
    "assistantMessageEvent",
    "auto_retry_end",
    "auto_retry_start",
    "compaction_end",
    "compaction_start",
    "extension_ui_request",
    "extension_ui_response",
    "message_end",
    "message_start",
    "message_update",
    "queue_update",
    "streamingBehavior",
    "tool_execution_end",
    "tool_execution_start",
    "tool_execution_update",
    "turn_end",
    "turn_start",
    "willRetry",
];

const PI_FLAGS: &[&str] = &[
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
    "crates/cli/src/arguments/definition.rs",
    // It tells the user, in words that are specified, why two fields of a profile exclude each other.
    "crates/plan/src/definition/validate.rs",
];

/// Looks for the words in the product's code.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let files = tree
        .rust_files()
        .filter(|file| product_crate(file).is_some_and(|name| name != BUILT_IN_AGENT));
    files.flat_map(check_file).collect()
}

/// Whether the file is `NAME.rs` or `NAME_….rs`, or in a directory `NAME`.
fn describes(file: &TextFile, agent: &str) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let is_file =
        name.strip_prefix(agent).is_some_and(|rest| rest == ".rs" || rest.starts_with('_'));
    is_file || file.directories().any(|name| name == agent)
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let (own, others): (Vec<&Words>, Vec<&Words>) =
        AGENTS.iter().partition(|words| describes(file, words.agent));
    let is_own = |word: &str| {
        own.iter().any(|words| words.records.contains(&word) || words.flags.contains(&word))
    };
    let is_exempt = EXEMPT.contains(&file.path.as_str());
    let mut violations = Vec::new();
    for Words { agent, records, flags } in others {
        let flags = if is_exempt { &[] } else { *flags };
        for (index, (literals, code)) in
            file.product_literals.lines().zip(file.product_code.lines()).enumerate()
        {
            let in_literals = records.iter().chain(flags).filter(|word| stands_in(word, literals));
            let in_code = records.iter().filter(|record| {
                let names = [snake_case(record), camel_case(record)];
                !record.contains('.') && names.iter().any(|name| stands_in(name, code))
            });
            for word in in_literals.chain(in_code).filter(|word| !is_own(word)) {
                let rule = format!(
                    "`{word}`: only the files `{agent}.rs` and `{agent}_….rs`, the directories \
                     `{agent}` and the built-in agent know the records and the flags of {agent}."
                );
                violations.push(Violation::new(&file.path, index + 1, rule));
            }
        }
    }
    violations
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
    fn each_agent_has_words_of_its_own_and_two_can_share_one() {
        let room = |agent: &str| format!("crates/protocol/src/{agent}/stream.rs");
        let text = "f(\"message_start\", \"stream_event\", \"turn.failed\", \"--no-session\");";
        assert_eq!(
            found(PATH, text),
            [
                "1: message_start",
                "1: --no-session",
                "1: message_start",
                "1: stream_event",
                "1: turn.failed"
            ]
        );
        assert_eq!(found(&room("claude"), text), ["1: --no-session", "1: turn.failed"]);
        assert_eq!(found(&room("pi"), text), ["1: stream_event", "1: turn.failed"]);
        assert_eq!(found(PATH, "enum Item {\n    AgentMessage,\n}"), ["2: agent_message"]);
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
            "xtask/src/tidy/agent_words.rs",
        ] {
            assert_eq!(found(path, text), [""; 0], "{path}");
        }
        assert_eq!(found("crates/protocol/src/piece.rs", text).len(), 2);
        assert_eq!(found("crates/cli/src/arguments/agent.rs", text), ["1: message_end"]);
    }
}
