//! The matrix of wait times between ranks; independent of the screen.

use callgrove_model::count_of;
use callgrove_model::{DurationNs, ProgramId, RankId, Trace, thousands};
use callgrove_session::WaitCell;

/// A cell of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct GridCell {
    /// Total wait time.
    pub(super) total: DurationNs,
    /// Number of waits.
    pub(super) num_waits: u64,
}

/// Ranks by ranks, or groups of adjacent ranks if there are too many.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct WaitGrid {
    ranks: Vec<(ProgramId, RankId)>,
    /// Number of ranks in a group.
    per_group: usize,
    num_groups: usize,
    /// Cells by row, shape `[num_groups, num_groups]`.
    cells: Vec<GridCell>,
    /// The longest time of a cell.
    longest: DurationNs,
}

impl WaitGrid {
    /// Returns the matrix of `ranks` (ascending) with at most `max_groups` rows.
    pub(super) fn new(
        ranks: Vec<(ProgramId, RankId)>,
        waits: &[WaitCell],
        max_groups: usize,
    ) -> Self {
        let mut per_group = 1;
        while ranks.len().div_ceil(per_group) > max_groups.max(1) {
            per_group *= 2;
        }
        let num_groups = ranks.len().div_ceil(per_group);
        let mut cells = vec![GridCell::default(); num_groups * num_groups];
        let group = |program, rank| {
            let place = ranks.binary_search(&(program, rank)).ok()?;
            Some(place / per_group)
        };
        for wait in waits {
            let row = group(wait.program, wait.waiter);
            let column = group(wait.program, wait.peer);
            if let (Some(row), Some(column)) = (row, column) {
                let cell = &mut cells[row * num_groups + column];
                cell.total += wait.total;
                cell.num_waits += wait.num_waits;
            }
        }
        let longest = cells.iter().map(|cell| cell.total).max();
        Self {
            longest: longest.unwrap_or_default(),
            ranks,
            per_group,
            num_groups,
            cells,
        }
    }

    /// Returns the number of rows, which equals that of columns.
    pub(super) fn len(&self) -> usize {
        self.num_groups
    }

    /// Returns the number of ranks in a group.
    pub(super) fn per_group(&self) -> usize {
        self.per_group
    }

    /// Returns the longest time of a cell.
    pub(super) fn longest(&self) -> DurationNs {
        self.longest
    }

    /// Returns how long the ranks of a row waited for those of a column.
    pub(super) fn cell(&self, row: usize, column: usize) -> GridCell {
        let at = row * self.num_groups + column;
        self.cells.get(at).copied().unwrap_or_default()
    }

    /// Returns the position of a cell on the colour scale, 0 to 1: the square root of its share, so that small values
    /// stay visible.
    pub(super) fn share(&self, cell: GridCell) -> f32 {
        let longest = self.longest.as_secs_f64();
        if longest > 0.0 {
            (cell.total.as_secs_f64() / longest).sqrt() as f32
        } else {
            0.0
        }
    }

    /// Returns the ranks of a group.
    pub(super) fn ranks(&self, group: usize) -> &[(ProgramId, RankId)] {
        let from = (group * self.per_group).min(self.ranks.len());
        let to = (from + self.per_group).min(self.ranks.len());
        &self.ranks[from..to]
    }

    /// Returns `5`, or the first rank of a group.
    pub(super) fn number(&self, group: usize) -> String {
        let first = self.ranks(group).first();
        first.map_or_else(String::new, |(_, rank)| rank.to_string())
    }

    /// Returns `rank 5` or `ranks 4–7`, with the program if there are several.
    pub(super) fn name(&self, group: usize) -> String {
        let ranks = self.ranks(group);
        let (Some(first), Some(last)) = (ranks.first(), ranks.last()) else {
            return String::new();
        };
        let has_programs =
            (self.ranks.first()).is_some_and(|it| it.0 != self.ranks[self.ranks.len() - 1].0);
        let program = if has_programs {
            format!(" of program {}", first.0)
        } else {
            String::new()
        };
        if first == last {
            format!("rank {}{program}", first.1)
        } else {
            format!("ranks {}–{}{program}", first.1, last.1)
        }
    }

