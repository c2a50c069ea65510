//! Blocks of consecutive ranks, for viewers of jobs with more ranks than they can list.
//!
//! Blocks are the hosts, if the host of each rank is known and hosts have consecutive ranks, otherwise 2^k ranks from a
//! multiple of that. Hosts are joined, and k is chosen, so that there are at most [`MAX_BLOCKS`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Maximum number of ranks that viewers get one by one; more are in blocks.
pub const MAX_LISTED_RANKS: usize = 4_096;
/// Maximum number of blocks, unless more programs run.
pub const MAX_BLOCKS: usize = 1_024;

/// Consecutive ranks of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RankRange {
    /// Program.
    pub app: u32,
    /// First rank.
    pub first_rank: u32,
    /// Last rank.
    pub last_rank: u32,
}

/// All ranks of a job in blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankBlocks {
    /// Number of ranks.
    pub num_ranks: u64,
    /// Number of pairs of a rank and a function with anomalies.
    pub num_metrics: u64,
    /// First step of the first column.
    pub first_step: u64,
    /// Log2 of the number of steps in a column.
    pub column_shift: u32,
    /// The blocks in order of program and rank.
    pub blocks: Vec<RankBlock>,
}

/// A block of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankBlock {
    /// Its ranks.
    pub ranks: RankRange,
    /// The first host, if the blocks are hosts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_host: Option<Arc<str>>,
    /// The last host, if the blocks are hosts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_host: Option<Arc<str>>,
    /// Number of ranks that have reported.
    pub num_ranks: u64,
    /// Number of steps that they have reported, of all ranks together.
    pub num_steps: u64,
    /// Number of anomalies.
    pub num_anomalies: u64,
    /// The rank with the most anomalies; the first of several.
    pub worst_rank: u32,
    /// Number of its anomalies.
    pub worst_num_anomalies: u64,
    /// First and last step that any rank has reported.
    pub reported: Option<(u64, u64)>,
    /// Number of anomalies in each column of steps.
    pub cells: Vec<u64>,
}

impl RankRange {
    /// Returns whether it has a rank of a program.
    pub fn contains(&self, app: u32, rank: u32) -> bool {
        self.app == app && (self.first_rank..=self.last_rank).contains(&rank)
    }
}

impl RankBlocks {
    /// Returns the first and last step of a column.
    pub fn column(&self, index: u64) -> (u64, u64) {
        let first = self.first_step.saturating_add(index << self.column_shift);
        let width = 1_u64 << self.column_shift;
        (first, first.saturating_add(width - 1))
    }

    /// Returns the block of a rank.
    pub fn block_of(&self, app: u32, rank: u32) -> Option<&RankBlock> {
        let mut blocks = self.blocks.iter();
        blocks.find(|block| block.ranks.contains(app, rank))
    }
}
