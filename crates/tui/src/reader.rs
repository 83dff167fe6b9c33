//! Everything that an agent said and did, to scroll, unfold and search.

mod entry;
mod search;

use std::collections::BTreeSet;

use session::Conversation;
use session::view::{Line, Role};

use self::entry::{Block, Row, Stamp};
use self::search::Search;
use crate::keys::Key;

/// A conversation from its prompt to its end, with nothing folded, for a screen that it fits into.
pub fn whole(conversation: &Conversation, columns: usize) -> Vec<Line> {
    let mut reader = Reader::default();
    reader.rows(conversation, columns, 0);
    reader.fold_all();
    let mut rows = reader.rows(conversation, columns, usize::MAX);
    rows.pop_if(|row| row.text().trim().is_empty());
    rows
}

/// Which part of a conversation is shown. It keeps the rows that it has drawn: a long conversation
/// costs a frame no more than a short one.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Where the cursor is; `None` follows the end.
    cursor: Option<Position>,
    /// How far below the first row of the screen the cursor is.
    offset: usize,
    /// The entries that are folded unless they are named here.
    unfolded: BTreeSet<usize>,
    search: Search,
    blocks: Vec<Block>,
    page: usize,
}

/// A row, by its entry: rows above it may come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    entry: usize,
    row: usize,
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Done,
    /// The search found nothing.
    NotFound,
    /// The key means nothing here.
    Ignored,
}

impl Reader {
    /// Begins at the first row.
    pub(crate) fn from_start() -> Reader {
        Reader { cursor: Some(Position::default()), ..Reader::default() }
    }

    /// What is being typed to search for.
    pub(crate) fn typed(&self) -> Option<&str> {
        self.search.typed()
    }

    /// Acts on a key.
    pub(crate) fn press(&mut self, key: Key) -> Read {
        if self.search.typed().is_some() {
            if self.search.type_key(key) {
                return self.find(|total, here| (here..total).chain(0..here));
            }
            return Read::Done;
        }
        let page = self.page.max(1);
        match key {
            Key::Up | Key::Character('k') => self.move_by(|row, _| row.saturating_sub(1)),
            Key::Down | Key::Character('j') => self.move_by(|row, _| row + 1),
            Key::PageUp | Key::Character('b') => self.turn(|row, _| row.saturating_sub(page)),
            Key::PageDown | Key::Character('f') => self.turn(|row, _| row + page),
            Key::Home | Key::Character('g') => self.move_by(|_, _| 0),
            Key::End | Key::Character('G') => self.move_by(|_, last| last),
            Key::Enter | Key::Character(' ') | Key::Right | Key::Left => self.fold_here(),
            Key::Character('o') => self.fold_all(),
            Key::Character('/') => self.search.begin(),
            Key::Character('n') => {
                return self.find(|total, here| (here + 1..total).chain(0..here + 1));
            }
            Key::Character('N') => {
                return self.find(|total, here| (0..here).rev().chain((here..total).rev()));
            }
            Key::Escape if self.search.is_active() => self.search.end(),
            _ => return Read::Ignored,
        }
        Read::Done
    }

    /// The rows of one screen.
    pub(crate) fn rows(
        &mut self,
        conversation: &Conversation,
        columns: usize,
        room: usize,
    ) -> Vec<Line> {
        self.draw(conversation, columns);
        self.page = room;
        let total = self.total();
        let last = total.saturating_sub(1);
        let cursor = self.cursor.map_or(last, |position| self.row_of(position)).min(last);
        // As far down as it was, as long as the screen is filled.
        let offset = if self.cursor.is_none() { room } else { self.offset };
        let top = cursor.saturating_sub(offset.min(room.saturating_sub(1)));
        let top = top.min(total.saturating_sub(room));
        self.offset = cursor - top;
        let rows = self.blocks.iter().flat_map(Block::rows).enumerate();
        let rows = rows.skip(top).take(room);
        rows.map(|(index, row)| {
            let is_here = index == cursor && self.cursor.is_some();
            let mark = if is_here { "›" } else { " " };
            Line::of(Role::Accent, mark).and(match row {
                Row::Text(line) => self.search.marked(line),
                Row::Sign(line) => line.clone(),
            })
        })
        .collect()
    }

