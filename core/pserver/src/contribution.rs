//! What an AD instance adds to the server: models, statistics, and what stood. The server's own state is the sum of
//! all contributions, so whatever was lost can be sent again, merged or in parts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, StepId};

use crate::incident::BriefKey;
use crate::statistics::{Metrics, Profile, RankKey, Statistics, merge_entry, merge_maps, rekeyed};
use crate::{PserverError, StepBrief, StepReport};

/// Models and statistics that merge in any order: histograms and counts exactly, moments to rounding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contribution {
    /// By function.
    pub models: BTreeMap<FuncId, FuncModel>,
    /// Profile, anomalies and counters.
    pub statistics: Statistics,
    /// What stood in each step, for incidents; whoever holds it bounds it.
    pub briefs: BTreeMap<BriefKey, StepBrief>,
    /// The last step of each rank whose executions the models hold, here and in what came before.
    pub learnt: BTreeMap<RankKey, StepId>,
}

impl Contribution {
    /// Of new models and the reports of some steps.
    pub fn new(models: Vec<(FuncId, FuncModel)>, reports: &[StepReport]) -> Self {
        let mut contribution = Self::default();
        for (fid, model) in models {
            merge_entry(&mut contribution.models, fid, model, merge_model);
        }
        for report in reports {
            contribution.statistics.add(report);
            if !report.brief.is_empty() {
                let key = (report.program, report.step, report.rank);
                contribution.briefs.insert(key, report.brief.clone());
            }
        }
        contribution
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Self) {
        merge_maps(&mut self.models, other.models, merge_model);
        self.statistics.merge(other.statistics);
        // What is told twice is the same.
        self.briefs.extend(other.briefs);
        merge_learnt(&mut self.learnt, other.learnt);
    }

    /// Nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
            && self.statistics.is_empty()
            && self.briefs.is_empty()
            && self.learnt.is_empty()
    }

    /// The same under other function indices; entries that meet are merged.
    #[must_use]
    pub fn renumbered(self, renumber: impl Fn(FuncId) -> FuncId) -> Self {
        let Statistics {
            functions, metrics, ..
        } = self.statistics;
        let of_rank = |(program, rank, fid)| (program, rank, renumber(fid));
        let mut briefs = self.briefs;
        for stood in briefs.values_mut().flat_map(|it| &mut it.stood) {
            stood.fid = renumber(stood.fid);
        }
        Self {
            models: rekeyed(self.models, &renumber, merge_model),
            statistics: Statistics {
                functions: rekeyed(functions, &renumber, Profile::merge),
                metrics: rekeyed(metrics, of_rank, Metrics::merge),
                ..self.statistics
            },
            briefs,
            learnt: self.learnt,
        }
    }

    /// Every rank that something is told of, in no order, some more than once.
    pub(crate) fn rank_keys(&self) -> impl Iterator<Item = RankKey> {
        let of_briefs = self
            .briefs
            .keys()
            .map(|&(program, _, rank)| (program, rank));
        let of_models = self.learnt.keys().copied();
        self.statistics
            .rank_keys()
            .chain(of_briefs)
            .chain(of_models)
    }

    /// Every function index in it, in no order, some more than once.
    pub fn fids(&self) -> impl Iterator<Item = FuncId> {
        let of_metrics = self.statistics.metrics.keys().map(|&(_, _, fid)| fid);
        let of_briefs = self.briefs.values().flat_map(|brief| &brief.stood);
        let of_briefs = of_briefs.map(|stood| stood.fid);
        let of_functions = self.statistics.functions.keys().copied();
        self.models
            .keys()
            .copied()
            .chain(of_functions)
            .chain(of_metrics)
            .chain(of_briefs)
    }

    /// In parts of at most about `max_bytes` each on the wire, at least one; together they are the whole.
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

    /// At most so many bytes on the wire.
    fn wire_bytes(&self) -> usize {
        let models: usize = self.models.values().map(model_wire_bytes).sum();
        let counters = self.statistics.counters.keys();
        let counters: usize = counters.map(|(_, name)| name.len() + MOMENTS_BYTES).sum();
        models
            + counters
            + self.statistics.functions.len() * 4 * MOMENTS_BYTES
            + self.statistics.metrics.len() * 5 * MOMENTS_BYTES
            + (self.statistics.ranks.len() + self.learnt.len()) * 2 * MOMENTS_BYTES
            + self.statistics.steps.len() * 3 * MOMENTS_BYTES
            + self.briefs.values().map(StepBrief::weight).sum::<usize>() * MOMENTS_BYTES
    }

    /// Moves the latter half of each list out; `None` if no list can be split.
    fn split_off_half(&mut self) -> Option<Self> {
        let before = self.num_entries();
        let rest = Self {
            models: split_map(&mut self.models),
            briefs: split_map(&mut self.briefs),
            // With the last part, so that none of them is told before its models.
            learnt: std::mem::take(&mut self.learnt),
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
            + self.briefs.len()
    }
}

/// The later step of each rank counts.
pub(crate) fn merge_learnt(into: &mut BTreeMap<RankKey, StepId>, from: BTreeMap<RankKey, StepId>) {
    merge_maps(into, from, |last, step| *last = *step.max(last));
}

/// Adds to a model. All models that meet have a histogram or none has: [`ModelKind`] saw to it where they came in.
pub(crate) fn merge_model(into: &mut FuncModel, from: &FuncModel) {
    into.merge(from)
        .expect("ModelKind has refused models of the other kind");
}

/// Whether models carry histograms. The first model decides for a server, and for a session.
#[derive(Debug, Default)]
pub(crate) struct ModelKind(OnceLock<bool>);

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
            let has_histogram = model.histogram().is_some();
            if *self.0.get_or_init(|| has_histogram) != has_histogram {
                return Err(PserverError::MixedModels);
            }
        }
        Ok(())
    }
}

/// Seven numbers of eight bytes with their tags, and the tag and length around them.
const MOMENTS_BYTES: usize = 72;

/// At most so many bytes on the wire.
pub(crate) fn model_wire_bytes(model: &FuncModel) -> usize {
    let num_bins = model
        .histogram()
        .map_or(0, |histogram| histogram.bins().len());
    // Distance and count of a bin are variable-length integers; few of either need more than seven bytes.
    2 * MOMENTS_BYTES + 15 * num_bins
}

fn split_map<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>) -> BTreeMap<K, V> {
    let half = map.len().div_ceil(2);
    match map.keys().nth(half).cloned() {
        Some(key) => map.split_off(&key),
        None => BTreeMap::new(),
    }
}
