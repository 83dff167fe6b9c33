//! Previews of shell commands.

use super::PreviewContext;
use super::paths::shorten_paths_in_text;
use crate::text::{cut_chars, one_line, shorten, width};

/// A preview never shows more of a command.
const COMMAND_CHARS: usize = 2_000;
/// The width of what precedes the command on the first line: indent, arrow and the tool's name.
const FIRST_LINE_MARGIN: usize = 12;
/// The width of what precedes it on the other lines: indent and bar.
const CONTINUATION_MARGIN: usize = 5;
/// How every line but the first begins.
const CONTINUATION: &str = "│ ";

/// The first line of a command that is not blank, with short paths, broken at `&&` into as many
/// lines as it needs.
pub(super) fn command(command: &str, context: &PreviewContext) -> String {
    let first_line = command.trim_start().lines().next().unwrap_or_default();
    let first_line = one_line(cut_chars(first_line, COMMAND_CHARS));
    let first_line = first_line.trim();
    if first_line.is_empty() {
        return "...".to_owned();
    }
    let essential = without_leading_cd(first_line, &context.cwd);
    if essential.is_empty() {
        return "cd .".to_owned();
    }
    wrap(
        &shorten_paths_in_text(essential, context),
        context.width.saturating_sub(FIRST_LINE_MARGIN),
        context.width.saturating_sub(CONTINUATION_MARGIN),
    )
}

/// Removes a `cd` to the working directory, with which agents like to begin. A command that does
/// nothing else becomes empty.
fn without_leading_cd<'a>(command: &'a str, cwd: &str) -> &'a str {
    if cwd.is_empty() {
        return command;
    }
    let blank = char::is_whitespace;
    let target = command.strip_prefix("cd").filter(|rest| rest.starts_with(blank));
    match target.and_then(|target| target.trim_start().strip_prefix(cwd)) {
        Some("") => "",
        Some(rest) if rest.starts_with(blank) => {
            rest.trim_start().strip_prefix("&&").map_or(command, str::trim_start)
        }
        _ => command,
    }
}

/// Fills lines with the parts of a command. `first_budget` is the width of a part that begins the
/// first line, `budget` that of every other part.
fn wrap(command: &str, first_budget: usize, budget: usize) -> String {
    if width(command) <= first_budget {
        return command.to_owned();
    }
    let parts: Vec<&str> = command.split(" && ").filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 {
        return shorten(command, first_budget).into_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for (index, part) in parts.iter().enumerate() {
        if !line.is_empty() {
            if width(&line) + " && ".len() + width(part) <= budget {
                line.push_str(" && ");
                line.push_str(part);
                continue;
            }
            line.push_str(" &&");
            lines.push(std::mem::take(&mut line));
        }
        let (bar, part_budget) =
            if lines.is_empty() { ("", first_budget) } else { (CONTINUATION, budget) };
        if width(part) <= part_budget {
            line = format!("{bar}{part}");
        } else {
            let and = if index + 1 < parts.len() { " &&" } else { "" };
            lines.push(format!("{bar}{}{and}", shorten(part, part_budget)));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cd_to_where_the_agent_is_says_nothing() {
        for (command, expected) in [
            ("cd /home/u/p && ls", "ls"),
            ("cd   /home/u/p   &&ls -l", "ls -l"),
            ("cd /home/u/p", ""),
            ("cd /home/u/p &&", ""),
            ("cd /home/u/p && cd /home/u/p && ls", "cd /home/u/p && ls"),
            ("cd /home/u/p/sub && ls", "cd /home/u/p/sub && ls"),
            ("cd /home/u/p/ && ls", "cd /home/u/p/ && ls"),
            ("cd '/home/u/p' && ls", "cd '/home/u/p' && ls"),
            ("cd /home/u/p; ls", "cd /home/u/p; ls"),
            ("cd /home/u/p || ls", "cd /home/u/p || ls"),
            ("ls && cd /home/u/p", "ls && cd /home/u/p"),
            ("cdr /home/u/p", "cdr /home/u/p"),
        ] {
            assert_eq!(without_leading_cd(command, "/home/u/p"), expected, "{command}");
        }
        assert_eq!(without_leading_cd("cd  && ls", ""), "cd  && ls");
    }

    #[test]
    fn long_commands_are_broken_between_their_parts() {
        let x = |count: usize| "x".repeat(count);
        for (command, expected) in [
            ("short && command".to_owned(), "short && command".to_owned()),
            (x(21), format!("{}...", x(17))),
            (format!("{} | {}", x(10), x(10)), format!("{} | {}...", x(10), x(4))),
            // The first line may grow to the wider budget.
            (
                format!("{} && {} && {}", x(10), x(11), x(5)),
                format!("{} && {} &&\n│ {}", x(10), x(11), x(5)),
            ),
            // The bar counts where a part is added to a line, but not where it begins one.
            (
                format!("{} && {} && {} && {}", x(20), x(25), x(10), x(10)),
                format!("{} &&\n│ {} &&\n│ {} &&\n│ {}", x(20), x(25), x(10), x(10)),
            ),
            (
                format!("{} && b && {} && c", x(21), x(26)),
                format!("{}... &&\n│ b &&\n│ {}... &&\n│ c", x(17), x(22)),
            ),
            (format!("a && {}", x(26)), format!("a &&\n│ {}...", x(22))),
            (format!("{} &&  && b", x(20)), format!("{} && b", x(20))),
        ] {
            assert_eq!(wrap(&command, 20, 25), expected, "{command}");
        }
    }

    #[test]
    fn only_the_first_line_that_is_not_blank_is_shown() {
        let context = PreviewContext { cwd: "/home/u/p".to_owned(), ..PreviewContext::default() };
        for (text, expected) in [
            ("ls\nrm -rf /", "ls"),
            ("\n\n  ls \r\nx", "ls"),
            ("cd /home/u/p && ", "cd ."),
            ("cd /home/u/p\nls", "cd ."),
            ("echo\t\u{1b}[31ma", "echo a"),
            ("", "..."),
            (" \n ", "..."),
        ] {
            assert_eq!(command(text, &context), expected, "{text:?}");
        }
    }
}
