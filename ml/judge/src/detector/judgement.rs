//! The judgement of a forest by a model, and whether the model suits it.

use std::collections::HashMap;

use callgrove_model::{Forest, Progress};
use serde::{Deserialize, Serialize};

use super::listing::{Cause, causes};
use super::model_file::{FeatureArtifact, ModelArtifact, used_functions};
use super::origin::Origin;
use super::params::{DecisionRule, LabelRule, ValidDetectorParams};
use super::run_evidence::{by_svm, explained};
use super::trained::apply_labels;
use super::unseen::{Unseen, functions_of, unseen};
use crate::decision::{
    ByDesign, CallSets, Expectation, Locations, NullTail, Placement, StructureReference,
    Structures, TreeEvidence,
};
use callgrove_learn::cause::{WriteShare, write_shares};
use callgrove_learn::features::{
    ExcessParams, Reference, Representation, Translation, Windows, tick,
};
use callgrove_learn::ocsvm::Scorer;
use callgrove_learn::stack2vec::{self, Corpus};
use callgrove_trees::dataset::{DenseRows, Rows};
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::function_match::{FunctionMatch, MatchedFunctions, is_same_function};
use callgrove_trees::real::Real;
use callgrove_trees::wl::{SubtreeHash, SubtreeIdx, Subtrees, relabel_as};

/// Minimum share of the trees whose structure a model must know.
const MIN_KNOWN_SHARE: f64 = 0.5;
/// Minimum number of trees from which usual times of a run are estimated; fewer are judged by the training alone.
const MIN_TREES: usize = 30;

/// ln of the p-value of a decision that labels or the one-class SVM make.
const CERTAIN_LN_P: f64 = -700.0;

/// The parts of its training that a model uses when it judges a forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yardstick {
    /// All parts: each tree is judged individually, independently of the other trees.
    Training,
    /// The tail distribution of excesses, labels and structures. The usual times of like executions come from the
    /// forest, so that the speed of a machine or the size of the input are not anomalies.
    Run,
    /// Labels and structures. The tail distribution of excesses comes from the forest, too.
    RunAlone,
}

/// The judgement of a forest by a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// Score of each tree, shape `[n_trees]`; the smallest is the most abnormal.
    pub scores: Vec<f64>,
    /// True for each tree that is abnormal in the set of these trees, shape `[n_trees]`.
    pub abnormal: Vec<bool>,
    /// ln of the p-value on which each decision is based, labels included, shape `[n_trees]`.
    pub decision_ln_p: Vec<f64>,
    /// Share of normal trees that deviate at least as much, shape `[n_trees]`.
    pub p_values: Vec<f64>,
    /// The known cause of each abnormal tree, shape `[n_trees]`.
    pub causes: Vec<Option<Cause>>,
    /// True for each tree that would be abnormal for its structure alone, shape `[n_trees]`.
    pub is_odd: Vec<bool>,
    /// True for each tree that the labels of the training made normal, shape `[n_trees]`.
    pub is_by_label: Vec<bool>,
    /// The trees that are rare or long by design in this forest.
    pub design: ByDesign,
    /// The part of each tree that was not in the training, shape `[n_trees]`.
    pub unseen: Vec<Unseen>,
    /// Numbers of functions that match those of the training.
    pub functions: MatchedFunctions,
    /// The reason why the model should not be used for the forest, if there is one.
    pub misfit: Option<Misfit>,
}

/// A reason why a model should not be used for a forest.
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
}

/// A model that is ready to judge trees.
#[derive(Debug)]
pub struct TreeModel {
    artifact: ModelArtifact,
    params: ValidDetectorParams,
    place_of: HashMap<SubtreeHash, SubtreeIdx>,
    svm: Scorer,
}

impl TreeModel {
    /// Prepares a model.
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

    /// Returns the model as it is stored.
    pub fn artifact(&self) -> &ModelArtifact {
        &self.artifact
    }

