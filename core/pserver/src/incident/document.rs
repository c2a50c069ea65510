//! Incidents as documents of the provenance database's collection `incidents`.

use callgrove_model::{ExecLabel, FuncId, ProgramId, fnv1a};
use serde_json::{Value, json};

use super::join::{IncidentHop, IncidentKind, JoinedIncident, MatedMessage};
use crate::functions::FunctionTable;

/// Version of the schema.
const VERSION: u32 = 1;

/// An incident as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentDocument {
    /// Program.
    pub program: ProgramId,
    /// What names it in the program: `rank:step:row` of one of its executions.
    pub id: ExecLabel,
    /// The document, without the `__id` that a database assigns.
    pub json: Value,
    /// Of its text.
    pub(crate) hash: u64,
}

impl IncidentDocument {
    pub(crate) fn new(
        program: ProgramId,
        incident: &JoinedIncident,
        functions: &FunctionTable,
    ) -> Self {
        let json = to_json(program, incident, functions);
        Self {
            program,
            id: incident.id,
            hash: fnv1a(json.to_string().as_bytes()),
            json,
        }
    }
}

fn to_json(program: ProgramId, incident: &JoinedIncident, functions: &FunctionTable) -> Value {
    let root = incident.root;
    let call = root.and_then(|root| root.call);
    json!({
        "version": VERSION,
        "incident_id": incident.id.to_string(),
        "joined_to": label(incident.joined_to),
        "pid": program,
        "io_step": incident.step,
        "start": incident.start_us,
        "end": incident.end_us,
        "kind": match incident.kind {
            IncidentKind::StoodStill => "stood_still",
            IncidentKind::OwnWork => "own_work",
            IncidentKind::Untold => "untold",
        },
        "rid": root.map(|root| root.rank),
        "fid": call.map(|call| call.fid),
        "func": call.map(|call| name(functions, call.fid)),
        "event_id": label(call.map(|call| call.label)),
        "stood": call.map(|call| call.stood_us),
        "delay": incident.delay_us,
        "num_executions": incident.members.len(),
        "num_anomalies": incident.num_anomalies,
        "num_ranks": incident.ranks.len(),
        "ranks": incident.ranks,
        "members": incident.members.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "hops": incident.hops.iter().map(|it| hop(it, functions)).collect::<Vec<_>>(),
        "messages": incident.messages.iter().map(message).collect::<Vec<_>>(),
    })
}

fn hop(hop: &IncidentHop, functions: &FunctionTable) -> Value {
    json!({
        "rid": hop.label.rank,
        "event_id": hop.label.to_string(),
        "fid": hop.fid,
        "func": name(functions, hop.fid),
        "waited": hop.waited_us,
        "kind": if hop.is_for_sender { "late_sender" } else { "late_receiver" },
        "peer_rid": hop.peer,
        "peer_event_id": label(hop.peer_label),
        "message": hop.message,
    })
}

fn message(message: &MatedMessage) -> Value {
    let end = |(time_us, call): (u64, Option<ExecLabel>)| json!({"timestamp": time_us, "event_id": label(call)});
    json!({
        "src": message.source,
        "tar": message.destination,
        "tag": message.tag,
        "number": message.number,
        "sent": end(message.sent),
        "received": end(message.received),
    })
}

fn label(label: Option<ExecLabel>) -> Option<String> {
    label.map(|label| label.to_string())
}

fn name(functions: &FunctionTable, fid: FuncId) -> &str {
    functions.get(fid).map_or("", |(_, name)| name)
}
