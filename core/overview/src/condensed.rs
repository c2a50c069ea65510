//! Parts of an overview, for viewers that cannot get all of it.

use super::{FuncOnRank, Overview, RankBlocks, RankHosts, RankOverview, RankRange};

/// Number of ranks and of pairs of a rank and a function that are listed next to blocks.
pub const NUM_TOP: usize = 200;

impl Overview {
    /// Returns the ranks in blocks, with the ranks and the pairs of a rank and a function that have the most anomalies.
    /// These ranks have no history.
    #[must_use]
    pub fn condensed(&self, hosts: &RankHosts) -> Self {
        let mut ranks: Vec<&RankOverview> = self.ranks.iter().collect();
        ranks.sort_by(|a, b| {
            let total =
                |rank: &RankOverview| (rank.anomalies.accumulate, rank.metrics.severity.accumulate);
            let (a, b) = (total(a), total(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        ranks.truncate(NUM_TOP);
        ranks.sort_by_key(|rank| (rank.app, rank.rank));
        let without_history = |rank: &RankOverview| RankOverview {
            app: rank.app,
            rank: rank.rank,
            anomalies: rank.anomalies,
            metrics: rank.metrics.clone(),
            ..RankOverview::default()
        };
        Self {
            ranks: ranks.into_iter().map(without_history).collect(),
            blocks: Some(self.rank_blocks(hosts)),
            funcs: self.funcs.clone(),
            counters: self.counters.clone(),
            ..self.with_top_metrics(|_| true)
        }
    }

    /// Returns some ranks with their histories, and those of their functions that have the most anomalies. Functions
    /// and counters of the job are left out.
    #[must_use]
    pub fn of_ranks(&self, range: RankRange) -> Self {
        let ranks = self.ranks.iter();
        let ranks = ranks.filter(|rank| range.contains(rank.app, rank.rank));
        Self {
            ranks: ranks.cloned().collect(),
            ..self.with_top_metrics(|metrics| range.contains(metrics.app, metrics.rank))
        }
    }

    /// Returns the metrics with the most anomalies, without ranks, functions and counters.
    fn with_top_metrics(&self, is_listed: impl Fn(&FuncOnRank) -> bool) -> Self {
        let metrics = self.metrics.iter().filter(|metrics| is_listed(metrics));
        let mut metrics: Vec<&FuncOnRank> = metrics.collect();
        let num_metrics = metrics.len();
        metrics.sort_by(|a, b| {
            let total =
                |it: &FuncOnRank| (it.metrics.count.accumulate, it.metrics.severity.accumulate);
            let (a, b) = (total(a), total(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        metrics.truncate(NUM_TOP);
        metrics.sort_by_key(|it| (it.app, it.rank, it.fid));
        Self {
            last_packet_ms: self.last_packet_ms,
            run: self.run.clone(),
            num_unreadable: self.num_unreadable,
            num_omitted_metrics: u32::try_from(num_metrics - metrics.len()).unwrap_or(u32::MAX),
            metrics: metrics.into_iter().cloned().collect(),
            fold_shift: self.fold_shift,
            ..Self::default()
        }
    }

    /// Returns the programs that have a rank with this number, in order. A rank in a block counts as one even if it has
    /// not reported yet.
    pub fn programs_of_rank(&self, rank: u32) -> Vec<u32> {
        let mut programs: Vec<u32> = match &self.blocks {
            None => {
                let ranks = self.ranks.iter().filter(|known| known.rank == rank);
                ranks.map(|known| known.app).collect()
            }
            Some(RankBlocks { blocks, .. }) => {
                let blocks = blocks.iter();
                let blocks = blocks.filter(|it| it.ranks.contains(it.ranks.app, rank));
                blocks.map(|block| block.ranks.app).collect()
            }
        };
        programs.dedup();
        programs
    }

    /// Returns whether ranks of several programs have reported.
    pub fn has_several_programs(&self) -> bool {
        let listed = || self.ranks.iter().map(|rank| rank.app);
        let in_blocks = || {
            self.blocks
                .iter()
                .flat_map(|it| &it.blocks)
                .map(|it| it.ranks.app)
        };
        let first = in_blocks().chain(listed()).next();
        let last = listed().chain(in_blocks()).next_back();
        first != last
    }
}
