//! The clients: the paths of their files, and the entries that they expect there.

use std::path::Path;

use model::{provider_variables, variables};
use serde_json::{Map, Value};

use crate::config::{EntryPath, Format};

/// The name of this program, as a file and as an entry.
pub(crate) const NAME: &str = "pi-subagents";

/// The argument that makes this program a server.
pub(crate) const COMMAND: &str = "mcp";

/// The longest call: a task may take an hour, and may wait for others before.
const CALL_SECONDS: u64 = 6 * 60 * 60;
const CALL_MILLISECONDS: u64 = CALL_SECONDS * 1_000;

/// The longest start, on a busy machine.
const START_SECONDS: u64 = 30;

/// A program that speaks the Model Context Protocol, and starts the servers that its configuration
/// names.
#[derive(Debug)]
pub struct Client {
    /// The argument of `setup`.
    pub name: &'static str,
    /// The name of the product.
    pub title: &'static str,
    /// How the user sees that the client has found the server.
    pub next_step: &'static str,
    /// What the client demands of the user before calls can succeed, and how to give it.
    pub demand: Option<&'static str>,
    pub(crate) format: Format,
    pub(crate) user: UserFile,
    /// Below the root of the project.
    pub(crate) project: Names,
    pub(crate) form: Form,
    /// Used in files that have the section of such a form.
    pub(crate) other_forms: &'static [Form],
}

/// The configuration file of a user: in the directory that a variable names, else in one below the
/// home directory. Some clients have another one on macOS.
#[derive(Debug)]
pub(crate) struct UserFile {
    pub(crate) variable: Option<&'static str>,
    pub(crate) otherwise: &'static str,
    pub(crate) on_macos: Option<&'static str>,
    pub(crate) names: Names,
}

/// The names that a file may have. If none exists, the last is created.
pub(crate) type Names = &'static [&'static str];

#[derive(Debug)]
pub(crate) struct Form {
    section: &'static [&'static str],
    fields: &'static [(&'static str, Field)],
}

