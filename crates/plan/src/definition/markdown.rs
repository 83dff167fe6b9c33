//! Definitions as text that reads back as it was written.

use super::{Definition, DefinitionKind, fields};

/// The contents of the definition's file.
pub fn to_markdown(definition: &Definition) -> String {
    let body = match definition.kind {
        DefinitionKind::Profile => &definition.configuration.system_prompt,
        DefinitionKind::Preset => &definition.configuration.append_system_prompt,
    };
    let body = body.as_ref().map(|body| format!("\n{body}\n")).unwrap_or_default();
    let (name, fields) = (scalar(&definition.name), fields::written(definition));
    format!("---\nname: {name}\n{fields}---\n{body}")
}

/// The value of a field that is text.
pub(super) fn text(text: &str) -> Option<String> {
    if can_be_block(text) {
        return Some(format!("|-\n  {}", text.replace('\n', "\n  ")));
    }
    (!text.is_empty()).then(|| scalar(text))
}

/// The value of a field that is a list: text with commas where that says the same, and a list where
/// an entry would be torn apart.
pub(super) fn list(entries: &[String]) -> Option<String> {
    let is_simple = |entry: &String| {
        let is_trimmed = !entry.is_empty() && entry.trim().len() == entry.len();
        is_trimmed && entry.chars().all(|character| character != ',' && is_visible(character))
    };
    if entries.is_empty() {
        return None;
    }
    if entries.iter().all(is_simple) {
        return Some(scalar(&entries.join(",")));
    }
    let entries: Vec<String> = entries.iter().map(|entry| quoted(entry)).collect();
    Some(format!("[{}]", entries.join(", ")))
}

/// Text on one line, in quotes unless it is plainly nothing but text.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether every reader of YAML reads the text as this text. YAML itself allows more.
fn is_plain(text: &str) -> bool {
    // Some readers give these another meaning.
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
    use protocol::{ApiKey, ThinkingLevel};

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
        definition.configuration.provider = Some("anthropic".into());
        definition.configuration.model = Some("anthropic/claude-sonnet-4.5:high".into());
        definition.configuration.thinking_level = Some(ThinkingLevel::Off);
        definition.configuration.append_system_prompt =
            Some("Be brief.\n\n- Really: brief.".into());
        definition.configuration.api_key = Some(ApiKey::new("sk-abc".into()));
        definition.configuration.no_extensions = true;
        definition.configuration.tools = strings(&["read", "bash"]);
        definition.configuration.extra_args = strings(&["--verbose", "a,b"]);
        definition.suggested_skills = strings(&["x: y"]);
        definition.configuration.system_prompt = Some("You are.\n\n---\n\nReally.".into());
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
            definition.configuration.append_system_prompt = Some(text.clone());
            definition.configuration.extra_args = vec![text];
            prop_assert_eq!(read_back(&definition), Some(definition));
        }
    }
}
