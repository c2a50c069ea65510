//! Who did it, for the views and for tables: causes of a run, those of a forest's trees, in words, as rows, and as
//! paths across ranks.

mod asked;
mod cascade;
mod rows;
mod trees;
mod words;

use std::ops::Range;
use std::sync::Arc;

use callgrove_model::{
    Cancelled, ExecRef, Forest, FunctionName, LaneIdx, Progress, TimeNs, Trace, TreeIdx,
};
use callgrove_patterns::cause::{Causes, Waits};

pub use asked::WaitsIn;
pub use callgrove_patterns::cause::{
    CauseKind, DelayCause, DelayRole, Hop, Incident, LikeGroup, RootCause, WaitCell,
};
pub use cascade::{Cascade, CascadeStep};
pub use rows::{CauseRow, HopRow, IncidentRow};
pub use trees::{TreeCause, TreeCauses};
pub use words::{CauseEvidence, CausePhrase};
pub(crate) use words::{IncidentFacts, RootFacts};

/// The causes of all delays of a run. Who waited for whom, delay or not, is known only where its calls are: views ask
/// for it ([`WaitsIn`]).
#[derive(Debug)]
pub struct RunCauses {
    trace: Arc<Trace>,
    causes: Causes,
}

impl RunCauses {
    /// Follows every delay of the run to where it began. Cost: linear in events and messages.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        Ok(Self {
            causes: Causes::find(trace, progress)?,
            trace: Arc::clone(trace),
        })
    }

    /// What was found in the trace before.
    pub(crate) fn of_found(trace: Arc<Trace>, causes: Causes) -> Self {
        Self { trace, causes }
    }

    /// What was found, without the trace.
    pub(crate) fn found(&self) -> &Causes {
        &self.causes
    }

    /// Whether the trace says when calls began; a forest file does not, and there are no causes then.
    pub fn is_timed(&self) -> bool {
        self.causes.is_timed()
    }

    /// The incidents, the one that caused most delay first. Whoever names one does so by its place here.
    pub fn incidents(&self) -> &[Incident] {
        self.causes.incidents().all()
    }

    /// An incident, if there is one of that number.
    pub fn incident(&self, number: usize) -> Option<&Incident> {
        self.incidents().get(number)
    }

    /// The incidents that are like one, itself among them; `None` for a number that is none.
    pub fn like(&self, number: usize) -> Option<&LikeGroup> {
        self.causes.incidents().like(self.incident(number)?)
    }

    /// Where delays began, the one that caused most first.
    pub fn roots(&self) -> &[RootCause] {
        self.causes.roots()
    }

    /// Who waited for whom; nothing is known of it where the causes came from elsewhere.
    fn waits(&self) -> &Waits {
        self.causes.waits()
    }

    /// Why an execution was late, of whatever function. The calls must be here, else ask for its time
    /// ([`RunCauses::of_time`]).
    pub fn of(&self, exec: ExecRef) -> DelayCause {
        self.causes.of(&self.trace, exec)
    }

    /// Why what a lane did in a time was late.
    pub fn of_time(&self, lane: LaneIdx, time: Range<TimeNs>) -> DelayCause {
        self.causes.of_time(&self.trace, lane, time)
    }

    /// Why a tree of a forest of the same trace was late.
    pub fn of_tree(&self, forest: &Forest, tree: TreeIdx) -> DelayCause {
        let (calls, lane) = (forest.tree(tree), forest.trees()[tree.index()].root.lane);
        self.of_time(lane, calls.entry()[0]..calls.exit())
    }

    /// The incident that a root, by its place among [`RunCauses::roots`], belongs to.
    pub fn incident_of(&self, root: usize) -> Option<usize> {
        self.causes.incident_of(root)
    }

    /// The trace they were found in.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// The name of an execution's function, as people call it.
    pub(crate) fn short_name(&self, exec: ExecRef) -> &str {
        FunctionName::parse(self.trace.function_name(exec)).short
    }
}
