//! The embedding of a forest, learned before any label: subtrees, rows, kernel width, map.

use std::borrow::Cow;

use callgrove_model::{Forest, Progress, TreeIdx};

use super::params::{DecisionRule, DetectorParams, LabelRule, MapOf, ValidDetectorParams};
use super::run_evidence::{RunEvidence, Usual};
use crate::decision::{
    Discoveries, Expectation, KnownStructures, NormalRanks, NullTail, SvmTail, TreeEvidence,
};
use callgrove_learn::cause::{WriteShare, write_shares};
use callgrove_learn::features::{
    ContextModel, ExcessModel, ExcessParams, GammaRule, Prior, Reference, Representation,
    Translation, Windows,
};
use callgrove_learn::ocsvm::{
    Anchors, OcsvmParams, Trained, ValidOcsvmParams, train, train_on_anchors,
};
use callgrove_learn::stack2vec::{self, Corpus, Stack2vec, Stack2vecParams};
use callgrove_map::projection::{Map, landmark_mds, trustworthiness_sampled};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;
use callgrove_trees::wl::{Bags, Subtrees, relabel};

/// Number of neighbours for the trustworthiness of the map.
const TRUST_NEIGHBOURS: usize = 12;
/// Maximum number of rows for the trustworthiness of the map.
const TRUST_ROWS: usize = 1_000;
/// Share of the trees in structure classes too small for medians, above which a forest is varied: its trees are
/// compared part by part.
const VARIED_SHARE: f64 = 1.0 / 3.0;

/// A forest prepared for the detector.
#[derive(Clone, Debug)]
pub struct Embedding {
    params: ValidDetectorParams,
    seed: u64,
    subtrees: Subtrees,
    reference: Reference,
    usual: Usual,
    features: Features,
    rows: Rows,
    run: RunEvidence,
    normal_norm: f64,
    prior: Vec<f64>,
    ocsvm: ValidOcsvmParams,
    unlabelled: Trained,
    svm_tail: SvmTail,
    decision: Discoveries,
    label_gamma: f64,
    anchors: Option<Anchors>,
    map: Map,
    trustworthiness: f64,
}

/// The learned part of a representation.
#[derive(Clone, Debug)]
pub enum Features {
    /// Excess time and rarity.
    Excess(ExcessModel),
    /// Surprise of parts in context, for forests in which nearly every tree has its own structure.
    Context(Box<ContextModel>),
    /// The stack2vec network.
    Stack2vec(Box<Stack2vec>),
}

