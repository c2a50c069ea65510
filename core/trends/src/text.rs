//! Findings as sentences.

use callgrove_model::{FuncId, FunctionName, LaneIdx, RankId, Real, ThreadId, Trace};

use super::trend::{Trend, TrendDoubt, TrendKind};

/// Maximum number of ranges of ranks that are listed; beyond it, peers are counted.
const MAX_RANGES: usize = 4;

impl Trend {
    /// Returns one sentence without a period: `ranks 8 to 11, host nid00003, 1.30 times their peers in Heat::row
    /// throughout`. `trace` is the trace that it was found in, or its head: names and lanes.
    pub fn summary(&self, trace: &Trace) -> String {
        let lane = |lane: LaneIdx| {
            let lane = trace.lane(lane);
            (lane.rank, lane.thread)
        };
        self.sentence(|func| trace.names.name(func), lane)
    }

    /// Returns the same sentence from the names of functions, and the rank and thread of a lane.
    pub fn sentence<'a>(
        &self,
        name: impl Fn(FuncId) -> &'a str,
        lane: impl Fn(LaneIdx) -> (RankId, ThreadId),
    ) -> String {
        let name = |func: FuncId| FunctionName::parse(name(func)).short;
        let lanes = self.lane_text(lane);
        let function = name(self.func);
        let also = match self.other_funcs.as_slice() {
            [] => String::new(),
            [one] => format!(", as in {}", name(*one)),
            several => format!(", as in {} other functions", several.len()),
        };
        let is_one = self.ranks.len() == 1;
        match self.kind {
            TrendKind::Slow { usual, peers } => {
                let factor = usual.0.real() / peers.0.max(1).real();
                let whose = if is_one { "its" } else { "their" };
                let named = match rank_ranges(&self.peer_ranks) {
                    empty if empty.is_empty() => empty,
                    ranks => format!("; peers: {ranks}"),
                };
                format!(
                    "{lanes} {factor:.2} times {whose} peers in {function} throughout{also}{named}"
                )
            }
            TrendKind::SlowIterations {
                usual,
                peers,
                makes_extra_calls,
            } => {
                let factor = usual.0.real() / peers.0.max(1).real();
                let why = if makes_extra_calls {
                    "in calls that its peers do not make, mostly"
                } else {
                    "mostly"
                };
                let named = rank_ranges(&self.peer_ranks);
                format!(
                    "{lanes} has {factor:.2} times the work of its peers in every iteration, {why} in {function}; peers: {named}"
                )
            }
            TrendKind::Growth { from, to } => {
                let verb = if is_one { "grows" } else { "grow" };
                format!("{lanes} {verb} from {from} to {to} a call in {function}{also}")
            }
            TrendKind::Change {
                from, to, after, ..
            } => {
                let verb = if is_one { "takes" } else { "take" };
                format!(
                    "{lanes} {verb} {to} instead of {from} a call in {function} from {after} on{also}"
                )
            }
        }
    }

    fn lane_text(&self, lane_of: impl Fn(LaneIdx) -> (RankId, ThreadId)) -> String {
        let is_whole = |rank: &RankId| {
            let of_rank = |lane: &&LaneIdx| lane_of(**lane).0 == *rank;
            !self.peers.iter().any(|lane| of_rank(&lane))
        };
        let lanes = match self.lanes.as_slice() {
            [only] if !self.ranks.iter().all(is_whole) => {
                let (rank, thread) = lane_of(*only);
                format!("rank {rank}, thread {thread},")
            }
            _ if self.ranks.iter().all(is_whole) => match self.ranks.len() {
                num if num > 1 && self.peer_ranks.is_empty() => format!("all {num} ranks"),
                _ => rank_list(&self.ranks),
            },
            several => format!("{} threads of {}", several.len(), rank_list(&self.ranks)),
        };
        if self.host.is_empty() {
            return lanes;
        }
        format!("{}, host {},", lanes.trim_end_matches(','), self.host)
    }
}

impl TrendDoubt {
    /// Returns the reason as a clause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::OtherWorkUsual => {
                "the rest of its work is as fast as that of its peers, so it may be by design"
            }
            Self::AllLanes => "it is the same on all lanes, so it may be by design",
            Self::MoreToDo => "it may have more to do by design",
            Self::FewLanes => "there are few lanes to compare with",
        }
    }
}

/// Returns ranks, in ascending order, as text: `ranks 0 to 7 and 12 to 15`; beyond a few ranges `12 ranks`; an empty
/// text without ranks.
pub fn rank_ranges(ranks: &[RankId]) -> String {
    match ranges(ranks).len() {
        0 => String::new(),
        1..=MAX_RANGES => rank_list(ranks),
        _ => format!("{} ranks", ranks.len()),
    }
}

/// Returns ranks as text: `rank 5`, `ranks 8 to 11`, `ranks 1, 3 and 5`.
fn rank_list(ranks: &[RankId]) -> String {
    let ranges: Vec<String> = ranges(ranks)
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first} to {last}"),
        })
        .collect();
    let list = match ranges.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => ranges.join(", "),
    };
    match ranks.len() {
        1 => format!("rank {list}"),
        _ => format!("ranks {list}"),
    }
}

/// Returns the first and last of each run of consecutive ranks; two neighbours are listed one by one.
fn ranges(ranks: &[RankId]) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    for run in ranks.chunk_by(|one, next| one.0.checked_add(1) == Some(next.0)) {
        match run {
            [one, other] => ranges.extend([(one.0, one.0), (other.0, other.0)]),
            [first, .., last] => ranges.push((first.0, last.0)),
            [only] => ranges.push((only.0, only.0)),
            [] => {}
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_in_ranges() {
        let check = |ranks: &[u32], expected: &str| {
            let ranks: Vec<RankId> = ranks.iter().map(|&it| RankId(it)).collect();
            assert_eq!(rank_list(&ranks), expected);
        };
        check(&[5], "rank 5");
        check(&[8, 9, 10, 11], "ranks 8 to 11");
        check(&[1, 3, 4], "ranks 1, 3 and 4");
        check(&[0, 1, 2, 7, 12, 13, 14], "ranks 0 to 2, 7 and 12 to 14");
    }
}
