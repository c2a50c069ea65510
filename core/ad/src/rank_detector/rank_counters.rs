//! The counters of a rank: their names, and their values in the current step.

use std::sync::Arc;

use callgrove_detect::Moments;
use callgrove_model::{CounterEvents, CounterId};
use callgrove_pserver::CounterReport;
use callgrove_records::{CORRELATION_ID, NodeWatch};

use crate::rules::Watchlist;

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
    /// The field of the node state that the counter updates, if it is watched.
    field: Option<Arc<str>>,
    /// Values in the current step.
    values: Vec<u64>,
}

impl RankCounters {
    /// Adds counters, which get the rank's next ids.
    pub(crate) fn add_names(&mut self, names: Vec<Arc<str>>, watchlist: &Watchlist) {
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

    /// Returns the names by id.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Returns the counter that pairs a kernel with its launch.
    pub(crate) fn correlation(&self) -> Option<CounterId> {
        self.correlation
    }

    /// Takes the values of the last step.
    pub(crate) fn take_reports(&mut self) -> Vec<CounterReport> {
        std::mem::take(&mut self.reports)
    }

    /// Processes the values of a step. Samples of the node state are removed, because they belong to no call.
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
