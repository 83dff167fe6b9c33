//! What a profile must not say.

use super::Profile;

/// A profile contradicts itself, and nothing of a call that uses it must start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Contradiction {
    #[error(
        "Profile \"{profile}\" has both \"tools\" (allowlist) and \"excludeTools\" (blacklist) \
         set. These are mutually exclusive — choose one or the other."
    )]
    ToolsAndExcludeTools { profile: String },
    #[error(
        "Profile \"{profile}\" has both \"suggestedSkills\" and \"noSkills\" set. These are \
         mutually exclusive — --no-skills would override --skill flags."
    )]
    SuggestedSkillsAndNoSkills { profile: String },
    #[error(
        "Profile \"{profile}\" has both \"loadSkills\" and \"noSkills\" set. These are mutually \
         exclusive — --no-skills disables skill discovery."
    )]
    LoadSkillsAndNoSkills { profile: String },
}

/// The text cannot name a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid profile name: {0:?}. Use only letters, digits, hyphens and underscores.")]
pub struct InvalidProfileName(pub String);

/// Whether the profile makes sense by itself.
pub fn check_profile(profile: &Profile) -> Result<(), Contradiction> {
    let name = || profile.name.clone();
    if !profile.no_tools && !profile.tools.is_empty() && !profile.exclude_tools.is_empty() {
        return Err(Contradiction::ToolsAndExcludeTools { profile: name() });
    }
    if profile.no_skills && !profile.suggested_skills.is_empty() {
        return Err(Contradiction::SuggestedSkillsAndNoSkills { profile: name() });
    }
    if profile.no_skills && !profile.load_skills.is_empty() {
        return Err(Contradiction::LoadSkillsAndNoSkills { profile: name() });
    }
    Ok(())
}

/// Whether the text can name a profile, and with it a file.
pub fn check_profile_name(name: &str) -> Result<(), InvalidProfileName> {
    if is_profile_name(name) {
        Ok(())
    } else {
        Err(InvalidProfileName(name.chars().take(80).collect()))
    }
}

pub(super) fn is_profile_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{profile, strings};
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
            let mut profile = profile();
            profile.tools = list(0);
            profile.exclude_tools = list(1);
            profile.no_tools = is_set(2);
            profile.suggested_skills = list(3);
            profile.load_skills = list(4);
            profile.no_skills = is_set(5);
            let found = check_profile(&profile).err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{fields}");
        }
    }

    #[test]
    fn names_are_letters_digits_hyphens_and_underscores() {
        for name in ["a", "CodeReviewer", "code-reviewer_2", "-", "0"] {
            assert_eq!(check_profile_name(name), Ok(()), "{name}");
        }
        for name in ["", "a b", "a.b", "a/b", "..", "ż", "a\0", "a\n"] {
            assert!(check_profile_name(name).is_err(), "{name:?}");
        }
        assert_eq!(
            check_profile_name("a b").unwrap_err().to_string(),
            "Invalid profile name: \"a b\". Use only letters, digits, hyphens and underscores."
        );
    }
}
