//! The deviation of one tree from like executions.

/// The excess of a tree over like executions.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Deviation {
    /// Mean of the standardised excess of the complete tree and the largest one of a part.
    ///
    /// The largest part detects a local delay that another part absorbs; the complete tree is not affected by time
    /// that only moved from one part to another.
    pub statistic: f64,
    /// Excess of the complete tree in usual durations.
    pub total_share: f64,
    /// Excess of that part in usual durations.
    pub part_share: f64,
    /// Number of executions after which those of its lane are longer again, if it is one of these; the excess is then
    /// that over the others of them.
    pub turn: Option<u32>,
}

impl Deviation {
    /// Returns the larger excess of the complete tree and its part, in usual durations.
    pub(super) fn share(&self) -> f64 {
        self.total_share.max(self.part_share)
    }
}
