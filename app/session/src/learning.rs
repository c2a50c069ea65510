//! The session's interface to the learning code: embeds forests, trains models and scores trees.

use std::collections::BTreeMap;

use callgrove_detect::TreeVerdict;
use callgrove_edits::ModelSettings;
use callgrove_judge::active::{Doubt, QueryStrategy, doubtful_labels, next_queries};
use callgrove_judge::decision::ByDesign;
use callgrove_judge::detector::{
    Cause, DecisionRule, Detector, DetectorParams, Embedding, FeatureArtifact, Misfit,
    ModelArtifact, TreeModel, Yardstick, causes,
};
use callgrove_map::knn::nearest;
use callgrove_model::{DurationNs, Forest, FunctionName, Label, Progress, Trace, TreeIdx};
use callgrove_trees::MlError;
use callgrove_trees::function_match::MatchedFunctions;
use callgrove_trees::suggest;
use callgrove_trees::wl::Siblings;

use crate::dismissed_alarms::DismissedAlarms;
use crate::model::ModelOrigin;
use crate::root::median_duration;
use crate::snapshot::{Analysis, Suggestion};

/// Number of neighbours that are reported for a tree.
const NUM_NEIGHBOURS: usize = 20;
/// Largest share of a tree's time in functions that the training never called. Above it, the training says little
/// about the tree.
const MAX_UNSEEN_SHARE: f64 = 0.5;

/// Settings of the learning. Equal settings and seeds give equal results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LearnSettings {
    params: DetectorParams,
    seed: u64,
}

/// An embedded forest that can be trained with labels.
pub struct Learned {
    forest: Forest,
    embedding: Embedding,
    detector: Option<Detector>,
}

/// The result of a training before it takes effect.
pub(crate) struct Trial {
    detector: Detector,
    /// Its result for each tree.
    pub(crate) tree_scores: TreeScores,
}

/// An error of the learning code.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    /// The learning code failed.
    #[error(transparent)]
    Ml(#[from] MlError),
    /// A model does not fit the forest.
    #[error("the model does not fit: {0}")]
    Misfit(Misfit),
    /// There is no model before the first training.
    #[error("there is no model yet: train first")]
    Untrained,
}

impl LearningError {
    /// Returns whether the user cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Ml(MlError::Cancelled))
    }
}

impl LearnSettings {
    /// Returns the settings that rank best on real traces.
    pub fn with_seed(seed: u64) -> Self {
        Self {
            params: DetectorParams::default(),
            seed,
        }
    }

    /// Returns the part of the settings that a user may change while labelling.
    pub fn of_model(&self) -> ModelSettings {
        ModelSettings {
            nu: self.params.nu,
            gamma: self.params.gamma.factor(),
            rate: match self.params.decision {
                DecisionRule::FalseDiscovery(rate) => rate,
                DecisionRule::Rho => ModelSettings::default().rate,
            },
        }
    }

    /// Returns the settings with the order of siblings taken into account (section 6.6 of the paper).
    #[must_use]
    pub fn with_sibling_order(mut self) -> Self {
        self.params.wl.siblings = Siblings::Ordered;
        self
    }

    /// Returns the settings of the paper.
    pub fn paper(seed: u64) -> Self {
        Self {
            params: DetectorParams::paper(),
            seed,
        }
    }
}

/// Embeds a forest. This is the slow part, done once per root function.
///
/// # Errors
/// Cancelled, or the forest cannot be embedded.
pub fn analyze(
    forest: Forest,
    root_name: String,
    settings: &LearnSettings,
    progress: Progress<'_>,
) -> Result<(Analysis, Learned), LearningError> {
    let params = settings.params.check()?;
    let embedding = Embedding::fit(&forest, &params, settings.seed, progress)?;
    let analysis = Analysis {
        root_name,
        num_subtrees: embedding.subtrees().vocabulary.len(),
        median_duration: median_duration(&forest),
        structures: by_size(embedding.subtrees().bags.roots()),
        write_shares: embedding.write_shares().to_vec(),
        tree_names: Vec::new(),
        forest: forest.clone(),
    };
    Ok((
        analysis,
        Learned {
            forest,
            embedding,
            detector: None,
        },
    ))
}

/// Numbers classes by descending size; classes of equal size, by first appearance.
fn by_size<T: Copy + Ord>(classes: &[T]) -> Vec<u32> {
    let mut counts: BTreeMap<T, (usize, usize)> = BTreeMap::new();
    for (at, &class) in classes.iter().enumerate() {
        counts.entry(class).or_insert((0, at)).0 += 1;
    }
    let mut order: Vec<T> = counts.keys().copied().collect();
    order.sort_by_key(|class| (std::cmp::Reverse(counts[class].0), counts[class].1));
    let number: BTreeMap<T, u32> = order.into_iter().zip(0..).collect();
    classes.iter().map(|class| number[class]).collect()
}

