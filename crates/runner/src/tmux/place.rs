//! Where the next pane goes. Pure.

/// A pane with fewer lines shows nothing that is worth reading.
const FEWEST_LINES: u32 = 4;

/// A pane of tmux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pane {
    /// Its name, such as `%3`.
    pub(super) name: String,
    height: u32,
}

impl Pane {
    /// Reads the name and the height.
    pub(super) fn parse(line: &str) -> Option<Pane> {
        let (name, height) = line.split_once(' ')?;
        Some(Pane { name: name.to_owned(), height: height.parse().ok()? })
    }
}

/// A place for a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// To the right of the caller.
    Beside,
    /// In the lower half of this pane.
    Below(&'a str),
    /// In a window of its own, which the next ones share.
    NewWindow,
}

/// The place for one more. Only panes of ours give up room for it, the tallest first, so that what
/// the user has arranged stays as it is but for the first.
pub(super) fn place<'a>(ours: &[&'a Pane]) -> Place<'a> {
    // The first of the tallest: `max_by_key` would take the last.
    match ours.iter().rev().max_by_key(|pane| pane.height) {
        None => Place::Beside,
        // The two halves have a line between them.
        Some(pane) if pane.height > 2 * FEWEST_LINES => Place::Below(&pane.name),
        Some(_) => Place::NewWindow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_beside_the_caller_and_the_others_share_its_room() {
        for (heights, expected) in [
            (vec![], Place::Beside),
            (vec![24], Place::Below("%0")),
            (vec![12, 11], Place::Below("%0")),
            (vec![6, 5, 11], Place::Below("%2")),
            (vec![6, 5, 5, 5], Place::NewWindow),
            (vec![6, 5, 5, 5, 24], Place::Below("%4")),
            (vec![9], Place::Below("%0")),
            (vec![8], Place::NewWindow),
        ] {
            let panes: Vec<Pane> = heights
                .iter()
                .enumerate()
                .map(|(index, height)| Pane::parse(&format!("%{index} {height}")).unwrap())
                .collect();
            assert_eq!(place(&panes.iter().collect::<Vec<_>>()), expected, "{heights:?}");
        }
    }
}
