//! Money in a column of the report.

use model::Usage;

use crate::usage::price;

/// The price in US dollars; absent where it is not known.
pub(super) fn dollars(usage: &Usage) -> Option<f64> {
    usage.cost.map(|cost| cost.total)
}

/// Such as `$0.31`. A price that is not known is `?`, and nothing costs nothing.
pub(super) fn cost_column(usage: &Usage) -> String {
    match dollars(usage) {
        Some(dollars) => price(dollars),
        None if usage.all_tokens() == 0 => String::new(),
        None => "?".to_owned(),
    }
}