    /// Judges the trees of a forest, of this or another run.
    ///
    /// The score of a tree is bit by bit the same whatever other trees are judged with it, and so are its p-values
    /// with [`Yardstick::Training`].
    ///
    /// # Errors
    /// [`MlError::EmptyForest`], [`MlError::Cancelled`].
    pub fn judge(
        &self,
        forest: &Forest,
        by: Yardstick,
        progress: Progress<'_>,
    ) -> Result<Judgement> {
        let model = &self.artifact;
        let wl = self.params.get().wl.check()?;
        let is_used = used_functions(forest);
        let functions = FunctionMatch::new(&model.function_names, &forest.trace().names, |func| {
            is_used[func.index()]
        });
        let subtrees = relabel_as(forest, functions.names(), wl, progress.part(0.0, 0.5))?;
        let translation = self.translation(&subtrees);
        let rows = self.rows(forest, &subtrees, &translation, progress.part(0.5, 0.8))?;
        let mut svm = self.svm.scores(&rows, progress.part(0.8, 0.9))?;
        for score in &mut svm {
            *score *= model.scale;
        }
        let shares = write_shares_of(forest, &subtrees);
        let is_explained = explained(&shares);
        let by = if forest.len() < MIN_TREES {
            Yardstick::Training
        } else {
            by
        };
        let evidence = |by| self.evidence(forest, &subtrees, &translation, &rows, by);
        let alone = evidence(Yardstick::Training);
        let ranking = alone.0.scores(&alone.1, &self.svm_ln_p(&svm));
        let (evidence, tail) = match by {
            Yardstick::Training => alone,
            Yardstick::Run | Yardstick::RunAlone => evidence(by),
        };
        // The noise of the run may differ, and if many trees are abnormal, the tail of the run alone is not reliable.
        let tails = match by {
            Yardstick::Training | Yardstick::RunAlone => vec![&tail],
            Yardstick::Run => vec![&model.tail, &tail],
        };
        let mut found = Scored::new(model, (&evidence, &tails), (svm, ranking), &is_explained);
        let p_values = match by {
            Yardstick::Training => evidence.p_values(&tail, &model.normal_of_one),
            Yardstick::Run => evidence.p_values(&model.tail, &model.normal),
            Yardstick::RunAlone => evidence.p_values_within(&tail, &found.abnormal),
        };
        if model.params.labels == LabelRule::Reach && model.labels.newest.is_some() {
            found.apply_labels(model, &rows, progress.part(0.9, 1.0))?;
        }
        Ok(Judgement {
            causes: causes(&found.abnormal, &vec![None; forest.len()], &shares),
            p_values,
            is_odd: evidence.is_odd(),
            is_by_label: found.is_by_label,
            design: evidence.design,
            unseen: unseen(&subtrees, &translation),
            functions: functions.matched(),
            misfit: self.misfit(forest, &subtrees, &translation),
            decision_ln_p: found.decision_ln_p,
            abnormal: found.abnormal,
            scores: found.scores,
        })
    }

    /// Returns ln of the p-values of scores of the one-class SVM.
    fn svm_ln_p(&self, scores: &[f64]) -> Vec<f64> {
        let tail = &self.artifact.svm_tail;
        scores.iter().map(|&score| tail.ln_p(score)).collect()
    }

    /// Returns the evidence against each tree, and its rarity.
    fn evidence(
        &self,
        forest: &Forest,
        subtrees: &Subtrees,
        translation: &Translation,
        rows: &Rows,
        by: Yardstick,
    ) -> (TreeEvidence, NullTail) {
        let model = &self.artifact;
        let (bags, placement) = (&subtrees.bags, Placement::of(forest));
        let known = |subtree: SubtreeIdx| {
            translation
                .is_known(subtree)
                .then(|| translation.get(subtree))
        };
        let times = match (&model.expected, by) {
            (Expectation::Times(_), Yardstick::Run | Yardstick::RunAlone) => {
                let all = vec![true; bags.len()];
                let locations = Locations::fit(bags, &placement, &all, tick(bags));
                Expectation::Times(Box::new(locations)).evidence(bags, &placement, rows, Some)
            }
            (expected, _) => expected.evidence(bags, &placement, rows, known),
        };
        let mut evidence = times.evidence.clone();
        if model.expected.has_structures() {
            let roots = bags.roots();
            let call_sets = CallSets::of(forest, roots, &subtrees.vocabulary);
            let reference = StructureReference {
                structures: &model.structures,
                known: &known,
            };
            let mut structures = Structures::of(
                roots,
                &call_sets,
                &placement,
                &times.total_shares,
                Some(&reference),
            );
            let design = times.design(roots, &structures, &placement);
            if by == Yardstick::Training {
                let of_training = |&root| {
                    reference
                        .structures
                        .ln_p(known(root), Some(call_sets.get(root)))
                };
                structures.ln_p = roots.iter().map(of_training).collect();
                structures.decision_ln_p.clone_from(&structures.ln_p);
                structures.is_late_end = vec![false; roots.len()];
            } else {
                // A structure that the training may have missed by chance is not rarer because this run has it once.
                let of_training = model.structures.unknown_ln_p();
                let own = structures.ln_p.iter_mut();
                for ln_p in own.chain(&mut structures.decision_ln_p) {
                    if *ln_p < 0.0 {
                        *ln_p = ln_p.max(of_training);
                    }
                }
            }
            evidence.add_structures(structures, design);
        }
        let tail = match by {
            Yardstick::Training => model.tail_of_one.clone(),
            Yardstick::Run | Yardstick::RunAlone => {
                NullTail::fit(&evidence.observations(&placement, &forest.sample()))
            }
        };
        (evidence, tail)
    }

