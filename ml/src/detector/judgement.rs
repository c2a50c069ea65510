//! What a model says of a forest, and whether it is made for it.

use std::collections::{HashMap, HashSet};

use callgrove_model::{Forest, Progress};
use serde::{Deserialize, Serialize};

use super::artifact::{FeatureArtifact, ModelArtifact};
use super::listing::{Cause, causes};
use super::origin::Origin;
use super::params::BorderRule;
use super::trained::Detector;
use crate::calibration::{Calibration, NullModel};
use crate::cause::{WriteShare, unexplained, write_shares};
use crate::dataset::{DenseRows, Rows};
use crate::error::{MlError, Result};
use crate::features::{ExcessParams, Reference, Representation, Translation, Windows};
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
    /// By those of the training.
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

impl ModelArtifact {
    /// Judges the trees of a forest, of this or another run.
    ///
    /// Subtrees and structures that the training never saw count as excess from zero and as rarer
    /// than everything seen. The border is drawn for this forest's false discovery rate; of the trees
    /// that it was trained on, scores are bit by bit those of the training.
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
        let subtrees = relabel_all(forest, params.get().wl.check()?, progress.part(0.0, 0.5))?;
        let rows = self.rows(forest, &subtrees, progress.part(0.5, 0.8))?;
        let mut scores = self.svm.scores(&rows, progress.part(0.8, 0.9))?;
        for score in &mut scores {
            *score *= self.scale;
        }
        let write_shares = shares_of(forest, &subtrees);
        let open_scores = unexplained(&scores, &write_shares);
        let fitted = match border {
            ModelBorder::Learned => None,
            ModelBorder::Refitted => {
                let norms = unexplained(&rows.norms(), &write_shares);
                let null = NullModel::fit(&norms, self.calibration.null().least_median());
                Some(Calibration::new(null, norms, open_scores.clone()))
            }
        };
        let calibration = fitted.as_ref().unwrap_or(&self.calibration);
        let border = match self.params.border {
            _ if rows.fingerprint() == self.trained_on => self.border,
            BorderRule::Rho => 0.0,
            BorderRule::FalseDiscovery(rate) => calibration.border(&open_scores, rate),
        };
        for score in &mut scores {
            *score -= border;
        }
        self.correction
            .add_to(&mut scores, &rows, progress.part(0.9, 1.0))?;
        Ok(Judgement {
            causes: causes(&scores, &vec![None; scores.len()], &write_shares),
            p_values: calibration.p_values(&scores, border),
            misfit: self.misfit(forest, &subtrees, &scores),
            scores,
        })
    }

    /// Why a forest is not what the model is for, if so.
    fn misfit(&self, forest: &Forest, subtrees: &Subtrees, scores: &[f64]) -> Option<Misfit> {
        let run = Origin::of(forest);
        let is_foreign = |own: &[String], other: &[String]| {
            !own.is_empty() && !other.is_empty() && !own.iter().any(|name| other.contains(name))
        };
        if is_foreign(&self.programs, &run.programs) {
            return Some(Misfit::Program {
                model: self.programs.join(", "),
                run: run.programs.join(", "),
            });
        }
        if is_foreign(&self.functions, &run.functions) {
            return Some(Misfit::Function {
                model: self.functions.join(", "),
                run: run.functions.join(", "),
            });
        }
        let known_share = self.known_share(subtrees);
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
            share_in_training: self.num_abnormal.real() / self.num_trees.max(1).real(),
            duration_ratio: run.median_duration_ns.real()
                / (self.median_duration_ns.real()).max(1.0),
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
            num_known.real() / num_all.max(1).real()
        };
        match self.features {
            FeatureArtifact::Context(_) => {
                let all = subtrees.vocabulary.iter();
                share(
                    &mut all
                        .filter(|(_, subtree)| subtree.degree == 0)
                        .map(|(idx, _)| idx),
                )
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
