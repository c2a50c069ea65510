//! Anomalies by rank and step, in a limited number of columns.

use callgrove_overview::{Overview, RankBlocks, RankRange};

/// Numbers of anomalies: rows are ranks or blocks of ranks, columns are ranges of steps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeatMap {
    /// True if rows are blocks of ranks.
    pub is_of_blocks: bool,
    /// Rows in order of program and rank.
    pub rows: Vec<HeatRow>,
    /// Columns in order of steps, without gaps.
    pub columns: Vec<HeatColumn>,
    /// Largest number of anomalies in a cell.
    pub max_cell: u64,
}

/// One rank, or a block of ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatRow {
    /// The ranks.
    pub ranks: RankRange,
    /// Anomalies per column; `None` if no rank has reported a step of it.
    pub cells: Vec<Option<u64>>,
    /// Anomalies in all columns.
    pub total: u64,
}

/// A range of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeatColumn {
    /// First step.
    pub first_step: u64,
    /// Last step.
    pub last_step: u64,
    /// Anomalies of all ranks.
    pub total: u64,
}

impl HeatMap {
    /// Returns the anomalies of the steps `range` (by default all reported steps) in at most `max_columns`.
    ///
    /// Columns are 2^k steps wide and begin at multiples of that. k is the smallest that respects `max_columns` and is
    /// not narrower than the step ranges of the history. So columns keep their positions while the run continues.
    pub fn new(overview: &Overview, range: Option<(u64, u64)>, max_columns: usize) -> Self {
        let Some((first, last)) = overview.steps() else {
            return Self::default();
        };
        let (from, to) = range.unwrap_or((first, last));
        let (from, to) = (from.max(first), to.min(last));
        if from > to {
            return Self::default();
        }
        let shift = overview.column_shift((from, to), max_columns.max(1) as u64);
        let (first_column, last_column) = (from >> shift, to >> shift);
        let columns = (first_column..=last_column).map(|column| HeatColumn {
            first_step: column << shift,
            last_step: (column << shift) + ((1_u64 << shift) - 1),
            total: 0,
        });
        let mut map = Self {
            is_of_blocks: overview.blocks.is_some(),
            columns: columns.collect(),
            ..Self::default()
        };
        if let Some(blocks) = &overview.blocks {
            map.add_blocks(blocks, (from, to), shift);
            return map;
        }
        for rank in &overview.ranks {
            let ranks = RankRange {
                app: rank.app,
                first_rank: rank.rank,
                last_rank: rank.rank,
            };
            let spans = rank.history.spans().map(|span| {
                let steps = (span.first_step, span.last_step());
                (steps, span.num_anomalies)
            });
            let spans = spans.filter(|((first, last), _)| *last >= from && *first <= to);
            map.add_row(ranks, rank.history.reported(), spans, shift);
        }
        map
    }

    fn add_blocks(&mut self, blocks: &RankBlocks, (from, to): (u64, u64), shift: u32) {
        for block in &blocks.blocks {
            let cells = block.cells.iter().zip(0_u64..);
            let spans = cells
                .map(|(count, column)| (blocks.column(column), *count))
                .filter(|((first, last), count)| *count > 0 && *last >= from && *first <= to);
            self.add_row(block.ranks, block.reported, spans, shift);
        }
    }

    /// Adds a row of spans, each a first and last step with a number of anomalies.
    fn add_row(
        &mut self,
        ranks: RankRange,
        reported: Option<(u64, u64)>,
        spans: impl Iterator<Item = ((u64, u64), u64)>,
        shift: u32,
    ) {
        let is_reported = |column: &HeatColumn| {
            reported
                .is_some_and(|(first, last)| column.first_step <= last && column.last_step >= first)
        };
        let columns = self.columns.iter();
        let mut cells: Vec<Option<u64>> = columns
            .map(|column| is_reported(column).then_some(0))
            .collect();
        let first_column = self.columns.first().map_or(0, |it| it.first_step >> shift);
        let mut total = 0;
        for ((first, _), count) in spans {
            let at = ((first >> shift).max(first_column) - first_column) as usize;
            let cell = cells[at].get_or_insert(0);
            *cell = cell.saturating_add(count);
            self.max_cell = self.max_cell.max(*cell);
            self.columns[at].total = self.columns[at].total.saturating_add(count);
            total += count;
        }
        self.rows.push(HeatRow {
            ranks,
            cells,
            total,
        });
    }
}
