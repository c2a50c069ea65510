//! A trained model as a file, with everything needed to score trees of another run.

use callgrove_model::{Forest, Label, Progress, RunIdentity, TreeIdx, WeightUnit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::embedding::{Embedding, Features};
use super::listing::causes;
use super::origin::{LabelDigest, Origin};
use super::params::DetectorParams;
use super::trained::Detector;
use crate::decision::{Expectation, KnownStructures, LabelledRows, NormalRanks, NullTail, SvmTail};
use callgrove_learn::features::{ContextModel, ExcessModel, Reference};
use callgrove_learn::ocsvm::{Ocsvm, SupportVector};
use callgrove_learn::stack2vec::OutputLayer;
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::explain::{CallPaths, UsualArtifact, UsualTrees};
use callgrove_trees::wl::SubtreeHash;

/// Largest absolute value of a number in a model: times in nanoseconds are the largest that a training gives.
const MAX_NUMBER: f64 = 1e18;

/// Version of the model files that this program writes.
pub const MODEL_VERSION: u32 = 7;

/// A trained model. It holds no trees, only subtree labels, usual times and support vectors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelArtifact {
    /// Version of the format.
    pub version: u32,
    /// The run that it was trained on, as far as the trace identifies it.
    pub run: RunIdentity,
    /// Programs it was trained on, by the names of their files, ascending; empty if the trace does not name them.
    pub programs: Vec<String>,
    /// Names of the root functions that it was trained for.
    pub functions: Vec<String>,
    /// Number of ranks it was trained on.
    pub num_ranks: usize,
    /// Median duration of the trees it was trained on, nanoseconds.
    pub median_duration_ns: i64,
    /// The unit of the weights of its trees.
    #[serde(default, skip_serializing_if = "WeightUnit::is_time")]
    pub unit: WeightUnit,
    /// Settings.
    pub params: DetectorParams,
    /// Seed.
    pub seed: u64,
    /// Number of trees it was trained on.
    pub num_trees: usize,
    /// Number of them that it classifies as abnormal.
    pub num_abnormal: usize,
    /// Digest of their labels.
    pub labels: LabelDigest,
    /// Names of all functions of its trees, ascending.
    pub function_names: Vec<String>,
    /// Labels of the vocabulary in order.
    pub vocabulary: Vec<SubtreeHash>,
    /// Usual times.
    pub reference: Reference,
    /// The learned part of the representation.
    pub features: FeatureArtifact,
    /// The one-class SVM.
    pub svm: Ocsvm,
    /// Factor of the SVM's scores, above 0.
    pub scale: f64,
    /// Tail distribution of the SVM's scores.
    pub svm_tail: SvmTail,
    /// The times that trees are compared with.
    pub expected: Expectation,
    /// The structures of the training.
    pub structures: KnownStructures,
    /// Tail distribution of the excess of normal trees.
    pub tail: NullTail,
    /// The same for trees that are judged individually, whatever cycle or drift their run has.
    pub tail_of_one: NullTail,
    /// The ranks of its normal trees by `tail`.
    pub normal: NormalRanks,
    /// The same by `tail_of_one`.
    pub normal_of_one: NormalRanks,
    /// The labelled rows, which affect the trees near them.
    pub labelled: LabelledRows,
    /// The usual trees of the training, with which trees are explained.
    pub usual: UsualArtifact,
}

