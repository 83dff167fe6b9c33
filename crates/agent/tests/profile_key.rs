//! The key of a profile is gone from the environment, in every way in which a child could get at it.
//!
//! Without the usual harness, which runs tests in threads of their own.

use std::path::Path;
use std::time::Duration;

use pi_subagents_agent::config::{Secret, take_profile_key};

const KEY: &str = "sk-never-shown";
const CHILD: &str = "--as-a-child";

fn main() -> Result<(), String> {
    if std::env::args().any(|argument| argument == CHILD) {
        return in_child().map_err(str::to_owned);
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    // What the child has to say about itself is worth seeing.
    let command = format!(
        "PI_API_KEY={KEY} PI_SUBAGENTS_KEY_PROVIDER=groq '{}' {CHILD} 2>&1 || echo failed",
        program.display()
    );
    let time = Duration::from_secs(60);
    match process::shell_output(&command, Path::new("/"), time, 64 * 1024) {
        Ok(output) if output.is_empty() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn in_child() -> Result<(), &'static str> {
    let profile_key = take_profile_key().ok_or("there is no key")?;
    if profile_key.key != Secret::new(KEY) || profile_key.provider.as_deref() != Some("groq") {
        return Err("it is another key");
    }
    if format!("{profile_key:?}").contains(KEY) {
        return Err("it can be printed");
    }
    if take_profile_key().is_some() || std::env::var_os("PI_SUBAGENTS_KEY_PROVIDER").is_some() {
        return Err("it is still a variable");
    }
    let time = Duration::from_secs(60);
    let environment = process::shell_output("env", Path::new("/"), time, 1024 * 1024);
    let environment = environment.map_err(|_| "there is no environment")?;
    if String::from_utf8_lossy(&environment).contains(KEY) {
        return Err("a child inherits it");
    }
    // What the kernel shows to others is the memory in which the variables once were.
    let memory = std::fs::read("/proc/self/environ").unwrap_or_default();
    if String::from_utf8_lossy(&memory).contains(KEY) {
        return Err("the kernel shows it");
    }
    Ok(())
}
