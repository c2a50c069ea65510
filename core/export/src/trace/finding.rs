//! The findings of a run, as slices that a viewer can show.

use callgrove_model::{LaneIdx, TimeNs};

/// The value of an argument of a finding.
#[derive(Clone, PartialEq, Debug)]
pub enum FindingValue {
    /// A text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

/// A slice with arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceFinding {
    /// Start.
    pub start: TimeNs,
    /// End; at least the start.
    pub end: TimeNs,
    /// Title of the slice.
    pub title: String,
    /// Names and values of the arguments, in order. A name that is a time ends in its unit.
    pub values: Vec<(&'static str, FindingValue)>,
}

/// An incident: a rank that delayed others.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundIncident {
    /// The incident, from the first to the last delay.
    pub summary: TraceFinding,
    /// The delay that began it, on the lane where it was; `None` if no rank caused it.
    pub root: Option<(LaneIdx, TraceFinding)>,
    /// The delays that followed from it.
    pub victims: Vec<(LaneIdx, TraceFinding)>,
}

/// All findings of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TraceFindings {
    /// Incidents, in any order.
    pub incidents: Vec<FoundIncident>,
    /// Abnormal executions on their lanes, in any order.
    pub executions: Vec<(LaneIdx, TraceFinding)>,
}
