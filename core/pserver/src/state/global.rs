//! The global state: the sum of all partial states so far, and what is new since the last packet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_detect::{FuncModel, Moments};
use callgrove_incidents::IncidentBook;
use callgrove_model::{FuncId, ProgramId, RankId, StepId};

use super::log_progress::LogProgress;
use crate::contribution::{Contribution, merge_learnt, merge_model};
use crate::final_anomalies::FinalAnomalies;
use crate::functions::FunctionTable;
use crate::protocol::CodedModel;
use crate::statistics::{
    Metrics, RankKey, Statistics, StepSummary, bound_steps, merge_maps, with_zeros,
};
use crate::trend::TrendBook;

/// Maximum number of steps that wait for a packet, in case packets are not taken: this number, or some of each rank.
/// For comparison, half an hour of 64 ranks with two steps a second would be 230,400; beyond the limit only the totals
/// are complete.
const MAX_PENDING_STEPS: usize = 1 << 16;
/// See [`MAX_PENDING_STEPS`].
const MAX_PENDING_STEPS_OF_RANK: usize = 4;

/// A model, and the version of the global model in which it last changed.
#[derive(Clone, Debug)]
pub(crate) struct VersionedModel {
    pub(crate) version: u64,
    pub(crate) model: Arc<FuncModel>,
    /// The encoded model of this version, shared by all replies.
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

/// Metrics of anomalies by program, rank and function.
pub(crate) type MetricsMap = BTreeMap<(ProgramId, RankId, FuncId), Metrics>;

/// The sum of all partial states.
#[derive(Debug, Default)]
pub(crate) struct GlobalState {
    /// How many times partial states were folded in.
    pub(crate) version: u64,
    pub(crate) models: BTreeMap<FuncId, VersionedModel>,
    /// Over the run; without individual steps.
    pub(crate) total: Statistics,
    /// The last request of each instance that is included.
    pub(crate) sequences: BTreeMap<String, u64>,
    /// The `_id` of each rank and function with anomalies, in order of appearance.
    pub(crate) metric_ids: BTreeMap<(ProgramId, RankId, FuncId), u64>,
    /// The changes since the last packet.
    pub(crate) delta: PacketDelta,
    pub(crate) incidents: IncidentBook,
    pub(crate) trends: TrendBook,
    /// The last step of each rank that is in the models.
    pub(crate) learnt: BTreeMap<RankKey, StepId>,
    /// The version in which the models of a program last learnt.
    pub(crate) learnt_in: BTreeMap<ProgramId, u64>,
    /// The ranks whose data are completely in the models.
    pub(crate) ended: BTreeSet<RankKey>,
    /// The ranks that were judged by complete models, with `learnt_in` of those models; 0 unless they judged all
    /// executions.
    pub(crate) judged_in: BTreeMap<RankKey, u64>,
    /// The version of the last change.
    pub(crate) changed_in: u64,
    /// What was read of a log on a message bus.
    pub(crate) log: LogProgress,
}

/// The changes since the last packet.
#[derive(Debug, Default)]
pub(crate) struct PacketDelta {
    /// True if there is anything new.
    pub(crate) any: bool,
    pub(crate) metrics: MetricsMap,
    pub(crate) steps: Vec<StepSummary>,
    /// Ranks whose totals changed, with or without a step.
    pub(crate) ranks: BTreeSet<RankKey>,
}

impl PacketDelta {
    /// Returns everything that totals contain, except for their steps: for packets that begin with a saved state.
    pub(crate) fn all_of(total: &Statistics) -> Self {
        let metrics = total.metrics.keys();
        Self {
            any: !total.is_empty(),
            metrics: metrics.map(|&key| (key, Metrics::default())).collect(),
            steps: Vec::new(),
            ranks: total.ranks.keys().copied().collect(),
        }
    }
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
        let mut stall_summaries = partial.stall_summaries;
        for (&key, summary) in &mut stall_summaries {
            let own_times = std::mem::take(&mut summary.own_times);
            self.trends.take_in(key, &summary.host, own_times);
        }
        self.incidents.take_in(stall_summaries, functions);
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
        let of_ranks = MAX_PENDING_STEPS_OF_RANK * self.total.ranks.len();
        bound_steps(&mut self.delta.steps, MAX_PENDING_STEPS.max(of_ranks));
        self.conclude(partial.final_anomalies);
    }

    /// Returns whether a rank was judged by models that have learnt nothing since.
    pub(crate) fn is_final(&self, rank: RankKey) -> bool {
        let judged_in = self.judged_in.get(&rank);
        judged_in.is_some_and(|it| Some(it) == self.learnt_in.get(&rank.0))
    }

    /// Returns the last step of each program after which each of the ranks, unless it has ended, has reported two more.
    pub(crate) fn settled<'a>(
        &self,
        ranks: impl Iterator<Item = &'a RankKey>,
    ) -> BTreeMap<ProgramId, StepId> {
        let mut num_settled: BTreeMap<ProgramId, u32> = BTreeMap::new();
        for rank in ranks.filter(|it| !self.ended.contains(it)) {
            let totals = self.total.ranks.get(rank);
            let num = totals.map_or(0, |it| it.last_step.0.saturating_sub(1));
            let of_program = num_settled.entry(rank.0).or_insert(num);
            *of_program = num.min(*of_program);
        }
        let settled = num_settled.into_iter();
        settled
            .filter_map(|(program, num)| Some((program, StepId(num.checked_sub(1)?))))
            .collect()
    }

    /// Replaces the reported anomalies of ranks by the final ones.
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
            // A function that is no longer anomalous is reported once more, without anomalies.
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

/// Returns moments as they are after transfer or saving, so that both paths give the same values.
fn as_on_the_wire(moments: &Moments) -> Moments {
    match moments.exact_sums() {
        Some(_) => *moments,
        None => Moments::from_parts(moments.parts()).unwrap_or(*moments),
    }
}
