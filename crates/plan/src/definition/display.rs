//! Definitions on the screen.

use super::{AgentName, Definition, ThinkingLevel};

/// One line about a definition.
pub fn definition_summary(definition: &Definition) -> String {
    let mut parts = vec![format!("{}: {}", definition.kind.word(), definition.name)];
    let list = |name: &str, entries: &[String]| format!("{name}=[{}]", entries.join(","));
    match (&definition.model, &definition.provider) {
        (Some(model), _) => parts.push(format!("model={model}")),
        (None, Some(provider)) => parts.push(format!("provider={provider}")),
        (None, None) => {}
    }
    if let Some(level) = definition.thinking_level {
        parts.push(format!("thinking={}", level.word()));
    }
    if definition.system_prompt.is_some() {
        parts.push("custom-system-prompt".to_owned());
    }
    if definition.append_system_prompt.is_some() {
        parts.push("appended-system-prompt".to_owned());
    }
    if definition.no_tools {
        parts.push("no-tools".to_owned());
    } else if !definition.tools.is_empty() {
        parts.push(list("tools", &definition.tools));
    } else if !definition.exclude_tools.is_empty() {
        parts.push(list("excludeTools", &definition.exclude_tools));
    }
    if !definition.suggested_skills.is_empty() {
        parts.push(list("suggestedSkills", &definition.suggested_skills));
    }
    if !definition.load_skills.is_empty() {
        parts.push(list("loadSkills", &definition.load_skills));
    }
    parts.join(", ")
}

/// Everything about a definition, one field to a line, with its key masked.
pub fn definition_detail(definition: &Definition) -> String {
    let mut detail = Detail(format!("{}: {}", definition.kind.title(), definition.name));
    detail.text("description", definition.description.as_deref());
    detail.text("provider", definition.provider.as_deref());
    detail.text("model", definition.model.as_deref());
    detail.text("thinkingLevel", definition.thinking_level.map(ThinkingLevel::word));
    detail.text("agent", definition.agent.map(AgentName::word));
    detail.text("timeout", definition.timeout.map(|seconds| format!("{seconds}s")).as_deref());
    detail.text("systemPrompt", definition.system_prompt.as_deref());
    detail.text("appendSystemPrompt", definition.append_system_prompt.as_deref());
    if definition.no_tools {
        detail.flag("noTools", true);
    } else if !definition.tools.is_empty() {
        detail.list("tools", &definition.tools);
    } else {
        detail.list("excludeTools", &definition.exclude_tools);
    }
    detail.list("extensions", &definition.extensions);
    detail.list("suggestedSkills", &definition.suggested_skills);
    detail.list("loadSkills", &definition.load_skills);
    detail.flag("noExtensions", definition.no_extensions);
    detail.flag("noSkills", definition.no_skills);
    detail.flag("noContextFiles", definition.no_context_files);
    detail.text("apiKey", definition.api_key.as_ref().map(ToString::to_string).as_deref());
    if !definition.extra_args.is_empty() {
        let arguments = serde_json::Value::from(definition.extra_args.clone()).to_string();
        detail.text("extraArgs", Some(&arguments));
    }
    detail.0
}

struct Detail(String);

impl Detail {
    /// Values begin in one column, except for the longest label, which leaves no room for that.
    fn text(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value {
            let label = format!("{label}:");
            let width = if label == "appendSystemPrompt:" { 20 } else { 19 };
            self.0.push_str(&format!("\n  {label:<width$}{value}"));
        }
    }

    fn list(&mut self, label: &str, entries: &[String]) {
        if !entries.is_empty() {
            self.text(label, Some(&format!("[{}]", entries.join(", "))));
        }
    }

    fn flag(&mut self, label: &str, is_set: bool) {
        self.text(label, is_set.then_some("true"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ApiKey;
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
        assert_eq!(summary(|p| p.provider = Some("a".into())), "profile: p, provider=a");
        let both = summary(|p| {
            p.provider = Some("a".into());
            p.model = Some("x/y".into());
            p.thinking_level = Some(ThinkingLevel::Low);
        });
        assert_eq!(both, "profile: p, model=x/y, thinking=low");
        let all = summary(|p| {
            p.system_prompt = Some("s".into());
            p.append_system_prompt = Some("a".into());
            p.exclude_tools = strings(&["write", "edit"]);
            p.suggested_skills = strings(&["one", "two"]);
            p.load_skills = strings(&["three"]);
            p.api_key = Some(ApiKey::new("secret".into()));
        });
        assert_eq!(
            all,
            "profile: p, custom-system-prompt, appended-system-prompt, \
             excludeTools=[write,edit], suggestedSkills=[one,two], loadSkills=[three]"
        );
        let tools = summary(|p| {
            p.tools = strings(&["read", "bash"]);
            p.exclude_tools = strings(&["write"]);
        });
        assert_eq!(tools, "profile: p, tools=[read,bash]");
        let none = summary(|p| {
            p.no_tools = true;
            p.tools = strings(&["read"]);
        });
        assert_eq!(none, "profile: p, no-tools");
    }

    #[test]
    fn a_detail_has_all_fields_in_their_columns() {
        let definition = changed(|p| {
            p.provider = Some("anthropic".into());
            p.model = Some("sonnet".into());
            p.thinking_level = Some(ThinkingLevel::Off);
            p.agent = Some(AgentName::Pi);
            p.system_prompt = Some("You\nare".into());
            p.append_system_prompt = Some("Be brief.".into());
            p.tools = strings(&["read", "bash"]);
            p.exclude_tools = strings(&["write"]);
            p.extensions = strings(&["/x.js"]);
            p.suggested_skills = strings(&["one", "two"]);
            p.load_skills = strings(&["three"]);
            (p.no_extensions, p.no_skills, p.no_context_files) = (true, true, true);
            p.api_key = Some(ApiKey::new("sk-test-abc123".into()));
            p.extra_args = strings(&["--verbose", "a\"b"]);
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
        let excluded = changed(|p| p.exclude_tools = strings(&["write"]));
        assert_eq!(definition_detail(&excluded), "Profile: p\n  excludeTools:      [write]");
        let none = changed(|p| {
            p.no_tools = true;
            p.exclude_tools = strings(&["write"]);
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
            let definition = changed(|p| p.api_key = Some(ApiKey::new(key.clone())));
            for shown in [definition_summary(&definition), definition_detail(&definition), format!("{definition:?}")] {
                prop_assert!(!shown.contains(&key));
            }
        }
    }
}
