//! The anomalous occurrences of a pattern in the order that was asked for.

use callgrove_session::{Occurrence, PatternId, PatternReference};

use super::chosen::Chosen;
use crate::widgets::table::Sort;

/// The order at first.
pub(super) const LONGEST_FIRST: Sort = Sort {
    column: 3,
    is_descending: true,
};

/// Anomalous occurrences in another order than by duration, made once for pattern, reference and order.
pub(super) struct Order {
    made_for: (PatternId, PatternReference, Sort),
    places: Vec<u32>,
}

impl Order {
    /// Keeps the order, or makes another one; none is needed by duration, as the curve has it.
    pub(super) fn refresh(
        known: Option<Self>,
        chosen: Chosen<'_>,
        reference: PatternReference,
        sort: Sort,
    ) -> Option<Self> {
        // Duration and its multiple of d are one order.
        if sort.column >= 3 {
            return None;
        }
        let made_for = (chosen.pattern.id, reference, sort);
        let known = known.filter(|order| order.made_for == made_for);
        Some(known.unwrap_or_else(|| {
            let mut places = chosen.curve.anomalous(reference).to_vec();
            // Occurrences stand in order of lane, then time.
            places.sort_unstable();
            if matches!(sort.column, 1 | 2) {
                let start = |&place: &u32| occurrence(chosen, place).map(|it| it.start);
                places.sort_by_key(start);
            }
            if sort.is_descending {
                places.reverse();
            }
            Self { made_for, places }
        }))
    }

    /// The occurrence of a row, as a place in those of the pattern.
    pub(super) fn place(&self, row: usize) -> Option<u32> {
        self.places.get(row).copied()
    }
}

/// An occurrence by its place in those of the pattern.
pub(super) fn occurrence(chosen: Chosen<'_>, place: u32) -> Option<&Occurrence> {
    let place = usize::try_from(place).ok()?;
    chosen.pattern.occurrences.get(place)
}
