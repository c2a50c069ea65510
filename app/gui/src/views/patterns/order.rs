//! The anomalous occurrences of a pattern, of which only those near the ones in view are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_session::{
    AnomalousOf, Calls, ListedOccurrence, OccurrenceOrder, PatternId, PatternReference,
};

use crate::widgets::table::Sort;

/// The order at first.
pub(super) const LONGEST_FIRST: Sort = Sort {
    column: 3,
    is_descending: true,
};
/// Rows that are asked for at once.
const BLOCK: usize = 64;
/// Blocks that stay known.
const MAX_BLOCKS: usize = 64;

/// The rows of the list that were asked for last.
#[derive(Default)]
pub(super) struct OccurrenceRows {
    pattern: Option<PatternId>,
    blocks: BTreeMap<usize, (AnomalousOf, Arc<Vec<ListedOccurrence>>)>,
}

impl OccurrenceRows {
    /// What a row shows; what it showed before, as long as nobody knows.
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
                // Duration and its multiple of d are one order.
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
