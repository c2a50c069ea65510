//! What a model says of a forest, and whether it is made for it.

use std::collections::HashMap;

use callgrove_model::{Forest, Progress, TreeIdx};
use serde::{Deserialize, Serialize};

use super::artifact::{FeatureArtifact, ModelArtifact};
use super::listing::{Cause, causes};
use super::origin::Origin;
use super::params::{BorderRule, ValidDetectorParams};
use super::trained::Detector;
use crate::calibration::{Calibration, NullModel};
use crate::cause::{WriteShare, unexplained, write_shares};
use crate::dataset::{DenseRows, Rows};
use crate::error::{MlError, Result};
use crate::features::{ExcessParams, Reference, Representation, Translation, Windows};
use crate::ocsvm::Scorer;
use crate::real::Real;
use crate::stack2vec::{self, Corpus};
use crate::wl::{SubtreeHash, SubtreeIdx, Subtrees, relabel_all};

/// Share of the trees whose structure a model must know.
const LEAST_KNOWN: f64 = 0.5;
/// Share of the trees that a model may call abnormal.
const MOST_ABNORMAL: f64 = 0.2;

/// By which distances the border is drawn when a model judges a forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelBorder {
    /// By those of the training: a tree has one score, whatever trees are beside it.
    Learned,
    /// By those of the forest itself: only what is usual comes from the model.
    Refitted,
}

/// What a model says of a forest.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// Shape `[n_trees]`; negative = abnormal.
    pub scores: Vec<f64>,
    /// Share of normal trees that stand out as much or more, shape `[n_trees]`.
    pub p_values: Vec<f64>,
    /// What explains each abnormal tree, where that is known; shape `[n_trees]`.
    pub causes: Vec<Option<Cause>>,
    /// How much of each tree the training never saw, shape `[n_trees]`.
    pub unseen: Vec<Unseen>,
    /// Why the model should not be used for it, if so.
    pub misfit: Option<Misfit>,
}

/// Why a model should not be used for a forest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Misfit {
    /// It was trained on another program.
    #[error("it was trained on the program {model}, and this is a run of {run}")]
    Program {
        /// Programs of the training.
        model: String,
        /// Programs of the run.
        run: String,
    },
    /// It was trained for another function.
    #[error("it was trained for {model}, and these are executions of {run}")]
    Function {
        /// Functions of the training.
        model: String,
        /// Functions of the forest.
        run: String,
    },
    /// It does not know most structures.
    #[error("it knows the structure of only {:.0} % of these executions", 100.0 * known_share)]
    Structure {
        /// Share of the trees whose structure it knows, 0..=1.
        known_share: f64,
    },
    /// It calls too much abnormal.
    #[error(
        "it calls {:.0} % of these executions abnormal, and {:.1} % of those it was trained on; these take \
         {duration_ratio:.2} times as long",
        100.0 * share,
        100.0 * share_in_training
    )]
    Abnormal {
        /// Share of the trees that it calls abnormal, 0..=1.
        share: f64,
        /// The same of the trees it was trained on.
        share_in_training: f64,
        /// Median duration here / in the training.
        duration_ratio: f64,
    },
}

/// What the training of a model never saw of a tree. Its score says so too: such parts are excess from zero, and
/// such a structure is rarer than all others.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Unseen {
    /// Share of its time in functions that no tree of the training called, 0..=1.
    pub time_share: f64,
    /// Whether no tree of the training had its structure.
    pub is_new_structure: bool,
}

/// A model made ready to judge.
#[derive(Debug)]
pub struct TreeModel {
    artifact: ModelArtifact,
    params: ValidDetectorParams,
    place_of: HashMap<SubtreeHash, SubtreeIdx>,
    svm: Scorer,
}

impl TreeModel {
    /// Makes a model ready.
    ///
    /// # Errors
    /// [`MlError::ModelVersion`] and [`MlError::DamagedModel`] for a model that this program cannot use.
    pub fn new(artifact: ModelArtifact) -> Result<Self> {
        artifact.check()?;
        let params = artifact.params.check()?;
        let place_of = artifact
            .vocabulary
            .iter()
            .enumerate()
            .map(|(place, &hash)| (hash, SubtreeIdx::from_index(place)))
            .collect();
        let svm = artifact.svm.scorer(artifact.features.num_columns())?;
        Ok(Self {
            artifact,
            params,
            place_of,
            svm,
        })
    }

