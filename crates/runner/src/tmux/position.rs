//! Where the next pane goes. Pure.

/// A pane with fewer lines shows nothing that is worth reading.
const FEWEST_LINES: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pane {
    /// Its name, such as `%3`.
    pub(super) name: String,
    height: u32,
}

impl Pane {
    pub(super) fn parse(line: &str) -> Option<Pane> {
        let (name, height) = line.split_once(' ')?;
        Some(Pane { name: name.to_owned(), height: height.parse().ok()? })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position<'a> {
    /// To the right of the caller.
    Beside,
    /// In the lower half of this pane.
    Below(&'a str),
    /// In a window of its own, which the next ones share.
    NewWindow,
}

/// The position of one more pane. Only our own panes give up room for it, the tallest first, so that
/// what the user has arranged stays as it is but for the first.
pub(super) fn position<'a>(ours: &[&'a Pane]) -> Position<'a> {
    // The first of the tallest: `max_by_key` would take the last.
    match ours.iter().rev().max_by_key(|pane| pane.height) {
        None => Position::Beside,
        // The two halves have a line between them.
        Some(pane) if pane.height > 2 * FEWEST_LINES => Position::Below(&pane.name),
        Some(_) => Position::NewWindow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_beside_the_caller_and_the_others_share_its_room() {
        for (heights, expected) in [
            (vec![], Position::Beside),
            (vec![24], Position::Below("%0")),
            (vec![12, 11], Position::Below("%0")),
            (vec![6, 5, 11], Position::Below("%2")),
            (vec![6, 5, 5, 5], Position::NewWindow),
            (vec![6, 5, 5, 5, 24], Position::Below("%4")),
            (vec![9], Position::Below("%0")),
            (vec![8], Position::NewWindow),
        ] {
            let panes: Vec<Pane> = heights
                .iter()
                .enumerate()
                .map(|(index, height)| Pane::parse(&format!("%{index} {height}")).unwrap())
                .collect();
            assert_eq!(position(&panes.iter().collect::<Vec<_>>()), expected, "{heights:?}");
        }
    }
}
