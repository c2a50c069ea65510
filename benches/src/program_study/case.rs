//! A simulated run with its results.

use callgrove_evaluate::evaluate::Class;
use callgrove_judge::detector::{
    DecisionRule, Detector, DetectorParams, Embedding, Judgement, ModelArtifact, TreeModel,
    Yardstick, causes,
};
use callgrove_learn::metrics::ranking_quality;
use callgrove_model::{Forest, TreeIdx};
use callgrove_trees::{Progress, Result};

use crate::programs::{KINDS, STRUCTURE, SimulatedRun};

/// The seed of every embedding.
const SEED: u64 = 1;
/// Multiple of the run's median duration from which the rule of comparison judges an execution abnormal.
const RULE_RATIO: f64 = 3.0;
/// Minimum fraction of the abnormal executions that must be found.
const MIN_FOUND: f64 = 0.8;
/// Maximum fraction of false alarms among all alarms.
const MAX_FALSE: f64 = 0.15;
/// Maximum fraction of a clean run that may be judged abnormal.
const MAX_FALSE_IN_CLEAN: f64 = 0.005;

/// Upper bounds of the size classes of abnormal executions, as multiples of the twin's duration; longer ones form one
/// more class.
pub(super) const SIZES: [f64; 3] = [1.35, 1.5, 2.0];
/// Number of size classes.
const NUM_SIZES: usize = SIZES.len() + 1;

/// The settings of the decision that a user may change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Setting {
    /// False discovery rate.
    pub(super) rate: f64,
    /// ν of the one-class SVM.
    pub(super) nu: f64,
    /// Factor of the width of its kernel.
    pub(super) gamma: f64,
}

/// The default settings of the detector.
pub(super) const DEFAULT: Setting = Setting {
    rate: 0.1,
    nu: 0.01,
    gamma: 0.3,
};
/// A run and what was learned from it.
pub(super) struct LearnedRun {
    run: SimulatedRun,
    embedding: Embedding,
}

/// The results for a run. Executions of unknown class do not count.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct RunOutcome {
    pub(super) num_normal: usize,
    pub(super) num_false: usize,
    /// By kind: numbers found and total.
    pub(super) kinds: [(usize, usize); KINDS.len()],
    /// By multiple of the twin's duration: numbers found and total; without changed structures.
    pub(super) sizes: [(usize, usize); NUM_SIZES],
    /// `None` in a clean run.
    pub(super) average_precision: Option<f64>,
}

impl LearnedRun {
    pub(super) fn new(run: SimulatedRun) -> Result<Self> {
        let params = DetectorParams::default().check()?;
        let embedding = Embedding::fit(&run.forest, &params, SEED, Progress::none())?;
        Ok(Self { run, embedding })
    }

    pub(super) fn num_executions(&self) -> usize {
        self.run.forest.len()
    }

    /// Returns what `analyze` finds with a setting, without a reference.
    pub(super) fn found(&mut self, setting: Setting) -> Result<RunOutcome> {
        let params = *self.embedding.params().get();
        let gamma = params.gamma.with_factor(setting.gamma);
        let decision = DecisionRule::FalseDiscovery(setting.rate);
        self.embedding
            .tune(setting.nu, gamma, decision, Progress::none())?;
        let labels = vec![None; self.num_executions()];
        let detector = Detector::train(&self.embedding, &labels, None, Progress::none())?;
        let causes = causes(detector.abnormal(), &labels, self.embedding.write_shares());
        let alarms = detector.abnormal().iter().zip(causes);
        let alarms: Vec<bool> = alarms
            .map(|(&is_abnormal, cause)| is_abnormal && cause.is_none())
            .collect();
        Ok(RunOutcome::new(
            &self.run,
            &alarms,
            &negated(detector.scores()),
        ))
    }

    /// Returns what the rule "longer than three times the median" finds; it ranks by duration.
    pub(super) fn found_by_rule(&self) -> RunOutcome {
        let durations = durations_ns(&self.run.forest);
        let mut sorted = durations.clone();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let alarms: Vec<bool> = durations
            .iter()
            .map(|&duration| duration > RULE_RATIO * median)
            .collect();
        RunOutcome::new(&self.run, &alarms, &durations)
    }

