//! The provider of the model that pi uses where no model is asked for.

use serde_json::Value;

use crate::plain_file::read_json;
use crate::{Surroundings, Trust};

/// The provider of the default model in pi's settings, the user's and, where it is trusted, the
/// project's. As in pi, a provider without a model does not count. What is wrong with the files is told
/// by those who need more of them.
pub(crate) fn default_provider(surroundings: &Surroundings, trust: Trust) -> Option<String> {
    let project = trust.allows().then(|| surroundings.project_state().settings());
    let (mut provider, mut model) = (None, None);
    for path in [Some(surroundings.user_state().settings()), project].into_iter().flatten() {
        let Ok(Some(settings)) = read_json(&path) else { continue };
        let text = |name: &str| settings.get(name).and_then(Value::as_str).map(str::to_owned);
        provider = text("defaultProvider").or(provider);
        model = text("defaultModel").or(model);
    }
    provider.filter(|_| model.is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_project_counts_if_it_is_trusted_and_only_with_a_model() {
        let pilot = r#"{"defaultProvider": "github-copilot", "defaultModel": "gpt"}"#;
        for (user, project, trust, expected) in [
            (pilot, "", Trust::Undecided, Some("github-copilot")),
            (r#"{"defaultProvider": "github-copilot"}"#, "", Trust::Trusted, None),
            (r#"{"defaultModel": "gpt"}"#, pilot, Trust::Trusted, Some("github-copilot")),
            (r#"{"defaultModel": "gpt"}"#, pilot, Trust::Undecided, None),
            (pilot, r#"{"defaultProvider": "openai"}"#, Trust::Trusted, Some("openai")),
            (pilot, "{", Trust::Trusted, Some("github-copilot")),
            (r#"{"defaultProvider": 1, "defaultModel": "gpt"}"#, "", Trust::Trusted, None),
            ("", "", Trust::Trusted, None),
        ] {
            let top = tempfile::tempdir().unwrap();
            let surroundings =
                Surroundings::new(top.path().join("project"), top.path().join("agent"));
            fs::create_dir_all(surroundings.cwd.join(".pi")).unwrap();
            fs::create_dir_all(&surroundings.agent_dir).unwrap();
            fs::write(surroundings.agent_dir.join("settings.json"), user).unwrap();
            fs::write(surroundings.cwd.join(".pi/settings.json"), project).unwrap();
            let found = default_provider(&surroundings, trust);
            assert_eq!(found.as_deref(), expected, "{user} {project} {trust:?}");
        }
    }
}
