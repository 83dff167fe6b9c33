//! What the agent may do that asks first.

use model::{Access, ToolEffect};
use serde_json::{Value, json};

/// Whether a call of this kind may be made. What a restricted agent may change is enforced by the system, so that
/// only what could never succeed is refused.
pub(super) fn is_permitted(access: Access, kind: &str) -> bool {
    access != Access::Read || !matches!(kind, "edit" | "delete" | "move")
}

/// What a call of this kind does.
pub(super) fn effect(kind: &str) -> ToolEffect {
    match kind {
        "read" | "search" | "think" => ToolEffect::ReadFiles,
        "edit" | "delete" | "move" => ToolEffect::ChangeFiles,
        _ => ToolEffect::Other,
    }
}

/// The answer that permits or refuses, in one of the ways that the agent offers: once rather than for good, because
/// what an agent remembers for good is in the user's settings.
pub(super) fn answer(is_permitted: bool, options: &Value) -> Value {
    let kinds = if is_permitted {
        ["allow_once", "allow_always"]
    } else {
        ["reject_once", "reject_always"]
    };
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    let option = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| option["kind"] == *kind))
        .and_then(|option| option["optionId"].as_str());
    match option {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_permits_or_refuses_is_chosen() {
        let option =
            |kind: &str| json!({"optionId": format!("the {kind}"), "name": "?", "kind": kind});
        let all = json!([
            option("allow_always"),
            option("allow_once"),
            option("reject_always"),
            option("reject_once")
        ]);
        let lasting = json!([option("allow_always"), option("reject_always")]);
        for (is_permitted, options, expected) in [
            (true, &all, Some("the allow_once")),
            (false, &all, Some("the reject_once")),
            (true, &lasting, Some("the allow_always")),
            (false, &lasting, Some("the reject_always")),
            (true, &json!([option("reject_once")]), None),
            (false, &json!("nothing"), None),
        ] {
            let answer = answer(is_permitted, options);
            assert_eq!(answer["outcome"]["optionId"].as_str(), expected);
            let word = if expected.is_some() { "selected" } else { "cancelled" };
            assert_eq!(answer["outcome"]["outcome"], word);
        }
    }

    #[test]
    fn only_an_agent_that_may_change_nothing_is_refused_what_changes_files() {
        for (access, kind, expected) in [
            (Access::Full, "delete", true),
            (Access::Workspace, "edit", true),
            (Access::Read, "edit", false),
            (Access::Read, "move", false),
            // A command may well only read; what it writes, the system refuses.
            (Access::Read, "execute", true),
            (Access::Read, "fetch", true),
        ] {
            assert_eq!(is_permitted(access, kind), expected, "{access:?} {kind}");
        }
    }
}
