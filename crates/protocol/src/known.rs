//! The agents of other makers that have a name here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Protocol;

/// An agent that is known by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAgent {
    /// The word for it in files, in arguments and on the screen.
    pub name: &'static str,
    /// What its maker calls it.
    pub title: &'static str,
    /// Its program, and the arguments that it always has.
    pub command: &'static [&'static str],
    #[expect(missing_docs, reason = "the type says it")]
    pub protocol: Protocol,
    /// Whether it is taken where the user names no agent and it is installed.
    pub is_default: bool,
    /// What the user does to install it.
    pub install: &'static str,
    /// Its sign-in, as far as it can be seen without asking the agent.
    pub sign_in: SignIn,
}

/// What shows that an agent can reach its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Variables of the environment that hold a key.
    pub variables: &'static [&'static str],
    /// The variable that names the directory of its state.
    pub directory: Option<&'static str>,
    /// That directory below the home directory, where the variable names none.
    pub home: &'static str,
    /// Files of that directory that are made by signing in.
    pub files: &'static [&'static str],
    /// What the user does to sign in.
    pub command: &'static str,
}

impl KnownAgent {
    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static KnownAgent> {
        known_agents().iter().find(|agent| agent.name == name)
    }
}

impl SignIn {
    /// The directory of its state.
    pub fn state_dir(
        &self,
        variable: impl Fn(&str) -> Option<OsString>,
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        let named = self.directory.and_then(variable).map(PathBuf::from);
        let named = named.filter(|directory| directory.is_absolute());
        named.or_else(|| Some(home?.join(self.home)))
    }
}

/// All of them, in the order in which one is taken if the user names none.
pub fn known_agents() -> &'static [KnownAgent] {
    &[
        KnownAgent {
            name: "claude",
            title: "Claude Code",
            command: &["claude"],
            protocol: Protocol::Claude,
            is_default: true,
            install: "install it with `npm install -g @anthropic-ai/claude-code`",
            sign_in: SignIn {
                variables: &[
                    "ANTHROPIC_API_KEY",
                    "ANTHROPIC_AUTH_TOKEN",
                    "CLAUDE_CODE_OAUTH_TOKEN",
                    "CLAUDE_CODE_USE_BEDROCK",
                    "CLAUDE_CODE_USE_VERTEX",
                ],
                directory: Some("CLAUDE_CONFIG_DIR"),
                home: ".claude",
                files: &[".credentials.json"],
                command: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
            },
        },
        KnownAgent {
            name: "codex",
            title: "Codex",
            command: &["codex"],
            protocol: Protocol::Codex,
            is_default: true,
            install: "install it with `npm install -g @openai/codex`",
            sign_in: SignIn {
                variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
                directory: Some("CODEX_HOME"),
                home: ".codex",
                files: &["auth.json"],
                command: "run `codex login`, or set CODEX_API_KEY",
            },
        },
        KnownAgent {
            name: "gemini",
            title: "Gemini CLI",
            command: &["gemini"],
            protocol: Protocol::Acp,
            is_default: false,
            install: "install it with `npm install -g @google/gemini-cli`",
            sign_in: SignIn {
                variables: &[
                    "GEMINI_API_KEY",
                    "GOOGLE_API_KEY",
                    "GOOGLE_GENAI_USE_VERTEXAI",
                    "GOOGLE_GENAI_USE_GCA",
                ],
                directory: None,
                home: ".gemini",
                files: &["oauth_creds.json", "gemini-credentials.json"],
                command: "start `gemini` and choose how to sign in, or set GEMINI_API_KEY",
            },
        },
        KnownAgent {
            name: "opencode",
            title: "opencode",
            command: &["opencode"],
            protocol: Protocol::Acp,
            is_default: false,
            install: "install it with `npm install -g opencode-ai`",
            sign_in: SignIn {
                variables: &["OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
                directory: None,
                home: ".local/share/opencode",
                files: &["auth.json"],
                command: "run `opencode auth login`, or set the key of a provider",
            },
        },
        KnownAgent {
            name: "copilot",
            title: "GitHub Copilot",
            command: &["copilot"],
            protocol: Protocol::Acp,
            is_default: false,
            install: "install it with `npm install -g @github/copilot`",
            sign_in: SignIn {
                variables: &[
                    "COPILOT_GITHUB_TOKEN",
                    "GH_TOKEN",
                    "GITHUB_TOKEN",
                    "COPILOT_PROVIDER_BASE_URL",
                ],
                directory: Some("COPILOT_HOME"),
                home: ".copilot",
                files: &[],
                command: "run `copilot login`, or set COPILOT_GITHUB_TOKEN",
            },
        },
    ]
}