/// The first fields of a model file of any version.
#[derive(Deserialize)]
struct Head {
    version: u32,
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

impl FeatureArtifact {
    /// Returns the number of columns of its rows that the training had.
    pub fn num_columns(&self) -> usize {
        match self {
            Self::Excess(model) => model.num_columns(),
            Self::Context(model) => model.num_columns(),
            Self::Stack2vec(output) => output.dims,
        }
    }
}

impl ModelArtifact {
    /// Creates the model of a detector; `forest` and `embedding` are those it was trained on.
    ///
    /// # Errors
    /// [`MlError::Cancelled`].
    pub fn new(
        forest: &Forest,
        embedding: &Embedding,
        detector: &Detector,
        progress: Progress<'_>,
    ) -> Result<Self> {
        let vocabulary = &embedding.subtrees().vocabulary;
        let labels = detector.labels().iter();
        let is_learnt = embedding.sample().iter().zip(labels);
        let is_learnt: Vec<bool> = is_learnt
            .map(|(own, label)| *own || label.is_some())
            .collect();
        let Origin {
            programs,
            functions,
            num_ranks,
            median_duration_ns,
        } = Origin::of(&forest.selected(|tree| is_learnt[tree.index()]));
        let (normal, normal_of_one) = embedding.normal_ranks();
        let learnt = detector.abnormal().iter().zip(&is_learnt);
        let learnt = learnt.filter(|(_, is_learnt)| **is_learnt);
        Ok(Self {
            version: MODEL_VERSION,
            run: forest.trace().identity.clone(),
            programs,
            functions,
            num_ranks,
            median_duration_ns,
            unit: forest.unit().clone(),
            params: *embedding.params().get(),
            seed: embedding.seed(),
            num_trees: learnt.clone().count(),
            num_abnormal: learnt.filter(|(is_abnormal, _)| **is_abnormal).count(),
            labels: LabelDigest::of(forest, detector.labels()),
            function_names: function_names(forest),
            vocabulary: vocabulary.iter().map(|(_, subtree)| subtree.hash).collect(),
            reference: embedding.reference().clone(),
            features: match embedding.features() {
                Features::Excess(model) => FeatureArtifact::Excess(model.clone()),
                Features::Context(model) => FeatureArtifact::Context(ContextModel::clone(model)),
                Features::Stack2vec(network) => FeatureArtifact::Stack2vec(network.output.clone()),
            },
            svm: detector.trained().model(embedding.rows()),
            scale: detector.scale(),
            svm_tail: embedding.svm_tail().clone(),
            expected: embedding.expected().clone(),
            structures: embedding.structures().clone(),
            tail: embedding.tail().clone(),
            tail_of_one: embedding.tail_of_model().clone(),
            normal,
            normal_of_one,
            labelled: detector.reach().model(embedding.rows()),
            usual: usual(forest, embedding, detector, progress)?,
        })
    }

    /// Parses a model file.
    ///
    /// # Errors
    /// [`MlError::NoModel`], [`MlError::ModelVersion`], [`MlError::DamagedModel`].
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let no_model = |cause: serde_json::Error| MlError::NoModel(cause.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(no_model)?;
        check_version(head.version)?;
        let content: Value = serde_json::from_slice(bytes).map_err(no_model)?;
        if !has_plausible_numbers(&content) {
            return Err(MlError::DamagedModel {
                reason: "it has a number that no training gives",
            });
        }
        serde_json::from_slice(bytes).map_err(no_model)
    }