    /// Returns `rank 3 waited 1.2 s for rank 5, 341 times`.
    pub(super) fn text(&self, row: usize, column: usize) -> String {
        let cell = self.cell(row, column);
        let (waiter, peer) = (self.name(row), self.name(column));
        match cell.num_waits {
            0 => format!("{waiter} never waited for {peer}"),
            1 => format!("{waiter} waited {} for {peer}, once", cell.total),
            count => {
                let count = thousands(usize::try_from(count).unwrap_or(usize::MAX));
                format!("{waiter} waited {} for {peer}, {count} times", cell.total)
            }
        }
    }

    /// Returns a summary of the matrix, for screen readers and tests.
    pub(super) fn summary(&self) -> String {
        let places = (0..self.num_groups)
            .flat_map(|row| (0..self.num_groups).map(move |column| (row, column)));
        let longest = places.max_by_key(|&(row, column)| self.cell(row, column).total);
        let ranks = count_of(self.ranks.len(), "rank");
        match longest {
            Some((row, column)) if self.longest > DurationNs::ZERO => {
                format!("{ranks}; longest: {}", self.text(row, column))
            }
            _ => format!("{ranks}; no waits"),
        }
    }
}

/// Returns the ranks of a run, ascending.
pub(super) fn ranks_of(trace: &Trace) -> Vec<(ProgramId, RankId)> {
    let lanes = trace.lanes.iter();
    let mut ranks: Vec<(ProgramId, RankId)> = lanes.map(|lane| (lane.program, lane.rank)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(count: u32) -> Vec<(ProgramId, RankId)> {
        (0..count)
            .map(|rank| (ProgramId(0), RankId(rank)))
            .collect()
    }

    fn wait(waiter: u32, peer: u32, total_ns: i64, num_waits: u64) -> WaitCell {
        WaitCell {
            program: ProgramId(0),
            waiter: RankId(waiter),
            peer: RankId(peer),
            num_waits,
            total: DurationNs(total_ns),
        }
    }

    #[test]
    fn few_ranks_have_a_cell_each_with_a_description() {
        let waits = [wait(3, 5, 1_200_000_000, 341), wait(0, 1, 5_000, 1)];
        let grid = WaitGrid::new(ranks(8), &waits, 100);
        assert_eq!((grid.len(), grid.per_group()), (8, 1));
        assert_eq!(grid.text(3, 5), "rank 3 waited 1.2 s for rank 5, 341 times");
        assert_eq!(grid.text(0, 1), "rank 0 waited 5 µs for rank 1, once");
        assert_eq!(grid.text(1, 0), "rank 1 never waited for rank 0");
        assert_eq!(
            grid.summary(),
            "8 ranks; longest: rank 3 waited 1.2 s for rank 5, 341 times"
        );
        assert!((grid.share(grid.cell(3, 5)) - 1.0).abs() < 1e-6);
        assert!(grid.share(grid.cell(0, 1)) > 0.0);
    }

    #[test]
    fn a_thousand_ranks_are_grouped_without_losses() {
        let waits: Vec<WaitCell> = (0..1_000)
            .map(|at| wait(at, (at + 1) % 1_000, 10, 2))
            .collect();
        let grid = WaitGrid::new(ranks(1_000), &waits, 130);
        assert_eq!((grid.len(), grid.per_group()), (125, 8));
        let cells = (0..125).flat_map(|row| (0..125).map(move |column| (row, column)));
        let cells = cells.map(|(row, column)| grid.cell(row, column));
        let (time, count) = cells.fold((0, 0), |(time, count), cell| {
            (time + cell.total.0, count + cell.num_waits)
        });
        assert_eq!((time, count), (10_000, 2_000));
        assert_eq!(
            grid.text(0, 1),
            "ranks 0–7 waited 10 ns for ranks 8–15, 2 times"
        );
        assert_eq!(grid.name(124), "ranks 992–999");
    }

    #[test]
    fn a_grid_without_waits_or_ranks_is_empty() {
        assert_eq!(
            WaitGrid::new(ranks(4), &[], 50).summary(),
            "4 ranks; no waits"
        );
        assert_eq!(
            WaitGrid::new(Vec::new(), &[], 50).summary(),
            "0 ranks; no waits"
        );
    }
}
