//! What is compiled for tests only.
//!
//! `#[cfg(test)]` modules are found wherever they are, both in the file that declares them and in
//! files of their own.

use std::ops::Range;

use super::rust_source::{blank, is_identifier_byte};
use super::tree::TextFile;

const ATTRIBUTE: &str = "#[cfg(test)]";

/// A declaration of a module for tests.
struct TestModule<'a> {
    name: &'a str,
    /// The path in a `#[path]` attribute.
    path: Option<&'a str>,
    /// Where the module ends, if its contents follow right here.
    end: Option<usize>,
}

/// Blanks all modules for tests in the files' product code.
pub(super) fn blank_all(files: &mut [TextFile]) {
    let mut test_paths = Vec::new();
    for file in &mut *files {
        test_paths.extend(blank_inline(file));
    }
    for file in files {
        let is_test = test_paths.iter().any(|test| {
            if test.ends_with('/') { file.path.starts_with(test) } else { file.path == *test }
        });
        if is_test {
            file.product_code.clear();
            file.product_literals.clear();
        }
    }
}

/// Blanks the modules inside the file, and returns the paths of those that are in other files: the
/// file itself, or a directory with a slash at its end.
fn blank_inline(file: &mut TextFile) -> Vec<String> {
    let mut test_paths = Vec::new();
    let mut inline = Vec::new();
    let mut position = 0;
    while let Some(found) = file.code[position..].find(ATTRIBUTE) {
        position += found + ATTRIBUTE.len();
        let Some(module) = parse(&file.code, &file.text, position) else { continue };
        match module.end {
            Some(end) => {
                inline.push(position..end);
                position = end;
            }
            None => test_paths.extend(paths_of(&file.path, &module)),
        }
    }
    file.product_code = without(&file.product_code, &inline);
    file.product_literals = without(&file.product_literals, &inline);
    test_paths
}

/// The text with these pieces of it blanked.
fn without(text: &str, pieces: &[Range<usize>]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut position = 0;
    for piece in pieces {
        left.push_str(&text[position..piece.start]);
        blank(&text[piece.clone()], &mut left);
        position = piece.end;
    }
    left + &text[position..]
}

/// The module that is declared at `position`, perhaps after more attributes.
fn parse<'a>(code: &'a str, text: &'a str, position: usize) -> Option<TestModule<'a>> {
    let mut position = skip_space(code, position);
    let mut path = None;
    while code[position..].starts_with("#[") {
        let end = balanced_end(code, position + 1, b'[', b']')?;
        // The path itself is blank in the code.
        if code[position..].starts_with("#[path") {
            path = text[position..end].split('"').nth(1);
        }
        position = skip_space(code, end);
    }
    if code[position..].starts_with("pub") {
        position += "pub".len();
        if code[position..].starts_with('(') {
            position = balanced_end(code, position, b'(', b')')?;
        }
        position = skip_space(code, position);
    }
    let name = code[position..].strip_prefix("mod ")?;
    let length = name.bytes().take_while(|byte| is_identifier_byte(*byte)).count();
    let name = &name[..length];
    position = skip_space(code, position + "mod ".len() + length);
    let is_inline = code[position..].starts_with('{');
    let end = is_inline.then(|| balanced_end(code, position, b'{', b'}')).flatten();
    (is_inline == end.is_some()).then_some(TestModule { name, path, end })
}

/// Where the files of a module are that `declared_in` declares.
fn paths_of(declared_in: &str, module: &TestModule<'_>) -> Vec<String> {
    let (directory, file_name) = declared_in.rsplit_once('/').unwrap_or(("", declared_in));
    if let Some(path) = module.path {
        return vec![format!("{directory}/{path}")];
    }
    let stem = file_name.trim_end_matches(".rs");
    let name = module.name;
    let base = if matches!(stem, "lib" | "main" | "mod") {
        format!("{directory}/{name}")
    } else {
        format!("{directory}/{stem}/{name}")
    };
    vec![format!("{base}.rs"), format!("{base}/")]
}

fn skip_space(code: &str, position: usize) -> usize {
    code.len() - code[position..].trim_start().len()
}

/// Where the bracket that opens at `position` is closed again.
fn balanced_end(code: &str, position: usize, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in code[position..].bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(position + offset + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::tidy::tree::Tree;

    fn product_code(files: &[(&str, &str)], path: &str) -> String {
        Tree::of(files).file(path).unwrap().product_code.clone()
    }

    #[test]
    fn modules_in_the_same_file_are_blanked() {
        let path = "crates/a/src/lib.rs";
        let text =
            "fn a() {}\n#[cfg(test)]\npub(crate) mod tests {\n fn b() { \"}\" }\n}\nfn c() {}";
        let code = product_code(&[(path, text)], path);
        assert_eq!(code.lines().count(), text.lines().count());
        assert!(code.contains("fn a()") && code.contains("fn c()"), "{code}");
        assert!(!code.contains("fn b()"), "{code}");
    }

    #[test]
    fn so_are_their_literals() {
        let path = "crates/a/src/lib.rs";
        let text = "f(\"a\");\n#[cfg(test)]\nmod tests {\n f(\"b\");\n}\nf(\"c\");";
        let literals = Tree::of(&[(path, text)]).file(path).unwrap().product_literals.clone();
        assert_eq!(literals.lines().map(str::trim).collect::<Vec<_>>(), ["a", "", "", "", "", "c"]);
    }

    #[test]
    fn other_items_are_not_blanked() {
        let path = "crates/a/src/lib.rs";
        let text = "#[cfg(test)]\nuse a::{b};\n#[cfg(test)]\nfn a() {}\n#[cfg(test)]\nmod tests {";
        assert_eq!(product_code(&[(path, text)], path), text);
    }

    #[test]
    fn modules_in_files_of_their_own_are_blanked() {
        let declaration = "#[cfg(test)]\nmod tests;\n";
        for (declared_in, test) in [
            ("crates/a/src/lib.rs", "crates/a/src/tests.rs"),
            ("crates/a/src/b/mod.rs", "crates/a/src/b/tests/mod.rs"),
            ("crates/a/src/b.rs", "crates/a/src/b/tests.rs"),
            ("crates/a/src/b.rs", "crates/a/src/b/tests/c.rs"),
        ] {
            let files = [(declared_in, declaration), (test, "fn a() {}")];
            assert_eq!(product_code(&files, test), "", "{declared_in} {test}");
            assert_eq!(product_code(&files, declared_in), declaration);
        }
    }

    #[test]
    fn the_path_attribute_is_followed() {
        let files = [
            ("crates/a/src/b.rs", "#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n"),
            ("crates/a/src/b_tests.rs", "fn a() {}"),
            ("crates/a/src/b/tests.rs", "fn a() {}"),
        ];
        assert_eq!(product_code(&files, files[1].0), "");
        assert_eq!(product_code(&files, files[2].0), files[2].1);
    }
}
