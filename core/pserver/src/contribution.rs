//! The contribution of an AD instance to the server: models, statistics and stalls. The server's own state is the sum
//! of all contributions, so lost data can be sent again, merged or in parts.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};
use std::sync::OnceLock;

use callgrove_detect::{Distribution, FuncModel, Histogram, RecentPValues};
use callgrove_incidents::{StallSummary, StallSummaryKey};
use callgrove_model::{FuncId, StepId};

use crate::error::PserverError;
use crate::final_anomalies::FinalAnomalies;
use crate::report::StepReport;
use crate::statistics::{Metrics, Profile, RankKey, Statistics, merge_entry, merge_maps, rekeyed};
use crate::tree_p_values::TreePValues;

/// Models and statistics that merge in any order. Histograms and counts merge exactly, moments up to rounding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contribution {
    /// Models by function.
    pub models: BTreeMap<FuncId, FuncModel>,
    /// Profiles, anomalies and counters.
    pub statistics: Statistics,
    /// The stalls of each step, for incidents; the owner of the contribution bounds them.
    pub stall_summaries: BTreeMap<StallSummaryKey, StallSummary>,
    /// The last step of each rank whose executions are in the models, including those of earlier contributions.
    pub learnt: BTreeMap<RankKey, StepId>,
    /// The ranks whose data are completely in the models.
    pub ended: BTreeSet<RankKey>,
    /// The anomalies of ranks that were judged by the complete models; they replace those reported before.
    pub final_anomalies: BTreeMap<RankKey, FinalAnomalies>,
}

impl Contribution {
    /// Returns the contribution of new models and the reports of some steps.
    pub fn new(models: Vec<(FuncId, FuncModel)>, reports: &[StepReport]) -> Self {
        let mut contribution = Self::default();
        for (fid, model) in models {
            merge_entry(&mut contribution.models, fid, model, merge_model);
        }
        for report in reports {
            contribution.statistics.add(report);
            if !report.stall_summary.is_empty() {
                let key = (report.program, report.step, report.rank);
                contribution
                    .stall_summaries
                    .insert(key, report.stall_summary.clone());
            }
        }
        contribution
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Self) {
        merge_maps(&mut self.models, other.models, merge_model);
        self.statistics.merge(other.statistics);
        // Duplicate summaries are equal.
        self.stall_summaries.extend(other.stall_summaries);
        merge_learnt(&mut self.learnt, other.learnt);
        self.ended.extend(other.ended);
        self.final_anomalies.extend(other.final_anomalies);
    }

    /// Returns true if nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
            && self.statistics.is_empty()
            && self.stall_summaries.is_empty()
            && self.learnt.is_empty()
            && self.ended.is_empty()
            && self.final_anomalies.is_empty()
    }

    /// Returns the contribution with other function indices; entries whose indices coincide are merged.
    #[must_use]
    pub fn renumbered(self, renumber: impl Fn(FuncId) -> FuncId) -> Self {
        let Statistics {
            functions, metrics, ..
        } = self.statistics;
        let of_rank = |(program, rank, fid)| (program, rank, renumber(fid));
        let mut final_anomalies = self.final_anomalies;
        for of_rank in final_anomalies.values_mut() {
            let metrics = std::mem::take(&mut of_rank.metrics);
            of_rank.metrics = rekeyed(metrics, &renumber, Metrics::merge);
        }
        let mut stall_summaries = self.stall_summaries;
        for summary in stall_summaries.values_mut() {
            for stall in &mut summary.stalls {
                stall.fid = renumber(stall.fid);
            }
            for own in &mut summary.own_times {
                own.fid = renumber(own.fid);
                own.caller = own.caller.map(&renumber);
            }
        }
        Self {
            models: rekeyed(self.models, &renumber, merge_model),
            statistics: Statistics {
                functions: rekeyed(functions, &renumber, Profile::merge),
                metrics: rekeyed(metrics, of_rank, Metrics::merge),
                ..self.statistics
            },
            stall_summaries,
            learnt: self.learnt,
            ended: self.ended,
            final_anomalies,
        }
    }

    /// Returns every rank that the contribution mentions, unordered, possibly with duplicates.
    pub(crate) fn rank_keys(&self) -> impl Iterator<Item = RankKey> {
        let of_summaries = self
            .stall_summaries
            .keys()
            .map(|&(program, _, rank)| (program, rank));
        let of_models = self.learnt.keys().chain(&self.ended).copied();
        let final_ranks = self.final_anomalies.keys().copied();
        self.statistics
            .rank_keys()
            .chain(of_summaries)
            .chain(of_models)
            .chain(final_ranks)
    }

    /// Returns every function index in the contribution, unordered, possibly with duplicates.
    pub fn fids(&self) -> impl Iterator<Item = FuncId> {
        let of_metrics = self.statistics.metrics.keys().map(|&(_, _, fid)| fid);
        let of_summaries = self.stall_summaries.values().flat_map(|summary| {
            let own_times = summary.own_times.iter();
            let own_times = own_times.flat_map(|own| [Some(own.fid), own.caller]);
            let stalls = summary.stalls.iter().map(|stall| stall.fid);
            stalls.chain(own_times.flatten())
        });
        let of_functions = self.statistics.functions.keys().copied();
        let final_anomalies = self.final_anomalies.values();
        self.models
            .keys()
            .copied()
            .chain(of_functions)
            .chain(of_metrics)
            .chain(of_summaries)
            .chain(final_anomalies.flat_map(|it| it.metrics.keys().copied()))
    }

    /// Splits it into parts of at most about `max_bytes` each on the wire, at least one; merged, they are the whole. A
    /// part alone has sums without all steps that they are of.
    pub fn into_parts(self, max_bytes: usize) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut waiting = vec![self];
        while let Some(mut part) = waiting.pop() {
            if part.wire_bytes() <= max_bytes {
                parts.push(part);
                continue;
            }
            let Some(rest) = part.split_off_half() else {
                parts.push(part);
                continue;
            };
            waiting.push(rest);
            waiting.push(part);
        }
        parts
    }

    /// Returns an upper bound of its size on the wire in bytes.
    fn wire_bytes(&self) -> usize {
        let models: usize = self.models.values().map(model_wire_bytes).sum();
        let counters = self.statistics.counters.keys();
        let counters: usize = counters.map(|(_, name)| name.len() + MOMENTS_BYTES).sum();
        let tree_p_values = self.statistics.ranks.values();
        let tree_p_values = tree_p_values.map(|it| tree_p_values_bytes(&it.tree_p_values));
        models
            + counters
            + tree_p_values.sum::<usize>()
            + self.statistics.functions.len() * 4 * MOMENTS_BYTES
            + self.statistics.metrics.len() * 5 * MOMENTS_BYTES
            + (self.statistics.ranks.len() + self.learnt.len() + self.ended.len())
                * 2
                * MOMENTS_BYTES
            + self.num_final_metrics() * 5 * MOMENTS_BYTES
            + self.statistics.steps.len() * 3 * MOMENTS_BYTES
            + self
                .stall_summaries
                .values()
                .map(StallSummary::num_entries)
                .sum::<usize>()
                * MOMENTS_BYTES
    }

    /// Splits off the second half of each list; `None` if no list can be split.
    fn split_off_half(&mut self) -> Option<Self> {
        let before = self.num_entries();
        let rest = Self {
            models: split_map(&mut self.models),
            stall_summaries: split_map(&mut self.stall_summaries),
            learnt: split_map(&mut self.learnt),
            ended: BTreeSet::new(),
            final_anomalies: split_map(&mut self.final_anomalies),
            statistics: Statistics {
                ranks: split_map(&mut self.statistics.ranks),
                functions: split_map(&mut self.statistics.functions),
                metrics: split_map(&mut self.statistics.metrics),
                counters: split_map(&mut self.statistics.counters),
                steps: {
                    let half = self.statistics.steps.len().div_ceil(2);
                    self.statistics.steps.split_off(half)
                },
            },
        };
        (before > self.num_entries()).then_some(rest)
    }

    fn num_entries(&self) -> usize {
        let statistics = &self.statistics;
        self.models.len()
            + statistics.ranks.len()
            + statistics.functions.len()
            + statistics.metrics.len()
            + statistics.counters.len()
            + statistics.steps.len()
            + self.stall_summaries.len()
            + self.learnt.len()
            + self.final_anomalies.len()
    }

    fn num_final_metrics(&self) -> usize {
        let final_anomalies = self.final_anomalies.values();
        final_anomalies.map(|it| 2 + it.metrics.len()).sum()
    }
}