/// Returns root functions that are worth analysing, most promising first.
pub fn suggest_roots(trace: &Trace) -> Vec<Suggestion> {
    suggest::suggest_roots(trace)
        .into_iter()
        .map(|root| Suggestion {
            func: root.func,
            name: FunctionName::parse(trace.names.name(root.func))
                .qualified
                .to_owned(),
            num_calls: root.num_executions,
            median: root.median,
            longest: root.longest,
            mean_calls: root.mean_tree_len,
            reason: root.to_string(),
        })
        .collect()
}

/// The result of a model for each tree of a forest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TreeScores {
    /// Scores, shape `[n_trees]`; the smallest is the most abnormal.
    pub scores: Vec<f64>,
    /// True for each tree that is called abnormal, shape `[n_trees]`.
    pub abnormal: Vec<bool>,
    /// Share of normal trees that are at least as unusual, shape `[n_trees]`, in (0, 1]; `None` if
    /// there were too few executions to score any.
    pub p_values: Option<Vec<f64>>,
    /// The cause that explains each abnormal tree, if known; shape `[n_trees]`.
    pub causes: Vec<Option<Cause>>,
    /// The trees that are rare or long by design.
    pub design: ByDesign,
    /// True for each tree that is called abnormal for its structure, whatever its time; shape `[n_trees]`.
    pub is_odd: Vec<bool>,
    /// True for each tree whose own label decided, or that labels of others made normal; shape `[n_trees]`.
    pub is_by_label: Vec<bool>,
    /// What the model calls abnormal and is not reported.
    pub dismissed: DismissedAlarms,
}

/// The result of a saved model for a forest.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelJudgement {
    /// Its result for each tree.
    pub tree_scores: TreeScores,
    /// Numbers of the forest's functions that match those of the training, and of unknown ones.
    pub functions: MatchedFunctions,
    /// Reason not to use the model for the forest, if any.
    pub misfit: Option<Misfit>,
}

/// A trained model that scores forests of this or other runs.
#[derive(Debug)]
pub struct SavedModel(TreeModel);

impl SavedModel {
    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// The bytes are not a valid model.
    pub fn read(bytes: &[u8]) -> Result<Self, LearningError> {
        Ok(Self(TreeModel::new(ModelArtifact::read(bytes)?)?))
    }

    /// Returns the names of its root functions, as in traces.
    pub fn functions(&self) -> &[String] {
        &self.0.artifact().functions
    }

    /// Returns the name of a model that was given none: its function.
    pub fn default_name(&self) -> String {
        let function = self.functions().first().map(String::as_str);
        FunctionName::parse(function.unwrap_or_default())
            .qualified
            .to_owned()
    }

    /// Returns the verdict of the training on each tree. It does not depend on the other trees of the forest.
    ///
    /// # Errors
    /// The forest is empty.
    pub fn verdicts(&self, forest: &Forest) -> Result<Vec<TreeVerdict>, LearningError> {
        let found = self
            .0
            .judge(forest, Yardstick::Training, Progress::none())?;
        let has_varied_structures =
            matches!(self.0.artifact().features, FeatureArtifact::Context(_));
        let verdict = |tree: usize| {
            let unseen = found.unseen[tree];
            TreeVerdict {
                score: found.scores[tree],
                p_value: found.p_values[tree],
                decision_ln_p: found.decision_ln_p[tree],
                is_abnormal: found.abnormal[tree],
                unseen_time_share: unseen.time_share,
                is_new_structure: unseen.is_new_structure,
                is_unlike_training: if has_varied_structures {
                    unseen.time_share > MAX_UNSEEN_SHARE
                } else {
                    unseen.is_new_structure
                },
            }
        };
        Ok((0..forest.len()).map(verdict).collect())
    }

    /// Returns the share of the alarms that may be false.
    pub fn false_discovery_rate(&self) -> f64 {
        match self.0.artifact().params.decision {
            DecisionRule::FalseDiscovery(rate) => rate,
            DecisionRule::Rho => ModelSettings::default().rate,
        }
    }

    /// Returns the model itself.
    pub fn tree_model(&self) -> &TreeModel {
        &self.0
    }

    /// Returns the programs and functions that it was trained on.
    pub fn origin(&self) -> ModelOrigin {
        let model = self.0.artifact();
        ModelOrigin {
            programs: model.programs.clone(),
            functions: model.functions.clone(),
            num_ranks: model.num_ranks,
            num_trees: model.num_trees,
            num_abnormal: model.num_abnormal,
            median_duration: DurationNs(model.median_duration_ns),
            unit: model.unit.clone(),
        }
    }

    /// Scores a forest. The forest gives the usual durations. The training gives the p-values, or with `is_refitted`
    /// the forest itself.
    ///
    /// # Errors
    /// Cancelled, or the model cannot be used by this program.
    pub fn judge(
        &self,
        forest: &Forest,
        is_refitted: bool,
        progress: Progress<'_>,
    ) -> Result<ModelJudgement, LearningError> {
        let by = if is_refitted {
            Yardstick::RunAlone
        } else {
            Yardstick::Run
        };
        let found = self.0.judge(forest, by, progress)?;
        let tree_scores = TreeScores {
            scores: found.scores,
            abnormal: found.abnormal,
            p_values: Some(found.p_values),
            causes: found.causes,
            design: found.design,
            is_odd: found.is_odd,
            is_by_label: found.is_by_label,
            dismissed: DismissedAlarms::default(),
        };
        Ok(ModelJudgement {
            tree_scores,
            functions: found.functions,
            misfit: found.misfit,
        })
    }
}

