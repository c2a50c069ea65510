//! Anomalies with a known cause, which is not the program's, and where they stand in the list.
//!
//! Such a tree is as unlike the usual as its score says, so the score stays. But nobody looks for it: it is
//! tagged, is no alarm, and stands behind the anomalies that nothing explains ([`listed_scores`]).

use callgrove_model::Label;
use serde::{Deserialize, Serialize};

use super::trained::Detector;
use crate::cause::WriteShare;

/// What explains an anomaly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// The tracer wrote its own data: see [`crate::cause::write_shares`].
    #[serde(rename = "trace write")]
    TraceWrite,
}

impl Cause {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TraceWrite => "trace write",
        }
    }
}

/// The cause of each abnormal tree that has a known one. All have shape `[n_trees]`.
///
/// What a person called abnormal is abnormal, whatever explains it.
pub fn causes(
    scores: &[f64],
    labels: &[Option<Label>],
    shares: &[Option<WriteShare>],
) -> Vec<Option<Cause>> {
    let cause = |((&score, label), share): ((&f64, &Option<Label>), &Option<WriteShare>)| {
        let is_open = Detector::is_abnormal(score) && *label != Some(Label::Abnormal);
        let is_explained = share.is_some_and(|share| share.explains());
        (is_open && is_explained).then_some(Cause::TraceWrite)
    };
    scores.iter().zip(labels).zip(shares).map(cause).collect()
}

/// Scores that rank trees as the list does, shape `[n_trees]`: abnormal trees without a cause have their score
/// (below 0), those with one lie between 0 and 1, normal trees above 1; each in the order of the scores.
pub fn listed_scores(scores: &[f64], causes: &[Option<Cause>]) -> Vec<f64> {
    let lowest = scores.iter().copied().fold(-f64::MIN_POSITIVE, f64::min);
    let listed = |(&score, cause): (&f64, &Option<Cause>)| match cause {
        Some(_) => 1.0 - score / lowest,
        None if Detector::is_abnormal(score) => score,
        None => score + 2.0,
    };
    scores.iter().zip(causes).map(listed).collect()
}

#[cfg(test)]
mod tests {
    use callgrove_model::DurationNs;

    use super::*;
    use crate::detector::trained::order_by_score;

    #[test]
    fn explained_trees_stand_between_the_abnormal_and_the_normal_ones() {
        let share = |covered| {
            Some(WriteShare {
                excess: DurationNs(100),
                covered: DurationNs(covered),
            })
        };
        let shares = [share(51), None, share(90), share(50), share(99), share(99)];
        let scores = [-3.0, -1.0, -0.5, -2.0, 0.25, -4.0];
        let mut labels = [None; 6];
        labels[5] = Some(Label::Abnormal);
        let causes = causes(&scores, &labels, &shares);
        let tagged: Vec<bool> = causes.iter().map(Option::is_some).collect();
        assert_eq!(tagged, [true, false, true, false, false, false]);
        let listed = listed_scores(&scores, &causes);
        let order: Vec<u32> = order_by_score(&listed).iter().map(|tree| tree.0).collect();
        assert_eq!(order, [5, 3, 1, 0, 2, 4]);
        let alarms: Vec<bool> = listed.iter().map(|&it| Detector::is_abnormal(it)).collect();
        assert_eq!(alarms, [false, true, false, true, false, true]);
    }
}
