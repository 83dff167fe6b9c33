//! Tokens and money in words.

use model::Usage;

/// Tokens and money, each if it is known: `12.3k tokens` and `$0.0123`.
pub fn usage_words(usage: &Usage) -> Vec<String> {
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    // Not every agent adds up its tokens.
    let tokens = match usage.total_tokens {
        0 => parts.into_iter().fold(0, u64::saturating_add),
        total => total,
    };
    let mut texts = Vec::new();
    if tokens > 0 {
        texts.push(format!("{} tokens", rounded(tokens)));
    }
    if usage.cost.total > 0.0 {
        texts.push(format!("${:.4}", usage.cost.total));
    }
    texts
}

/// A large number with one decimal place.
fn rounded(number: u64) -> String {
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