    /// The model as it is kept.
    pub fn artifact(&self) -> &ModelArtifact {
        &self.artifact
    }

    /// Judges the trees of a forest, of this or another run.
    ///
    /// Subtrees and structures that the training never saw count as excess from zero and as rarer
    /// than everything seen. With [`ModelBorder::Learned`] the score of a tree is bit by bit the same whatever
    /// other trees are judged with it, and of a tree of the training that of the training.
    ///
    /// # Errors
    /// [`MlError::EmptyForest`], [`MlError::Cancelled`].
    pub fn judge(
        &self,
        forest: &Forest,
        border: ModelBorder,
        progress: Progress<'_>,
    ) -> Result<Judgement> {
        let model = &self.artifact;
        let wl = self.params.get().wl.check()?;
        let subtrees = relabel_all(forest, wl, progress.part(0.0, 0.5))?;
        let translation = self.translation(&subtrees);
        let rows = self.rows(forest, &subtrees, &translation, progress.part(0.5, 0.8))?;
        let mut scores = self.svm.scores(&rows, progress.part(0.8, 0.9))?;
        for score in &mut scores {
            *score *= model.scale;
        }
        let write_shares = shares_of(forest, &subtrees);
        let fitted = match border {
            ModelBorder::Learned => None,
            ModelBorder::Refitted => {
                let norms = unexplained(&rows.norms(), &write_shares);
                let null = NullModel::fit(&norms, model.calibration.null().least_median());
                let scores = unexplained(&scores, &write_shares);
                let calibration = Calibration::new(null, norms, scores.clone());
                let border = match model.params.border {
                    BorderRule::Rho => 0.0,
                    BorderRule::FalseDiscovery(rate) => calibration.border(&scores, rate),
                };
                Some((calibration, border))
            }
        };
        let (calibration, border) = match &fitted {
            Some((calibration, border)) => (calibration, *border),
            None => (&model.calibration, model.border),
        };
        for score in &mut scores {
            *score -= border;
        }
        let correction = &model.correction;
        correction.add_to(&mut scores, &rows, progress.part(0.9, 1.0))?;
        Ok(Judgement {
            causes: causes(&scores, &vec![None; scores.len()], &write_shares),
            p_values: calibration.p_values(&scores, border),
            unseen: unseen(&subtrees, &translation),
            misfit: self.misfit(forest, &subtrees, &translation, &scores),
            scores,
        })
    }

    /// Why a forest is not what the model is for, if so.
    fn misfit(
        &self,
        forest: &Forest,
        subtrees: &Subtrees,
        translation: &Translation,
        scores: &[f64],
    ) -> Option<Misfit> {
        let model = &self.artifact;
        let run = Origin::of(forest);
        let is_foreign = |own: &[String], other: &[String]| {
            !own.is_empty() && !other.is_empty() && !own.iter().any(|name| other.contains(name))
        };
        if is_foreign(&model.programs, &run.programs) {
            return Some(Misfit::Program {
                model: model.programs.join(", "),
                run: run.programs.join(", "),
            });
        }
        if is_foreign(&model.functions, &run.functions) {
            return Some(Misfit::Function {
                model: model.functions.join(", "),
                run: run.functions.join(", "),
            });
        }
        let known_share = self.known_share(subtrees, translation);
        if known_share < LEAST_KNOWN {
            return Some(Misfit::Structure { known_share });
        }
        let num_abnormal = scores
            .iter()
            .filter(|&&score| Detector::is_abnormal(score))
            .count();
        let share = num_abnormal.real() / scores.len().max(1).real();
        (share > MOST_ABNORMAL).then_some(Misfit::Abnormal {
            share,
            share_in_training: model.num_abnormal.real() / model.num_trees.max(1).real(),
            duration_ratio: run.median_duration_ns.real()
                / (model.median_duration_ns.real()).max(1.0),
        })
    }

