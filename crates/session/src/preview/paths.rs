//! Paths, as short as they can be without becoming unclear.

use std::borrow::Cow;

use super::PreviewContext;
use crate::text::width;

/// How many characters `..` must save: it is harder to read than a whole path.
const WORTH_GOING_UP: usize = 10;

/// The path relative to the working directory or to the home directory, whichever is shorter.
pub(super) fn shorten_path<'a>(path: &'a str, context: &PreviewContext) -> Cow<'a, str> {
    let whole = with_home_as_tilde(path, context.home.as_deref());
    let Some(relative) = relative(path, &context.cwd) else { return whole };
    let saved = width(&whole).saturating_sub(width(&relative));
    let needed = if relative.starts_with("..") { WORTH_GOING_UP } else { 1 };
    if relative == "." || saved >= needed { Cow::Owned(relative) } else { whole }
}

/// Shortens every absolute path of at least two names within a text, such as a shell command.
pub(super) fn shorten_paths_in_text(text: &str, context: &PreviewContext) -> String {
    let mut shortened = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, slash_on)) = rest.find('/').and_then(|at| rest.split_at_checked(at)) {
        shortened.push_str(before);
        // `shortened` ends like the text up to here, or with a path.
        let is_start = !shortened.chars().next_back().is_some_and(continues_into_path);
        let (length, names) = if is_start { measure_path(slash_on) } else { (1, 0) };
        let (path, behind) = slash_on.split_at_checked(length).unwrap_or((slash_on, ""));
        if names >= 2 {
            shortened.push_str(&shorten_path_before(path, behind, context));
        } else {
            shortened.push_str(path);
        }
        rest = behind;
    }
    shortened.push_str(rest);
    shortened
}

fn with_home_as_tilde<'a>(path: &'a str, home: Option<&str>) -> Cow<'a, str> {
    let home = home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
    let below = home.and_then(|home| path.strip_prefix(home)).filter(|rest| rest.starts_with('/'));
    below.map_or(Cow::Borrowed(path), |below| Cow::Owned(format!("~{below}")))
}

/// The relative path from a directory. No link is followed: only the texts are compared.
fn relative(path: &str, cwd: &str) -> Option<String> {
    if !cwd.starts_with('/') {
        return None;
    }
    let from = names([cwd]);
    let to = if path.starts_with('/') { names([path]) } else { names([cwd, path]) };
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from.iter().skip(common).map(|_| "..");
    let way: Vec<&str> = up.chain(to.iter().skip(common).copied()).collect();
    if way.is_empty() {
        return Some(".".to_owned());
    }
    // A slash at the end says that it is a directory.
    let slash = if path.ends_with('/') { "/" } else { "" };
    Some(way.join("/") + slash)
}

/// The names of the joined paths, with `.` and `..` resolved.
fn names<const COUNT: usize>(paths: [&str; COUNT]) -> Vec<&str> {
    let mut names = Vec::new();
    for name in paths.into_iter().flat_map(|path| path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

/// The number of bytes, and of names, of the path at the start of a text.
fn measure_path(text: &str) -> (usize, usize) {
    let (mut length, mut names) = (0, 0);
    let mut rest = text;
    while let Some(name_on) = rest.strip_prefix('/') {
        let behind = name_on.trim_start_matches(is_in_name);
        if behind.len() == name_on.len() {
            break;
        }
        length += rest.len() - behind.len();
        names += 1;
        rest = behind;
    }
    // A slash without a name is passed over by itself.
    (length.max(1), names)
}

/// Shortens a path whose last name may continue in `behind`, as in `/project*` or `/project@2`.
/// Then the shortened form must still end with the beginning of that name.
fn shorten_path_before<'a>(path: &'a str, behind: &str, context: &PreviewContext) -> Cow<'a, str> {
    let shortened = shorten_path(path, context);
    let continues = behind.chars().next().is_some_and(|next| !ends_name(next));
    let last_name = path.rsplit('/').next().unwrap_or_default();
    if continues && !shortened.ends_with(last_name) { Cow::Borrowed(path) } else { shortened }
}

fn is_in_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_' | '-')
}

fn ends_name(character: char) -> bool {
    character.is_whitespace() || "/'\"`;|&<>(),:=".contains(character)
}

