//! The targets. A new one is a file here, a line in each of the two lists below, and a directory of
//! the same name in `corpus`.

mod acp;
mod batch_file;
mod book;
mod bridge;
mod builtin_tools;
mod claude;
mod client_file;
mod codex;
mod definition;
mod elicitation;
mod fleet;
mod git;
mod governor;
mod limits;
mod mcp;
mod protocol;
mod provider;
mod requests;
mod run_directory;
mod schema;
mod session_file;
mod settings;
mod snapshot;
mod terminal;
mod tool_arguments;
mod version;

/// A reader of what other programs wrote.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line, and that of its directory in `corpus`.
    pub name: &'static str,
    /// Gives it bytes, and panics if an assertion fails.
    pub check: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "acp", check: acp::check },
    Target { name: "batch_file", check: batch_file::check },
    Target { name: "book", check: book::check },
    Target { name: "bridge", check: bridge::check },
    Target { name: "builtin_tools", check: builtin_tools::check },
    Target { name: "claude", check: claude::check },
    Target { name: "client_file", check: client_file::check },
    Target { name: "codex", check: codex::check },
    Target { name: "definition", check: definition::check },
    Target { name: "elicitation", check: elicitation::check },
    Target { name: "fleet", check: fleet::check },
    Target { name: "git", check: git::check },
    Target { name: "governor", check: governor::check },
    Target { name: "limits", check: limits::check },
    Target { name: "mcp", check: mcp::check },
    Target { name: "protocol", check: protocol::check },
    Target { name: "provider", check: provider::check },
    Target { name: "provider_gemini", check: provider::check_gemini },
    Target { name: "provider_responses", check: provider::check_responses },
    Target { name: "requests", check: requests::check },
    Target { name: "run_directory", check: run_directory::check },
    Target { name: "schema", check: schema::check },
    Target { name: "session_file", check: session_file::check },
    Target { name: "settings", check: settings::check },
    Target { name: "snapshot", check: snapshot::check },
    Target { name: "terminal", check: terminal::check },
    Target { name: "tool_arguments", check: tool_arguments::check },
    Target { name: "version", check: version::check },
];
