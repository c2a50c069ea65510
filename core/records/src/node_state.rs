//! The state of the node as reported by TAU's monitoring plugin: the last value of each watched counter.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::TimeNs;
use callgrove_provdb::{NodeState, NodeStateField};

/// The last values, by field.
#[derive(Debug, Default)]
pub struct NodeWatch {
    values: BTreeMap<Arc<str>, u64>,
    newest: Option<TimeNs>,
}

impl NodeWatch {
    /// Sets a value.
    pub fn set(&mut self, field: &Arc<str>, value: u64, time: TimeNs) {
        self.values.insert(Arc::clone(field), value);
        self.newest = self.newest.max(Some(time));
    }

    /// Returns the record, or `None` if nothing was ever reported.
    pub fn record(&self) -> Option<NodeState> {
        let fields = self.values.iter().map(|(field, &value)| NodeStateField {
            field: Arc::clone(field),
            value: value.into(),
        });
        Some(NodeState {
            timestamp_us: epoch_us(self.newest?),
            data: fields.collect(),
        })
    }
}

/// Returns µs since the Unix epoch, the unit of times in records; 0 for earlier times.
pub fn epoch_us(time: TimeNs) -> u64 {
    u64::try_from(time.as_us()).unwrap_or(0)
}