/// Merges maps of last steps; the later step of each rank counts.
pub(crate) fn merge_learnt(into: &mut BTreeMap<RankKey, StepId>, from: BTreeMap<RankKey, StepId>) {
    merge_maps(into, from, |last, step| *last = *step.max(last));
}

/// Merges into a model. Both have the same kind: [`ModelKind`] checked it on arrival.
pub(crate) fn merge_model(into: &mut FuncModel, from: &FuncModel) {
    into.merge(from)
        .expect("ModelKind has refused models of the other kind");
}

/// The kind of distribution of the models. The first model determines it for a server, and for a session.
#[derive(Debug, Default)]
pub(crate) struct ModelKind(OnceLock<Discriminant<Distribution>>);

impl ModelKind {
    /// Refuses models of the other kind.
    ///
    /// # Errors
    /// [`PserverError::MixedModels`].
    pub(crate) fn check<'a>(
        &self,
        models: impl IntoIterator<Item = &'a FuncModel>,
    ) -> Result<(), PserverError> {
        for model in models {
            let kind = discriminant(model.distribution());
            if *self.0.get_or_init(|| kind) != kind {
                return Err(PserverError::MixedModels);
            }
        }
        Ok(())
    }
}

/// Upper bound of the size of moments on the wire: a count, four sums of 16 to 40 bytes, two numbers of eight, their
/// tags, and the enclosing tag and length.
const MOMENTS_BYTES: usize = 160;

/// Returns an upper bound of its size on the wire in bytes: at most ten for an index, and eight for ln p.
pub fn tree_p_values_bytes(of_rank: &TreePValues) -> usize {
    let bytes = |(name, recent): (&String, &RecentPValues)| {
        name.len() + MOMENTS_BYTES + 18 * recent.small().len()
    };
    of_rank.iter().map(bytes).sum()
}

/// Returns an upper bound of the size of a model on the wire in bytes.
pub(crate) fn model_wire_bytes(model: &FuncModel) -> usize {
    // Distance and count of a bin are varints; few of either need more than seven bytes.
    let bytes = |histogram: &Histogram| 15 * histogram.bins().len();
    2 * MOMENTS_BYTES
        + match model.distribution() {
            Distribution::Moments => 0,
            Distribution::Histogram(histogram) => bytes(histogram),
            Distribution::Contexts(contexts) => {
                let parts = contexts.parts();
                parts.map(|(_, _, it)| MOMENTS_BYTES + bytes(it)).sum()
            }
        }
}

fn split_map<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>) -> BTreeMap<K, V> {
    let half = map.len().div_ceil(2);
    match map.keys().nth(half).cloned() {
        Some(key) => map.split_off(&key),
        None => BTreeMap::new(),
    }
}
