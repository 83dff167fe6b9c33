//! Definitions as text that reads back as it was written.

use super::{AgentName, ApiKey, Definition, DefinitionKind, ThinkingLevel};

/// The contents of the definition's file.
pub fn to_markdown(definition: &Definition) -> String {
    let mut lines = Lines(format!("---\nname: {}\n", scalar(&definition.name)));
    lines.text("description", definition.description.as_deref());
    lines.text("provider", definition.provider.as_deref());
    lines.text("model", definition.model.as_deref());
    lines.text("thinkingLevel", definition.thinking_level.map(ThinkingLevel::word));
    // What stands in the body of one kind is a field of the other, or not there at all.
    let (body, appended) = match definition.kind {
        DefinitionKind::Profile => (&definition.system_prompt, &definition.append_system_prompt),
        DefinitionKind::Preset => (&definition.append_system_prompt, &None),
    };
    lines.text("appendSystemPrompt", appended.as_deref());
    lines.text("apiKey", definition.api_key.as_ref().map(ApiKey::reveal));
    lines.text("agent", definition.agent.map(AgentName::word));
    if let Some(seconds) = definition.timeout {
        lines.field("timeout", &seconds.to_string());
    }
    lines.flag("noTools", definition.no_tools);
    lines.flag("noExtensions", definition.no_extensions);
    lines.flag("noSkills", definition.no_skills);
    lines.flag("noContextFiles", definition.no_context_files);
    lines.list("tools", &definition.tools);
    lines.list("excludeTools", &definition.exclude_tools);
    lines.list("extensions", &definition.extensions);
    lines.list("extraArgs", &definition.extra_args);
    lines.list("suggestedSkills", &definition.suggested_skills);
    lines.list("loadSkills", &definition.load_skills);
    lines.0.push_str("---\n");
    if let Some(body) = body {
        lines.0.push_str(&format!("\n{body}\n"));
    }
    lines.0
}

struct Lines(String);

impl Lines {
    fn field(&mut self, name: &str, value: &str) {
        self.0.push_str(&format!("{name}: {value}\n"));
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) if can_be_block(text) => {
                self.field(name, &format!("|-\n  {}", text.replace('\n', "\n  ")));
            }
            Some(text) if !text.is_empty() => self.field(name, &scalar(text)),
            Some(_) | None => {}
        }
    }

    fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.field(name, "true");
        }
    }

    /// Text with commas where that says the same, and a list where an entry would be torn apart.
    fn list(&mut self, name: &str, entries: &[String]) {
        let is_simple = |entry: &String| {
            let is_trimmed = !entry.is_empty() && entry.trim().len() == entry.len();
            is_trimmed && entry.chars().all(|character| character != ',' && is_visible(character))
        };
        if entries.is_empty() {
            return;
        }
        if entries.iter().all(is_simple) {
            self.field(name, &scalar(&entries.join(",")));
        } else {
            let entries: Vec<String> = entries.iter().map(|entry| quoted(entry)).collect();
            self.field(name, &format!("[{}]", entries.join(", ")));
        }
    }
}

/// Text on one line, in quotes unless it is plainly nothing but text.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether every reader of YAML takes the text for itself. Less is plain here than in YAML.
fn is_plain(text: &str) -> bool {
    // Some readers take these for something else.
    const WORDS: [&str; 13] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "infinity", "nan", ""];
    let is_word = |character: char| {
        character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '+' | '=' | ',')
    };
    let mut characters = text.chars().peekable();
    let starts = characters.peek().is_some_and(|first| first.is_alphabetic() || *first == '/');
    while let Some(character) = characters.next() {
        // A colon or a space within a word or sentence means nothing.
        let inner =
            matches!(character, ':' | ' ') && characters.peek().is_some_and(|c| is_word(*c));
        if !is_word(character) && !inner {
            return false;
        }
    }
    starts && !WORDS.contains(&text.to_lowercase().as_str())
}

/// Text in double quotes, with everything escaped that must be, or that an editor might change.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if is_visible(character) => quoted.push(character),
            _ => quoted.push_str(&format!("\\U{:08X}", u32::from(character))),
        }
    }
    quoted.push('"');
    quoted
}

/// Several lines that can stand as they are, for people to read and edit.
fn can_be_block(text: &str) -> bool {
    text.contains('\n')
        && text.trim().len() == text.len()
        && text.chars().all(|character| character == '\n' || is_visible(character))
}

/// What YAML calls printable, without what some readers take for the end of a line.
fn is_visible(character: char) -> bool {
    matches!(character,
        ' '..='~'
        | '\u{a0}'..='\u{2027}'
        | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}'
        | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::load::from_document;
    use super::super::testing::{any_definition, any_text, definition, directories_of, strings};
    use super::*;
    use crate::frontmatter::Document;

    fn read_back(definition: &Definition) -> Option<Definition> {
        let text = to_markdown(definition);
        let document = Document::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(document.repaired_lines.is_empty(), "{text}");
        let (read, warnings) = from_document(
            document,
            &definition.path,
            definition.scope,
            &directories_of(definition.kind),
        );
        assert_eq!(warnings, [], "{text}");
        read
    }

    #[test]
    fn a_file_is_written_as_people_would() {
        let mut definition = definition();
        definition.provider = Some("anthropic".into());
        definition.model = Some("anthropic/claude-sonnet-4.5:high".into());
        definition.thinking_level = Some(ThinkingLevel::Off);
        definition.append_system_prompt = Some("Be brief.\n\n- Really: brief.".into());
        definition.api_key = Some(ApiKey::new("sk-abc".into()));
        definition.no_extensions = true;
        definition.tools = strings(&["read", "bash"]);
        definition.extra_args = strings(&["--verbose", "a,b"]);
        definition.suggested_skills = strings(&["x: y"]);
        definition.system_prompt = Some("You are.\n\n---\n\nReally.".into());
        let expected = "\
---
name: p
provider: anthropic
model: anthropic/claude-sonnet-4.5:high
thinkingLevel: \"off\"
appendSystemPrompt: |-
  Be brief.
  
  - Really: brief.
apiKey: sk-abc
noExtensions: true
tools: read,bash
extraArgs: [\"--verbose\", \"a,b\"]
suggestedSkills: \"x: y\"
---

You are.

---

Really.
";
        assert_eq!(to_markdown(&definition), expected);
        assert_eq!(read_back(&definition), Some(definition));
    }

    #[test]
    fn only_what_is_plainly_text_is_plain() {
        for text in ["a", "read,bash", "sonnet:high", "/path/to.js", "Be brief and kind", "zażółć"]
        {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "",
            "off",
            "Yes",
            "null",
            "7",
            "4o-mini",
            "-a",
            "a: b",
            "a:",
            "a #b",
            "a ",
            " a",
            "a  b",
            "a\nb",
            "'a'",
            "\"a\"",
            "[a]",
            "{a",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "~",
            "a|b",
            "a\u{2028}b",
            ".5",
            "NaN",
            "=",
            "<<",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_definition_reads_back_as_it_was_written(definition in any_definition()) {
            prop_assert_eq!(read_back(&definition), Some(definition));
        }

        #[test]
        fn any_text_reads_back_as_it_was_written(text in any_text()) {
            let mut definition = definition();
            definition.append_system_prompt = Some(text.clone());
            definition.extra_args = vec![text];
            prop_assert_eq!(read_back(&definition), Some(definition));
        }
    }
}
