//! Other programs: starting them, and showing them as a developer would type them.

use std::env;
use std::fmt;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::{self, JoinHandle};

/// The root of the repository, where every command runs unless it says otherwise.
pub fn repository_root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the compiled-in path is for running the binary
    // itself.
    let manifest_directory = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_directory.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Where Cargo puts what it builds.
pub fn target_directory() -> PathBuf {
    let directory = env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    repository_root().join(directory)
}

/// A command line that has not been started yet. Displayed, it can be pasted into a shell at the
/// root of the repository.
///
/// Errors say only how the command failed, as in "ended with exit status: 1"; the caller names it.
#[derive(Clone, Debug)]
pub struct Invocation {
    words: Vec<String>,
    environment: Vec<(&'static str, String)>,
    /// Relative to the root of the repository.
    directory: Option<&'static str>,
}

impl Invocation {
    /// The words of `line`, separated by white space. There is no quoting: words with spaces in
    /// them are added with [`Invocation::word`].
    pub fn new(line: &str) -> Invocation {
        Invocation {
            words: line.split_whitespace().map(str::to_owned).collect(),
            environment: Vec::new(),
            directory: None,
        }
    }

    /// Adds one word, whatever it contains.
    pub fn word(mut self, word: impl Into<String>) -> Invocation {
        self.words.push(word.into());
        self
    }

    /// Adds the words of `line`, separated by white space.
    pub fn words(mut self, line: &str) -> Invocation {
        self.words.extend(line.split_whitespace().map(str::to_owned));
        self
    }

    /// Sets a variable of the environment.
    pub fn environment(mut self, name: &'static str, value: &str) -> Invocation {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// Sets the directory to run in, relative to the root of the repository.
    pub fn directory(mut self, directory: &'static str) -> Invocation {
        self.directory = Some(directory);
        self
    }

    /// Runs it with our own standard streams, so that its output appears at once.
    pub fn run(&self) -> Result<(), String> {
        let status = self.command().status().map_err(|error| not_started(&error))?;
        if status.success() { Ok(()) } else { Err(ended(status, "")) }
    }

    /// Runs it like [`Invocation::run`], and shows every line of its standard output to `look` as well.
    pub fn run_watched(&self, mut look: impl FnMut(&str)) -> Result<(), String> {
        let mut child =
            self.command().stdout(Stdio::piped()).spawn().map_err(|error| not_started(&error))?;
        let output = child.stdout.take().map(BufReader::new);
        for line in output.into_iter().flat_map(|output| output.split(b'\n')).map_while(Result::ok)
        {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            look(&line);
        }
        let status = child.wait().map_err(|error| not_started(&error))?;
        if status.success() { Ok(()) } else { Err(ended(status, "")) }
    }

    /// Starts it, and collects what it prints until [`Running::wait`].
    pub fn start(&self) -> Result<Running, String> {
        let (mut output, printed) = io::pipe().map_err(|error| not_started(&error))?;
        let errors = printed.try_clone().map_err(|error| not_started(&error))?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(printed).stderr(errors);
        let child = command.spawn().map_err(|error| not_started(&error))?;
        // It has the writing ends of the pipe, without which the output ends with the child's.
        drop(command);
        let output = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = output.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Running { child, output })
    }

    /// Replaces this process with it. Returns only if that fails, and then the reason.
    pub fn replace_this_process(&self) -> String {
        not_started(&self.command().exec())
    }

    /// Runs it and returns its standard output; its standard error goes to ours.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        let output = self.command().stderr(Stdio::inherit()).stdin(Stdio::null()).output();
        let Output { status, stdout, .. } = output.map_err(|error| not_started(&error))?;
        if status.success() { Ok(stdout) } else { Err(ended(status, "")) }
    }

    /// Runs it and returns its standard error, which is printed only if it fails.
    pub fn run_quietly(&self) -> Result<String, String> {
        let output = self.command().stdin(Stdio::null()).output();
        let Output { status, stderr, .. } = output.map_err(|error| not_started(&error))?;
        let said = String::from_utf8_lossy(&stderr).into_owned();
        if status.success() {
            return Ok(said);
        }
        eprintln!("{said}");
        Err(ended(status, ""))
    }

    /// Runs it only to see whether it succeeds. Its standard error is part of the error.
    pub fn probe(&self) -> Result<(), String> {
        let output = self.command().stdin(Stdio::null()).output();
        let output = output.map_err(|error| not_started(&error))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(ended(output.status, &said))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the rule is for the product; this is the one place where xtask builds commands"
    )]
    fn command(&self) -> Command {
        let (program, arguments) =
            self.words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(match self.directory {
            Some(directory) => repository_root().join(directory),
            None => repository_root(),
        });
        // Cargo sets these to describe the package that it runs. What we start must behave as in a
        // developer's shell, so it must not see them.
        for (name, _) in env::vars_os() {
            let shown = name.to_string_lossy();
            if shown.starts_with("CARGO_PKG_") || shown.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        // A program whose output goes through a pipe should still use colours.
        if env::var_os("CARGO_TERM_COLOR").is_none()
            && env::var_os("NO_COLOR").is_none()
            && io::stderr().is_terminal()
        {
            command.env("CARGO_TERM_COLOR", "always");
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A program that runs beside this one.
pub struct Running {
    child: Child,
    output: JoinHandle<String>,
}

impl Running {
    /// Waits until it has ended. Returns whether it succeeded, and all that it printed.
    pub fn wait(mut self) -> (Result<(), String>, String) {
        let said = self.output.join().unwrap_or_default();
        let result = match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ended(status, "")),
            Err(error) => Err(not_started(&error)),
        };
        (result, said)
    }
}

fn ended(status: ExitStatus, said: &str) -> String {
    let separator = if said.is_empty() { "" } else { ": " };
    format!("ended with {status}{separator}{said}")
}

fn not_started(error: &io::Error) -> String {
    format!("could not be started: {error}")
}

impl fmt::Display for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(directory) = self.directory {
            write!(formatter, "cd {} && ", quoted(directory))?;
        }
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        formatter.write_str(&words.join(" "))
    }
}

/// The word as a shell needs it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_displayed_as_it_is_typed() {
        let invocation = Invocation::new("cargo  doc --no-deps")
            .environment("RUSTDOCFLAGS", "-D warnings")
            .word("it's");
        assert_eq!(
            invocation.to_string(),
            r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s'"
        );
        assert_eq!(
            Invocation::new("true").directory("crates/cli").to_string(),
            "cd crates/cli && true"
        );
    }

    #[test]
    fn what_runs_beside_us_says_everything_in_the_end() {
        let script = |text: &str| Invocation::new("sh -c").word(text).start().unwrap();
        let (first, second) = (script("echo a; echo b >&2"), script("echo c; exit 3"));
        assert_eq!(first.wait(), (Ok(()), "a\nb\n".to_owned()));
        let (result, said) = second.wait();
        assert_eq!(
            (result.unwrap_err().as_str(), said.as_str()),
            ("ended with exit status: 3", "c\n")
        );
    }

    #[test]
    fn a_program_that_is_missing_or_fails_is_an_error() {
        let missing = Invocation::new("/no/such/program").run().unwrap_err();
        assert!(missing.starts_with("could not be started: "), "{missing}");
        let failing = Invocation::new("cargo --no-such-option").probe().unwrap_err();
        assert!(failing.starts_with("ended with exit status: 1: error: "), "{failing}");
    }
}
