//! The anomalous occurrences of a pattern; only the rows around those in view are loaded.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_session::{
    AnomalousOf, Calls, ListedOccurrence, OccurrenceOrder, PatternId, PatternReference,
};
use callgrove_widgets::table::Sort;

/// The initial order.
pub(super) const LONGEST_FIRST: Sort = Sort {
    column: 3,
    is_descending: true,
};
/// Number of rows queried at once.
const BLOCK: usize = 64;
/// Maximum number of blocks kept.
const MAX_BLOCKS: usize = 64;

/// The loaded rows of the list.
#[derive(Default)]
pub(super) struct OccurrenceRows {
    pattern: Option<PatternId>,
    blocks: BTreeMap<usize, (AnomalousOf, Arc<Vec<ListedOccurrence>>)>,
}

impl OccurrenceRows {
    /// Returns the occurrence of a row; its previous content while the new one is unknown.
    pub(super) fn at(
        &mut self,
        calls: &Calls,
        (pattern, reference, sort): (PatternId, PatternReference, Sort),
        row: usize,
    ) -> Option<ListedOccurrence> {
        if self.pattern != Some(pattern) || self.blocks.len() > MAX_BLOCKS {
            self.blocks.clear();
            self.pattern = Some(pattern);
        }
        let block = row / BLOCK;
        let wanted = AnomalousOf {
            pattern,
            reference,
            order: match sort.column {
                0 => OccurrenceOrder::Lane,
                1 | 2 => OccurrenceOrder::Time,
                // Duration and its multiple of d have the same order.
                _ => OccurrenceOrder::Duration,
            },
            is_descending: sort.is_descending,
            from: block * BLOCK,
            num: BLOCK,
        };
        let known = self.blocks.get(&block);
        if known.is_none_or(|(of, _)| *of != wanted)
            && let Some(rows) = calls.ask(&wanted)
        {
            self.blocks.insert(block, (wanted, rows));
        }
        let (_, rows) = self.blocks.get(&block)?;
        rows.get(row % BLOCK).copied()
    }
}
