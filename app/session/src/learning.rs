//! From a forest to what there is to see of it: the session's door to the learning code.

use std::collections::BTreeMap;

use callgrove_detect::TreeVerdict;
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

use crate::root::median_duration;
use crate::{Analysis, ModelOrigin, ModelSettings, Suggestion};

/// Neighbours of a tree that are told.
const NUM_NEIGHBOURS: usize = 20;
/// Share of the time of a tree in functions that the training never called, above which it says little of the tree.
const MOST_UNSEEN: f64 = 0.5;

/// How forests are learned. Equal settings and seeds give equal results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LearnSettings {
    params: DetectorParams,
    seed: u64,
}

/// What was learned from a forest; trains with labels.
pub struct Learned {
    forest: Forest,
    embedding: Embedding,
    detector: Option<Detector>,
}

/// What a training would give, before it takes effect.
pub(crate) struct Trial {
    detector: Detector,
    /// What it says of each tree.
    pub(crate) judged: Judged,
}

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    /// The learning code refused.
    #[error(transparent)]
    Ml(#[from] MlError),
    /// A model is not made for this forest.
    #[error("the model does not fit: {0}")]
    Misfit(Misfit),
    /// A model is asked for before the first training.
    #[error("there is no model yet: train first")]
    Untrained,
}

impl LearningError {
    /// Whether the person asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Ml(MlError::Cancelled))
    }
}

impl LearnSettings {
    /// The settings that rank best on real traces.
    pub fn with_seed(seed: u64) -> Self {
        Self {
            params: DetectorParams::default(),
            seed,
        }
    }

    /// The part of the settings that a person may change while labelling.
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

    /// The same, but the order of siblings counts (section 6.6 of the paper).
    #[must_use]
    pub fn with_sibling_order(mut self) -> Self {
        self.params.wl.siblings = Siblings::Ordered;
        self
    }

    /// The settings of the paper.
    pub fn paper(seed: u64) -> Self {
        Self {
            params: DetectorParams::paper(),
            seed,
        }
    }
}

/// Embeds a forest: the slow part, done once per root function.
///
/// # Errors
/// Cancelled, or the forest cannot be learned.
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

/// Numbers classes from the largest on; of two of one size, the one that comes first.
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

/// Root functions worth looking at, most promising first.
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

/// What is known of each tree of a forest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Judged {
    /// Shape `[n_trees]`; the smallest is the most abnormal.
    pub scores: Vec<f64>,
    /// Whether each is called abnormal, shape `[n_trees]`.
    pub abnormal: Vec<bool>,
    /// Share of normal trees that stand out as much or more, shape `[n_trees]`, in (0, 1]; `None` where
    /// there were too few executions to judge any.
    pub p_values: Option<Vec<f64>>,
    /// What explains each abnormal tree, where that is known; shape `[n_trees]`.
    pub causes: Vec<Option<Cause>>,
    /// Which trees are rare or long by design.
    pub design: ByDesign,
}

/// What a model says of a forest.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelJudgement {
    /// What it says of each tree.
    pub judged: Judged,
    /// How many functions are those of the training.
    pub functions: MatchedFunctions,
    /// Why the model should not be used for it, if so.
    pub misfit: Option<Misfit>,
}

/// A trained model that judges forests of this or other runs.
#[derive(Debug)]
pub struct SavedModel(TreeModel);

impl SavedModel {
    /// From the bytes of a model file.
    ///
    /// # Errors
    /// They are no model.
    pub fn read(bytes: &[u8]) -> Result<Self, LearningError> {
        Ok(Self(TreeModel::new(ModelArtifact::read(bytes)?)?))
    }

    /// Names of the root functions that it is for, as traces have them.
    pub fn functions(&self) -> &[String] {
        &self.0.artifact().functions
    }

    /// What it is called where nobody gave it a name: the function that it is for.
    pub fn default_name(&self) -> String {
        let function = self.functions().first().map(String::as_str);
        FunctionName::parse(function.unwrap_or_default())
            .qualified
            .to_owned()
    }