#[derive(Debug)]
enum Field {
    Text(&'static str),
    Number(u64),
    Flag(bool),
    /// An object with one number in it.
    Within(&'static str, u64),
    /// The path of this program.
    Program,
    Arguments,
    /// The program and its arguments in one array.
    CommandLine,
    /// The names of the variables that the server gets, for a client that withholds all others. The values are
    /// nowhere.
    VariableNames,
}

/// What else this program reads: where the user's files are, which agent to start, and whether the client itself is
/// a sub-agent, which starts no others.
const OWN_VARIABLES: &[&str] =
    &[variables::PI_AGENT_DIR, variables::PI_CODING_AGENT_DIR, variables::AGENT, variables::CHILD];

const fn user_file(
    variable: Option<&'static str>,
    otherwise: &'static str,
    names: Names,
) -> UserFile {
    UserFile { variable, otherwise, on_macos: None, names }
}

const STANDARD_FIELDS: &[(&str, Field)] =
    &[("type", Field::Text("stdio")), ("command", Field::Program), ("args", Field::Arguments)];

/// Every client that `setup` knows.
pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude",
        title: "Claude Code",
        next_step: "start `claude` anew; `/mcp` lists the server there",
        demand: None,
        format: Format::Jsonc,
        user: user_file(Some("CLAUDE_CONFIG_DIR"), "", &[".claude.json"]),
        project: &[".mcp.json"],
        form: Form {
            section: &["mcpServers"],
            fields: &[
                ("type", Field::Text("stdio")),
                ("command", Field::Program),
                ("args", Field::Arguments),
                ("timeout", Field::Number(CALL_MILLISECONDS)),
            ],
        },
        other_forms: &[],
    },
    Client {
        name: "codex",
        title: "Codex",
        next_step: "start `codex` anew; `/mcp` lists the server there",
        demand: Some(
            "Codex asks before each call; answer once that calls of this tool are always allowed, or add \
             `default_tools_approval_mode = \"approve\"` to the entry, without which `codex exec` refuses calls",
        ),
        format: Format::Toml,
        user: user_file(Some("CODEX_HOME"), ".codex", &["config.toml"]),
        project: &[".codex/config.toml"],
        form: Form {
            section: &["mcp_servers"],
            fields: &[
                ("command", Field::Program),
                ("args", Field::Arguments),
                ("env_vars", Field::VariableNames),
                ("startup_timeout_sec", Field::Number(START_SECONDS)),
                ("tool_timeout_sec", Field::Number(CALL_SECONDS)),
            ],
        },
        other_forms: &[],
    },
    Client {
        name: "cursor",
        title: "Cursor",
        next_step: "start Cursor anew, and switch the server on in its settings for MCP",
        demand: None,
        format: Format::Jsonc,
        user: user_file(None, "", &[".cursor/mcp.json"]),
        project: &[".cursor/mcp.json"],
        form: Form { section: &["mcpServers"], fields: STANDARD_FIELDS },
        other_forms: &[],
    },
    Client {
        name: "vscode",
        title: "VS Code",
        next_step: "`MCP: List Servers` in the command palette shows the server, and starts it",
        demand: None,
        format: Format::Jsonc,
        user: UserFile {
            on_macos: Some("Library/Application Support"),
            ..user_file(Some("XDG_CONFIG_HOME"), ".config", &["Code/User/mcp.json"])
        },
        project: &[".vscode/mcp.json"],
        form: Form { section: &["servers"], fields: STANDARD_FIELDS },
        other_forms: &[],
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        next_step: "start `gemini` anew; `/mcp` lists the server there",
        demand: Some(
            "Gemini CLI starts servers only in folders that you trust; say so when it asks, or with `/permissions`, or \
             with `--skip-trust` where it cannot ask",
        ),
        format: Format::Jsonc,
        user: user_file(Some("GEMINI_CLI_HOME"), "", &[".gemini/settings.json"]),
        project: &[".gemini/settings.json"],
        form: Form {
            section: &["mcpServers"],
            fields: &[
                ("command", Field::Program),
                ("args", Field::Arguments),
                ("timeout", Field::Number(CALL_MILLISECONDS)),
            ],
        },
        other_forms: &[],
    },
    Client {
        name: "opencode",
        title: "opencode",
        next_step: "start `opencode` anew; `opencode mcp list` lists the server",
        demand: None,
        format: Format::Jsonc,
        user: user_file(
            Some("XDG_CONFIG_HOME"),
            ".config",
            &["opencode/opencode.jsonc", "opencode/opencode.json"],
        ),
        project: &["opencode.jsonc", "opencode.json"],
        form: Form {
            section: &["mcp"],
            fields: &[
                ("type", Field::Text("local")),
                ("command", Field::CommandLine),
                ("enabled", Field::Flag(true)),
                ("timeout", Field::Number(CALL_MILLISECONDS)),
            ],
        },
        // The form of opencode 2. It also reads the first form, but perhaps not both in one file.
        other_forms: &[Form {
            section: &["mcp", "servers"],
            fields: &[
                ("type", Field::Text("local")),
                ("command", Field::CommandLine),
                ("timeout", Field::Within("request", CALL_MILLISECONDS)),
            ],
        }],
    },
];

impl Form {
    pub(crate) fn entry_path(&self) -> EntryPath {
        EntryPath { section: self.section, name: NAME }
    }