    /// Draws the entries that are new or have changed.
    fn draw(&mut self, conversation: &Conversation, columns: usize) {
        let mut blocks = std::mem::take(&mut self.blocks).into_iter();
        for (number, entry) in conversation.entries() {
            let is_unfolded = self.unfolded.contains(&number);
            let stamp = Stamp::of(entry, columns, is_unfolded);
            let drawn = blocks.next().filter(|block| block.stamp == stamp);
            let started_at = conversation.started_at();
            self.blocks.push(drawn.unwrap_or_else(|| Block::draw(entry, stamp, started_at)));
        }
    }

    fn total(&self) -> usize {
        self.blocks.iter().map(Block::height).sum()
    }

    fn row_of(&self, position: Position) -> usize {
        let before = self.blocks.iter().take(position.entry).map(Block::height);
        let height = self.blocks.get(position.entry).map_or(0, Block::height);
        before.sum::<usize>() + position.row.min(height.saturating_sub(1))
    }

    fn position_of(&self, row: usize) -> Position {
        let mut left = row;
        for (entry, block) in self.blocks.iter().enumerate() {
            let height = block.height();
            if left < height {
                return Position { entry, row: left };
            }
            left -= height;
        }
        Position::default()
    }

    fn here(&self) -> usize {
        let last = self.total().saturating_sub(1);
        self.cursor.map_or(last, |position| self.row_of(position)).min(last)
    }

    /// Moves the cursor to where `target` says, from its row and the last one. At the end, the view
    /// follows what comes.
    fn move_by(&mut self, target: impl FnOnce(usize, usize) -> usize) {
        let last = self.total().saturating_sub(1);
        let here = self.here();
        let row = target(here, last);
        if row >= last {
            self.cursor = None;
            return;
        }
        let down = row.saturating_sub(here);
        let up = here.saturating_sub(row);
        let farthest = self.page.saturating_sub(1);
        self.offset = (self.offset + down).saturating_sub(up).min(farthest);
        self.cursor = Some(self.position_of(row));
    }

    /// As [`Reader::move_by`], with the cursor at the same place of the screen.
    fn turn(&mut self, target: impl FnOnce(usize, usize) -> usize) {
        let offset = self.offset;
        self.move_by(target);
        self.offset = offset;
    }

    fn fold_here(&mut self) {
        let position = self.position_of(self.here());
        if self.blocks.get(position.entry).is_some_and(Block::can_fold) {
            if !self.unfolded.remove(&position.entry) {
                self.unfolded.insert(position.entry);
            }
            self.cursor = Some(position);
        }
    }

    /// Unfolds everything, or folds it again.
    fn fold_all(&mut self) {
        let position = self.position_of(self.here());
        let foldable = self.blocks.iter().enumerate().filter(|(_, block)| block.can_fold());
        let foldable: BTreeSet<usize> = foldable.map(|(number, _)| number).collect();
        let is_open = foldable.is_subset(&self.unfolded);
        self.unfolded = if is_open { BTreeSet::new() } else { foldable };
        self.cursor = self.cursor.map(|_| position);
    }

    /// Goes to the first row, in the order that `order` makes of their number and the present one,
    /// that has what is searched for. What is folded is searched, too, and then unfolded.
    fn find<Rows: Iterator<Item = usize>>(
        &mut self,
        order: impl FnOnce(usize, usize) -> Rows,
    ) -> Read {
        if !self.search.is_active() {
            return Read::Ignored;
        }
        let here = self.position_of(self.here());
        for (number, block) in self.blocks.iter_mut().enumerate() {
            if block.hidden().iter().any(|line| self.search.is_in(line)) {
                self.unfolded.insert(number);
                block.unfold();
            }
        }
        let rows: Vec<Row<'_>> = self.blocks.iter().flat_map(Block::rows).collect();
        let mut order = order(rows.len(), self.row_of(here));
        let found = order
            .find(|row| matches!(rows.get(*row), Some(Row::Text(line)) if self.search.is_in(line)));
        match found {
            Some(row) => {
                self.cursor = Some(self.position_of(row));
                self.offset = self.page / 3;
                Read::Done
            }
            None => Read::NotFound,
        }
    }
}

#[cfg(test)]
mod tests;
