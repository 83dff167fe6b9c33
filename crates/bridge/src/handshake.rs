//! The first message: which pi is at the other end, and whether both ends speak the same protocol.

use serde::Deserialize;
use serde_json::Value;

/// The version of the protocol between the extension and the bridge. It grows, here and in the
/// extension, with every change that the other end would not understand.
pub const PROTOCOL: u32 = 2;

/// What the extension says about itself and its pi.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hello {
    /// How pi speaks with its user: `tui`, `rpc`, `json` or `print`.
    pub(crate) mode: String,
    /// The session of pi.
    pub(crate) session_id: String,
    /// How this very pi is started.
    #[serde(default)]
    pub(crate) agent: Option<Vec<String>>,
    /// Whether pi trusts the project.
    #[serde(default)]
    pub(crate) trusted: bool,
    /// The width of the terminal, if there is one.
    #[serde(default)]
    pub(crate) columns: Option<usize>,
}

/// Reads the parameters of `initialize`. The error is a message for the user.
pub(crate) fn read_hello(params: Value) -> Result<Hello, (Problem, String)> {
    let theirs = params.get("protocol").and_then(Value::as_u64);
    if theirs != Some(u64::from(PROTOCOL)) {
        let of_extension = params.get("extensionVersion").and_then(Value::as_str).unwrap_or("?");
        let theirs = theirs.map_or_else(|| "none".to_owned(), |theirs| theirs.to_string());
        let program = std::env::current_exe().unwrap_or_default();
        return Err((
            Problem::Mismatch,
            format!(
                "pi-subagents: the extension in pi (version {of_extension}, protocol {theirs}) \
                 and the program {} (version {}, protocol {PROTOCOL}) do not fit together. Run \
                 `pi-subagents setup pi` to install the extension of this version, and restart pi.",
                program.display(),
                env!("CARGO_PKG_VERSION"),
            ),
        ));
    }
    serde_json::from_value(params)
        .map_err(|error| (Problem::Params, format!("initialize: {error}")))
}

/// What is wrong with a first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Mismatch,
    Params,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_version_is_refused_with_what_to_do() {
        for protocol in [json!(null), json!(0), json!(PROTOCOL + 1), json!("1")] {
            let params = json!({"protocol": protocol, "extensionVersion": "9.9.9"});
            let (problem, message) = read_hello(params).unwrap_err();
            assert_eq!(problem, Problem::Mismatch);
            assert!(message.contains("version 9.9.9"), "{message}");
            assert!(message.contains("pi-subagents setup pi"), "{message}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let params = json!({"protocol": PROTOCOL, "mode": "tui"});
        let (problem, message) = read_hello(params).unwrap_err();
        assert_eq!(problem, Problem::Params);
        assert!(message.contains("sessionId"), "{message}");
        let params = json!({"protocol": PROTOCOL, "mode": "tui", "sessionId": "s", "later": 1});
        assert!(!read_hello(params).unwrap().trusted);
    }
}