impl Embedding {
    /// Learns the usual times and structures from the sample of a forest ([`Forest::sample`]), mostly all of its
    /// trees. The other trees get rows, and have weights once they are labelled.
    ///
    /// The same forest, settings and seed give the same embedding on every machine of one kind and for any number of
    /// threads.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::EmptyForest`], [`callgrove_trees::MlError::Cancelled`].
    pub fn fit(
        forest: &Forest,
        params: &ValidDetectorParams,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Self> {
        let mut settings = *params.get();
        let subtrees = relabel(forest, settings.wl.check()?, progress.part(0.0, 0.2))?;
        settings.wl.max_degree = subtrees.max_degree;
        let params = settings.check()?;
        let settings = &settings;
        let usual = excess_params(settings);
        let sample = forest.sample();
        let (sampled, bags) = sampled(forest, &subtrees.bags, &sample);
        let windows = Windows::new(&sampled, usual.windows_per_lane);
        let reference = Reference::fit(&bags, &windows, usual.min_class_size);
        let (features, rows) = represent(
            forest,
            &sampled,
            &subtrees,
            &reference,
            settings,
            seed,
            progress.part(0.2, 0.7),
        )?;
        let write_shares = write_shares(forest, &subtrees.bags, &reference);
        let usual = Usual {
            sample,
            write_shares,
        };
        let is_varied = matches!(features, Features::Context(_));
        let (norms, tick_ns) = (rows.norms(), reference.tick_ns());
        let run = RunEvidence::fit(forest, &subtrees, &rows, &usual, tick_ns, is_varied);
        let prior = usual.weigh(match settings.prior {
            Prior::Uniform => vec![1.0; rows.len()],
            Prior::PValues => run.evidence.weights(&run.tail),
        });
        let normal_norm = run.normal_norm(&norms);
        let ocsvm = ocsvm_params(settings, &rows, normal_norm, &prior)?;
        let anchors = Anchors::needed(&rows, &prior, settings.nu);
        let of_svm = progress.part(0.7, 0.8);
        let unlabelled = train_unlabelled(&rows, &prior, &ocsvm, anchors.as_ref(), of_svm)?;
        let svm_tail = run.svm_tail(unlabelled.scores());
        let decision = run.decide(settings.decision, &usual, unlabelled.scores());
        let label_gamma = run.gamma_of_labels(&rows);
        let progress = progress.part(0.8, 1.0);
        let (map, trustworthiness) = make_map(&subtrees, &rows, settings, seed, progress)?;
        Ok(Self {
            params,
            seed,
            subtrees,
            reference,
            usual,
            features,
            rows,
            run,
            normal_norm,
            prior,
            ocsvm,
            unlabelled,
            svm_tail,
            decision,
            label_gamma,
            anchors,
            map,
            trustworthiness,
        })
    }

    /// Changes ν, kernel width and decision of the embedding; rows and map stay.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`], [`callgrove_trees::MlError::Cancelled`]; the embedding is unchanged then.
    pub fn tune(
        &mut self,
        nu: f64,
        gamma: GammaRule,
        decision: DecisionRule,
        progress: Progress<'_>,
    ) -> Result<()> {
        let settings = DetectorParams {
            gamma,
            nu,
            decision,
            ..*self.params.get()
        };
        let params = settings.check()?;
        let ocsvm = ocsvm_params(&settings, &self.rows, self.normal_norm, &self.prior)?;
        if ocsvm != self.ocsvm {
            let anchors = Anchors::needed(&self.rows, &self.prior, nu);
            self.unlabelled =
                train_unlabelled(&self.rows, &self.prior, &ocsvm, anchors.as_ref(), progress)?;
            self.svm_tail = self.run.svm_tail(self.unlabelled.scores());
            self.ocsvm = ocsvm;
            self.anchors = anchors;
        }
        let scores = self.unlabelled.scores();
        self.decision = self.run.decide(decision, &self.usual, scores);
        self.params = params;
        Ok(())
    }

    /// Returns the number of trees.
    pub fn num_trees(&self) -> usize {
        self.rows.len()
    }

    /// Returns the settings it was made with; the largest degree of subtrees is the actual one.
    pub fn params(&self) -> &ValidDetectorParams {
        &self.params
    }

    /// Returns the seed it was made with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the subtree corpus and the bags.
    pub fn subtrees(&self) -> &Subtrees {
        &self.subtrees
    }

    /// Returns the usual times and structures.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the share of each tree that the tracer's writes explain, shape `[n_trees]`.
    pub fn write_shares(&self) -> &[Option<WriteShare>] {
        &self.usual.write_shares
    }

    /// Returns the trees that are learned from with or without a label, shape `[n_trees]`: see [`Forest::sample`].
    pub fn sample(&self) -> &[bool] {
        &self.usual.sample
    }

    /// Returns the learned part of the representation.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns the rows of the one-class SVM.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the weights of unlabelled trees.
    pub fn prior(&self) -> &[f64] {
        &self.prior
    }

    /// Returns the one-class SVM without labels.
    pub(super) fn unlabelled(&self) -> &Trained {
        &self.unlabelled
    }

    /// Returns the times that trees are compared with, as stored in a model.
    pub fn expected(&self) -> &Expectation {
        &self.run.expected
    }

    /// Returns the known structures.
    pub fn structures(&self) -> &KnownStructures {
        &self.run.structures
    }

    /// Returns the evidence against each tree before any label.
    pub fn evidence(&self) -> &TreeEvidence {
        &self.run.evidence
    }

    /// Returns the evidence as a model of this run computes it; scores come from it, so that a model gives the same.
    pub fn evidence_of_model(&self) -> &TreeEvidence {
        &self.run.of_model
    }

    /// Returns the tail distribution of the excess of normal trees.
    pub fn tail(&self) -> &NullTail {
        &self.run.tail
    }

    /// Returns the tail distribution of [`Embedding::evidence_of_model`].
    pub fn tail_of_model(&self) -> &NullTail {
        &self.run.tail_of_model
    }

    /// Returns the tail distribution of the scores of the one-class SVM.
    pub fn svm_tail(&self) -> &SvmTail {
        &self.svm_tail
    }

    /// Returns the decision before any label.
    pub fn decision(&self) -> &Discoveries {
        &self.decision
    }

    /// Returns the share of normal trees that deviate at least as much as each tree, in (0, 1], shape `[n_trees]`;
    /// `None` if there are too few trees to judge any. Labels do not change it.
    pub fn p_values(&self) -> Option<Vec<f64>> {
        self.run.p_values(&self.decision)
    }

    /// Returns the ranks of the normal trees, before any label: see [`RunEvidence::normal_ranks`].
    pub(super) fn normal_ranks(&self) -> (NormalRanks, NormalRanks) {
        self.run.normal_ranks(self.sample(), &self.decision)
    }

    /// Returns the factor that brings the scores of a training to the scale of the one without labels. A label for a
    /// distant tree takes a part of the total mass of a small forest, so that f and ρ shrink together.
    pub(super) fn scale(&self, trained: &Trained) -> f64 {
        match self.params.get().decision {
            DecisionRule::Rho => 1.0,
            DecisionRule::FalseDiscovery(_) => self.unlabelled.rho() / trained.rho(),
        }
    }

    /// Returns kernel width and C.
    pub fn ocsvm(&self) -> &ValidOcsvmParams {
        &self.ocsvm
    }

    /// Returns the trees that the one-class SVM is restricted to; `None` if it uses all.
    pub fn anchors(&self) -> Option<&Anchors> {
        self.anchors.as_ref()
    }

    /// Returns γ of the kernel that relates labels to their neighbours: that of [`crate::decision::LabelReach`], or
    /// that of the one-class SVM if labels are weights only.
    pub fn label_gamma(&self) -> f64 {
        match self.params.get().labels {
            LabelRule::Weights { .. } => self.ocsvm.gamma(),
            LabelRule::Reach => self.label_gamma,
        }
    }

    /// Returns the points of the map, one per tree.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Returns the trustworthiness of the map, 0..=1, for 12 neighbours of at most 1,000 trees.
    pub fn trustworthiness(&self) -> f64 {
        self.trustworthiness
    }

    /// Returns the tree in the centre of a group: the one with the smallest sum of squared distances to the others;
    /// among equal ones the first. `None` for an empty group.
    pub fn centre_of(&self, group: &[TreeIdx]) -> Option<TreeIdx> {
        let mut mean = vec![0.0; self.rows.num_columns()];
        for tree in group {
            for (column, value) in self.rows.row(tree.index()).entries() {
                mean[column] += value / group.len().real();
            }
        }
        // The sum of squared distances to the others is smallest next to their mean.
        let mean = Rows::Dense(callgrove_trees::dataset::DenseRows::new(mean.len(), mean).ok()?);
        let distance = |tree: TreeIdx| {
            let row = self
                .rows
                .row(tree.index())
                .to_dense(self.rows.num_columns());
            mean.squared_distances(callgrove_trees::dataset::RowRef::Dense(&row))[0]
        };
        let mut best: Option<(f64, TreeIdx)> = None;
        for &tree in group {
            let distance = distance(tree);
            if best.is_none_or(|best| (distance, tree) < best) {
                best = Some((distance, tree));
            }
        }
        best.map(|(_, tree)| tree)
    }
}

/// Returns the trees of the sample and their bags.
fn sampled<'a>(
    forest: &'a Forest,
    bags: &'a Bags,
    sample: &[bool],
) -> (Cow<'a, Forest>, Cow<'a, Bags>) {
    if sample.contains(&false) {
        let trees = forest.selected(|tree| sample[tree.index()]);
        (Cow::Owned(trees), Cow::Owned(bags.selected(sample)))
    } else {
        (Cow::Borrowed(forest), Cow::Borrowed(bags))
    }
}

