//! A trained model as a file: what is needed to score trees of another run.

use std::collections::{HashMap, HashSet};

use callgrove_model::{Forest, Label, Progress};
use serde::{Deserialize, Serialize};

use super::embedding::{Embedding, Features};
use super::params::DetectorParams;
use super::trained::Detector;
use crate::dataset::{DenseRows, Rows};
use crate::error::{MlError, Result};
use crate::calibration::{Calibration, NullModel};
use crate::features::{ContextModel, ExcessModel, Reference, Representation, Translation};
use crate::ocsvm::{KernelSum, Ocsvm, SupportVector};
use crate::stack2vec::{self, Corpus, OutputLayer};
use crate::wl::{SubtreeHash, SubtreeIdx, Subtrees, relabel};

/// Version of the files that this program writes.
pub const MODEL_VERSION: u32 = 3;

/// A trained model. It holds no trees, only subtree labels, usual times and support vectors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelArtifact {
    /// Version of the format.
    pub version: u32,
    /// Names of the root functions that it was trained for.
    pub functions: Vec<String>,
    /// Settings.
    pub params: DetectorParams,
    /// Seed.
    pub seed: u64,
    /// Number of trees it was trained on.
    pub num_trees: usize,
    /// Number of them labelled normal.
    pub num_labelled_normal: usize,
    /// Number of them labelled abnormal.
    pub num_labelled_abnormal: usize,
    /// Labels of the vocabulary in order.
    pub vocabulary: Vec<SubtreeHash>,
    /// Usual times.
    pub reference: Reference,
    /// The learned part of the representation.
    pub features: FeatureArtifact,
    /// The one-class SVM.
    pub svm: Ocsvm,
    /// What its sums mean.
    pub calibration: Calibration,
    /// The sum below which trees are called abnormal.
    pub border: f64,
    /// What labels add to its scores.
    pub correction: KernelSum,
}

/// Where the border lies when a model judges a forest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ModelBorder {
    /// Where it lay in the training.
    OfTraining,
    /// Where about this share of what is called abnormal is so by chance, by the distances of the training.
    FalseDiscovery(f64),
    /// The same by the distances of the forest itself: only what is usual comes from the model.
    Refitted(f64),
}

/// What a model says of a forest.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// Shape `[n_trees]`; negative = abnormal.
    pub scores: Vec<f64>,
    /// Share of normal trees that stand out as much or more, shape `[n_trees]`.
    pub p_values: Vec<f64>,
    /// Share of the forest's structures that the training saw, 0..=1.
    pub known_share: f64,
}

/// The learned part of a representation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureArtifact {
    /// Excess time and rarity.
    Excess(ExcessModel),
    /// Surprise of parts in context.
    Context(ContextModel),
    /// The output layer of stack2vec.
    Stack2vec(OutputLayer),
}

impl ModelArtifact {
    /// The model of a detector; `forest` and `embedding` are those it was trained on.
    pub fn new(forest: &Forest, embedding: &Embedding, detector: &Detector) -> Self {
        let count = |wanted: Label| {
            let labels = detector.labels().iter();
            labels.filter(|&&label| label == Some(wanted)).count()
        };
        let names = &forest.trace().names;
        let vocabulary = &embedding.subtrees().vocabulary;
        Self {
            version: MODEL_VERSION,
            functions: forest
                .functions()
                .iter()
                .map(|&func| names.name(func).to_owned())
                .collect(),
            params: *embedding.params().get(),
            seed: embedding.seed(),
            num_trees: embedding.num_trees(),
            num_labelled_normal: count(Label::Normal),
            num_labelled_abnormal: count(Label::Abnormal),
            vocabulary: vocabulary.iter().map(|(_, subtree)| subtree.hash).collect(),
            reference: embedding.reference().clone(),
            features: match embedding.features() {
                Features::Excess(model) => FeatureArtifact::Excess(model.clone()),
                Features::Context(model) => FeatureArtifact::Context(model.clone()),
                Features::Stack2vec(network) => FeatureArtifact::Stack2vec(network.output.clone()),
            },
            svm: detector.trained().model(embedding.rows()),
            calibration: embedding.calibration().clone(),
            border: detector.border(),
            correction: detector.correction().model(embedding.rows()),
        }
    }

    /// Judges the trees of a forest, of this or another run.
    ///
    /// Subtrees and structures that the training never saw count as excess from zero and as rarer
    /// than everything seen. Of the trees that it was trained on, scores are bit by bit those of the
    /// training.
    ///
    /// # Errors
    /// [`MlError::ModelVersion`] and [`MlError::DamagedModel`] for a model that this program cannot
    /// use, [`MlError::EmptyForest`], [`MlError::Cancelled`].
    pub fn judge(
        &self,
        forest: &Forest,
        border: ModelBorder,
        progress: Progress<'_>,
    ) -> Result<Judgement> {
        self.check()?;
        let params = self.params.check()?;
        let subtrees = relabel(forest, params.get().wl.check()?, progress.part(0.0, 0.5))?;
        let rows = self.rows(forest, &subtrees, progress.part(0.5, 0.8))?;
        let sums = self.svm.sums(&rows, progress.part(0.8, 0.9))?;
        let (border, calibration) = match border {
            ModelBorder::OfTraining => (self.border, None),
            ModelBorder::FalseDiscovery(rate) => (self.calibration.border(&sums, rate), None),
            ModelBorder::Refitted(rate) => {
                let null = NullModel::of_rows(&rows, self.calibration.null().least_median());
                let fitted = Calibration::new(null, &rows, &sums);
                (fitted.border(&sums, rate), Some(fitted))
            }
        };
        let mut scores: Vec<f64> = sums.iter().map(|sum| sum - border).collect();
        self.correction
            .add_to(&mut scores, &rows, progress.part(0.9, 1.0))?;
        let calibration = calibration.as_ref().unwrap_or(&self.calibration);
        Ok(Judgement {
            p_values: calibration.p_values(&scores, border),
            known_share: self.known_share(&subtrees),
            scores,
        })
    }

