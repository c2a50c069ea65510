//! Groups the ranks of an overview into blocks.

use std::ops::Range;

use super::rank_blocks::{MAX_BLOCKS, RankBlock, RankBlocks, RankRange};
use super::{Overview, RankHosts, RankOverview};
use crate::packet::rounded;

/// Maximum number of columns of steps in a block.
const MAX_COLUMNS: u64 = 128;

impl Overview {
    /// Returns all ranks in blocks.
    pub(super) fn rank_blocks(&self, hosts: &RankHosts) -> RankBlocks {
        let (first, last) = self.steps().unwrap_or_default();
        let column_shift = self.column_shift((first, last), MAX_COLUMNS);
        let mut blocks = RankBlocks {
            num_ranks: count(self.ranks.len()),
            num_metrics: count(self.metrics.len()),
            first_step: first >> column_shift << column_shift,
            column_shift,
            blocks: Vec::new(),
        };
        let num_columns = (last >> column_shift) - (first >> column_shift) + 1;
        let num_columns = usize::try_from(num_columns).unwrap_or_default();
        let parts = by_host(&self.ranks, hosts).unwrap_or_else(|| by_number(&self.ranks));
        blocks.blocks = parts
            .into_iter()
            .filter_map(|(part, has_hosts)| {
                let mut block = block_of(self.ranks.get(part)?, &blocks, num_columns)?;
                if has_hosts {
                    let host = |rank| hosts.get(&(block.ranks.app, rank)).cloned();
                    block.first_host = host(block.ranks.first_rank);
                    block.last_host = host(block.ranks.last_rank);
                }
                Some(block)
            })
            .collect();
        blocks
    }

    /// Returns log2 of the width of columns of steps: the smallest of which `steps` have at most `max_columns`, and
    /// that is not narrower than the spans of the histories.
    pub fn column_shift(&self, (from, to): (u64, u64), max_columns: u64) -> u32 {
        let spans = self.ranks.iter().flat_map(|rank| rank.history.spans());
        let widest = spans
            .filter(|span| span.last_step() >= from && span.first_step <= to)
            .map(|span| span.num_steps)
            .max();
        let own = self.blocks.as_ref().map_or(0, |blocks| blocks.column_shift);
        let mut shift = widest.unwrap_or(1).max(1).ilog2().max(own);
        while shift < 63 && (to >> shift) - (from >> shift) >= max_columns {
            shift += 1;
        }
        shift
    }
}

/// Returns the block of some ranks, without hosts.
fn block_of(ranks: &[RankOverview], columns: &RankBlocks, num_columns: usize) -> Option<RankBlock> {
    let (first, last) = (ranks.first()?, ranks.last()?);
    let mut cells = vec![0_u64; num_columns];
    let mut reported: Option<(u64, u64)> = None;
    let mut worst = first;
    for rank in ranks {
        if rank.anomalies.accumulate > worst.anomalies.accumulate {
            worst = rank;
        }
        if let Some((from, to)) = rank.history.reported() {
            let (earliest, latest) = reported.unwrap_or((from, to));
            reported = Some((earliest.min(from), latest.max(to)));
        }
        for span in rank.history.spans() {
            let from = span.first_step.max(columns.first_step) - columns.first_step;
            let at = usize::try_from(from >> columns.column_shift).unwrap_or(usize::MAX);
            if let Some(cell) = cells.get_mut(at) {
                *cell = cell.saturating_add(span.num_anomalies);
            }
        }
    }
    let num_anomalies = ranks.iter().map(|rank| rounded(rank.anomalies.accumulate));
    Some(RankBlock {
        ranks: RankRange {
            app: first.app,
            first_rank: first.rank,
            last_rank: last.rank,
        },
        first_host: None,
        last_host: None,
        num_ranks: count(ranks.len()),
        num_steps: ranks.iter().map(|rank| rank.anomalies.count).sum(),
        num_anomalies: num_anomalies.sum(),
        worst_rank: worst.rank,
        worst_num_anomalies: rounded(worst.anomalies.accumulate),
        reported,
        cells,
    })
}

/// Indices of ranks, and whether they are hosts.
type Part = (Range<usize>, bool);

/// Returns the ranks of each host, or of 2^k consecutive ones; `None` unless most ranks follow one of the same host.
fn by_host(ranks: &[RankOverview], hosts: &RankHosts) -> Option<Vec<Part>> {
    let host = |rank: &RankOverview| hosts.get(&(rank.app, rank.rank));
    if ranks.is_empty() || ranks.iter().any(|rank| host(rank).is_none()) {
        return None;
    }
    let runs = runs(ranks, |a, b| a.app == b.app && host(a) == host(b));
    if runs.len() * 2 > ranks.len() {
        return None;
    }
    let app = |run: &Range<usize>| ranks.get(run.start).map(|rank| rank.app);
    let num_joined = |shift: u32| {
        let programs = runs.chunk_by(|a, b| app(a) == app(b));
        programs.map(move |runs| runs.chunks(1 << shift))
    };
    let num_blocks = |shift: u32| num_joined(shift).map(|runs| runs.len()).sum::<usize>();
    let mut shift = 0;
    while num_blocks(shift) > MAX_BLOCKS && runs.len() >> shift > 0 {
        shift += 1;
    }
    let joined = num_joined(shift).flatten();
    let whole = joined.filter_map(|runs| Some(runs.first()?.start..runs.last()?.end));
    Some(whole.map(|part| (part, true)).collect())
}

/// Returns the ranks of each 2^k numbers.
fn by_number(ranks: &[RankOverview]) -> Vec<Part> {
    let by = |shift: u32| {
        runs(ranks, move |a, b| {
            (a.app, a.rank >> shift) == (b.app, b.rank >> shift)
        })
    };
    let mut parts = by(0);
    for shift in 1..32 {
        if parts.len() <= MAX_BLOCKS {
            break;
        }
        parts = by(shift);
    }
    parts.into_iter().map(|part| (part, false)).collect()
}

/// Returns the longest ranges of consecutive ranks that are alike.
fn runs(
    ranks: &[RankOverview],
    are_alike: impl Fn(&RankOverview, &RankOverview) -> bool,
) -> Vec<Range<usize>> {
    let mut next = 0;
    let chunks = ranks.chunk_by(are_alike).map(|chunk| {
        let start = next;
        next += chunk.len();
        start..next
    });
    chunks.collect()
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
