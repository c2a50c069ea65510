//! The counters of a rank: their names, and their values in the present step.

use std::sync::Arc;

use callgrove_detect::Moments;
use callgrove_model::{CounterEvents, CounterId};
use callgrove_pserver::CounterReport;

use crate::Watchlist;
use crate::gpu::CORRELATION_ID;
use crate::node_state::NodeWatch;

/// The counters of a rank.
#[derive(Debug, Default)]
pub(crate) struct RankCounters {
    counters: Vec<CounterInfo>,
    names: Vec<Arc<str>>,
    correlation: Option<CounterId>,
    reports: Vec<CounterReport>,
}

#[derive(Debug)]
struct CounterInfo {
    /// The field of the node's state that it fills, if it is watched.
    field: Option<Arc<str>>,
    /// Values in the present step.
    values: Vec<u64>,
}

impl RankCounters {
    /// Takes note of counters: the next of the rank's own ids.
    pub(crate) fn name(&mut self, names: Vec<Arc<str>>, watchlist: &Watchlist) {
        for name in names {
            if *name == *CORRELATION_ID {
                self.correlation = Some(CounterId::from_index(self.counters.len()));
            }
            let field = watchlist.field(&name).map(Arc::from);
            self.counters.push(CounterInfo {
                field,
                values: Vec::new(),
            });
            self.names.push(name);
        }
    }

    /// By id.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The one that tells which launch a kernel belongs to.
    pub(crate) fn correlation(&self) -> Option<CounterId> {
        self.correlation
    }

    /// The values of the step taken in last, once.
    pub(crate) fn take_reports(&mut self) -> Vec<CounterReport> {
        std::mem::take(&mut self.reports)
    }

    /// Counts the values of a step; those that tell the state of the node belong to no call.
    pub(crate) fn take_in(&mut self, samples: &mut CounterEvents, node: &mut NodeWatch) {
        for row in 0..samples.len() {
            let counter = &mut self.counters[samples.counter[row].index()];
            counter.values.push(samples.value[row]);
            if let Some(field) = &counter.field {
                node.set(field, samples.value[row], samples.time[row]);
            }
        }
        self.reports.clear();
        for (counter, name) in self.counters.iter_mut().zip(&self.names) {
            if !counter.values.is_empty() {
                let mut values = Moments::default();
                values.extend_from(&counter.values);
                counter.values.clear();
                self.reports.push(CounterReport {
                    name: name.to_string(),
                    values,
                });
            }
        }
        if self.counters.iter().any(|counter| counter.field.is_some()) {
            let all = std::mem::take(samples);
            for row in 0..all.len() {
                if self.counters[all.counter[row].index()].field.is_none() {
                    samples.push(
                        all.thread[row],
                        all.counter[row],
                        all.value[row],
                        all.time[row],
                    );
                }
            }
        }
    }
}
