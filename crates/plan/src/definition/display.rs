//! Definitions on the screen.

use super::{Definition, fields};

/// One line about a definition.
pub fn definition_summary(definition: &Definition) -> String {
    let mut parts = vec![format!("{}: {}", definition.kind.word(), definition.name)];
    let list = |name: &str, entries: &[String]| format!("{name}=[{}]", entries.join(","));
    match (&definition.configuration.model, &definition.configuration.provider) {
        (Some(model), _) => parts.push(format!("model={model}")),
        (None, Some(provider)) => parts.push(format!("provider={provider}")),
        (None, None) => {}
    }
    if let Some(level) = definition.configuration.thinking_level {
        parts.push(format!("thinking={}", level.word()));
    }
    if definition.configuration.system_prompt.is_some() {
        parts.push("custom-system-prompt".to_owned());
    }
    if definition.configuration.append_system_prompt.is_some() {
        parts.push("appended-system-prompt".to_owned());
    }
    if let Some(access) = definition.access {
        parts.push(format!("access={}", access.word()));
    }
    if let Some(isolation) = definition.isolation {
        parts.push(format!("isolation={}", isolation.word()));
    }
    if definition.configuration.no_tools {
        parts.push("no-tools".to_owned());
    } else if !definition.configuration.tools.is_empty() {
        parts.push(list("tools", &definition.configuration.tools));
    } else if !definition.configuration.exclude_tools.is_empty() {
        parts.push(list("excludeTools", &definition.configuration.exclude_tools));
    }
    if !definition.suggested_skills.is_empty() {
        parts.push(list("suggestedSkills", &definition.suggested_skills));
    }
    if !definition.load_skills.is_empty() {
        parts.push(list("loadSkills", &definition.load_skills));
    }
    if !definition.is_own() {
        parts.push(format!("origin={}", definition.origin.word()));
    }
    parts.join(", ")
}

/// Everything about a definition, one field to a line, with its key masked.
pub fn definition_detail(definition: &Definition) -> String {
    let mut detail = format!("{}: {}", definition.kind.title(), definition.name);
    for (label, value) in fields::shown(definition).into_iter().chain(origin(definition)) {
        let label = format!("{label}:");
        // Values begin in one column, except for the longest label, which leaves no room for that.
        let width = if label == "appendSystemPrompt:" { 20 } else { 19 };
        detail.push_str(&format!("\n  {label:<width$}{value}"));
    }
    detail
}

/// Where a definition of another program comes from, and what of it is not taken over.
fn origin(definition: &Definition) -> Vec<(&'static str, String)> {
    if definition.is_own() {
        return Vec::new();
    }
    let (word, left_out) = (definition.origin.word(), definition.origin.left_out());
    let mut fields = vec![("origin", format!("{word}, {}", definition.path.display()))];
    if !left_out.is_empty() {
        fields.push(("notTakenOver", format!("[{}]", left_out.join(", "))));
    }
    fields
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use protocol::{ApiKey, ThinkingLevel};

    use super::super::testing::{any_definition, definition, strings};
    use super::*;

    fn changed(change: impl FnOnce(&mut Definition)) -> Definition {
        let mut definition = definition();
        change(&mut definition);
        definition
    }

    #[test]
    fn a_summary_is_one_line() {
        let summary = |change: fn(&mut Definition)| definition_summary(&changed(change));
        assert_eq!(summary(|_| ()), "profile: p");
        assert_eq!(
            summary(|p| p.configuration.provider = Some("a".into())),
            "profile: p, provider=a"
        );
        let both = summary(|p| {
            p.configuration.provider = Some("a".into());
            p.configuration.model = Some("x/y".into());
            p.configuration.thinking_level = Some(ThinkingLevel::Low);
        });
        assert_eq!(both, "profile: p, model=x/y, thinking=low");
        let all = summary(|p| {
            p.configuration.system_prompt = Some("s".into());
            p.configuration.append_system_prompt = Some("a".into());
            p.configuration.exclude_tools = strings(&["write", "edit"]);
            p.suggested_skills = strings(&["one", "two"]);
            p.load_skills = strings(&["three"]);
            p.configuration.api_key = Some(ApiKey::new("secret".into()));
        });
        assert_eq!(
            all,
            "profile: p, custom-system-prompt, appended-system-prompt, \
             excludeTools=[write,edit], suggestedSkills=[one,two], loadSkills=[three]"
        );
        let tools = summary(|p| {
            p.configuration.tools = strings(&["read", "bash"]);
            p.configuration.exclude_tools = strings(&["write"]);
        });
        assert_eq!(tools, "profile: p, tools=[read,bash]");
        let none = summary(|p| {
            p.configuration.no_tools = true;
            p.configuration.tools = strings(&["read"]);
        });
        assert_eq!(none, "profile: p, no-tools");
    }

    #[test]
    fn a_detail_has_all_fields_in_their_columns() {
        let definition = changed(|p| {
            p.configuration.provider = Some("anthropic".into());
            p.configuration.model = Some("sonnet".into());
            p.configuration.thinking_level = Some(ThinkingLevel::Off);
            p.agent = Some("pi".to_owned());
            p.configuration.system_prompt = Some("You\nare".into());
            p.configuration.append_system_prompt = Some("Be brief.".into());
            p.configuration.tools = strings(&["read", "bash"]);
            p.configuration.exclude_tools = strings(&["write"]);
            p.configuration.extensions = strings(&["/x.js"]);
            p.suggested_skills = strings(&["one", "two"]);
            p.load_skills = strings(&["three"]);
            (
                p.configuration.no_extensions,
                p.configuration.no_skills,
                p.configuration.no_context_files,
            ) = (true, true, true);
            p.configuration.api_key = Some(ApiKey::new("sk-test-abc123".into()));
            p.configuration.extra_args = strings(&["--verbose", "a\"b"]);
        });
        let expected = "\
Profile: p
  provider:          anthropic
  model:             sonnet
  thinkingLevel:     off
  agent:             pi
  systemPrompt:      You
are
  appendSystemPrompt: Be brief.
  tools:             [read, bash]
  extensions:        [/x.js]
  suggestedSkills:   [one, two]
  loadSkills:        [three]
  noExtensions:      true
  noSkills:          true
  noContextFiles:    true
  apiKey:            sk-t****c123
  extraArgs:         [\"--verbose\",\"a\\\"b\"]";
        assert_eq!(definition_detail(&definition), expected);
    }

    #[test]
    fn the_strongest_restriction_of_tools_is_shown() {
        let excluded = changed(|p| p.configuration.exclude_tools = strings(&["write"]));
        assert_eq!(definition_detail(&excluded), "Profile: p\n  excludeTools:      [write]");
        let none = changed(|p| {
            p.configuration.no_tools = true;
            p.configuration.exclude_tools = strings(&["write"]);
        });
        assert_eq!(definition_detail(&none), "Profile: p\n  noTools:           true");
        assert_eq!(definition_detail(&definition()), "Profile: p");
    }

    proptest! {
        #[test]
        fn any_definition_can_be_shown(definition in any_definition()) {
            definition_summary(&definition);
            definition_detail(&definition);
            let _ = format!("{definition:?}");
        }

        #[test]
        fn no_key_is_shown(key in "K[0-9]{9,40}K") {
            let definition = changed(|p| p.configuration.api_key = Some(ApiKey::new(key.clone())));
            for shown in [definition_summary(&definition), definition_detail(&definition), format!("{definition:?}")] {
                prop_assert!(!shown.contains(&key));
            }
        }
    }
}