impl Learned {
    /// Changes the settings for the next training.
    ///
    /// # Errors
    /// Cancelled, or a setting is out of range; then nothing is changed.
    pub fn tune(
        &mut self,
        settings: ModelSettings,
        progress: Progress<'_>,
    ) -> Result<(), LearningError> {
        let params = self.embedding.params().get();
        let gamma = params.gamma.with_factor(settings.gamma);
        let decision = match params.decision {
            DecisionRule::Rho => DecisionRule::Rho,
            DecisionRule::FalseDiscovery(_) => DecisionRule::FalseDiscovery(settings.rate),
        };
        self.embedding
            .tune(settings.nu, gamma, decision, progress)?;
        Ok(())
    }

    /// Returns the next trees to label; none before the first training.
    pub fn queue(&self, query: QueryStrategy, count: usize) -> Vec<TreeIdx> {
        self.detector.as_ref().map_or_else(Vec::new, |detector| {
            next_queries(query, &self.embedding, detector, count)
        })
    }

    /// Returns the labels of the last training that disagree with their neighbourhood; none before the first training.
    pub fn doubts(&self) -> Vec<Doubt> {
        self.detector.as_ref().map_or_else(Vec::new, |detector| {
            doubtful_labels(&self.embedding, detector)
        })
    }

    /// Trains with labels, shape `[n_trees]`. An earlier training makes it faster but does not change the result.
    ///
    /// # Errors
    /// Cancelled, or too few trees are left that are not labelled abnormal.
    pub fn train(
        &mut self,
        labels: &[Option<Label>],
        progress: Progress<'_>,
    ) -> Result<TreeScores, LearningError> {
        let trial = self.try_labels(labels, progress)?;
        Ok(self.accept(trial))
    }

    /// Trains like [`Learned::train`], but keeps the earlier model until the trial is accepted.
    ///
    /// # Errors
    /// As [`Learned::train`].
    pub(crate) fn try_labels(
        &self,
        labels: &[Option<Label>],
        progress: Progress<'_>,
    ) -> Result<Trial, LearningError> {
        let detector = Detector::train(&self.embedding, labels, self.detector.as_ref(), progress)?;
        let tree_scores = TreeScores {
            scores: detector.scores().to_vec(),
            abnormal: detector.abnormal().to_vec(),
            p_values: self.embedding.p_values(),
            causes: causes(detector.abnormal(), labels, self.embedding.write_shares()),
            design: self.embedding.evidence().design.clone(),
            is_odd: self.embedding.evidence().is_odd(),
            is_by_label: detector.is_by_label(&self.embedding),
            dismissed: DismissedAlarms::default(),
        };
        Ok(Trial {
            detector,
            tree_scores,
        })
    }

    /// Makes a trial the current model.
    pub(crate) fn accept(&mut self, trial: Trial) -> TreeScores {
        self.detector = Some(trial.detector);
        trial.tree_scores
    }

    /// Returns the current model for use with other runs.
    ///
    /// # Errors
    /// Nothing has been trained yet.
    pub fn model(&self) -> Result<SavedModel, LearningError> {
        Ok(SavedModel(TreeModel::new(self.artifact()?)?))
    }

    fn artifact(&self) -> Result<ModelArtifact, LearningError> {
        let detector = self.detector.as_ref().ok_or(LearningError::Untrained)?;
        let progress = Progress::none();
        Ok(ModelArtifact::new(
            &self.forest,
            &self.embedding,
            detector,
            progress,
        )?)
    }

    /// Returns the model as the text of a file.
    ///
    /// # Errors
    /// Nothing has been trained yet.
    pub fn model_text(&self) -> Result<String, LearningError> {
        let model = self.artifact()?;
        Ok(serde_json::to_string(&model).expect("a model has string keys only"))
    }

    pub(crate) fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// Returns the tree in the middle of a group.
    pub(crate) fn centre(&self, group: &[TreeIdx]) -> Option<TreeIdx> {
        self.embedding.centre_of(group)
    }

    /// Returns the trees most similar to a tree in the space of the model, the nearest first.
    pub(crate) fn neighbours(&self, tree: TreeIdx) -> Vec<TreeIdx> {
        let rows = nearest(self.embedding.rows(), tree.index(), NUM_NEIGHBOURS, |_| {
            true
        });
        let trees = rows.into_iter().map(|(row, _)| TreeIdx::from_index(row));
        trees.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_class_has_the_first_number() {
        assert_eq!(by_size(&[7, 2, 9, 2, 9, 2]), [2, 0, 1, 0, 1, 0]);
        assert_eq!(by_size(&[4, 3]), [0, 1], "equal sizes by appearance");
        assert!(by_size::<u8>(&[]).is_empty());
    }
}
