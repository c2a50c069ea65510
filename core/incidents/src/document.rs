//! Incidents as documents of the provenance database's collection `incidents`.

use callgrove_model::{ExecLabel, ProgramId, fnv1a};
use serde_json::json;

use crate::joined_incident::{IncidentHop, JoinedIncident, MatchedMessage};
use crate::names::FunctionNames;
use crate::record::{
    INCIDENT_VERSION, IncidentHopRecord, IncidentMessageRecord, IncidentRecord, MessageEnd,
};

/// An incident as stored in the database.
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentDocument {
    /// Program.
    pub program: ProgramId,
    /// Its identifier in the program: `rank:step:row` of one of its executions.
    pub id: ExecLabel,
    /// The stored record.
    pub record: IncidentRecord,
    /// Hash of the record's JSON text.
    pub(crate) hash: u64,
}

impl IncidentDocument {
    pub(crate) fn new(
        program: ProgramId,
        incident: &JoinedIncident,
        functions: &dyn FunctionNames,
    ) -> Self {
        let record = record(program, incident, functions);
        Self {
            program,
            id: incident.id,
            hash: fnv1a(json!(record).to_string().as_bytes()),
            record,
        }
    }
}

fn record(
    program: ProgramId,
    incident: &JoinedIncident,
    functions: &dyn FunctionNames,
) -> IncidentRecord {
    let root = incident.root;
    let call = root.and_then(|root| root.call);
    IncidentRecord {
        version: INCIDENT_VERSION,
        incident_id: incident.id.to_string(),
        joined_to: label(incident.joined_to),
        pid: program.0,
        io_step: incident.step.0.into(),
        start: incident.start_us,
        end: incident.end_us,
        kind: incident.kind,
        rid: root.map(|root| root.rank.0),
        fid: call.map(|call| call.fid.0),
        func: call.map(|call| functions.name(call.fid).to_owned()),
        event_id: label(call.map(|call| call.label)),
        own_delay: incident.own_us.or(call.map(|call| call.stalled_us)),
        confidence: incident.confidence_percent,
        next_best: incident.next_best.map(|rank| rank.0),
        host: incident.host.clone(),
        delay: incident.delay_us,
        num_executions: incident.members.len(),
        num_anomalies: incident.num_anomalies,
        num_ranks: incident.ranks.len(),
        ranks: incident.ranks.iter().map(|rank| rank.0).collect(),
        members: incident.members.iter().map(ToString::to_string).collect(),
        hops: incident.hops.iter().map(|it| hop(it, functions)).collect(),
        messages: incident.messages.iter().map(message).collect(),
    }
}

fn hop(hop: &IncidentHop, functions: &dyn FunctionNames) -> IncidentHopRecord {
    IncidentHopRecord {
        rid: hop.label.rank.0,
        event_id: hop.label.to_string(),
        fid: hop.fid.0,
        func: functions.name(hop.fid).to_owned(),
        waited: hop.waited_us,
        kind: hop.kind,
        peer_rid: hop.peer.0,
        peer_event_id: label(hop.peer_label),
        message: hop.message,
    }
}

fn message(message: &MatchedMessage) -> IncidentMessageRecord {
    let end = |(timestamp_us, call): (u64, Option<ExecLabel>)| MessageEnd {
        timestamp_us,
        event_id: label(call),
    };
    IncidentMessageRecord {
        src: message.source.0,
        tar: message.destination.0,
        tag: message.tag,
        number: message.number,
        sent: end(message.sent),
        received: end(message.received),
    }
}

fn label(label: Option<ExecLabel>) -> Option<String> {
    label.map(|label| label.to_string())
}
