//! The statistics of the server: sums over steps and ranks that merge in any order.

use std::collections::BTreeMap;

use callgrove_detect::Moments;
use callgrove_model::{FuncId, ProgramId, RankId, Real, StepId, pairs};
use serde::{Deserialize, Serialize};

use crate::report::{AnomalySummary, StepReport};
use crate::tree_p_values::TreePValues;

/// Minimum ratio of the sizes of two maps at which key lookups are faster than a merge of the sorted maps.
const MERGE_RATIO: usize = 8;

/// A rank of a program.
pub type RankKey = (ProgramId, RankId);

/// Statistics over any number of I/O steps. Their size does not grow with the number of steps, except for
/// [`Statistics::steps`], which the owner bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// By rank.
    #[serde(with = "pairs")]
    pub ranks: BTreeMap<RankKey, RankTotals>,
    /// By function.
    #[serde(with = "pairs")]
    pub functions: BTreeMap<FuncId, Profile>,
    /// By program, rank and function; only functions with anomalies.
    #[serde(with = "pairs")]
    pub metrics: BTreeMap<(ProgramId, RankId, FuncId), Metrics>,
    /// By program and name: values in the counter's unit.
    #[serde(with = "pairs")]
    pub counters: BTreeMap<(ProgramId, String), Moments>,
    /// The steps, in order of arrival.
    pub steps: Vec<StepSummary>,
}

/// One rank over its steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankTotals {
    /// Number of anomalies per step.
    pub anomalies: Moments,
    /// The last step.
    pub last_step: StepId,
    /// As of the last step, for an instance that continues to read the rank. Missing in states of earlier releases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tree_p_values: TreePValues,
}

/// One function over all steps and ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Exclusive runtimes in microseconds.
    pub exclusive: Moments,
    /// Inclusive runtimes in microseconds.
    pub inclusive: Moments,
    /// Number of anomalies per step and rank in which an execution of the function ended.
    pub anomalies: Moments,
}

/// The anomalies of one function on one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// First step with an anomaly.
    pub first_step: StepId,
    /// Last step with an anomaly.
    pub last_step: StepId,
    /// Score, severity and times.
    pub anomalies: AnomalySummary,
    /// Number of anomalies per step that has any.
    pub count: Moments,
}

/// The anomalies of one step of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSummary {
    /// Program.
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// I/O step.
    pub step: StepId,
    /// Anomalies of all functions together.
    pub anomalies: AnomalySummary,
}

impl Statistics {
    /// Adds one step of one rank.
    pub fn add(&mut self, report: &StepReport) {
        let rank_key = (report.program, report.rank);
        let mut of_step = AnomalySummary::default();
        for function in &report.functions {
            let num_anomalies = function.anomalies.count();
            let profile = self.functions.entry(function.fid).or_default();
            profile.exclusive.merge(&function.exclusive);
            profile.inclusive.merge(&function.inclusive);
            profile.anomalies.push(num_anomalies.real());
            if num_anomalies > 0 {
                of_step.merge(&function.anomalies);
                let metrics = Metrics::of_step(report.step, &function.anomalies);
                let key = (report.program, report.rank, function.fid);
                merge_entry(&mut self.metrics, key, metrics, Metrics::merge);
            }
        }
        for counter in &report.counters {
            let key = (report.program, counter.name.clone());
            self.counters.entry(key).or_default().merge(&counter.values);
        }
        let rank = self.ranks.entry(rank_key).or_default();
        rank.anomalies.push(of_step.count().real());
        rank.last_step = rank.last_step.max(report.step);
        rank.take_later(&report.tree_p_values);
        self.steps.push(StepSummary {
            program: report.program,
            rank: report.rank,
            step: report.step,
            anomalies: of_step,
        });
    }

    /// Adds all of `other`, in order of its keys.
    pub fn merge(&mut self, other: Self) {
        merge_maps(&mut self.ranks, other.ranks, |rank, more| {
            rank.anomalies.merge(&more.anomalies);
            rank.last_step = rank.last_step.max(more.last_step);
            rank.take_later(&more.tree_p_values);
        });
        merge_maps(&mut self.functions, other.functions, Profile::merge);
        merge_maps(&mut self.metrics, other.metrics, Metrics::merge);
        merge_maps(&mut self.counters, other.counters, Moments::merge);
        self.steps.extend(other.steps);
    }

