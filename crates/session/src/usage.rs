//! Tokens and money in words.

use model::Usage;

/// Tokens and money: `12.3k tokens` and `$0.0123`, or `cost unknown` if the agent does not tell what its
/// tokens cost.
pub fn usage_words(usage: &Usage) -> Vec<String> {
    let mut texts: Vec<String> =
        token_words(usage).map(|tokens| format!("{tokens} tokens")).into_iter().collect();
    match usage.cost {
        Some(cost) if cost.total > 0.0 => texts.push(format!("${:.4}", cost.total)),
        None if usage.all_tokens() > 0 => texts.push("cost unknown".to_owned()),
        _ => {}
    }
    texts
}

/// The number of tokens for a column: `12.3k`; `None` if it is not known.
pub fn token_words(usage: &Usage) -> Option<String> {
    let tokens = usage.all_tokens();
    (tokens > 0).then(|| rounded(tokens))
}

/// The money for a column, in cents: `$0.31`, or `?` where it is not known. Less than a cent is not nothing.
pub fn cost_words(usage: &Usage) -> String {
    usage.cost.map_or_else(|| "?".to_owned(), |cost| price(cost.total))
}

/// What several agents cost together: `>$0.31` where one of them does not tell its share; nothing before anything was
/// used.
pub fn total_cost_words(usages: impl Iterator<Item = Usage> + Clone) -> Option<String> {
    let sum: Usage = usages.clone().sum();
    let known = usages.filter_map(|usage| usage.cost).fold(0.0, |known, cost| known + cost.total);
    match sum.cost {
        None if known >= 0.01 => Some(format!(">{}", price(known))),
        _ => (sum != Usage::default()).then(|| cost_words(&sum)),
    }
}

pub(crate) fn price(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.01 { "<$0.01".to_owned() } else { format!("${dollars:.2}") }
}

/// A large number with one decimal place.
pub(crate) fn rounded(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        // What would be rounded up to a thousand thousands is a million.
        1_000..999_950 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_shown_if_there_is_one_and_a_question_mark_if_it_is_unknown() {
        let cost = |total| Some(model::Cost { total, ..model::Cost::default() });
        for (output, cost, expected) in [
            (0, None, ""),
            (20, None, "20 tokens, cost unknown"),
            (20, cost(0.0), "20 tokens"),
            (20, cost(0.01234), "20 tokens, $0.0123"),
            (0, cost(0.5), "$0.5000"),
        ] {
            let usage = Usage { output, cost, ..Usage::default() };
            assert_eq!(usage_words(&usage).join(", "), expected);
        }
    }

    #[test]
    fn a_sum_tells_what_is_known_of_it() {
        let usage = |cost: Option<f64>| Usage {
            output: 20,
            cost: cost.map(|total| model::Cost { total, ..Default::default() }),
            ..Usage::default()
        };
        for (usages, expected) in [
            (vec![], None),
            (vec![Usage::default()], None),
            (vec![usage(None)], Some("?")),
            (vec![usage(Some(0.2)), usage(Some(0.11))], Some("$0.31")),
            (vec![usage(Some(0.31)), usage(None), Usage::default()], Some(">$0.31")),
            (vec![usage(Some(0.001)), usage(None)], Some("?")),
        ] {
            assert_eq!(total_cost_words(usages.into_iter()).as_deref(), expected);
        }
    }

    #[test]
    fn cents_are_shown_and_less_than_one_is_not_nothing() {
        for (total, expected) in
            [(0.0, "$0.00"), (0.004, "<$0.01"), (0.01, "$0.01"), (12.345, "$12.35")]
        {
            let usage = Usage {
                cost: Some(model::Cost { total, ..Default::default() }),
                ..Usage::default()
            };
            assert_eq!(cost_words(&usage), expected);
        }
    }

    #[test]
    fn large_numbers_are_rounded() {
        for (number, expected) in [
            (999, "999"),
            (1_000, "1.0k"),
            (12_345, "12.3k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (12_345_678, "12.3M"),
        ] {
            assert_eq!(rounded(number), expected);
        }
    }
}
