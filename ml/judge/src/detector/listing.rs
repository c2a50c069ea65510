//! Anomalies with a known cause outside the program, and their rank in the list.
//!
//! Such a tree deviates as much as its score says, so the score stays. But it needs no attention: it is tagged, is
//! not an alarm, and ranks after the unexplained anomalies ([`listed_scores`]).

use callgrove_model::Label;
use serde::{Deserialize, Serialize};

use callgrove_learn::cause::WriteShare;

/// The known cause of an anomaly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// The tracer wrote its own data: see [`callgrove_learn::cause::write_shares`].
    #[serde(rename = "trace write")]
    TraceWrite,
}

impl Cause {
    /// Returns its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TraceWrite => "trace write",
        }
    }
}

/// Returns the cause of each abnormal tree that has a known one. All have shape `[n_trees]`.
///
/// A tree that a person labelled abnormal is abnormal, whatever its cause.
pub fn causes(
    abnormal: &[bool],
    labels: &[Option<Label>],
    shares: &[Option<WriteShare>],
) -> Vec<Option<Cause>> {
    let cause = |((&is_abnormal, label), share): ((&bool, &Option<Label>), &Option<WriteShare>)| {
        let is_open = is_abnormal && *label != Some(Label::Abnormal);
        let is_explained = share.is_some_and(|share| share.explains());
        (is_open && is_explained).then_some(Cause::TraceWrite)
    };
    abnormal.iter().zip(labels).zip(shares).map(cause).collect()
}

/// Returns numbers that rank trees as in the list, shape `[n_trees]`: abnormal trees without a cause are below 0,
/// those with one between 0 and 1, normal trees above 1; each group is in the order of the scores.
pub fn listed_scores(scores: &[f64], abnormal: &[bool], causes: &[Option<Cause>]) -> Vec<f64> {
    let finite = || scores.iter().copied().filter(|score| score.is_finite());
    let lowest = finite().fold(f64::INFINITY, f64::min).min(0.0);
    let highest = finite().fold(f64::NEG_INFINITY, f64::max).max(0.0);
    let listed = |((&score, &is_abnormal), cause): ((&f64, &bool), &Option<Cause>)| match cause {
        Some(_) => (score - lowest + 1.0) / (highest - lowest + 2.0),
        None if is_abnormal => score - highest - 1.0,
        None => score - lowest + 2.0,
    };
    scores
        .iter()
        .zip(abnormal)
        .zip(causes)
        .map(listed)
        .collect()
}

/// Returns whether one of [`listed_scores`] is that of an alarm.
pub fn is_alarm(listed: f64) -> bool {
    listed < 0.0
}

#[cfg(test)]
mod tests {
    use callgrove_model::DurationNs;

    use super::*;
    use crate::detector::trained::order_by_score;

    #[test]
    fn explained_trees_rank_between_the_abnormal_and_the_normal_ones() {
        let share = |covered| {
            Some(WriteShare {
                excess: DurationNs(100),
                covered: DurationNs(covered),
            })
        };
        let shares = [share(51), None, share(90), share(50), share(99), share(99)];
        let scores = [-3.0, -1.0, -0.5, -2.0, 0.25, -4.0];
        let abnormal = [true, true, true, true, false, true];
        let mut labels = [None; 6];
        labels[5] = Some(Label::Abnormal);
        let causes = causes(&abnormal, &labels, &shares);
        let tagged: Vec<bool> = causes.iter().map(Option::is_some).collect();
        assert_eq!(tagged, [true, false, true, false, false, false]);
        let listed = listed_scores(&scores, &abnormal, &causes);
        let order: Vec<u32> = order_by_score(&listed).iter().map(|tree| tree.0).collect();
        assert_eq!(order, [5, 3, 1, 0, 2, 4]);
        let alarms: Vec<bool> = listed.iter().map(|&it| is_alarm(it)).collect();
        assert_eq!(alarms, [false, true, false, true, false, true]);
    }
}
