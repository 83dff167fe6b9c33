//! Colours for code: comments, texts, numbers and the words of the language.
//!
//! A library that knows grammars (syntect) brings 48 crates, among them an engine for regular
//! expressions, and 370 kB of grammars. A reader of an answer needs to see where a comment or a text
//! ends, and a handful of signs tells that for most languages.

use session::view::{Line, Role};

/// What is known about a family of languages.
struct Language {
    names: &'static [&'static str],
    /// What begins a comment that ends with the line.
    comments: &'static [&'static str],
    /// What begins and ends a longer one.
    block: Option<(&'static str, &'static str)>,
    /// What begins and ends a text.
    quotes: &'static [char],
    keywords: &'static str,
}

const C_COMMENTS: &[&str] = &["//"];
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        comments: C_COMMENTS,
        block: C_BLOCK,
        quotes: &['"'],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in \
                   let loop match mod move mut pub ref return self Self static struct super trait true \
                   type unsafe use where while",
    },
    Language {
        names: &["python", "py"],
        comments: &["#"],
        block: None,
        quotes: &['"', '\''],
        keywords: "and as assert async await break class continue def del elif else except False finally \
                   for from global if import in is lambda None nonlocal not or pass raise return True try \
                   while with yield",
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx"],
        comments: C_COMMENTS,
        block: C_BLOCK,
        quotes: &['"', '\'', '`'],
        keywords: "as async await break case catch class const continue default delete else enum export \
                   extends false finally for from function if implements import in instanceof interface let \
                   new null of readonly return static super switch this throw true try type typeof \
                   undefined var void while yield",
    },
    Language {
        names: &["go"],
        comments: C_COMMENTS,
        block: C_BLOCK,
        quotes: &['"', '`'],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if \
                   import interface map nil package range return select struct switch true type var",
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "kotlin", "kt", "swift", "csharp", "cs",
            "scala",
        ],
        comments: C_COMMENTS,
        block: C_BLOCK,
        quotes: &['"', '\''],
        keywords: "abstract auto bool boolean break case catch char class const continue default delete do \
                   double else enum extends extern false final float for func fun guard if implements import \
                   inline int interface let long namespace new null nil nullptr override package private \
                   protected public return short signed sizeof static struct super switch template this throw \
                   true try typedef unsigned using val var virtual void volatile when where while",
    },
    Language {
        names: &["sh", "bash", "shell", "zsh", "console", "fish"],
        comments: &["#"],
        block: None,
        quotes: &['"', '\''],
        keywords: "case do done elif else esac export fi for function if in local return set then unset until \
                   while",
    },
    Language {
        names: &["json", "jsonc", "toml", "yaml", "yml", "ini", "dockerfile", "makefile", "make"],
        comments: &["#", "//"],
        block: None,
        quotes: &['"', '\''],
        keywords: "true false null yes no FROM RUN COPY CMD ENTRYPOINT ENV WORKDIR ARG",
    },
    Language {
        names: &["sql"],
        comments: &["--"],
        block: C_BLOCK,
        quotes: &['\''],
        keywords: "AND AS BY CREATE DELETE DISTINCT DROP FROM GROUP HAVING IN INSERT INTO IS JOIN LEFT LIKE \
                   LIMIT NOT NULL ON OR ORDER SELECT SET TABLE UNION UPDATE VALUES WHERE WITH and as by create \
                   delete distinct from group in insert into is join left like limit not null on or order \
                   select set table union update values where with",
    },
];

/// Colours one line after the other: a comment may go on.
pub(crate) struct Highlighter {
    language: Option<&'static Language>,
    is_diff: bool,
    is_in_comment: bool,
}

