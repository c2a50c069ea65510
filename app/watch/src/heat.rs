//! Anomalies by rank and step, in a limited number of columns.

use callgrove_pserver::overview::Overview;

/// Numbers of anomalies: rows are ranks, columns are ranges of steps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeatMap {
    /// Rows in order of program and rank.
    pub rows: Vec<HeatRow>,
    /// Columns in order of steps, without gaps.
    pub columns: Vec<HeatColumn>,
    /// Largest number of anomalies in a cell.
    pub max_cell: u64,
}

/// One rank.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatRow {
    /// Program.
    pub app: u32,
    /// Rank.
    pub rank: u32,
    /// Anomalies per column; `None` if the rank has reported no step of it.
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
        let shift = column_shift(overview, from, to, max_columns.max(1) as u64);
        let (first_column, last_column) = (from >> shift, to >> shift);
        let num_columns = (last_column - first_column + 1) as usize;
        let mut columns: Vec<HeatColumn> = (first_column..=last_column)
            .map(|column| HeatColumn {
                first_step: column << shift,
                last_step: (column << shift) + ((1_u64 << shift) - 1),
                total: 0,
            })
            .collect();
        let mut max_cell = 0;
        let mut rows = Vec::with_capacity(overview.ranks.len());
        for rank in &overview.ranks {
            let mut cells = vec![None; num_columns];
            if let Some((first, last)) = rank.history.reported() {
                let reported = columns
                    .iter()
                    .map(|column| column.first_step <= last && column.last_step >= first);
                for (cell, is_reported) in cells.iter_mut().zip(reported) {
                    *cell = is_reported.then_some(0_u64);
                }
            }
            let mut total = 0;
            for span in rank.history.spans() {
                if span.last_step() < from || span.first_step > to {
                    continue;
                }
                let at = ((span.first_step >> shift).max(first_column) - first_column) as usize;
                let cell = cells[at].get_or_insert(0);
                *cell = cell.saturating_add(span.num_anomalies);
                max_cell = max_cell.max(*cell);
                columns[at].total = columns[at].total.saturating_add(span.num_anomalies);
                total += span.num_anomalies;
            }
            rows.push(HeatRow {
                app: rank.app,
                rank: rank.rank,
                cells,
                total,
            });
        }
        Self {
            rows,
            columns,
            max_cell,
        }
    }
}

/// Returns log2 of the columns' width.
fn column_shift(overview: &Overview, from: u64, to: u64, max_columns: u64) -> u32 {
    let widest = overview
        .ranks
        .iter()
        .flat_map(|rank| rank.history.spans())
        .filter(|span| span.last_step() >= from && span.first_step <= to)
        .map(|span| span.num_steps)
        .max()
        .unwrap_or(1);
    let mut shift = widest.max(1).ilog2();
    while shift < 63 && (to >> shift) - (from >> shift) >= max_columns {
        shift += 1;
    }
    shift
}
