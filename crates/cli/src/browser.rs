//! The user's own browser.

use std::path::Path;
use std::time::Duration;

use process::OutputError;

use crate::error::CommandError;

/// A program that only hands the page to a browser ends sooner, and a browser itself goes on.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shows a file in the browser.
pub(crate) fn open(path: &Path) -> Result<(), CommandError> {
    // A relative path could look like an option, and a browser may be in another directory.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = path.to_string_lossy();
    let variable = std::env::var("BROWSER").unwrap_or_default();
    let commands = commands(&variable, &path);
    let mut reasons = Vec::new();
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let Some((program, arguments)) = words.split_first() else { continue };
        match process::start_on_desktop(program, arguments, PATIENCE) {
            Ok(()) => return Ok(()),
            Err(OutputError::NotStarted(error)) => reasons.push(error.to_string()),
            Err(error) => reasons.push(format!("{program}: {error}")),
        }
    }
    let failed = format!("cannot open a browser: {}", reasons.join("; "));
    Err(CommandError::failure(failed)
        .hint("open the file yourself, or set BROWSER to a program that opens it"))
}

/// What to try, in this order: the commands in the variable, which colons separate and in which `%s` stands
/// for the page, or the program of the desktop.
fn commands(variable: &str, path: &str) -> Vec<Vec<String>> {
    let named: Vec<Vec<String>> = variable
        .split(':')
        .filter(|command| !command.trim().is_empty())
        .map(|command| {
            let mut words: Vec<String> =
                command.split_whitespace().map(|word| word.replace("%s", path)).collect();
            if !command.contains("%s") {
                words.push(path.to_owned());
            }
            words
        })
        .collect();
    if named.is_empty() {
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        return vec![vec![program.to_owned(), path.to_owned()]];
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_program_of_the_desktop() {
        let found = |variable: &str| {
            let commands = commands(variable, "/a b");
            commands.into_iter().map(|words| words.join("|")).collect::<Vec<_>>()
        };
        assert_eq!(found("firefox"), ["firefox|/a b"]);
        assert_eq!(found(" lynx -x : w3m "), ["lynx|-x|/a b", "w3m|/a b"]);
        assert_eq!(found("show --page=%s now"), ["show|--page=/a b|now"]);
        for unset in ["", " : "] {
            assert!(found(unset)[0].ends_with("open|/a b"), "{unset:?}");
        }
    }
}
