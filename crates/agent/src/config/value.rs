//! Values in pi's files that refer to others: `$NAME`, `${NAME}` and `!command`.

use std::path::Path;
use std::time::Duration;

#[derive(Clone, PartialEq, Eq)]
pub(super) enum ConfigValue {
    Command(String),
    /// Text with variables in it.
    Template(Vec<Part>),
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    Variable(String),
}

/// Why there is no value. The reason never contains it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Unresolved {
    #[error("it needs the environment variable {0}, which is not set")]
    NoVariable(String),
    #[error("its command failed: {0}")]
    Failed(String),
    #[error("its command printed nothing")]
    Nothing,
    #[error("it is empty")]
    Empty,
}

/// The longest that a command may take, as in pi.
const COMMAND_TIME: Duration = Duration::from_secs(10);
/// No key is longer.
const COMMAND_OUTPUT: usize = 64 * 1024;

impl ConfigValue {
    pub(super) fn parse(text: &str) -> ConfigValue {
        match text.strip_prefix('!') {
            Some(command) => ConfigValue::Command(command.to_owned()),
            None => ConfigValue::Template(parse_template(text)),
        }
    }

    /// Whether there is a value. A command is not run, and counts as one.
    pub(super) fn is_configured(&self, variable: impl Fn(&str) -> Option<String>) -> bool {
        match self {
            ConfigValue::Command(_) => true,
            ConfigValue::Template(_) => self.resolve(variable, Path::new("/")).is_ok(),
        }
    }

    /// The final value. A command runs in `directory`, which must not belong to a project: with a
    /// relative path the command would run the project's program.
    pub(super) fn resolve(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        directory: &Path,
    ) -> Result<String, Unresolved> {
        match self {
            ConfigValue::Command(command) => {
                let output =
                    process::shell_output(command, directory, COMMAND_TIME, COMMAND_OUTPUT)
                        .map_err(|error| Unresolved::Failed(error.to_string()))?;
                let text = String::from_utf8(output)
                    .map_err(|_| Unresolved::Failed("it did not print UTF-8".to_owned()))?;
                Some(text.trim().to_owned())
                    .filter(|text| !text.is_empty())
                    .ok_or(Unresolved::Nothing)
            }
            ConfigValue::Template(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        Part::Literal(literal) => text.push_str(literal),
                        Part::Variable(name) => text.push_str(
                            &variable(name)
                                .filter(|value| !value.is_empty())
                                .ok_or_else(|| Unresolved::NoVariable(name.clone()))?,
                        ),
                    }
                }
                if text.is_empty() { Err(Unresolved::Empty) } else { Ok(text) }
            }
        }
    }
}

fn parse_template(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        literal.push_str(before);
        rest = after;
        if let Some(escaped) = after.chars().next().filter(|next| matches!(next, '$' | '!')) {
            literal.push(escaped);
            rest = &after[1..];
            continue;
        }
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let variable = match braced {
            Some((name, behind)) if name_length(name) == name.len() && !name.is_empty() => {
                Some((name, behind))
            }
            Some((name, behind)) => {
                literal.push_str("${");
                literal.push_str(name);
                literal.push('}');
                rest = behind;
                continue;
            }
            None => Some(after.split_at(name_length(after))).filter(|(name, _)| !name.is_empty()),
        };
        match variable {
            Some((name, behind)) => {
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Variable(name.to_owned()));
                rest = behind;
            }
            None => literal.push('$'),
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    parts
}

/// The length of the variable name at the beginning of the text.
fn name_length(text: &str) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    text.bytes().take_while(is_part).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        match name {
            "KEY" => Some("value".to_owned()),
            "_B2" => Some("b".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn templates_are_filled_in() {
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("$KEY", Ok("value")),
            ("${KEY}", Ok("value")),
            ("Bearer $KEY!", Ok("Bearer value!")),
            ("a${_B2}c$_B2", Ok("abcb")),
            ("$$KEY", Ok("$KEY")),
            ("$!KEY", Ok("!KEY")),
            ("100$", Ok("100$")),
            ("$1", Ok("$1")),
            ("${1}", Ok("${1}")),
            ("${}", Ok("${}")),
            ("${KEY", Ok("${KEY")),
            ("é$KEY-é", Ok("évalue-é")),
            ("$EMPTY", Err(Unresolved::NoVariable("EMPTY".to_owned()))),
            ("a$MISSING", Err(Unresolved::NoVariable("MISSING".to_owned()))),
            ("", Err(Unresolved::Empty)),
        ] {
            let value = ConfigValue::parse(text);
            let resolved = value.resolve(variable, Path::new("/"));
            assert_eq!(resolved, expected.map(str::to_owned), "{text}");
            assert_eq!(value.is_configured(variable), resolved.is_ok(), "{text}");
        }
    }

    #[test]
    fn commands_run_elsewhere_and_never_show_their_output_in_errors() {
        let top = tempfile::tempdir().unwrap();
        let resolve = |text: &str| ConfigValue::parse(text).resolve(variable, top.path());
        assert_eq!(resolve("!echo ' key ' && echo").as_deref(), Ok("key"));
        let directory = std::fs::canonicalize(top.path()).unwrap();
        assert_eq!(resolve("!pwd -P").as_deref(), Ok(directory.to_str().unwrap()));
        assert_eq!(resolve("!true"), Err(Unresolved::Nothing));
        for text in ["!echo secret; exit 3", "!printf 'secret\\377'"] {
            let error = resolve(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(ConfigValue::parse("!false").is_configured(variable));
    }
}