    /// The verdict of the training on each tree, the same whatever trees are beside it.
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
                    unseen.time_share > MOST_UNSEEN
                } else {
                    unseen.is_new_structure
                },
            }
        };
        Ok((0..forest.len()).map(verdict).collect())
    }

    /// Share of the alarms that may be false.
    pub fn false_discovery_rate(&self) -> f64 {
        match self.0.artifact().params.decision {
            DecisionRule::FalseDiscovery(rate) => rate,
            DecisionRule::Rho => ModelSettings::default().rate,
        }
    }

    /// The model itself.
    pub fn tree_model(&self) -> &TreeModel {
        &self.0
    }

    /// What it was made for.
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

    /// Judges a forest. How long like executions take, the forest says; how rare an excess is, the training,
    /// or with `is_refitted` the forest, too.
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
        let judged = Judged {
            scores: found.scores,
            abnormal: found.abnormal,
            p_values: Some(found.p_values),
            causes: found.causes,
            design: found.design,
        };
        Ok(ModelJudgement {
            judged,
            functions: found.functions,
            misfit: found.misfit,
        })
    }
}

impl Learned {
    /// Takes other settings for the next training.
    ///
    /// # Errors
    /// Cancelled, or a setting is out of its bounds; nothing is changed then.
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

    /// The next trees to judge; none before the first training.
    pub fn queue(&self, query: QueryStrategy, count: usize) -> Vec<TreeIdx> {
        self.detector.as_ref().map_or_else(Vec::new, |detector| {
            next_queries(query, &self.embedding, detector, count)
        })
    }

    /// Labels of the last training that disagree with their neighbourhood; none before the first.
    pub fn doubts(&self) -> Vec<Doubt> {
        self.detector.as_ref().map_or_else(Vec::new, |detector| {
            doubtful_labels(&self.embedding, detector)
        })
    }

    /// Trains with labels, shape `[n_trees]`. What was trained before makes it faster and changes nothing.
    ///
    /// # Errors
    /// Cancelled, or too few trees are left that are not labelled abnormal.
    pub fn train(
        &mut self,
        labels: &[Option<Label>],
        progress: Progress<'_>,
    ) -> Result<Judged, LearningError> {
        let trial = self.try_labels(labels, progress)?;
        Ok(self.accept(trial))
    }

    /// The same, but what was learned before stays until the trial is accepted.
    ///
    /// # Errors
    /// As [`Learned::train`].
    pub(crate) fn try_labels(
        &self,
        labels: &[Option<Label>],
        progress: Progress<'_>,
    ) -> Result<Trial, LearningError> {
        let detector = Detector::train(&self.embedding, labels, self.detector.as_ref(), progress)?;
        let judged = Judged {
            scores: detector.scores().to_vec(),
            abnormal: detector.abnormal().to_vec(),
            p_values: self.embedding.p_values(),
            causes: causes(detector.abnormal(), labels, self.embedding.write_shares()),
            design: self.embedding.evidence().design.clone(),
        };
        Ok(Trial { detector, judged })
    }

    /// A trial becomes what was learned last.
    pub(crate) fn accept(&mut self, trial: Trial) -> Judged {
        self.detector = Some(trial.detector);
        trial.judged
    }

    /// What was learned last, as a model for other runs.
    ///
    /// # Errors
    /// Nothing was trained yet.
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

    /// The model as a file.
    ///
    /// # Errors
    /// Nothing was trained yet.
    pub fn model_text(&self) -> Result<String, LearningError> {
        let model = self.artifact()?;
        Ok(serde_json::to_string(&model).expect("a model has string keys only"))
    }

    pub(crate) fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// The tree in the middle of a group.
    pub(crate) fn centre(&self, group: &[TreeIdx]) -> Option<TreeIdx> {
        self.embedding.centre_of(group)
    }

    /// The trees most like a tree in the space of the model, the nearest first.
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
