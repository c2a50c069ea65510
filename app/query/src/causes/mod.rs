//! Causes of delays for the views and for tables: those of a run, those of a forest's trees, as text, as rows, and as
//! paths across ranks.

mod cascade;
mod open_calls;
mod rows;
mod run_time;
mod text;
mod trees;

use std::ops::Range;
use std::sync::Arc;

use callgrove_causes::{Causes, Waits};
use callgrove_model::{
    Cancelled, DurationNs, ExecRef, Forest, FunctionName, LaneIdx, Progress, TimeNs, Trace, TreeIdx,
};

pub use callgrove_causes::{
    CauseKind, DelayCause, DelayRole, Hop, Incident, RootCause, SimilarIncidents, WaitCell,
};
pub use cascade::{Cascade, CascadeStep};
pub use open_calls::{OpenCallRow, open_call_rows, open_calls_sentence};
pub use rows::{CauseRow, HopRow, IncidentRow};
pub use text::{CauseEvidence, CausePhrase};
pub use text::{IncidentFacts, RootFacts};
pub use trees::{TreeCause, TreeCauses};

/// The causes of all delays of a run. The waits themselves, with or without a delay, are known only in the process that
/// has the calls; views query them ([`crate::WaitsIn`]).
#[derive(Debug)]
pub struct RunCauses {
    trace: Arc<Trace>,
    causes: Causes,
}

impl RunCauses {
    /// Follows every delay of the run to its root. Cost: linear in events and messages.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        Ok(Self {
            causes: Causes::find(trace, progress)?,
            trace: Arc::clone(trace),
        })
    }

    /// Finds the delays only ([`Causes::find_delays`]).
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find_delays(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        Ok(Self {
            causes: Causes::find_delays(trace, progress)?,
            trace: Arc::clone(trace),
        })
    }

    /// Combines a trace with causes that were found in it before.
    pub fn of_found(trace: Arc<Trace>, causes: Causes) -> Self {
        Self { trace, causes }
    }

    /// Returns the causes without the trace.
    pub fn found(&self) -> &Causes {
        &self.causes
    }

    /// Returns whether the trace has entry times. A forest file has none, and so no causes.
    pub fn is_timed(&self) -> bool {
        self.causes.is_timed()
    }

    /// Returns the incidents, by descending delay. An incident is identified by its index in this list.
    pub fn incidents(&self) -> &[Incident] {
        self.causes.incidents().all()
    }

    /// Returns the incident with an index, if there is one.
    pub fn incident(&self, number: usize) -> Option<&Incident> {
        self.incidents().get(number)
    }

    /// Returns the group of incidents similar to one, including itself; `None` for an invalid index.
    pub fn similar(&self, number: usize) -> Option<&SimilarIncidents> {
        self.causes.incidents().similar_to(self.incident(number)?)
    }

    /// Returns the roots of delays, by descending delay.
    pub fn roots(&self) -> &[RootCause] {
        self.causes.roots()
    }

    /// Returns the waits; empty if the causes were computed in another process.
    pub(crate) fn waits(&self) -> &Waits {
        self.causes.waits()
    }

    /// Returns why an execution of any function was late. The calls must be local; otherwise use its time
    /// ([`RunCauses::of_time`]).
    pub fn of(&self, exec: ExecRef) -> DelayCause {
        self.causes.of(&self.trace, exec)
    }

    /// Returns why a lane was late in a time range.
    pub fn of_time(&self, lane: LaneIdx, time: Range<TimeNs>) -> DelayCause {
        self.causes.of_time(&self.trace, lane, time)
    }

    /// Returns why a tree of a forest of the same trace was late.
    pub fn of_tree(&self, forest: &Forest, tree: TreeIdx) -> DelayCause {
        let (calls, lane) = (forest.tree(tree), forest.trees()[tree.index()].root.lane);
        self.of_time(lane, calls.entry()[0]..calls.exit())
    }

    /// Returns how much longer a tree of a forest of the same trace took because of some roots ([`Causes::delay_by`]).
    pub fn delay_by(
        &self,
        forest: &Forest,
        tree: TreeIdx,
        is_wanted: impl Fn(usize) -> bool,
    ) -> DurationNs {
        let (calls, lane) = (forest.tree(tree), forest.trees()[tree.index()].root.lane);
        let time = calls.entry()[0]..calls.exit();
        self.causes.delay_by(lane, time, is_wanted)
    }

    /// Returns the incident that a root belongs to. `root` is an index into [`RunCauses::roots`].
    pub fn incident_of(&self, root: usize) -> Option<usize> {
        self.causes.incident_of(root)
    }

    /// Returns the trace of the causes.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the short name of an execution's function.
    pub(crate) fn short_name(&self, exec: ExecRef) -> &str {
        FunctionName::parse(self.trace.function_name(exec)).short
    }
}
