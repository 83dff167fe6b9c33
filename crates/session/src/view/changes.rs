//! What an agent changed in its worktree, for a window.

use model::{Changes, RunId};

use super::{Block, Line, Role};
use crate::{DiffLine, ShownDiff};

/// How much was changed, and the diff.
pub fn changes_blocks(name: &str, run: &RunId, changes: &Changes, diff: &ShownDiff) -> Vec<Block> {
    let heading = Line::default().with_bold(Role::Name, name);
    let heading = heading.with(Role::Muted, &format!("  {}", changes.brief()));
    let mut lines = vec![heading, Line::default()];
    lines.extend(diff.lines().map(|(kind, text)| Line::of(role(kind), text)));
    if diff.left_out() > 0 {
        let words =
            format!("… {} bytes more; `pi-subagents changes diff {run}` has them", diff.left_out());
        lines.push(Line::of(Role::Dim, &words));
    }
    lines.into_iter().map(Block::Text).collect()
}

fn role(line: DiffLine) -> Role {
    match line {
        DiffLine::Added => Role::Added,
        DiffLine::Removed => Role::Removed,
        DiffLine::Position => Role::Accent,
        DiffLine::File => Role::Title,
        DiffLine::Other => Role::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_with_changes_has_their_diff_and_says_what_is_missing() {
        let run = RunId::parse("019a0000-0000-7000-8000-000000000000").unwrap();
        let changes = Changes {
            files: 1,
            insertions: 1,
            reference: Some("refs/x".to_owned()),
            ..Changes::default()
        };
        let diff = ShownDiff::new(b"diff --git a/x b/x\n+\tone\x1b[31m\n+two\n", 34);
        let blocks = changes_blocks("a", &run, &changes, &diff);
        let Some(Block::Text(added)) = blocks.get(3) else { panic!("{blocks:?}") };
        assert_eq!(added, &Line::of(Role::Added, "+    one"));
        let texts = blocks.iter().map(|block| match block {
            Block::Text(line) => line.text(),
            other => panic!("{other:?}"),
        });
        let missing = format!("… 5 bytes more; `pi-subagents changes diff {run}` has them");
        let expected = ["a  1 file +1 −0", "", "diff --git a/x b/x", "+    one", &missing];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }
}
