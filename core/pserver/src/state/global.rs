//! The global state: the sum of all partial states so far, and what is new since the last packet.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, ProgramId, RankId, StepId};

use crate::Contribution;
use crate::contribution::{merge_learnt, merge_model};
use crate::incident::IncidentBook;
use crate::statistics::{Metrics, RankKey, Statistics, StepSummary, bound_steps, merge_maps};

/// Most steps that wait for a packet, should nobody take packets: half an hour of 64 ranks with two steps a second
/// would be 230,400, but whoever waits so long sees the totals anyway.
const MAX_PENDING_STEPS: usize = 1 << 16;

/// A model, and the version of the global model in which it last changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VersionedModel {
    pub(crate) version: u64,
    pub(crate) model: Arc<FuncModel>,
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
    /// The last step of each rank that the models hold.
    pub(crate) learnt: BTreeMap<RankKey, StepId>,
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
}

impl GlobalState {
    /// Adds a partial state, as of `version`.
    pub(crate) fn add(&mut self, partial: Contribution, version: u64) {
        if partial.is_empty() {
            return;
        }
        for (fid, delta) in partial.models {
            self.add_model(fid, delta, version);
        }
        self.incidents.take_in(partial.briefs);
        merge_learnt(&mut self.learnt, partial.learnt);
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
    }

    fn add_model(&mut self, fid: FuncId, delta: FuncModel, version: u64) {
        use std::collections::btree_map::Entry;
        match self.models.entry(fid) {
            Entry::Vacant(place) => {
                let model = Arc::new(delta);
                place.insert(VersionedModel { version, model });
            }
            Entry::Occupied(mut present) => {
                let present = present.get_mut();
                merge_model(Arc::make_mut(&mut present.model), &delta);
                present.version = version;
            }
        }
    }
}
