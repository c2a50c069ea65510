//! The facts of a rank that its records contain, besides its calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_incidents::MessageNumbers;
use callgrove_model::{ProgramId, Property, RankId, StepBatch};
use callgrove_provdb::MetadataRecord;
use callgrove_records::{GpuThreads, KernelLaunch, Launches, NodeWatch};

use super::calls::RankCalls;
use super::rank_counters::RankCounters;
use crate::rules::Watchlist;

/// The facts of a rank, collected over its steps.
#[derive(Debug, Default)]
pub(super) struct RankFacts {
    pub(super) counters: RankCounters,
    pub(super) gpu: GpuThreads,
    pub(super) launches: Launches<KernelLaunch>,
    pub(super) node: NodeWatch,
    pub(super) message_numbers: MessageNumbers,
    pub(super) hostname: Arc<str>,
    /// Metadata of the current step.
    pub(super) metadata: Vec<MetadataRecord>,
    /// Functions with anomalies for which no normal execution was stored yet.
    pub(super) lacks_normal: BTreeSet<u32>,
}

impl RankFacts {
    /// Processes a step, whose new counters have these names. Samples of the node state are removed.
    pub(super) fn take_in(
        &mut self,
        batch: &mut StepBatch,
        program: ProgramId,
        counters: Vec<Arc<str>>,
        watchlist: &Watchlist,
    ) {
        self.learn_metadata(batch, program);
        self.message_numbers.take_in(batch.step, &batch.comms);
        self.counters.add_names(counters, watchlist);
        self.counters.take_in(&mut batch.counters, &mut self.node);
    }

    fn learn_metadata(&mut self, batch: &StepBatch, program: ProgramId) {
        for entry in &batch.metadata {
            self.gpu.learn(entry);
            let is_preferred = entry.key == Property::Host.key();
            if is_preferred || Property::Host.is_in(entry) && self.hostname.is_empty() {
                self.hostname = entry.value.as_str().into();
            }
            self.metadata.push(MetadataRecord {
                descr: entry.key.clone(),
                pid: program.0,
                rid: entry.rank.0,
                tid: entry.thread.0,
                value: entry.value.clone(),
            });
        }
    }

    /// Remembers the calls of the last step that launched kernels.
    pub(super) fn remember_launches(&mut self, rank: RankId, calls: &mut RankCalls) {
        let Some(correlation) = self.counters.correlation() else {
            return;
        };
        for (lane, first) in calls.unsearched() {
            if self.gpu.location(lane.thread).is_none() {
                for (id, launch) in lane.launches(rank, correlation, first) {
                    self.launches.remember(id, Arc::new(launch));
                }
            }
        }
    }
}
