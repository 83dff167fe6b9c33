//! `run`: one task, from its prompt to its answer.

use std::io::{self, Read};

use plan::{FileSpec, Lines};
use tools::{DelegateArguments, TaskArguments};

use super::tasks::{Answers, Door};
use crate::arguments::Run;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn run(arguments: Run, printer: &mut Printer) -> Result<Exit, CommandError> {
    let prompt = read_prompt(arguments.prompt)?;
    let name = arguments.name.or_else(|| arguments.preset.clone());
    let name = name.unwrap_or_else(|| "task".to_owned());
    if name.trim().is_empty() {
        return Err(CommandError::usage("the name is empty"));
    }
    let title = name.clone();
    let mut door = Door::open(&arguments.agent, printer)?;
    let task = TaskArguments {
        name,
        prompt,
        cwd: arguments.work.cwd,
        profile: arguments.profile,
        timeout: arguments.timeout,
        resume: arguments.resume.map(|id| whole_id(&door, id)),
        files: arguments.files.iter().map(|text| file(text)).collect(),
        model: arguments.work.model,
        preset: arguments.preset,
    };
    let call = DelegateArguments { tasks: vec![task], profile: None };
    let answers = if arguments.output.json { Answers::Json } else { Answers::Text };
    let exit = door.run(call, None, answers, printer)?;
    arguments.notify.tell(&title, exit);
    Ok(exit)
}

/// On the command line the beginning of an id is enough. One that is not found stays as it is, and
/// is refused with everything else.
fn whole_id(door: &Door, id: String) -> String {
    let found = tools::find_session(door.server.store(), &id);
    found.map_or(id, |session| session.id.to_string())
}

pub(super) fn read_prompt(argument: String) -> Result<String, CommandError> {
    let prompt = if argument == "-" { read_standard_input("the prompt")? } else { argument };
    if prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty")
            .hint("say what the agent should do, or give `-` and the prompt on standard input"));
    }
    Ok(prompt)
}

pub(super) fn read_standard_input(what: &str) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| {
        CommandError::usage(format!("{what} cannot be read from standard input: {error}"))
    })?;
    String::from_utf8(bytes)
        .map_err(|_| CommandError::usage(format!("{what} on standard input is not valid UTF-8")))
}

/// `PATH`, or a path with a range of lines behind a colon.
fn file(text: &str) -> FileSpec {
    let range = text.rsplit_once(':').and_then(|(path, range)| {
        let (start, end) = range.split_once('-')?;
        let number = |digits: &str| {
            if digits.is_empty() { Some(None) } else { digits.parse().ok().map(Some) }
        };
        let (start, end) = (number(start)?, number(end)?);
        (start.is_some() || end.is_some())
            .then(|| FileSpec { path: path.to_owned(), lines: Lines::Range { start, end } })
    });
    range.unwrap_or_else(|| FileSpec { path: text.to_owned(), lines: Lines::All })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stands_behind_the_path() {
        for (text, path, lines) in [
            ("a.rs", "a.rs", Lines::All),
            ("a.rs:2-5", "a.rs", Lines::Range { start: Some(2), end: Some(5) }),
            ("a.rs:2-", "a.rs", Lines::Range { start: Some(2), end: None }),
            ("a.rs:-5", "a.rs", Lines::Range { start: None, end: Some(5) }),
            ("a:b-c", "a:b-c", Lines::All),
            ("a:-", "a:-", Lines::All),
            ("dir:x/a-b", "dir:x/a-b", Lines::All),
        ] {
            assert_eq!(file(text), FileSpec { path: path.to_owned(), lines }, "{text}");
        }
    }
}
