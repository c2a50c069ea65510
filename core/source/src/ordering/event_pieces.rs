//! Lists of the events of a whole file.

/// Size of a piece in bytes. Allocators return pieces of this size to the system.
const PIECE_BYTES: usize = 1 << 20;

/// A list that grows piece by piece: it is never copied, and reading it returns its memory piece by piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventPieces<T> {
    /// All pieces but the last one are full.
    pieces: Vec<Vec<T>>,
}

impl<T> Default for EventPieces<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T> EventPieces<T> {
    /// Number of events in a piece.
    const PIECE_LEN: usize = PIECE_BYTES / size_of::<T>();

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: T) {
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < Self::PIECE_LEN => piece.push(event),
            _ => self.add_piece(event),
        }
    }

    fn add_piece(&mut self, event: T) {
        // A file of few events has one piece, which grows.
        let is_first = self.pieces.is_empty();
        let mut piece = Vec::with_capacity(if is_first { 4 } else { Self::PIECE_LEN });
        piece.push(event);
        self.pieces.push(piece);
    }

    /// Returns the events in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }
}

impl<T> IntoIterator for EventPieces<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.pieces.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_keep_their_order_over_pieces() {
        let mut list = EventPieces::default();
        let numbers = 0..3 * EventPieces::<usize>::PIECE_LEN + 7;
        numbers.clone().for_each(|it| list.push(it));
        assert_eq!(list.pieces.len(), 4);
        assert!(list.iter().copied().eq(numbers.clone()));
        assert!(list.into_iter().eq(numbers));
    }
}
