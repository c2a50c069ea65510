//! The anomalies of a rank under the complete models.

use std::collections::BTreeMap;

use callgrove_detect::Moments;
use callgrove_model::FuncId;

use crate::statistics::Metrics;

/// All anomalies of one rank under the complete models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinalAnomalies {
    /// By function; only functions with anomalies.
    pub metrics: BTreeMap<FuncId, Metrics>,
    /// Number of anomalies per I/O step that has any.
    pub count: Moments,
    /// [`crate::RunProgress::learnt_in`] of the models; 0 unless they judged all executions of the rank.
    pub learnt_in: u64,
}