impl Highlighter {
    /// `language` as it is named behind the fence.
    pub(crate) fn new(language: &str) -> Highlighter {
        let name = language.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
        let language = LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()));
        let is_diff = matches!(name.as_str(), "diff" | "patch");
        Highlighter { language, is_diff, is_in_comment: false }
    }

    /// The next line.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        if self.is_diff {
            let role = match text.as_bytes().first() {
                Some(b'+') => Role::Added,
                Some(b'-') => Role::Removed,
                Some(b'@') => Role::Keyword,
                _ => Role::Plain,
            };
            return Line::of(role, text);
        }
        let Some(language) = self.language else { return Line::of(Role::Code, text) };
        let mut line = Line::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (role, length) = self.next(language, rest);
            let (piece, tail) = rest.split_at(length.clamp(1, rest.len()));
            line = line.with(role, piece);
            rest = tail;
        }
        line
    }

    /// The role and the length of the next piece. The length ends between two characters.
    fn next(&mut self, language: &Language, text: &str) -> (Role, usize) {
        if let Some((begin, end)) = language.block {
            let is_begin = !self.is_in_comment && text.starts_with(begin);
            if is_begin || self.is_in_comment {
                let from = if is_begin { begin.len() } else { 0 };
                let found = text.get(from..).and_then(|text| text.find(end));
                self.is_in_comment = found.is_none();
                return (Role::Dim, found.map_or(text.len(), |at| from + at + end.len()));
            }
        }
        if language.comments.iter().any(|comment| text.starts_with(comment)) {
            return (Role::Dim, text.len());
        }
        let Some(first) = text.chars().next() else { return (Role::Plain, 0) };
        if language.quotes.contains(&first) {
            return (Role::Literal, quoted(text, first));
        }
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        if first.is_ascii_digit() {
            let is_number = |character: char| is_word(character) || character == '.';
            return (Role::Literal, span(text, is_number));
        }
        if is_word(first) {
            let length = span(text, is_word);
            let word = text.get(..length).unwrap_or_default();
            let is_keyword = language.keywords.split_ascii_whitespace().any(|known| known == word);
            return (if is_keyword { Role::Keyword } else { Role::Plain }, length);
        }
        let is_other = |character: char| {
            !is_word(character)
                && !language.quotes.contains(&character)
                && !"/#-*".contains(character)
        };
        (Role::Plain, span(text, is_other).max(first.len_utf8()))
    }
}

/// How many bytes at the beginning of a text are such characters.
fn span(text: &str, is_such: impl Fn(char) -> bool) -> usize {
    text.find(|character: char| !is_such(character)).unwrap_or(text.len())
}

/// The length of a text in quotes, up to the end of the line if they are not closed.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == quote {
            return at + character.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keywords in brackets, literals in angle brackets, comments in braces.
    fn marked(language: &str, text: &str) -> String {
        let mut highlighter = Highlighter::new(language);
        let lines = text.lines().map(|line| {
            let line = highlighter.line(line);
            let pieces = line.spans().iter().map(|span| match span.role() {
                Role::Keyword => format!("[{}]", span.text()),
                Role::Literal => format!("<{}>", span.text()),
                Role::Dim => format!("{{{}}}", span.text()),
                Role::Added => format!("+{}", span.text()),
                _ => span.text().to_owned(),
            });
            pieces.collect::<String>()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn code_has_colours() {
        for (language, text, expected) in [
            ("rust", "let letter = \"a\\\"b\"; // x", "[let] letter = <\"a\\\"b\">; {// x}"),
            ("rs", "a /* b\nc */ d('x')", "a {/* b}\n{c */} d('x')"),
            ("py", "x = 'ż' # 1", "x = <'ż'> {# 1}"),
            ("sh", "if [ \"$a\" ]; then # x", "[if] [ <\"$a\"> ]; [then] {# x}"),
            ("json", "{\"a\": 1.5, \"b\": true}", "{<\"a\">: <1.5>, <\"b\">: [true]}"),
            ("sql", "select 1 -- x", "[select] <1> {-- x}"),
            ("ts", "a - b / c", "a - b / c"),
            ("diff", "+ added", "++ added"),
            ("nothing known", "let \"x\"", "let \"x\""),
            ("rust", "\"open", "<\"open>"),
        ] {
            assert_eq!(marked(language, text), expected, "{language}: {text}");
        }
    }

    #[test]
    fn nothing_is_lost() {
        let text = "fn ż(/* ' */) -> \"日本\" # // -- `x` 0x1f /*";
        for language in LANGUAGES.iter().flat_map(|language| language.names) {
            assert_eq!(Highlighter::new(language).line(text).text(), text, "{language}");
        }
    }
}