    /// The names of the fields of an entry whose values are ours. The user may have put a key into
    /// any other.
    pub(crate) fn own_fields(&self, entry: &Value) -> Vec<&'static str> {
        let ours = self.entry(self.own_program(entry).unwrap_or_default());
        let is_own = |name: &&str| entry[*name] == ours[*name] || entry[*name].is_number();
        self.fields.iter().map(|(name, _)| *name).filter(is_own).collect()
    }

    /// The entry that starts this program.
    pub(crate) fn entry(&self, program: &str) -> Value {
        let fields = self.fields.iter().map(|(name, field)| {
            let value = match field {
                Field::Text(text) => Value::from(*text),
                Field::Number(number) => Value::from(*number),
                Field::Flag(flag) => Value::from(*flag),
                Field::Within(name, number) => {
                    Value::Object(Map::from_iter([((*name).to_owned(), Value::from(*number))]))
                }
                Field::Program => Value::from(program),
                Field::Arguments => Value::from(vec![COMMAND]),
                Field::CommandLine => Value::from(vec![program, COMMAND]),
                Field::VariableNames => Value::from(
                    [provider_variables::KEYS, provider_variables::ADDRESSES, OWN_VARIABLES]
                        .concat(),
                ),
            };
            ((*name).to_owned(), value)
        });
        Value::Object(fields.collect())
    }

    /// The field with the names of variables, and the field before it, if an entry has been written without.
    pub(crate) fn missing_variables(&self, entry: &Value) -> Option<(&'static str, &'static str)> {
        let is_missing = |fields: &&[(&'static str, Field)]| matches!(fields, [_, (name, Field::VariableNames)] if entry.get(name).is_none());
        let found = self.fields.windows(2).find(is_missing)?;
        Some((found[0].0, found[1].0))
    }

    /// The field that names the program, alone or as its first element.
    pub(crate) fn program_field(&self) -> &'static str {
        let names_it = |field: &Field| matches!(field, Field::Program | Field::CommandLine);
        self.fields.iter().find(|(_, field)| names_it(field)).map_or("command", |(name, _)| name)
    }

    /// The program that an entry starts, if it is this one, at whatever path.
    pub(crate) fn own_program<'a>(&self, entry: &'a Value) -> Option<&'a str> {
        let mut words = Vec::new();
        for (name, field) in self.fields {
            match (field, &entry[name]) {
                (Field::Program, Value::String(program)) => words.push(program.as_str()),
                (Field::Arguments | Field::CommandLine, Value::Array(values)) => {
                    words.extend(values.iter().map(|value| value.as_str().unwrap_or_default()));
                }
                _ => {}
            }
        }
        match words[..] {
            [program, COMMAND, ..] if Path::new(program).file_name()? == NAME => Some(program),
            _ => None,
        }
    }
}

impl Client {
    /// The client of this name.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The files that it reads, for the help.
    pub fn files_in_words(&self) -> String {
        let on_macos = self.user.on_macos.filter(|_| cfg!(target_os = "macos"));
        let files = self.user.names.iter().map(|name| {
            let path = Path::new("~").join(on_macos.unwrap_or(self.user.otherwise)).join(name);
            path.display().to_string()
        });
        let mut files = files.collect::<Vec<String>>().join(" or ");
        if let Some(variable) = self.user.variable.filter(|_| on_macos.is_none()) {
            files.push_str(&format!(" (${variable})"));
        }
        format!("{files}, or {} of the project", self.project.join(" or "))
    }

    /// The form of the entry in a text, or the form that a new entry gets there.
    pub(crate) fn form(&'static self, text: &str) -> &'static Form {
        if self.other_forms.is_empty() {
            return &self.form;
        }
        let has_entry = |form: &&'static Form| {
            self.format.entry(text, form.entry_path()).is_ok_and(|entry| entry.is_some())
        };
        if let Some(form) = [&self.form].into_iter().chain(self.other_forms).find(has_entry) {
            return form;
        }
        // A section with a `type` is a server of that name, in another form.
        let has_section = |form: &&'static Form| {
            let path = form.entry_path();
            self.format.sections(text, path) == Ok(path.section.len())
                && self.format.entry(text, EntryPath { name: "type", ..path }) == Ok(None)
        };
        self.other_forms.iter().find(has_section).unwrap_or(&self.form)
    }
}
