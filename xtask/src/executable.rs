//! The executables that Cargo builds.

use serde_json::Value;
use xtask::Invocation;

/// Builds, and returns the path of a target's executable. Cargo prints the messages of the compiler itself,
/// instead of putting them into the JSON that is read here.
pub(crate) fn build(invocation: &Invocation, target: &str) -> Result<String, String> {
    let build = invocation.clone().words("--message-format=json-render-diagnostics");
    println!("$ {build}");
    build.read().and_then(|messages| find(&String::from_utf8_lossy(&messages), target))
}

/// The path of the executable, according to Cargo's messages.
fn find(messages: &str, target: &str) -> Result<String, String> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| {
            message["reason"] == "compiler-artifact" && message["target"]["name"] == target
        })
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .ok_or_else(|| format!("named no executable of the target `{target}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_executable_among_the_messages() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"name":"pi-subagents"},"executable":"/a"}
            {"reason":"compiler-artifact","target":{"name":"confined"},"executable":null}
            not JSON
            {"reason":"compiler-artifact","target":{"name":"confined"},"executable":"/b"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(find(messages, "confined"), Ok("/b".to_owned()));
        assert!(find("{}", "confined").unwrap_err().contains("`confined`"));
    }
}
