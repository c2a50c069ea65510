//! An incident as recorded by the parameter server, and its sentence.

use callgrove_causes::CauseKind;
use callgrove_incidents::{IncidentRecord, MessageEnd};
use callgrove_model::{DurationNs, FunctionName, RankId};
use callgrove_provdb::{CommType, CommWindowEntry};
use callgrove_query::{IncidentFacts, RootFacts};
use serde::Deserialize;
use serde_json::Value;

use crate::document::ExecutionDocument;

/// Executions of several ranks that were delayed together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedIncident {
    /// The document.
    pub record: IncidentRecord,
}

impl RecordedIncident {
    /// Reads a document; `None` if it is not an incident, or has no executions because it was joined to another
    /// incident.
    pub fn new(json: &Value) -> Option<Self> {
        let record = IncidentRecord::deserialize(json).ok()?;
        (!record.members.is_empty()).then_some(Self { record })
    }

    /// Returns its sentence, worded as for a recorded run: `Rank 6 stalled 52.8 ms in MPI_Send; 15 ranks waited 0.78 s
    /// in all`.
    pub fn sentence(&self) -> String {
        let record = &self.record;
        let own_us = record.own_delay.unwrap_or(0);
        let func = record.func.as_deref().unwrap_or_default();
        let short = FunctionName::parse(func).short;
        let is_unknown = record.kind == CauseKind::Unknown;
        let likeliest = record.next_best.filter(|_| is_unknown);
        let facts = IncidentFacts {
            kind: record.kind,
            root: RootFacts {
                kind: record.kind,
                rank: record.rid.or(likeliest).map(RankId),
                function: if short.is_empty() { func } else { short },
                own_delay: duration(own_us),
                usual: None,
                is_in_library: callgrove_segments::can_wait(func),
                late_sender: None,
            },
            // Documents of version 1 lack the confidence.
            confidence_percent: record.confidence.unwrap_or(100),
            is_clock_unsure: false,
            next_best: record.next_best.map(RankId),
            host: record.host.as_deref().unwrap_or_default(),
            length: duration(record.end.saturating_sub(record.start)),
            caused: duration(record.delay.saturating_sub(own_us)),
            cost: duration(record.delay),
            num_ranks: record.num_ranks,
            times: 1,
            every: None,
        };
        facts.sentence()
    }

    /// Returns the other end of a recorded message of an execution, if known.
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

fn duration(duration_us: u64) -> DurationNs {
    DurationNs::from_us(i64::try_from(duration_us).unwrap_or(i64::MAX))
}