    /// Returns the run as a reference for others.
    pub(super) fn model(&self) -> Result<TreeModel> {
        let labels = vec![None; self.num_executions()];
        let detector = Detector::train(&self.embedding, &labels, None, Progress::none())?;
        let forest = &self.run.forest;
        TreeModel::new(ModelArtifact::new(
            forest,
            &self.embedding,
            &detector,
            Progress::none(),
        )?)
    }

    /// Returns what `analyze` finds with a reference.
    pub(super) fn judged(&self, reference: &TreeModel) -> Result<(RunOutcome, Judgement)> {
        let judged = reference.judge(&self.run.forest, Yardstick::Run, Progress::none())?;
        let alarms = judged.abnormal.iter().zip(&judged.causes);
        let alarms: Vec<bool> = alarms
            .map(|(&is_abnormal, cause)| is_abnormal && cause.is_none())
            .collect();
        let found = RunOutcome::new(&self.run, &alarms, &negated(&judged.scores));
        Ok((found, judged))
    }
}

impl RunOutcome {
    /// Returns the results for executions judged abnormal or not; `anomaly` ranks them, largest first. All have shape
    /// `[n_trees]`.
    fn new(run: &SimulatedRun, alarms: &[bool], anomaly: &[f64]) -> Self {
        let mut found = Self::default();
        let (mut is_anomaly, mut of_known) = (Vec::new(), Vec::new());
        let known = run.classes.iter().zip(&run.ratios);
        for (((&class, &ratio), &is_alarm), &anomaly) in known.zip(alarms).zip(anomaly) {
            match class {
                Class::Unknown => continue,
                Class::Negative => {
                    found.num_normal += 1;
                    found.num_false += usize::from(is_alarm);
                }
                Class::Positive(kind) => {
                    found.kinds[kind].0 += usize::from(is_alarm);
                    found.kinds[kind].1 += 1;
                    if kind != STRUCTURE {
                        let size = SIZES.partition_point(|&most| most < ratio);
                        found.sizes[size].0 += usize::from(is_alarm);
                        found.sizes[size].1 += 1;
                    }
                }
            }
            is_anomaly.push(class != Class::Negative);
            of_known.push(anomaly);
        }
        let quality = ranking_quality(&is_anomaly, &of_known);
        found.average_precision = quality.map(|quality| quality.average_precision);
        found
    }

    pub(super) fn num_found(&self) -> usize {
        self.kinds.iter().map(|kind| kind.0).sum()
    }

    pub(super) fn num_abnormal(&self) -> usize {
        self.kinds.iter().map(|kind| kind.1).sum()
    }

    /// Returns the fraction of a clean run that is judged abnormal.
    pub(super) fn false_share_of_run(&self) -> f64 {
        self.num_false as f64 / self.num_normal.max(1) as f64
    }

    /// Returns the fraction of false alarms among all alarms.
    pub(super) fn false_share(&self) -> f64 {
        self.num_false as f64 / (self.num_false + self.num_found()).max(1) as f64
    }

    /// Returns whether a clean run has few false alarms, and another run few missed and few false ones.
    pub(super) fn holds(&self) -> bool {
        match self.num_abnormal() {
            0 => self.false_share_of_run() <= MAX_FALSE_IN_CLEAN,
            num_abnormal => {
                self.num_found() as f64 >= MIN_FOUND * num_abnormal as f64
                    && self.false_share() <= MAX_FALSE
            }
        }
    }
}

fn negated(scores: &[f64]) -> Vec<f64> {
    scores.iter().map(|score| -score).collect()
}

fn durations_ns(forest: &Forest) -> Vec<f64> {
    let trees = (0..forest.len()).map(TreeIdx::from_index);
    trees
        .map(|tree| forest.tree(tree).duration().0 as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use callgrove_learn::features::GammaRule;

    use super::*;

    #[test]
    fn the_default_setting_is_that_of_the_detector() {
        let default = DetectorParams::default();
        let same = DetectorParams {
            nu: DEFAULT.nu,
            gamma: GammaRule::NormalNorm(DEFAULT.gamma),
            decision: DecisionRule::FalseDiscovery(DEFAULT.rate),
            ..default
        };
        assert_eq!(same, default);
    }
}
