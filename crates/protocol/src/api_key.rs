//! A key that does not show itself.

use std::fmt;

/// The key for a model's provider. It is masked wherever it is printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key.
    pub fn new(key: String) -> ApiKey {
        ApiKey(key)
    }

    /// The key itself, for the child's environment and for the user's own file, and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        let count = self.0.chars().count();
        if count <= 2 * SHOWN {
            return formatter.write_str("****");
        }
        let first: String = self.0.chars().take(SHOWN).collect();
        let last: String = self.0.chars().skip(count - SHOWN).collect();
        write!(formatter, "{first}****{last}")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_its_ends_and_a_short_one_nothing() {
        for (key, shown) in [
            ("", "****"),
            ("k", "****"),
            ("12345678", "****"),
            ("123456789", "1234****6789"),
            ("sk-test-abc123", "sk-t****c123"),
            ("zażółćgęślą", "zażó****ęślą"),
        ] {
            let key = ApiKey::new(key.to_owned());
            assert_eq!(key.to_string(), shown);
            assert_eq!(format!("{key:?}"), format!("ApiKey({shown})"));
        }
    }
}
