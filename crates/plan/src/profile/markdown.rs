//! Profiles as text that reads back as it was written.

use super::{AgentName, ApiKey, Profile, ThinkingLevel};

/// The contents of the profile's file.
pub fn to_markdown(profile: &Profile) -> String {
    let mut lines = Lines(format!("---\nname: {}\n", scalar(&profile.name)));
    lines.text("provider", profile.provider.as_deref());
    lines.text("model", profile.model.as_deref());
    lines.text("thinkingLevel", profile.thinking_level.map(ThinkingLevel::word));
    lines.text("appendSystemPrompt", profile.append_system_prompt.as_deref());
    lines.text("apiKey", profile.api_key.as_ref().map(ApiKey::reveal));
    lines.text("agent", profile.agent.map(AgentName::word));
    lines.flag("noTools", profile.no_tools);
    lines.flag("noExtensions", profile.no_extensions);
    lines.flag("noSkills", profile.no_skills);
    lines.flag("noContextFiles", profile.no_context_files);
    lines.list("tools", &profile.tools);
    lines.list("excludeTools", &profile.exclude_tools);
    lines.list("extensions", &profile.extensions);
    lines.list("extraArgs", &profile.extra_args);
    lines.list("suggestedSkills", &profile.suggested_skills);
    lines.list("loadSkills", &profile.load_skills);
    lines.0.push_str("---\n");
    if let Some(system_prompt) = &profile.system_prompt {
        lines.0.push_str(&format!("\n{system_prompt}\n"));
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
    use super::super::testing::{any_profile, any_text, directories, profile, strings};
    use super::*;
    use crate::frontmatter::Document;

    fn read_back(profile: &Profile) -> Option<Profile> {
        let text = to_markdown(profile);
        let document = Document::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(document.repaired_lines.is_empty(), "{text}");
        let (read, warnings) =
            from_document(document, &profile.path, profile.scope, &directories().global);
        assert_eq!(warnings, [], "{text}");
        read
    }

    #[test]
    fn a_file_is_written_as_people_would() {
        let mut profile = profile();
        profile.provider = Some("anthropic".into());
        profile.model = Some("anthropic/claude-sonnet-4.5:high".into());
        profile.thinking_level = Some(ThinkingLevel::Off);
        profile.append_system_prompt = Some("Be brief.\n\n- Really: brief.".into());
        profile.api_key = Some(ApiKey::new("sk-abc".into()));
        profile.no_extensions = true;
        profile.tools = strings(&["read", "bash"]);
        profile.extra_args = strings(&["--verbose", "a,b"]);
        profile.suggested_skills = strings(&["x: y"]);
        profile.system_prompt = Some("You are.\n\n---\n\nReally.".into());
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
        assert_eq!(to_markdown(&profile), expected);
        assert_eq!(read_back(&profile), Some(profile));
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
        fn any_profile_reads_back_as_it_was_written(profile in any_profile()) {
            prop_assert_eq!(read_back(&profile), Some(profile));
        }

        #[test]
        fn any_text_reads_back_as_it_was_written(text in any_text()) {
            let mut profile = profile();
            profile.append_system_prompt = Some(text.clone());
            profile.extra_args = vec![text];
            prop_assert_eq!(read_back(&profile), Some(profile));
        }
    }
}