    /// Checks that this program can use the model.
    pub(super) fn check(&self) -> Result<()> {
        check_version(self.version)?;
        let damaged = |reason| Err(MlError::DamagedModel { reason });
        if self.num_abnormal > self.num_trees || !self.labels.is_of(self.num_trees) {
            return damaged("its numbers of trees and labels are inconsistent");
        }
        self.usual.check()?;
        let is_positive = self.scale.is_finite() && self.scale > 0.0;
        let ranks = [&self.normal, &self.normal_of_one];
        let ranks_are_valid = ranks.iter().all(|ranks| ranks.is_valid(self.num_trees));
        let tails_are_valid =
            self.tail.is_valid() && self.tail_of_one.is_valid() && ranks_are_valid;
        if !tails_are_valid || !self.svm_tail.is_valid() || !is_positive {
            return damaged("its tails are not finite numbers in order");
        }
        if !self.expected.is_valid(self.vocabulary.len()) || !self.structures.is_valid() {
            return damaged("its usual times and structures are not finite numbers in order");
        }
        let num_words = match &self.features {
            FeatureArtifact::Excess(model) => model.vocabulary_len(),
            FeatureArtifact::Context(model) => {
                if !model.is_valid() {
                    return damaged("its contexts are inconsistent");
                }
                self.vocabulary.len()
            }
            FeatureArtifact::Stack2vec(output) => {
                output.check()?;
                output.num_words()
            }
        };
        if num_words != self.vocabulary.len() {
            return damaged("its vocabulary and features are inconsistent");
        }
        let num_columns = self.features.num_columns();
        let labelled = self.labelled.sums();
        let labelled = labelled.map(|sum| (sum.gamma, &sum.terms));
        for (gamma, terms) in labelled
            .into_iter()
            .chain([(self.svm.gamma, &self.svm.support)])
        {
            let alphas = terms.iter().map(|term| term.alpha);
            let is_possible = |number: f64| number.is_finite() && number >= 0.0;
            if !std::iter::once(gamma).chain(alphas).all(is_possible) {
                return damaged("its support vectors are not finite numbers from 0 on");
            }
            let is_valid = |term: &SupportVector| {
                let columns = &term.row.columns;
                columns.len() == term.row.values.len()
                    && columns.is_sorted_by(|a, b| a < b)
                    && columns
                        .last()
                        .is_none_or(|&last| (last as usize) < num_columns)
            };
            if !terms.iter().all(is_valid) {
                return damaged("a support vector has impossible columns");
            }
        }
        if !self.params.gamma.can_give(self.svm.gamma) {
            return damaged("its gamma is too large for the result of a training");
        }
        if !self.svm.is_optimal(num_columns, Progress::none())? {
            return damaged("its support vectors, gamma and rho are not the result of a training");
        }
        // The scale brings rho to that of a training without labels, which is 1 at most.
        if self.scale * self.svm.rho > 1.0 + 1e-6 {
            return damaged("its scale is too large for the result of a training");
        }
        Ok(())
    }
}

/// Returns the names of all functions of the trees of a forest, ascending.
fn function_names(forest: &Forest) -> Vec<String> {
    let names = &forest.trace().names;
    let is_used = used_functions(forest);
    let used = names.iter().filter(|(func, _)| is_used[func.index()]);
    let mut used: Vec<String> = used.map(|(_, name)| name.to_owned()).collect();
    used.sort_unstable();
    used
}

/// Returns whether each function of a trace occurs in a tree of the forest.
pub(super) fn used_functions(forest: &Forest) -> Vec<bool> {
    let mut is_used = vec![false; forest.trace().names.len()];
    for tree in 0..forest.len() {
        for func in forest.tree(TreeIdx::from_index(tree)).funcs() {
            is_used[func.index()] = true;
        }
    }
    is_used
}

/// Returns whether no number is so large that sums and squares of features could exceed the range of numbers.
fn has_plausible_numbers(value: &Value) -> bool {
    match value {
        // Integers are times, counts and parts of hashes.
        Value::Number(number) => {
            !number.is_f64() || number.as_f64().is_some_and(|it| it.abs() <= MAX_NUMBER)
        }
        Value::Array(items) => items.iter().all(has_plausible_numbers),
        Value::Object(fields) => fields.values().all(has_plausible_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn check_version(found: u32) -> Result<()> {
    let supported = MODEL_VERSION;
    if found == supported {
        Ok(())
    } else {
        Err(MlError::ModelVersion { found, supported })
    }
}

/// Returns the usual trees: those that are labelled normal, or classified as normal without a label.
fn usual(
    forest: &Forest,
    embedding: &Embedding,
    detector: &Detector,
    progress: Progress<'_>,
) -> Result<UsualArtifact> {
    let (abnormal, labels) = (detector.abnormal(), detector.labels());
    let explained = causes(abnormal, labels, embedding.write_shares());
    let trees = abnormal.iter().zip(labels).zip(&explained);
    let trees = trees.zip(embedding.sample());
    let is_normal = trees.map(|(((is_abnormal, label), cause), is_sampled)| match label {
        Some(label) => *label == Label::Normal,
        None => *is_sampled && (cause.is_some() || !is_abnormal),
    });
    let is_normal: Vec<bool> = is_normal.collect();
    let paths = CallPaths::of(forest, progress)?;
    let usual = UsualTrees::of(forest, &paths, &is_normal);
    Ok(UsualArtifact::new(forest, &paths, &usual))
}