    /// Share of the trees whose whole structure the training saw; where nearly every tree has its own,
    /// of the functions of the trees.
    fn known_share(&self, subtrees: &Subtrees, translation: &Translation) -> f64 {
        let share = |found: &mut dyn Iterator<Item = SubtreeIdx>| {
            let (mut num_known, mut num_all) = (0_usize, 0_usize);
            for subtree in found {
                num_all += 1;
                num_known += usize::from(translation.is_known(subtree));
            }
            num_known.real() / num_all.max(1).real()
        };
        match self.artifact.features {
            FeatureArtifact::Context(_) => share(&mut functions_of(subtrees)),
            FeatureArtifact::Excess(_) | FeatureArtifact::Stack2vec(_) => {
                share(&mut subtrees.bags.roots().iter().copied())
            }
        }
    }

    fn translation(&self, subtrees: &Subtrees) -> Translation {
        let len = self.artifact.vocabulary.len();
        let find = |hash| self.place_of.get(&hash).copied();
        Translation::new(&subtrees.vocabulary, len, find)
    }

    fn rows(
        &self,
        forest: &Forest,
        subtrees: &Subtrees,
        translation: &Translation,
        progress: Progress<'_>,
    ) -> Result<Rows> {
        let model = &self.artifact;
        match (&model.features, model.params.representation) {
            (FeatureArtifact::Excess(excess), Representation::ExcessRarity(_)) => {
                let rows = excess.rows(&subtrees.bags, &model.reference, translation)?;
                Ok(Rows::Sparse(rows))
            }
            (FeatureArtifact::Context(context), Representation::ExcessRarity(_)) => {
                Ok(Rows::Sparse(context.rows(forest)?))
            }
            (FeatureArtifact::Stack2vec(output), Representation::PaperStack2vec(params)) => {
                let len = model.vocabulary.len();
                let column_of = |subtree| translation.get(subtree).0;
                let corpus = Corpus::from_bags(&subtrees.bags, len, column_of);
                let params = params.check()?;
                let vectors = stack2vec::infer(output, &corpus, &params, model.seed, progress)?;
                let values = vectors.iter().map(|&value| f64::from(value)).collect();
                Ok(Rows::Dense(DenseRows::new(output.dims, values)?))
            }
            _ => Err(MlError::DamagedModel {
                reason: "its features are not those of its settings",
            }),
        }
    }
}

/// The subtrees that are single functions.
fn functions_of(subtrees: &Subtrees) -> impl Iterator<Item = SubtreeIdx> {
    let all = subtrees.vocabulary.iter();
    all.filter(|(_, subtree)| subtree.degree == 0)
        .map(|(idx, _)| idx)
}

/// What a model with this translation never saw of each tree.
fn unseen(subtrees: &Subtrees, translation: &Translation) -> Vec<Unseen> {
    let is_new = |&subtree: &SubtreeIdx| !translation.is_known(subtree);
    let new_functions: Vec<SubtreeIdx> = functions_of(subtrees).filter(is_new).collect();
    let of_tree = |tree| {
        let bag = subtrees.bags.bag(TreeIdx::from_index(tree));
        let times = bag.subtree.iter().zip(bag.inclusive_ns);
        let of_new = times.filter(|(subtree, _)| new_functions.binary_search(subtree).is_ok());
        let time: i64 = of_new.map(|(_, &time)| time).sum();
        Unseen {
            // What new functions call of one another counts twice.
            time_share: (time.real() / bag.duration_ns.max(1).real()).clamp(0.0, 1.0),
            is_new_structure: is_new(&bag.root),
        }
    };
    (0..subtrees.bags.len()).map(of_tree).collect()
}

/// What writes explain of each tree; how long trees usually take, their own run says.
fn shares_of(forest: &Forest, subtrees: &Subtrees) -> Vec<Option<WriteShare>> {
    if forest.trace().writes.is_empty() {
        return vec![None; forest.len()];
    }
    let params = ExcessParams::default();
    let windows = Windows::new(forest, params.windows_per_lane);
    let usual = Reference::fit(&subtrees.bags, &windows, params.min_class_size);
    write_shares(forest, &subtrees.bags, &usual)
}
