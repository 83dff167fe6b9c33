//! Claude Code behind the adapter that speaks the Agent Client Protocol for it: an agent that has no name here, and that
//! takes a prompt into a turn that goes on.

use super::{Agent, json, rows};

pub(super) const CLAUDE: Agent = Agent {
    name: "claude-acp",
    title: "Claude Code",
    command: &[
        "node_modules/.bin/node",
        "agents/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
    ],
    bash: "Bash",
    write: |path| json!({"name": "Write", "args": {"file_path": path, "content": "x"}}),
    model: "default",
};

#[test]
fn reads_a_message_sent_while_a_command_runs() {
    rows::reads_a_message_sent_while_a_command_runs(&CLAUDE);
}

#[test]
fn reads_a_message_for_the_end() {
    rows::reads_a_message_for_the_end(&CLAUDE);
}

#[test]
fn is_interrupted_in_a_command() {
    rows::is_interrupted_in_a_command(&CLAUDE);
}

#[test]
fn is_interrupted_in_an_answer() {
    rows::is_interrupted_in_an_answer(&CLAUDE);
}
