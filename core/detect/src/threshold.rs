//! Where the scores of outliers begin.

/// A score, and how many executions have it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Level {
    pub(crate) score: f64,
    pub(crate) count: u64,
}

/// The threshold of scores: outliers have at least this one. Sorts `levels`, which is not empty.
///
/// The seeds filter "the top 1 % of scores", which has two readings, and the lower of the two holds:
/// the top of the range of scores, min + `range_share` · (max − min), as Chimbuko computes it; and the
/// executions with the highest scores, at most `limit` of them.
pub(crate) fn threshold(levels: &mut [Level], range_share: f64, limit: u64) -> f64 {
    levels.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    let (Some(highest), Some(lowest)) = (levels.first(), levels.last()) else {
        return f64::INFINITY;
    };
    let of_range = lowest.score + range_share * (highest.score - lowest.score);
    let mut held: u64 = 0;
    let mut of_executions = f64::INFINITY;
    for same in levels.chunk_by(|a, b| a.score.total_cmp(&b.score).is_eq()) {
        held = same
            .iter()
            .fold(held, |held, level| held.saturating_add(level.count));
        if held > limit {
            break;
        }
        of_executions = same[0].score;
    }
    of_range.min(of_executions)
}
