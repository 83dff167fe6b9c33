//! Suggestions for a name or an id that does not exist.

/// How many names are suggested at most.
const MOST: usize = 3;
/// A name that is longer is no typing error, and comparing it would take long.
const LONGEST: usize = 200;

/// How many characters are wrong in `name` if `other` was meant, or nothing if it hardly was: a
/// third of the characters may be wrong, in whatever case they are written; of names with fewer than
/// three, none.
pub fn name_distance(name: &str, other: &str) -> Option<usize> {
    if name.is_empty()
        || name.chars().nth(LONGEST).is_some()
        || other.chars().nth(LONGEST).is_some()
    {
        return None;
    }
    let (name, other) = (name.to_lowercase(), other.to_lowercase());
    let distance = strsim::damerau_levenshtein(&name, &other);
    (distance <= name.chars().count() / 3).then_some(distance)
}

/// The names that are most like the given one, best first. Those that only begin with it, or end
/// with it, follow behind those that are written almost like it.
pub fn similar_names<'a>(name: &str, others: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = others
        .into_iter()
        .filter_map(|other| {
            let is_part = || {
                let other = other.to_lowercase();
                let is_named = lower.len() >= 3 && lower.len() <= LONGEST;
                is_named && (other.starts_with(&lower) || other.ends_with(&lower))
            };
            let distance = name_distance(name, other);
            distance.or_else(|| is_part().then_some(LONGEST)).map(|distance| (distance, other))
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(MOST).map(|(_, other)| other.to_owned()).collect()
}

/// The ids that are most like the given one, best first. The beginning of an id is enough to name
/// it, so that it is compared with beginnings.
pub fn similar_ids<'a>(id: &str, others: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let length = id.chars().count();
    let mut ranked: Vec<(usize, &str)> = others
        .into_iter()
        .filter_map(|other| {
            let end = other.char_indices().nth(length).map_or(other.len(), |(end, _)| end);
            Some((name_distance(id, &other[..end])?, other))
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(MOST).map(|(_, other)| other.to_owned()).collect()
}

/// ` Did you mean A or B?`, to stand behind a sentence; nothing if there is nothing to suggest.
pub fn did_you_mean<Name: AsRef<str>>(suggestions: &[Name]) -> String {
    let names: Vec<&str> = suggestions.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { String::new() } else { format!(" Did you mean {}?", names.join(" or ")) }
}

/// The same behind a sentence that has no full stop yet.
pub(crate) fn then_did_you_mean(suggestions: &[String]) -> String {
    let meant = did_you_mean(suggestions);
    if meant.is_empty() { meant } else { format!(".{meant}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_and_a_part_of_a_name_are_understood() {
        let names = ["reviewer", "scout", "planner", "scouting"];
        for (name, expected) in [
            ("reviwer", vec!["reviewer"]),
            ("Scout", vec!["scout", "scouting"]),
            ("scuot", vec!["scout"]),
            ("plan", vec!["planner"]),
            ("viewer", vec!["reviewer"]),
            ("p", vec![]),
            ("x", vec![]),
            ("", vec![]),
            ("something else", vec![]),
        ] {
            assert_eq!(similar_names(name, names), expected, "{name}");
        }
        let providers = ["anthropic", "openai", "openrouter", "groq", "xai", "zai"];
        for (name, expected) in [
            ("antropic", "anthropic"),
            ("OpenAI", "openai"),
            ("open-ai", "openai"),
            ("grok", "groq"),
        ] {
            assert_eq!(similar_names(name, providers), [expected]);
        }
        assert!(similar_names(&"x".repeat(1_000_000), names).is_empty());
    }

    #[test]
    fn the_beginning_of_an_id_is_enough() {
        let ids = ["0123456789abcdef", "fedcba9876543210"];
        assert_eq!(similar_ids("01234", ids), ["0123456789abcdef"]);
        assert_eq!(similar_ids("0123465789abcdef", ids), ["0123456789abcdef"]);
        assert!(similar_ids("ffff", ids).is_empty() && similar_ids("", ids).is_empty());
    }

    #[test]
    fn nothing_is_said_where_there_is_nothing_to_suggest() {
        assert_eq!(did_you_mean::<&str>(&[]), "");
        assert_eq!(did_you_mean(&["a"]), " Did you mean a?");
        assert_eq!(did_you_mean(&["a", "b"]), " Did you mean a or b?");
    }
}
