//! What agents said, as far as the answer to a call can hold it.

use model::{RunResult, Status};
use session::cut_chars;

use crate::sessions::NO_OUTPUT;

/// The most characters that all answers of one call have together: as much as a model should be given
/// without having asked for it.
pub const MOST_CHARACTERS: usize = 24_000;

/// What an agent said, as it stands in the answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct InlineAnswer {
    pub text: String,
    pub is_cut: bool,
}

/// The answers of one call. Short ones stay whole; the others are cut in the middle, to equal shares of
/// what is left. `rest` says how the whole of an answer is read, given its index.
pub fn inline_answers<'a>(
    outputs: impl IntoIterator<Item = &'a str>,
    rest: impl Fn(usize) -> String,
) -> Vec<InlineAnswer> {
    let outputs: Vec<&str> = outputs.into_iter().map(str::trim).collect();
    let most = fair_share(outputs.iter().map(|output| output.chars().count()), MOST_CHARACTERS);
    let cut = |(index, output)| cut_in_the_middle(output, most, || rest(index));
    outputs.into_iter().enumerate().map(cut).collect()
}

/// One answer that is not shared with others.
pub(crate) fn inline_answer(output: &str, rest: impl Fn() -> String) -> InlineAnswer {
    cut_in_the_middle(output.trim(), MOST_CHARACTERS, rest)
}

/// An answer below the name of its task; nothing for a task that failed before it said anything. What
/// was said before a failure is not called an answer.
pub fn under_heading(result: &RunResult, said: &str) -> Option<String> {
    let name = session::clean(&result.name).replace('\n', " ");
    let heading = format!("### {name}\n\n");
    match (result.status, said.trim()) {
        (Status::Completed, "") => Some(heading + NO_OUTPUT),
        (Status::Completed, said) => Some(heading + said),
        (_, "") => None,
        (_, said) => Some(format!("{heading}Before it failed, it said:\n\n{said}")),
    }
}

/// The error, and what the agent said before it, which may be useful.
pub(crate) fn failure(error: &str, said: &InlineAnswer) -> String {
    if said.text.is_empty() {
        error.to_owned()
    } else {
        format!("{error}\nBefore that it said:\n{}", said.text)
    }
}

impl InlineAnswer {
    /// What the agent said, or that it said nothing.
    pub(crate) fn or_nothing(&self) -> &str {
        if self.text.is_empty() { NO_OUTPUT } else { &self.text }
    }
}

/// The largest share with which all lengths together, each cut to it, are at most `most`.
fn fair_share(lengths: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut left = most;
    for (index, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if *length > share {
            return share;
        }
        left -= length;
    }
    most
}

fn cut_in_the_middle(output: &str, most: usize, rest: impl FnOnce() -> String) -> InlineAnswer {
    let length = output.chars().count();
    if length <= most {
        return InlineAnswer { text: output.to_owned(), is_cut: false };
    }
    let head = cut_chars(output, most.div_ceil(2));
    let tail = &output[cut_chars(output, length - most / 2).len()..];
    let missing = length - most;
    let text =
        format!("{head}\n[{missing} of {length} characters are left out here; {}]\n{tail}", rest());
    InlineAnswer { text, is_cut: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(outputs: &[String]) -> Vec<InlineAnswer> {
        inline_answers(outputs.iter().map(String::as_str), |index| format!("read {index}"))
    }

    #[test]
    fn short_answers_are_whole_and_long_ones_share_what_is_left() {
        let all = answers(&["a".repeat(1_000), "ż".repeat(50_000), "c".repeat(50_000)]);
        assert_eq!(all[0], InlineAnswer { text: "a".repeat(1_000), is_cut: false });
        let half = "ż".repeat(5_750);
        let expected =
            format!("{half}\n[38500 of 50000 characters are left out here; read 1]\n{half}");
        assert_eq!(all[1], InlineAnswer { text: expected, is_cut: true });
        assert!(all[2].is_cut && all[2].text.contains("read 2"));
    }

    #[test]
    fn an_answer_is_cut_only_if_it_does_not_fit() {
        for (length, is_cut) in [(MOST_CHARACTERS, false), (MOST_CHARACTERS + 1, true)] {
            assert_eq!(answers(&["x".repeat(length)])[0].is_cut, is_cut, "{length}");
        }
        let odd = &answers(&["x".repeat(MOST_CHARACTERS + 1), String::new()])[0];
        assert_eq!(odd.text.matches('x').count(), MOST_CHARACTERS);
        assert!(odd.text.contains("[1 of 24001 characters are left out here"), "{}", odd.text);
        // However many tasks there are, none is empty or missing.
        let many = answers(&vec!["y".repeat(9_000); 100]);
        assert!(many.iter().all(|answer| answer.text.matches('y').count() == 240));
        assert!(answers(&[]).is_empty());
    }
}
