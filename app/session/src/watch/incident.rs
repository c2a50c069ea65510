//! An incident as the parameter server recorded it: what a person is told of it.

use callgrove_model::FunctionName;
use callgrove_provdb::{CommType, CommWindowEntry};
use callgrove_pserver::record::{IncidentRecord, MessageEnd};
use serde::Deserialize;
use serde_json::Value;

use super::ExecutionDocument;

/// Executions of several ranks that stood together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedIncident {
    /// The document.
    pub record: IncidentRecord,
}

impl RecordedIncident {
    /// Reads a document; `None` if it is none, or has no executions, for they are those of another incident.
    pub fn new(json: &Value) -> Option<Self> {
        let record = IncidentRecord::deserialize(json).ok()?;
        (!record.members.is_empty()).then_some(Self { record })
    }

    /// For people: `rank 6 stood still 52.8 ms in MPI_Send; 15 ranks waited`. `duration` words a length of time in
    /// microseconds.
    pub fn in_words(&self, duration: impl Fn(f64) -> String) -> String {
        let record = &self.record;
        let Some(rank) = record.rid else {
            let longest = duration(record.end.saturating_sub(record.start) as f64);
            return format!(
                "{} ranks stood together, within {longest}",
                record.num_ranks
            );
        };
        let did = match (&record.func, record.stood) {
            (Some(func), Some(stood_us)) => {
                let short = FunctionName::parse(func).short;
                let name = if short.is_empty() { func } else { short };
                format!("stood still {} in {name}", duration(stood_us as f64))
            }
            _ => "came late".to_owned(),
        };
        let others = match record.num_ranks.saturating_sub(1) {
            1 => "1 rank waited".to_owned(),
            others => format!("{others} ranks waited"),
        };
        format!("rank {rank} {did}; {others}")
    }

    /// The other end of a recorded message of an execution, if it is known.
    pub fn mate(
        &self,
        document: &ExecutionDocument,
        message: &CommWindowEntry,
    ) -> Option<&MessageEnd> {
        if document.app != Some(self.record.pid) {
            return None;
        }
        let found = self.record.messages.iter().find(|it| {
            (it.src, it.tar, it.tag) == (message.src, message.tar, message.tag)
                && Some(it.number) == message.number
        })?;
        Some(match message.kind {
            CommType::Send => &found.received,
            CommType::Recv => &found.sent,
        })
    }
}
