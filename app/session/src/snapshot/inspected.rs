//! The call, incident and so on that the user of one window inspects.

use callgrove_model::ExecRef;
use callgrove_query::{PatternId, PatternReference, TimeRange};

use crate::command::InspectCommand;

/// The call, incident and so on that the user of one window inspects, apart from the selected trees. They belong to the
/// [`crate::Session`] of that window: other viewers of a session do not see them, and the engine does not know them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Inspected {
    /// The call of the trace whose details are shown.
    pub call: Option<ExecRef>,
    /// The selected incident, an index into [`crate::RunCauses::incidents`].
    pub incident: Option<usize>,
    /// The selected trend, an index into [`crate::RunTrends::all`].
    pub trend: Option<usize>,
    /// The selected pattern.
    pub pattern: Option<PatternId>,
    /// The reference of patterns: which value is usual, and which values are far from it.
    pub reference: PatternReference,
    /// The selected time range.
    pub range: Option<TimeRange>,
}

impl Inspected {
    /// Carries out a command.
    pub fn apply(&mut self, command: InspectCommand) {
        match command {
            InspectCommand::Call(call) => self.call = call,
            InspectCommand::Incident(incident) => (self.incident, self.trend) = (incident, None),
            InspectCommand::Trend(trend) => (self.trend, self.incident) = (trend, None),
            InspectCommand::Pattern(pattern) => self.pattern = pattern,
            InspectCommand::Reference(reference) => self.reference = reference,
            InspectCommand::Range(range) => self.range = range,
        }
    }
}
