//! From a forest to what there is to see of it: the session's door to the learning code.

use std::collections::BTreeMap;

use callgrove_ml::MlError;
use callgrove_ml::active::{Doubt, QueryStrategy, doubtful_labels, next_queries};
use callgrove_ml::detector::{Detector, DetectorParams, Embedding, ModelArtifact};
use callgrove_ml::knn::nearest;
use callgrove_ml::suggest;
use callgrove_ml::wl::Siblings;
use callgrove_model::{Forest, FunctionName, Label, Progress, Trace, TreeIdx};

use crate::root::median_duration;
use crate::{Analysis, ModelSettings, Suggestion};

/// Neighbours of a tree that are told.
const NUM_NEIGHBOURS: usize = 20;

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

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    /// The learning code refused.
    #[error(transparent)]
    Ml(#[from] MlError),
    /// A model file is no model.
    #[error("this is no model of Callgrove ({0})")]
    NoModel(#[source] serde_json::Error),
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

/// Scores of a forest by a model file, shape `[n_trees]`; negative = abnormal.
///
/// # Errors
/// The file is no model, or one that this program cannot use.
pub fn score_with_model(forest: &Forest, model: &[u8]) -> Result<Vec<f64>, LearningError> {
    let model: ModelArtifact = serde_json::from_slice(model).map_err(LearningError::NoModel)?;
    Ok(model.score(forest, Progress::none())?)
}

impl Learned {
    /// Takes other settings for the next training.
    ///
    /// # Errors
    /// A setting is out of its bounds; nothing is changed then.
    pub fn tune(&mut self, settings: ModelSettings) -> Result<(), LearningError> {
        let gamma = self.embedding.params().get().gamma;
        self.embedding
            .tune(settings.nu, gamma.with_factor(settings.gamma))?;
        Ok(())
    }

    /// The next trees to judge; none before the first training.
    pub fn queue(&self, query: QueryStrategy, count: usize) -> Vec<TreeIdx> {
        self.detector.as_ref().map_or_else(Vec::new, |detector| {
            next_queries(query, &self.embedding, detector, count)
        })
    }

    /// Labels, shape `[n_trees]`, that disagree with their neighbourhood.
    pub fn doubts(&self, labels: &[Option<Label>]) -> Vec<Doubt> {
        doubtful_labels(&self.embedding, labels)
    }

    /// Trains with labels, shape `[n_trees]`; the answer is the score of each tree. What was trained
    /// before makes it faster and changes nothing.
    ///
    /// # Errors
    /// Cancelled, or too few trees are left that are not labelled abnormal.
    pub fn train(
        &mut self,
        labels: &[Option<Label>],
        progress: Progress<'_>,
    ) -> Result<Vec<f64>, LearningError> {
        let detector = Detector::train(&self.embedding, labels, self.detector.as_ref(), progress)?;
        let scores = detector.scores().to_vec();
        self.detector = Some(detector);
        Ok(scores)
    }

    /// The model as a file.
    ///
    /// # Errors
    /// Nothing was trained yet.
    pub fn model_text(&self) -> Result<String, LearningError> {
        let detector = self.detector.as_ref().ok_or(LearningError::Untrained)?;
        let model = ModelArtifact::new(&self.forest, &self.embedding, detector);
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