/// Whether a slash after this character is not the start of an absolute path, but part of a
/// relative path, an address or an expansion of the shell.
fn continues_into_path(character: char) -> bool {
    is_in_name(character) || "/:~})]*?+%$\\".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(cwd: &str, home: Option<&str>) -> PreviewContext {
        PreviewContext { cwd: cwd.to_owned(), home: home.map(str::to_owned), width: 60 }
    }

    #[test]
    fn paths_are_shown_in_their_shortest_clear_form() {
        let deep = "/home/u/projects/website/packages/server";
        for (path, cwd, home, expected) in [
            ("/home/u/p", "/home/u/p", None, "."),
            ("/home/u/p/", "/home/u/p", None, "."),
            ("/home/u/p/src/", "/home/u/p", None, "src/"),
            ("/home/u/p/src/x.rs", "/home/u/p", Some("/home/u"), "src/x.rs"),
            ("/home/u/p/src/x.rs", "/home/u/p/", Some("/home/u/"), "src/x.rs"),
            ("/home/u/q/z", "/home/u/p", None, "/home/u/q/z"),
            ("/home/u/q/z", "/home/u/p", Some("/home/u"), "~/q/z"),
            ("/home/u", "/home/u/p", Some("/home/u"), "/home/u"),
            ("/home/user2/x", "/elsewhere", Some("/home/u"), "/home/user2/x"),
            ("/home/u/projects/website/packages/client/a", deep, None, "../client/a"),
            ("/etc/passwd", "/home/u/p", Some("/home/u"), "/etc/passwd"),
            ("/etc/passwd", "/", None, "etc/passwd"),
            ("/", "/home/u/p", None, "/"),
            ("src", "/home/u/p", None, "src"),
            ("src/", "/home/u/p", None, "src/"),
            ("./src//", "/home/u/p", None, "src/"),
            ("./src/../lib/x", "/home/u/p", None, "lib/x"),
            ("../q", "/home/u/p", None, "../q"),
            ("..foo", "/home/u/p", None, "..foo"),
            ("/home/u/p/..foo", "/home/u/p", Some("/home/u"), "~/p/..foo"),
            (".", "/home/u/p", None, "."),
            ("/a/b", "", None, "/a/b"),
            ("a/", "", None, "a/"),
            ("/a/b", "not/absolute", Some("/"), "/a/b"),
            ("/dom/żółw/plik", "/dom/żółw", Some("/dom"), "plik"),
        ] {
            let context = context(cwd, home);
            assert_eq!(shorten_path(path, &context), expected, "{path} from {cwd}");
        }
    }

    #[test]
    fn only_absolute_paths_within_a_text_are_shortened() {
        let context = context("/home/u/p", Some("/home/u"));
        for (text, expected) in [
            (
                "cat /etc/passwd /home/u/p/src/x https://a.b/c/d /tmp",
                "cat /etc/passwd src/x https://a.b/c/d /tmp",
            ),
            ("cd /home/u/p; ls", "cd .; ls"),
            ("/home/u/p/run.sh", "run.sh"),
            ("ls /home/u/p/ /home/u/q/r", "ls ./ ~/q/r"),
            ("x --out=/home/u/p/a '/home/u/p/b c' >/home/u/p/log", "x --out=a 'b c' >log"),
            (
                "cat C:/home/u/p/x foo/home/u/p/x //home/u/p/x",
                "cat C:/home/u/p/x foo/home/u/p/x //home/u/p/x",
            ),
            (
                "ls ./home/u/p/x ~/home/u/p/x $(pwd)/home/u/p/x",
                "ls ./home/u/p/x ~/home/u/p/x $(pwd)/home/u/p/x",
            ),
            ("ls /home/u/p/*.rs /home/u/p/src/x*.rs", "ls ./*.rs src/x*.rs"),
            ("ls /home/u/p* /home/u/p@2/x", "ls /home/u/p* /home/u/p@2/x"),
            ("ls /home/u/pż/x /home/u/p/żółw/x", "ls ~/pż/x żółw/x"),
            ("/", "/"),
            ("a / b /", "a / b /"),
            ("", ""),
        ] {
            assert_eq!(shorten_paths_in_text(text, &context), expected);
        }
    }
}
