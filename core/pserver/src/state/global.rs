//! The global state: the sum of all partial states so far, and what is new since the last packet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_detect::{FuncModel, Moments};
use callgrove_model::{FuncId, ProgramId, RankId, StepId};

use crate::contribution::{merge_learnt, merge_model};
use crate::functions::FunctionTable;
use crate::incident::IncidentBook;
use crate::statistics::{
    Metrics, RankKey, Statistics, StepSummary, bound_steps, merge_maps, with_zeros,
};
use crate::trend::TrendBook;
use crate::{CodedModel, Contribution, FinalAnomalies};

/// Most steps that wait for a packet, should nobody take packets: half an hour of 64 ranks with two steps a second
/// would be 230,400, but whoever waits so long sees the totals anyway.
const MAX_PENDING_STEPS: usize = 1 << 16;

/// A model, and the version of the global model in which it last changed.
#[derive(Clone, Debug)]
pub(crate) struct VersionedModel {
    pub(crate) version: u64,
    pub(crate) model: Arc<FuncModel>,
    /// Of this version, shared with all answers that have it.
    pub(crate) coded: CodedModel,
}

impl VersionedModel {
    pub(crate) fn new(version: u64, model: FuncModel) -> Self {
        Self {
            version,
            model: Arc::new(model),
            coded: CodedModel::default(),
        }
    }
}

/// Metrics of anomalies by rank and function.
pub(crate) type MetricsMap = BTreeMap<(ProgramId, RankId, FuncId), Metrics>;

/// The sum of all partial states.
#[derive(Debug, Default)]
pub(crate) struct GlobalState {
    /// How many times the partial states were folded in.
    pub(crate) version: u64,
    pub(crate) models: BTreeMap<FuncId, VersionedModel>,
    /// Over the run; without steps.
    pub(crate) total: Statistics,
    /// The last request of each instance that is in here.
    pub(crate) sequences: BTreeMap<String, u64>,
    /// The `_id` of each rank and function with anomalies, in order of appearance.
    pub(crate) metric_ids: BTreeMap<(ProgramId, RankId, FuncId), u64>,
    /// What is new since the last packet.
    pub(crate) delta: PacketDelta,
    pub(crate) incidents: IncidentBook,
    pub(crate) trends: TrendBook,
    /// The last step of each rank that the models hold.
    pub(crate) learnt: BTreeMap<RankKey, StepId>,
    /// The version in which the models of a program learnt last.
    pub(crate) learnt_in: BTreeMap<ProgramId, u64>,
    /// The ranks of which the models hold all that there is.
    pub(crate) ended: BTreeSet<RankKey>,
    /// The ranks that were judged by complete models, and what `learnt_in` was of these; 0 where not all executions were.
    pub(crate) judged_in: BTreeMap<RankKey, u64>,
    /// The version in which anything came last.
    pub(crate) changed_in: u64,
}

/// What came since the last packet.
#[derive(Debug, Default)]
pub(crate) struct PacketDelta {
    /// Anything at all.
    pub(crate) any: bool,
    pub(crate) metrics: MetricsMap,
    pub(crate) steps: Vec<StepSummary>,
    /// Ranks whose totals are others now, also without a step.
    pub(crate) ranks: BTreeSet<RankKey>,
}

impl GlobalState {
    /// Adds a partial state, as of `version`.
    pub(crate) fn add(&mut self, partial: Contribution, version: u64, functions: &FunctionTable) {
        if partial.is_empty() {
            return;
        }
        for (fid, delta) in partial.models {
            self.add_model(fid, delta, version);
        }
        let mut briefs = partial.briefs;
        for (&key, brief) in &mut briefs {
            let own_times = std::mem::take(&mut brief.own_times);
            self.trends.take_in(key, &brief.host, own_times);
        }
        self.incidents.take_in(briefs, functions);
        for (rank, step) in &partial.learnt {
            if self.learnt.get(rank) < Some(step) {
                self.learnt_in.insert(rank.0, version);
                self.ended.remove(rank);
            }
        }
        merge_learnt(&mut self.learnt, partial.learnt);
        self.ended.extend(partial.ended);
        self.changed_in = version;
        let mut statistics = partial.statistics;
        self.delta.any |= !statistics.is_empty();
        self.delta.steps.append(&mut statistics.steps);
        bound_steps(&mut self.delta.steps, MAX_PENDING_STEPS);
        for key in statistics.metrics.keys() {
            let next_id = self.metric_ids.len() as u64;
            self.metric_ids.entry(*key).or_insert(next_id);
        }
        merge_maps(
            &mut self.delta.metrics,
            statistics.metrics.clone(),
            Metrics::merge,
        );
        self.total.merge(statistics);
        self.conclude(partial.final_anomalies);
    }

    /// Whether a rank was judged by models that have learnt nothing since.
    pub(crate) fn is_final(&self, rank: RankKey) -> bool {
        let judged_in = self.judged_in.get(&rank);
        judged_in.is_some_and(|it| Some(it) == self.learnt_in.get(&rank.0))
    }

    /// Takes the anomalies of ranks in place of those that were told of them before.
    fn conclude(&mut self, final_anomalies: BTreeMap<RankKey, FinalAnomalies>) {
        if final_anomalies.is_empty() {
            return;
        }
        for (key, of_rank) in final_anomalies {
            let (program, rank) = key;
            let places = (program, rank, FuncId(0))..=(program, rank, FuncId(u32::MAX));
            let before = self.total.metrics.extract_if(places, |_, _| true);
            let mut before: MetricsMap = before.collect();
            for (fid, mut metrics) in of_rank.metrics {
                metrics.anomalies.score = as_on_the_wire(&metrics.anomalies.score);
                let place = (program, rank, fid);
                let next_id = self.metric_ids.len() as u64;
                self.metric_ids.entry(place).or_insert(next_id);
                if before.remove(&place).as_ref() != Some(&metrics) {
                    self.delta.metrics.entry(place).or_default();
                }
                self.total.metrics.insert(place, metrics);
            }
            // What is no anomaly any more is told once, as none.
            for place in before.into_keys() {
                self.delta.metrics.entry(place).or_default();
            }
            let totals = self.total.ranks.entry(key).or_default();
            totals.anomalies = with_zeros(of_rank.count, totals.anomalies.count());
            self.delta.ranks.insert(key);
            self.judged_in.insert(key, of_rank.learnt_in);
        }
        self.delta.any = true;
        let mut counts: BTreeMap<FuncId, Moments> = BTreeMap::new();
        for (&(_, _, fid), metrics) in &self.total.metrics {
            counts.entry(fid).or_default().merge(&metrics.count);
        }
        for (fid, profile) in &mut self.total.functions {
            let count = counts.remove(fid).unwrap_or_default();
            profile.anomalies = with_zeros(count, profile.anomalies.count());
        }
    }

    fn add_model(&mut self, fid: FuncId, delta: FuncModel, version: u64) {
        use std::collections::btree_map::Entry;
        match self.models.entry(fid) {
            Entry::Vacant(place) => {
                place.insert(VersionedModel::new(version, delta));
            }
            Entry::Occupied(mut present) => {
                let present = present.get_mut();
                merge_model(Arc::make_mut(&mut present.model), &delta);
                present.version = version;
                present.coded = CodedModel::default();
            }
        }
    }
}

/// Moments as they are after a way over the wire, or from a file: the same, whichever way they came.
fn as_on_the_wire(moments: &Moments) -> Moments {
    match moments.exact_sums() {
        Some(_) => *moments,
        None => Moments::from_parts(moments.parts()).unwrap_or(*moments),
    }
}
