//! `man`: manual pages with the text of `--help`.

use std::fmt::Write;
use std::io;

use clap::CommandFactory;
use setup::Change;

use crate::arguments::{Arguments, Man, NAME};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

struct Page {
    /// The command, with hyphens between its words.
    name: String,
    text: String,
}

pub(crate) fn man(arguments: &Man, printer: &Printer) -> Result<Exit, CommandError> {
    let pages = pages().map_err(CommandError::failure)?;
    let Some(directory) = &arguments.dir else {
        let name = [NAME].into_iter().chain(arguments.command.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        let page = pages.iter().find(|page| page.name == name).ok_or_else(|| {
            let command = arguments.command.join(" ");
            let known = pages.iter().filter_map(|page| page.name.strip_prefix(NAME));
            let known: Vec<String> =
                known.map(|name| name.replace('-', " ").trim().to_owned()).collect();
            let meant = plan::similar_names(&command, known.iter().map(String::as_str));
            let meant = plan::did_you_mean(&meant);
            CommandError::usage(format!("there is no command \"{command}\".{meant}"))
        })?;
        printer.script(&page.text)?;
        return Ok(Exit::Completed);
    };
    let files = pages.iter().map(|page| (format!("{}.1", page.name), page.text.as_str()));
    let written = setup::man::write_pages(directory, files)?;
    let changed = written.iter().filter(|(_, change)| *change != Change::Unchanged).count();
    printer.answer(&format!(
        "{} pages in {}, {changed} of them new or changed",
        written.len(),
        directory.display()
    ))?;
    Ok(Exit::Completed)
}

/// The pages of all visible commands, the program's own first.
fn pages() -> io::Result<Vec<Page>> {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    let mut commands = vec![program];
    while let Some(command) = commands.pop() {
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let mut inner: Vec<clap::Command> = inner.cloned().collect();
        inner.reverse();
        commands.extend(inner);
        pages.push(page(command)?);
    }
    Ok(pages)
}

fn page(command: clap::Command) -> io::Result<Page> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let has_options = command.get_arguments().any(|argument| !argument.is_hide_set());
    let has_commands = command.get_subcommands().any(|inner| !inner.is_hide_set());
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let source = format!("{NAME} {}", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command).source(source).manual("Sub-agents");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    if has_options {
        page.render_options_section(&mut text)?;
    }
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.push_str(&notes(&help));
    Ok(Page { name, text })
}

/// The end of `--help`, line by line. `clap_mangen` would join the lines of the examples.
fn notes(help: &str) -> String {
    let mut text = String::new();
    for line in help.lines() {
        let heading = line.strip_suffix(':').filter(|line| !line.starts_with(' '));
        let _ = match heading {
            Some(heading) => {
                let end = if text.is_empty() { "" } else { ".fi\n" };
                writeln!(text, "{end}.SH {}\n.nf", heading.to_uppercase())
            }
            None => {
                if text.is_empty() && !line.trim().is_empty() {
                    text.push_str(".SH NOTES\n.nf\n");
                }
                let line = line.strip_prefix("  ").unwrap_or(line);
                let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
                // Otherwise a dot at the beginning of a line would be a command.
                writeln!(text, "\\&{line}")
            }
        };
    }
    if !text.is_empty() {
        text.push_str(".fi\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_people_type_has_a_page() {
        let names: Vec<String> = pages().unwrap().into_iter().map(|page| page.name).collect();
        for name in ["pi-subagents", "pi-subagents-run", "pi-subagents-bg-wait", "pi-subagents-man"]
        {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.ends_with("supervise") || name.ends_with("view")));
    }

    #[test]
    fn examples_keep_their_lines() {
        assert_eq!(
            notes("Examples:\n  a -b 'c'\n  .d \\\n\nExit codes:\n  0  fine"),
            ".SH EXAMPLES\n.nf\n\\&a \\-b \\(aqc\\(aq\n\\&.d \\e\n\\&\n.fi\n.SH EXIT CODES\n.nf\n\\&0  \
             fine\n.fi\n"
        );
        assert_eq!(notes(""), "");
        assert_eq!(notes("Runs stay."), ".SH NOTES\n.nf\n\\&Runs stay.\n.fi\n");
    }
}
