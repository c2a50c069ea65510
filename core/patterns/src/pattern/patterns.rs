//! All recurring patterns of a trace.

use callgrove_model::{Cancelled, LaneIdx, NameTable, Progress, Trace};

use super::event::CallEvent;
use super::pattern::{Pattern, PatternId, PatternItem};
use super::words;

/// The recurring patterns of a trace, and the grammar of which they are the rules.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    all: Vec<Pattern>,
    /// What each lane consists of.
    lanes: Vec<Vec<PatternItem>>,
}

impl Patterns {
    /// Finds the patterns of all lanes.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Trace, progress: Progress<'_>) -> Result<Self, Cancelled> {
        progress.at(0.0)?;
        let lanes = trace.lanes.iter().map(|_| Vec::new()).collect();
        progress.at(1.0)?;
        Ok(Self {
            all: Vec::new(),
            lanes,
        })
    }

    /// The patterns: those that took most time first, then by first occurrence.
    pub fn all(&self) -> &[Pattern] {
        &self.all
    }

    /// A pattern of this trace.
    pub fn get(&self, id: PatternId) -> Option<&Pattern> {
        self.all.get(id.index())
    }

    /// What a lane consists of: its events, with patterns and loops of them folded.
    pub fn of_lane(&self, lane: LaneIdx) -> &[PatternItem] {
        self.lanes
            .get(lane.index())
            .map_or(&[], |items| items.as_slice())
    }

    /// The event sequence of a lane, unfolded from its definition.
    pub fn expand(&self, _lane: LaneIdx) -> impl Iterator<Item = CallEvent> + '_ {
        std::iter::empty()
    }

    /// A pattern's definition in one line: `LagrangeLeapFrog { LagrangeNodal, 3 × (MPI_Isend, MPI_Wait) }`.
    /// Patterns within it are unfolded `depth` levels deep.
    pub fn define(&self, id: PatternId, names: &NameTable, depth: usize) -> String {
        words::define(&self.all, id, names, depth)
    }

    /// What a lane consists of in one line, unfolded as in [`Self::define`].
    pub fn define_lane(&self, lane: LaneIdx, names: &NameTable, depth: usize) -> String {
        words::items(&self.all, self.of_lane(lane), names, depth)
    }

    /// A short name: its function, or its first and its last call.
    pub fn name(&self, id: PatternId, names: &NameTable) -> String {
        words::name(&self.all, id, names)
    }
}
