//! What a definition must not say.

use protocol::Configuration;

use super::{Definition, DefinitionKind, Scope};
use crate::{Refusal, Trust};

/// Why a file is not loaded whose name is no name.
pub(super) const NAME_RULE: &str = "its name may have only letters, digits, \"_\" and \"-\"";
/// Why a file is not loaded that would restrict its agent less than its author wanted.
pub(super) const NOT_RESTRICTED: &str = "what should restrict the agent cannot be understood";

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
    let Configuration { no_tools, tools, exclude_tools, no_skills, .. } = &definition.configuration;
    if !no_tools && !tools.is_empty() && !exclude_tools.is_empty() {
        return Err(Contradiction::ToolsAndExcludeTools { definition: definition.label() });
    }
    if *no_skills && !definition.suggested_skills.is_empty() {
        return Err(Contradiction::SuggestedSkillsAndNoSkills { definition: definition.label() });
    }
    if *no_skills && !definition.load_skills.is_empty() {
        return Err(Contradiction::LoadSkillsAndNoSkills { definition: definition.label() });
    }
    Ok(())
}

/// Whether a definition may have the fields that can run code. A repository that was merely cloned
/// must not choose what program runs.
pub(crate) fn check_trust(
    definition: &Definition,
    trust: Trust,
    is_model_asked_for: bool,
) -> Result<(), Refusal> {
    if definition.scope == Scope::Global || trust.allows() {
        return Ok(());
    }
    let Configuration { extensions, extra_args, provider, model, fallback_models, .. } =
        &definition.configuration;
    // The built-in agent can play a script instead of asking a model. The script calls tools as its
    // author likes.
    let plays_script = provider.as_deref() == Some("script")
        || model.as_ref().is_some_and(|model| model.starts_with("script/"));
    let falls_back_to_script = fallback_models.iter().any(|model| model.starts_with("script/"));
    let fields = [
        ("\"extensions\"", !extensions.is_empty()),
        ("\"extraArgs\"", !extra_args.is_empty()),
        ("\"prepare\"", definition.prepare.is_some()),
        ("\"check\"", definition.check.is_some()),
        ("\"on\"", definition.on.is_some()),
        ("\"model\" to a script", !is_model_asked_for && plays_script),
        ("\"fallbackModels\" to a script", falls_back_to_script),
    ];
    let fields: Vec<&str> =
        fields.into_iter().filter_map(|(field, is_set)| is_set.then_some(field)).collect();
    if fields.is_empty() {
        return Ok(());
    }
    Err(Refusal::NotTrusted {
        definition: definition.label(),
        fields: fields.join(" and "),
        path: definition.path.clone(),
    })
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
    use super::super::testing::{definition, directories, strings};
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
            definition.configuration.tools = list(0);
            definition.configuration.exclude_tools = list(1);
            definition.configuration.no_tools = is_set(2);
            definition.suggested_skills = list(3);
            definition.load_skills = list(4);
            definition.configuration.no_skills = is_set(5);
            let found = check_definition(&definition).err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{fields}");
        }
    }

    #[test]
    fn a_project_may_run_code_only_if_it_is_trusted() {
        let changes: [fn(&mut Configuration); 5] = [
            |c| c.extensions = strings(&["/evil.js"]),
            |c| c.extra_args = strings(&["--extension=/evil.js"]),
            |c| c.model = Some("script/evil.json".into()),
            |c| c.provider = Some("script".into()),
            |c| c.fallback_models = strings(&["a/b", "script/evil.json"]),
        ];
        for trust in [Trust::Approved, Trust::Trusted, Trust::Refused, Trust::Undecided] {
            for scope in [Scope::Global, Scope::Project] {
                for change in changes {
                    let mut definition = Definition::new("p", scope, &directories());
                    change(&mut definition.configuration);
                    let is_allowed = check_trust(&definition, trust, false).is_ok();
                    assert_eq!(is_allowed, scope == Scope::Global || trust.allows());
                }
            }
        }
        let mut checked = Definition::new("p", Scope::Project, &directories());
        checked.check = Some("evil".to_owned());
        let error = check_trust(&checked, Trust::Undecided, false).unwrap_err().to_string();
        assert!(error.contains("sets \"check\", which can run any program"), "{error}");
        assert!(check_trust(&checked, Trust::Approved, false).is_ok());
        let mut prepared = Definition::new("p", Scope::Project, &directories());
        prepared.prepare = Some("evil".to_owned());
        let error = check_trust(&prepared, Trust::Undecided, false).unwrap_err().to_string();
        assert!(error.contains("sets \"prepare\", which can run any program"), "{error}");
        let mut definition = Definition::new("p", Scope::Project, &directories());
        definition.configuration.model = Some("m".into());
        assert!(check_trust(&definition, Trust::Undecided, false).is_ok());
        changes[0](&mut definition.configuration);
        changes[1](&mut definition.configuration);
        assert_eq!(
            check_trust(&definition, Trust::Undecided, false).unwrap_err().to_string(),
            "Profile \"p\" belongs to this project and sets \"extensions\" and \"extraArgs\", \
             which can run any program, but the project is not trusted. Look at \
             /work/.pi/agent-profiles/p.md, then trust the project with /trust in pi, or run with \
             --approve."
        );
    }

    #[test]
    fn a_script_that_the_caller_asks_for_is_not_the_projects() {
        let mut definition = Definition::new("p", Scope::Project, &directories());
        definition.configuration.model = Some("script/turns.json".into());
        let error = check_trust(&definition, Trust::Undecided, false).unwrap_err().to_string();
        assert!(error.contains("sets \"model\" to a script, which can run any program"), "{error}");
        assert!(check_trust(&definition, Trust::Undecided, true).is_ok());
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