/// Returns the learned part of the representation, and the rows of all trees; it learns from `sampled`.
fn represent(
    forest: &Forest,
    sampled: &Forest,
    subtrees: &Subtrees,
    reference: &Reference,
    settings: &DetectorParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<(Features, Rows)> {
    Ok(match settings.representation {
        Representation::ExcessRarity(_) if are_parts_compared(forest, reference) => {
            let model = ContextModel::fit(sampled);
            let rows = Rows::Sparse(model.rows(forest)?);
            (Features::Context(Box::new(model)), rows)
        }
        Representation::ExcessRarity(excess) => {
            let len = subtrees.vocabulary.len();
            let model = ExcessModel::new(excess.check()?, len);
            let rows = model.rows(&subtrees.bags, reference, &Translation::identity(len))?;
            (Features::Excess(model), Rows::Sparse(rows))
        }
        Representation::PaperStack2vec(stack2vec) => {
            let network = embed(subtrees, &stack2vec, seed, progress)?;
            let rows = Rows::Dense(network.rows()?);
            (Features::Stack2vec(Box::new(network)), rows)
        }
    })
}

/// Returns whether trees are compared part by part: if hardly two are alike, or if weights are not times. Times add
/// up to the duration of a run, so a share of an execution measures the importance of a delay; a share of a tree's
/// bytes or votes does not, and each kind of vertex has a scale of its own.
fn are_parts_compared(forest: &Forest, reference: &Reference) -> bool {
    !forest.unit().is_time() || reference.varied_share() > VARIED_SHARE
}

/// Returns γ by its rule, and C = ν · sum of the prior weights.
fn ocsvm_params(
    settings: &DetectorParams,
    rows: &Rows,
    normal_norm: f64,
    prior: &[f64],
) -> Result<ValidOcsvmParams> {
    let c = settings.nu * prior.iter().sum::<f64>();
    OcsvmParams::new(settings.gamma.gamma(rows, normal_norm), c).check()
}

/// Trains the one-class SVM before any label.
fn train_unlabelled(
    rows: &Rows,
    prior: &[f64],
    ocsvm: &ValidOcsvmParams,
    anchors: Option<&Anchors>,
    progress: Progress<'_>,
) -> Result<Trained> {
    match anchors {
        Some(anchors) => train_on_anchors(rows, prior, anchors, &[], ocsvm, None, progress),
        None => train(rows, prior, ocsvm, None, progress),
    }
}

/// Returns the settings for usual times, also for representations that use them in explanations only.
fn excess_params(settings: &DetectorParams) -> ExcessParams {
    match settings.representation {
        Representation::ExcessRarity(excess) => excess,
        Representation::PaperStack2vec(_) => ExcessParams::default(),
    }
}

fn embed(
    subtrees: &Subtrees,
    params: &Stack2vecParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Stack2vec> {
    let len = subtrees.vocabulary.len();
    let corpus = Corpus::from_bags(&subtrees.bags, len, |subtree| subtree.0);
    stack2vec::train(&corpus, &params.check()?, seed, progress)
}

fn make_map(
    subtrees: &Subtrees,
    rows: &Rows,
    settings: &DetectorParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<(Map, f64)> {
    let map_params = settings.map.check()?;
    let draw = |rows: &Rows, progress: Progress<'_>| -> Result<(Map, f64)> {
        let map = landmark_mds(rows, map_params, seed, progress.part(0.0, 0.7))?;
        let trust = trustworthiness_sampled(rows, &map.points, TRUST_NEIGHBOURS, TRUST_ROWS)?;
        progress.at(1.0)?;
        Ok((map, trust))
    };
    match settings.map_of {
        MapOf::Representation => draw(rows, progress),
        MapOf::Stack2vec(params) => {
            let network = embed(subtrees, &params, seed, progress.part(0.0, 0.7))?;
            draw(&Rows::Dense(network.rows()?), progress.part(0.7, 1.0))
        }
    }
}
