//! The steps that a rank need not report, learn or record again.

use callgrove_model::StepId;

/// The steps of a rank that earlier instances sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownSteps {
    /// The last step that the parameter server already knows.
    pub(crate) reported_until: Option<StepId>,
    /// The last step that the models already include.
    pub(crate) learnt_until: Option<StepId>,
    /// The last step of which an earlier instance stored records.
    pub(crate) recorded_until: Option<StepId>,
    /// True if steps that were already reported are recorded again, because other models judged them.
    pub(super) rerecords: bool,
}

impl KnownSteps {
    /// Returns whether a step was already reported, and so was recorded.
    pub(super) fn has_reported(&self, step: StepId) -> bool {
        self.reported_until.is_some_and(|last| step <= last)
    }

    /// Returns whether the models already include a step.
    pub(super) fn has_learnt(&self, step: StepId) -> bool {
        self.reported_until.max(self.learnt_until) >= Some(step)
    }

    /// Returns whether the verdicts on a step count: it was not reported, or is recorded again.
    pub(super) fn counts(&self, step: StepId) -> bool {
        self.rerecords || !self.has_reported(step)
    }
}
