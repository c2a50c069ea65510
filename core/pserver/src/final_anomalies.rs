//! The anomalies of a rank by the complete models.

use std::collections::BTreeMap;

use callgrove_detect::Moments;
use callgrove_model::FuncId;

use crate::Metrics;

/// All anomalies of one rank, by the complete models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinalAnomalies {
    /// By function, for those with anomalies.
    pub metrics: BTreeMap<FuncId, Metrics>,
    /// Number per I/O step that has any.
    pub count: Moments,
    /// What [`crate::RunProgress::learnt_in`] was of the models; 0 unless these judged all executions of the rank.
    pub learnt_in: u64,
}
