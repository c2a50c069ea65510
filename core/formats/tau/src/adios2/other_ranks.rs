//! Rows of other ranks in a stream, as with `TAU_ADIOS2_ONE_FILE`, with which all ranks write one stream.

use std::collections::BTreeSet;

use callgrove_model::{ProgramId, RankId};

/// Maximum number of ranks read from a stream. Each rank costs one pass over it.
const MAX_RANKS: usize = 1 << 12;

/// The program and rank that a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RowOwner {
    pub(super) program: ProgramId,
    pub(super) rank: RankId,
}

/// Largest distance, in rows, at which a second row of a rank shows that the first is not damaged. It bounds the
/// search.
const MAX_ROWS_BETWEEN: usize = 64;

/// The other ranks that a stream has rows of. A single row of another rank may be damaged. Two rows, or one of a rank
/// that the stream has metadata of, are genuine.
#[derive(Default, Debug)]
pub(super) struct OtherRanks {
    owners: BTreeSet<RowOwner>,
    with_metadata: BTreeSet<RankId>,
    /// Number of rows since the last call of [`OtherRanks::take_num_rows`].
    num_rows: u64,
}

impl OtherRanks {
    /// Records a rank that the stream has metadata of.
    pub(super) fn add_metadata_of(&mut self, rank: RankId) {
        if self.with_metadata.len() < MAX_RANKS {
            self.with_metadata.insert(rank);
        }
    }

    /// Returns the other ranks.
    pub(super) fn list(&self) -> Vec<RowOwner> {
        self.owners.iter().copied().collect()
    }

    /// Returns whether the stream has rows or metadata of another rank than `own`.
    pub(super) fn are_known(&self, own: Option<RankId>) -> bool {
        let mut with_metadata = self.with_metadata.iter();
        !self.owners.is_empty() || with_metadata.any(|rank| Some(*rank) != own)
    }

    /// Returns the first of the other ranks.
    pub(super) fn first(&self) -> Option<RowOwner> {
        self.owners.first().copied()
    }

    /// Takes the leading rows of one rank, if it is another rank of the run than `own`, and returns their number.
    pub(super) fn take<const N: usize>(
        &mut self,
        rows: &[[u64; N]],
        own: RowOwner,
        num_ranks: Option<u32>,
    ) -> usize {
        let Some(owner) = rows.first().and_then(owner_of) else {
            return 0;
        };
        if owner == own || num_ranks.is_some_and(|num| owner.rank.0 >= num) {
            return 0;
        }
        let is_same = |row: &&[u64; N]| owner_of(row) == Some(owner);
        let num_rows = rows.iter().take_while(is_same).count();
        if !self.owners.contains(&owner) {
            let has_more = || {
                rows[1..]
                    .iter()
                    .take(MAX_ROWS_BETWEEN)
                    .any(|row| is_same(&row))
            };
            let is_known = has_more() || self.with_metadata.contains(&owner.rank);
            if !is_known || self.owners.len() == MAX_RANKS {
                return 0;
            }
            self.owners.insert(owner);
        }
        self.num_rows += num_rows as u64;
        num_rows
    }

    /// Returns whether a row belongs to one of the other ranks.
    pub(super) fn has<const N: usize>(&self, row: &[u64; N]) -> bool {
        owner_of(row).is_some_and(|owner| self.owners.contains(&owner))
    }

    /// Returns the number of rows of function events taken since the last call.
    pub(super) fn take_num_rows(&mut self) -> u64 {
        std::mem::take(&mut self.num_rows)
    }
}

fn owner_of<const N: usize>(row: &[u64; N]) -> Option<RowOwner> {
    let [program, rank] = [row[0], row[1]].map(|it| u32::try_from(it).ok());
    Some(RowOwner {
        program: ProgramId(program?),
        rank: RankId(rank?),
    })
}
