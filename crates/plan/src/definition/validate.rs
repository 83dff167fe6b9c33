//! What a definition must not say.

use super::{Definition, DefinitionKind};

/// A definition contradicts itself, and nothing of a call that uses it must start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Contradiction {
    #[error(
        "{definition} has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) \
         set. These are mutually exclusive — choose one or the other."
    )]
    ToolsAndExcludeTools { definition: String },
    #[error(
        "{definition} has both \"suggestedSkills\" and \"noSkills\" set. These are \
         mutually exclusive — --no-skills would override --skill flags."
    )]
    SuggestedSkillsAndNoSkills { definition: String },
    #[error(
        "{definition} has both \"loadSkills\" and \"noSkills\" set. These are mutually \
         exclusive — --no-skills disables skill discovery."
    )]
    LoadSkillsAndNoSkills { definition: String },
}

/// The text cannot name a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid {} name: {name:?}. Use only letters, digits, hyphens and underscores.", kind.word())]
#[expect(missing_docs, reason = "the message says it")]
pub struct InvalidDefinitionName {
    pub kind: DefinitionKind,
    pub name: String,
}

/// Whether the definition makes sense by itself.
pub fn check_definition(definition: &Definition) -> Result<(), Contradiction> {
    if !definition.no_tools && !definition.tools.is_empty() && !definition.exclude_tools.is_empty()
    {
        return Err(Contradiction::ToolsAndExcludeTools { definition: definition.label() });
    }
    if definition.no_skills && !definition.suggested_skills.is_empty() {
        return Err(Contradiction::SuggestedSkillsAndNoSkills { definition: definition.label() });
    }
    if definition.no_skills && !definition.load_skills.is_empty() {
        return Err(Contradiction::LoadSkillsAndNoSkills { definition: definition.label() });
    }
    Ok(())
}

/// Whether the text can name a definition, and with it a file.
pub fn check_definition_name(
    kind: DefinitionKind,
    name: &str,
) -> Result<(), InvalidDefinitionName> {
    if is_definition_name(name) {
        Ok(())
    } else {
        Err(InvalidDefinitionName { kind, name: name.chars().take(80).collect() })
    }
}

pub(super) fn is_definition_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{definition, strings};
    use super::*;

    #[test]
    fn contradictions_are_found_in_the_specified_words() {
        let tools = "Profile \"p\" has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) \
                     set. These are mutually exclusive — choose one or the other.";
        let suggested = "Profile \"p\" has both \"suggestedSkills\" and \"noSkills\" set. These \
                         are mutually exclusive — --no-skills would override --skill flags.";
        let loaded = "Profile \"p\" has both \"loadSkills\" and \"noSkills\" set. These are \
                      mutually exclusive — --no-skills disables skill discovery.";
        // tools, excludeTools, noTools, suggestedSkills, loadSkills, noSkills
        for (fields, expected) in [
            ("......", None),
            ("t.....", None),
            (".x....", None),
            ("tx....", Some(tools)),
            ("txn...", None),
            ("..n...", None),
            ("...s..", None),
            ("....l.", None),
            (".....n", None),
            ("...s.n", Some(suggested)),
            ("....ln", Some(loaded)),
            ("...sln", Some(suggested)),
            ("tx.s.n", Some(tools)),
        ] {
            let is_set = |index: usize| fields.as_bytes()[index] != b'.';
            let list = |index: usize| if is_set(index) { strings(&["a"]) } else { Vec::new() };
            let mut definition = definition();
            definition.tools = list(0);
            definition.exclude_tools = list(1);
            definition.no_tools = is_set(2);
            definition.suggested_skills = list(3);
            definition.load_skills = list(4);
            definition.no_skills = is_set(5);
            let found = check_definition(&definition).err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{fields}");
        }
    }

    #[test]
    fn names_are_letters_digits_hyphens_and_underscores() {
        for name in ["a", "CodeReviewer", "code-reviewer_2", "-", "0"] {
            assert_eq!(check_definition_name(DefinitionKind::Profile, name), Ok(()), "{name}");
        }
        for name in ["", "a b", "a.b", "a/b", "..", "ż", "a\0", "a\n"] {
            assert!(check_definition_name(DefinitionKind::Profile, name).is_err(), "{name:?}");
        }
        assert_eq!(
            check_definition_name(DefinitionKind::Profile, "a b").unwrap_err().to_string(),
            "Invalid profile name: \"a b\". Use only letters, digits, hyphens and underscores."
        );
    }
}
