//! Fields of an execution that can be axes of a scatter plot and columns of a table.

use crate::document::ExecutionDocument;

/// A numeric field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExecutionField {
    /// Global index of the function.
    Function,
    /// Index within the label `rank:step:index`.
    EventIndex,
    /// Rank.
    Rank,
    /// Time of entry.
    Entry,
    /// Time of exit.
    Exit,
    /// Time with children.
    RuntimeTotal,
    /// Time without children.
    RuntimeExclusive,
    /// I/O step.
    Step,
    /// Anomaly score; the higher, the less likely the execution.
    Score,
    /// Severity.
    Severity,
    /// 1 if it ran on a GPU.
    IsGpu,
}

/// The unit of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldUnit {
    /// A number without a unit.
    Number,
    /// Microseconds since the epoch.
    TimeUs,
    /// A duration in microseconds.
    DurationUs,
}

impl ExecutionField {
    /// All fields, in the order of the menu.
    pub const ALL: [Self; 11] = [
        Self::Entry,
        Self::Exit,
        Self::RuntimeTotal,
        Self::RuntimeExclusive,
        Self::Severity,
        Self::Score,
        Self::Step,
        Self::Rank,
        Self::Function,
        Self::EventIndex,
        Self::IsGpu,
    ];

    /// Returns its name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "Function",
            Self::EventIndex => "Event index",
            Self::Rank => "Rank",
            Self::Entry => "Entry",
            Self::Exit => "Exit",
            Self::RuntimeTotal => "Inclusive time",
            Self::RuntimeExclusive => "Exclusive time",
            Self::Step => "I/O step",
            Self::Score => "Score",
            Self::Severity => "Severity",
            Self::IsGpu => "On a GPU",
        }
    }

    /// Returns its unit.
    pub fn unit(self) -> FieldUnit {
        match self {
            Self::Entry | Self::Exit => FieldUnit::TimeUs,
            Self::RuntimeTotal | Self::RuntimeExclusive | Self::Severity => FieldUnit::DurationUs,
            _ => FieldUnit::Number,
        }
    }

    /// Returns the value of an execution; `None` if the document does not have it.
    pub fn value(self, document: &ExecutionDocument) -> Option<f64> {
        match self {
            Self::Function => document.fid.map(f64::from),
            Self::EventIndex => document
                .event_id
                .rsplit(':')
                .next()
                .and_then(|index| index.parse().ok()),
            Self::Rank => document.rank.map(f64::from),
            Self::Entry => document.entry_us.map(|time_us| time_us as f64),
            Self::Exit => document.exit_us.map(|time_us| time_us as f64),
            Self::RuntimeTotal => document.runtime_total_us,
            Self::RuntimeExclusive => document.runtime_exclusive_us,
            Self::Step => document.step.map(|step| step as f64),
            Self::Score => document.score,
            Self::Severity => document.severity_us,
            Self::IsGpu => Some(f64::from(u8::from(document.is_gpu))),
        }
    }
}