    /// Share of the trees whose whole structure the training saw; where nearly every tree has its own,
    /// of the functions of the trees.
    fn known_share(&self, subtrees: &Subtrees) -> f64 {
        let known: HashSet<SubtreeHash> = self.vocabulary.iter().copied().collect();
        let is_known = |subtree: SubtreeIdx| known.contains(&subtrees.vocabulary.get(subtree).hash);
        let share = |found: &mut dyn Iterator<Item = SubtreeIdx>| {
            let (mut num_known, mut num_all) = (0_usize, 0_usize);
            for subtree in found {
                num_all += 1;
                num_known += usize::from(is_known(subtree));
            }
            num_known as f64 / num_all.max(1) as f64
        };
        match self.features {
            FeatureArtifact::Context(_) => {
                let all = subtrees.vocabulary.iter();
                share(&mut all.filter(|(_, subtree)| subtree.degree == 0).map(|(idx, _)| idx))
            }
            FeatureArtifact::Excess(_) | FeatureArtifact::Stack2vec(_) => {
                share(&mut subtrees.bags.roots().iter().copied())
            }
        }
    }

    fn rows(&self, forest: &Forest, subtrees: &Subtrees, progress: Progress<'_>) -> Result<Rows> {
        let place_of: HashMap<SubtreeHash, SubtreeIdx> = self
            .vocabulary
            .iter()
            .enumerate()
            .map(|(place, &hash)| (hash, SubtreeIdx::from_index(place)))
            .collect();
        let len = self.vocabulary.len();
        let find = |hash| place_of.get(&hash).copied();
        let translation = Translation::new(&subtrees.vocabulary, len, find);
        match (&self.features, self.params.representation) {
            (FeatureArtifact::Excess(model), Representation::ExcessRarity(_)) => {
                let rows = model.rows(&subtrees.bags, &self.reference, &translation)?;
                Ok(Rows::Sparse(rows))
            }
            (FeatureArtifact::Context(model), Representation::ExcessRarity(_)) => {
                Ok(Rows::Sparse(model.rows(forest)?))
            }
            (FeatureArtifact::Stack2vec(output), Representation::PaperStack2vec(params)) => {
                let column_of = |subtree| translation.get(subtree).0;
                let corpus = Corpus::from_bags(&subtrees.bags, len, column_of);
                let params = params.check()?;
                let vectors = stack2vec::infer(output, &corpus, &params, self.seed, progress)?;
                let values = vectors.iter().map(|&value| f64::from(value)).collect();
                Ok(Rows::Dense(DenseRows::new(output.dims, values)?))
            }
            _ => Err(MlError::DamagedModel {
                reason: "its features are not those of its settings",
            }),
        }
    }

    fn check(&self) -> Result<()> {
        if self.version != MODEL_VERSION {
            return Err(MlError::ModelVersion {
                found: self.version,
                supported: MODEL_VERSION,
            });
        }
        let damaged = |reason| Err(MlError::DamagedModel { reason });
        if !self.calibration.is_whole() || !self.border.is_finite() {
            return damaged("its border or its distances are not finite numbers in order");
        }
        let (num_words, num_columns) = match &self.features {
            FeatureArtifact::Excess(model) => (model.vocabulary_len(), model.num_columns()),
            FeatureArtifact::Context(model) => {
                if !model.is_whole() {
                    return damaged("its contexts do not fit together");
                }
                (self.vocabulary.len(), model.num_columns())
            }
            FeatureArtifact::Stack2vec(output) => {
                output.check()?;
                (output.num_words(), output.dims)
            }
        };
        if num_words != self.vocabulary.len() {
            return damaged("its vocabulary does not fit its features");
        }
        if !self.svm.rho.is_finite() {
            return damaged("its support vectors are not finite numbers");
        }
        for (gamma, terms) in [
            (self.svm.gamma, &self.svm.support),
            (self.correction.gamma, &self.correction.terms),
        ] {
            let alphas = terms.iter().map(|term| term.alpha);
            if !std::iter::once(gamma).chain(alphas).all(f64::is_finite) {
                return damaged("its support vectors are not finite numbers");
            }
            let is_whole = |term: &SupportVector| {
                let columns = &term.row.columns;
                columns.len() == term.row.values.len()
                    && columns.is_sorted_by(|a, b| a < b)
                    && columns
                        .last()
                        .is_none_or(|&last| (last as usize) < num_columns)
            };
            if !terms.iter().all(is_whole) {
                return damaged("a support vector has columns that cannot be");
            }
        }
        Ok(())
    }
}
