//! The arguments of the tools that only look: at a session, or at the profiles.

use serde_json::Value;

use crate::ArgumentError;
use crate::fields::Fields;

/// What `get_subagent_output` and `get_subagent_session` are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionArguments {
    /// The session that is looked at.
    pub session_id: String,
}

impl SessionArguments {
    /// Reads the arguments.
    pub fn parse(value: &Value) -> Result<SessionArguments, ArgumentError> {
        let call = Fields::of(value, "arguments")?;
        call.refuse_unknown(&["sessionId"])?;
        Ok(SessionArguments { session_id: call.text("sessionId")? })
    }
}

/// What `list_subagent_profiles` is asked: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoArguments;

impl NoArguments {
    /// Makes sure that there are none. A model that hands some over expects something of them.
    pub fn parse(value: &Value) -> Result<NoArguments, ArgumentError> {
        Fields::of(value, "arguments")?.refuse_unknown(&[])?;
        Ok(NoArguments)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_named_by_its_id() {
        let arguments = SessionArguments::parse(&json!({"sessionId": "0123456789abcdef"}));
        assert_eq!(arguments.unwrap().session_id, "0123456789abcdef");
        for (value, expected) in [
            (json!(null), "arguments: must be an object"),
            (json!({}), "sessionId: is missing"),
            (json!({"sessionId": " "}), "sessionId: must not be empty"),
            (json!({"sessionId": 5}), "sessionId: must be a text"),
            (json!({"sessionId": "a", "session": "a"}), "session: is unknown; there are sessionId"),
        ] {
            assert_eq!(SessionArguments::parse(&value).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn where_nothing_is_asked_every_field_is_unknown() {
        assert_eq!(NoArguments::parse(&json!({})), Ok(NoArguments));
        let error = |value| NoArguments::parse(&value).unwrap_err().to_string();
        assert_eq!(error(json!([])), "arguments: must be an object");
        assert_eq!(error(json!({"scope": "global"})), "scope: is unknown; there are no arguments");
    }
}