    /// Returns the reason why the model does not suit a forest, if there is one.
    fn misfit(
        &self,
        forest: &Forest,
        subtrees: &Subtrees,
        translation: &Translation,
    ) -> Option<Misfit> {
        let model = &self.artifact;
        let run = Origin::of(forest);
        let is_foreign = |own: &[String], other: &[String], is_same: fn(&str, &str) -> bool| {
            let is_known = |name: &String| other.iter().any(|other| is_same(name, other));
            !own.is_empty() && !other.is_empty() && !own.iter().any(is_known)
        };
        if is_foreign(&model.programs, &run.programs, |a, b| a == b) {
            return Some(Misfit::Program {
                model: model.programs.join(", "),
                run: run.programs.join(", "),
            });
        }
        if is_foreign(&model.functions, &run.functions, is_same_function) {
            return Some(Misfit::Function {
                model: model.functions.join(", "),
                run: run.functions.join(", "),
            });
        }
        let known_share = self.known_share(subtrees, translation);
        if known_share < MIN_KNOWN_SHARE {
            return Some(Misfit::Structure { known_share });
        }
        None
    }

    /// Returns the share of the trees whose complete structure was in the training; if nearly every tree has its own
    /// structure, the share of the functions of the trees.
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
                reason: "its features differ from those of its settings",
            }),
        }
    }
}

/// Scores and decisions of a model.
struct Scored {
    scores: Vec<f64>,
    abnormal: Vec<bool>,
    q_values: Vec<f64>,
    decision_ln_p: Vec<f64>,
    is_by_label: Vec<bool>,
}

impl Scored {
    /// Computes scores without labels, from evidence with its tails, and the scores of the one-class SVM alone and
    /// with the evidence of the training.
    fn new(
        model: &ModelArtifact,
        (evidence, tails): (&TreeEvidence, &[&NullTail]),
        (svm, ranking): (Vec<f64>, Vec<f64>),
        is_explained: &[bool],
    ) -> Self {
        let (scores, decided, decision_ln_p) = match model.params.decision {
            DecisionRule::Rho => {
                let decided = by_svm(&svm);
                let is_called = decided.is_discovery.iter();
                let ln_p = is_called.map(|&it| if it { CERTAIN_LN_P } else { 0.0 });
                let ln_p = ln_p.collect();
                (svm, decided, ln_p)
            }
            DecisionRule::FalseDiscovery(rate) => {
                let decided = evidence.decide(tails, is_explained, rate);
                (ranking, decided, evidence.decision_ln_p(tails))
            }
        };
        Self {
            is_by_label: vec![false; scores.len()],
            scores,
            abnormal: decided.is_discovery,
            q_values: decided.q_values,
            decision_ln_p,
        }
    }

    /// Adjusts scores and decisions by the labels of the training.
    fn apply_labels(
        &mut self,
        model: &ModelArtifact,
        rows: &Rows,
        progress: Progress<'_>,
    ) -> Result<()> {
        let votes = model.labelled.votes(rows, progress)?;
        let before = self.abnormal.clone();
        apply_labels(&mut self.scores, &mut self.abnormal, &self.q_values, &votes);
        for (tree, was_abnormal) in before.into_iter().enumerate() {
            match (was_abnormal, self.abnormal[tree]) {
                (false, true) => self.decision_ln_p[tree] = CERTAIN_LN_P,
                (true, false) => {
                    self.decision_ln_p[tree] = 0.0;
                    self.is_by_label[tree] = true;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the share of each tree that writes explain; usual durations come from the trees' own run.
fn write_shares_of(forest: &Forest, subtrees: &Subtrees) -> Vec<Option<WriteShare>> {
    if forest.trace().writes.is_empty() {
        return vec![None; forest.len()];
    }
    let params = ExcessParams::default();
    let windows = Windows::new(forest, params.windows_per_lane);
    let usual = Reference::fit(&subtrees.bags, &windows, params.min_class_size);
    write_shares(forest, &subtrees.bags, &usual)
}
