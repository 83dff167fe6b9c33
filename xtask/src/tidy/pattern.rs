//! Searching source for words.

use super::rust_source::is_identifier_byte;

/// Whether `line` contains `pattern` as whole words: where the pattern begins or ends with part of
/// an identifier, the identifier must begin or end there too. With a star at the end of the
/// pattern, it may go on: `create_dir*` is also found in `create_dir_all`.
pub(super) fn is_in(pattern: &str, line: &str) -> bool {
    let (text, may_go_on) =
        pattern.strip_suffix('*').map_or((pattern, false), |prefix| (prefix, true));
    let is_cut = |before: Option<u8>, after: Option<u8>| {
        before.is_some_and(is_identifier_byte) && after.is_some_and(is_identifier_byte)
    };
    line.match_indices(text).any(|(start, _)| {
        let (before, rest) = line.split_at(start);
        let after = &rest[text.len()..];
        !is_cut(before.bytes().last(), text.bytes().next())
            && (may_go_on || !is_cut(text.bytes().last(), after.bytes().next()))
    })
}

/// The lines of `text` that contain one of the patterns: the number, counted from one, and the
/// first of the patterns.
pub(super) fn find<'p>(patterns: &[&'p str], text: &str) -> Vec<(usize, &'p str)> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let pattern = patterns.iter().find(|pattern| is_in(pattern, line))?;
            Some((index + 1, *pattern))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        assert!(is_in("print!", "a(); print!()"));
        assert!(!is_in("print!", "eprint!()"));
        assert!(is_in("process::exit", "std::process::exit(1)"));
        assert!(!is_in("process::exit", "process::exit_status()"));
        assert!(is_in("kill_process*", "kill_process_group(a)"));
        assert!(!is_in("kill_process*", "test_kill_process_group(a)"));
        assert!(is_in(".unwrap()", "a.unwrap()"));
        assert!(is_in("std::{", "use std::{fs, env};"));
        assert!(is_in("rename(", "rename_all(); rename(a)"));
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(find(&["a", "b"], "c\nb a\nb"), [(2, "a"), (3, "b")]);
    }
}