    /// Returns every rank that is mentioned, unordered, possibly with duplicates.
    pub fn rank_keys(&self) -> impl Iterator<Item = RankKey> {
        let of_metrics = self
            .metrics
            .keys()
            .map(|&(program, rank, _)| (program, rank));
        let of_steps = self.steps.iter().map(|step| (step.program, step.rank));
        self.ranks.keys().copied().chain(of_metrics).chain(of_steps)
    }

    /// Returns true if nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
            && self.functions.is_empty()
            && self.counters.is_empty()
            && self.metrics.is_empty()
            && self.steps.is_empty()
    }
}

impl RankTotals {
    /// For each tree model the later state counts.
    fn take_later(&mut self, tree_p_values: &TreePValues) {
        for (model, recent) in tree_p_values {
            let present = self.tree_p_values.get(model);
            if present.is_none_or(|present| present.num_seen() < recent.num_seen()) {
                self.tree_p_values.insert(model.clone(), recent.clone());
            }
        }
    }
}

impl Profile {
    /// Adds the profile of other steps or ranks.
    pub fn merge(&mut self, other: &Self) {
        self.exclusive.merge(&other.exclusive);
        self.inclusive.merge(&other.inclusive);
        self.anomalies.merge(&other.anomalies);
    }
}

impl Metrics {
    /// Returns the metrics of one step.
    pub fn of_step(step: StepId, anomalies: &AnomalySummary) -> Self {
        let mut count = Moments::default();
        count.push(anomalies.count().real());
        Self {
            first_step: step,
            last_step: step,
            anomalies: anomalies.clone(),
            count,
        }
    }

    /// Adds the anomalies of other steps, or of the same function on another rank.
    pub fn merge(&mut self, other: &Self) {
        if self.count.count() == 0 {
            self.clone_from(other);
        } else if other.count.count() > 0 {
            self.first_step = self.first_step.min(other.first_step);
            self.last_step = self.last_step.max(other.last_step);
            self.anomalies.merge(&other.anomalies);
            self.count.merge(&other.count);
        }
    }
}

/// Returns some counts, padded with zeros to `total` numbers.
pub(crate) fn with_zeros(mut counts: Moments, total: u64) -> Moments {
    let num_zeros = total.saturating_sub(counts.count());
    counts.merge(&Moments::of_equal(0, num_zeros));
    counts
}

/// Drops the oldest of `steps` beyond `limit`; returns their number.
pub(crate) fn bound_steps(steps: &mut Vec<StepSummary>, limit: usize) -> usize {
    let num_dropped = steps.len().saturating_sub(limit);
    steps.drain(..num_dropped);
    num_dropped
}

/// Merges maps by key; values without a counterpart are moved.
pub(crate) fn merge_maps<K: Ord, V>(
    into: &mut BTreeMap<K, V>,
    from: BTreeMap<K, V>,
    mut merge: impl FnMut(&mut V, &V),
) {
    if into.is_empty() {
        *into = from;
        return;
    }
    if from.len() < into.len() / MERGE_RATIO {
        for (key, value) in from {
            merge_entry(into, key, value, &mut merge);
        }
        return;
    }
    let mut present = into.iter_mut().peekable();
    let mut missing = Vec::new();
    for (key, value) in from {
        while present.next_if(|(at, _)| **at < key).is_some() {}
        match present.next_if(|(at, _)| **at == key) {
            Some((_, present)) => merge(present, &value),
            None => missing.push((key, value)),
        }
    }
    into.extend(missing);
}

/// Returns a map with other keys; values whose keys coincide are merged.
pub(crate) fn rekeyed<K: Ord, V>(
    map: BTreeMap<K, V>,
    key_of: impl Fn(K) -> K,
    mut merge: impl FnMut(&mut V, &V),
) -> BTreeMap<K, V> {
    let mut out = BTreeMap::new();
    for (key, value) in map {
        merge_entry(&mut out, key_of(key), value, &mut merge);
    }
    out
}

/// Merges one value into a map.
pub(crate) fn merge_entry<K: Ord, V>(
    into: &mut BTreeMap<K, V>,
    key: K,
    value: V,
    mut merge: impl FnMut(&mut V, &V),
) {
    use std::collections::btree_map::Entry;
    match into.entry(key) {
        Entry::Vacant(place) => {
            place.insert(value);
        }
        Entry::Occupied(mut present) => merge(present.get_mut(), &value),
    }
}
