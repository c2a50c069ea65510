//! An incident as the parameter server recorded it: a document of the collection incidents, as far as it could be read.

use callgrove_model::{CommKind, FunctionName};
use serde_json::Value;

use super::ExecutionDocument;
use super::document::WindowComm;
use super::document::decode::{items, small, text, whole};

/// Executions of several ranks that stood together. Times are microseconds since the epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedIncident {
    /// What names it in its program; empty if missing.
    pub incident_id: String,
    /// Program.
    pub app: u32,
    /// The last I/O step that it was found in.
    pub step: u64,
    /// From here the first execution stood.
    pub start_us: u64,
    /// Until here the last one did.
    pub end_us: u64,
    /// How long all executions together stood, in microseconds.
    pub delay_us: u64,
    /// Rank of the root; `None` if nobody could be told.
    pub rank: Option<u32>,
    /// Label of the root's execution.
    pub event_id: Option<String>,
    /// Its function.
    pub func: Option<String>,
    /// How long the root stood, in microseconds.
    pub stood_us: Option<u64>,
    /// Number of ranks, that of the root among them.
    pub num_ranks: u64,
    /// Labels of the executions, in the order in which they began to stand.
    pub members: Vec<String>,
    /// Messages of which both ends are known.
    pub messages: Vec<IncidentMessage>,
}

/// A message of which both ends are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncidentMessage {
    /// Rank that sent it.
    pub source: u32,
    /// Rank that received it.
    pub destination: u32,
    /// Tag.
    pub tag: u64,
    /// How many messages with the same sender, receiver and tag came before it.
    pub number: u64,
    /// When it was sent, and the label of the execution.
    pub sent: MessageEnd,
    /// When it was received, and the label of the execution.
    pub received: MessageEnd,
}

/// One end of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageEnd {
    /// Time, in microseconds since the epoch.
    pub time_us: u64,
    /// Label of the execution that it is in; `None` outside every function.
    pub event_id: Option<String>,
}

impl RecordedIncident {
    /// Reads a document; `None` if it has no executions, for they are those of another incident.
    pub fn new(json: &Value) -> Option<Self> {
        let members: Vec<String> = items(json, "members")
            .filter_map(|label| Some(label.as_str()?.to_owned()))
            .collect();
        if members.is_empty() {
            return None;
        }
        let label = |key| Some(text(json, key)).filter(|text| !text.is_empty());
        Some(Self {
            incident_id: text(json, "incident_id"),
            app: small(json, "pid").unwrap_or(0),
            step: whole(json, "io_step").unwrap_or(0),
            start_us: whole(json, "start").unwrap_or(0),
            end_us: whole(json, "end").unwrap_or(0),
            delay_us: whole(json, "delay").unwrap_or(0),
            rank: small(json, "rid"),
            event_id: label("event_id"),
            func: label("func"),
            stood_us: whole(json, "stood"),
            num_ranks: whole(json, "num_ranks").unwrap_or(0),
            messages: items(json, "messages").filter_map(message).collect(),
            members,
        })
    }

    /// For people: `rank 6 stood still 52.8 ms in MPI_Send; 15 ranks waited`. `duration` words a length of time in
    /// microseconds.
    pub fn in_words(&self, duration: impl Fn(f64) -> String) -> String {
        let Some(rank) = self.rank else {
            let longest = duration(self.end_us.saturating_sub(self.start_us) as f64);
            return format!("{} ranks stood together, within {longest}", self.num_ranks);
        };
        let did = match (&self.func, self.stood_us) {
            (Some(func), Some(stood_us)) => {
                let short = FunctionName::parse(func).short;
                let name = if short.is_empty() { func } else { short };
                format!("stood still {} in {name}", duration(stood_us as f64))
            }
            _ => "came late".to_owned(),
        };
        let others = match self.num_ranks.saturating_sub(1) {
            1 => "1 rank waited".to_owned(),
            others => format!("{others} ranks waited"),
        };
        format!("rank {rank} {did}; {others}")
    }

    /// The other end of a recorded message of an execution, if it is known.
    pub fn mate(&self, document: &ExecutionDocument, message: &WindowComm) -> Option<&MessageEnd> {
        let (rank, number) = (document.rank?, message.number?);
        if document.app != Some(self.app) {
            return None;
        }
        let (source, destination) = match message.kind {
            CommKind::Send => (rank, message.partner),
            CommKind::Recv => (message.partner, rank),
        };
        let found = self.messages.iter().find(|it| {
            (it.source, it.destination, it.number) == (source, destination, number)
                && i64::try_from(it.tag) == Ok(message.tag)
        })?;
        Some(match message.kind {
            CommKind::Send => &found.received,
            CommKind::Recv => &found.sent,
        })
    }
}

fn message(json: &Value) -> Option<IncidentMessage> {
    let end = |key: &str| {
        let end = json.get(key)?;
        Some(MessageEnd {
            time_us: whole(end, "timestamp")?,
            event_id: Some(text(end, "event_id")).filter(|text| !text.is_empty()),
        })
    };
    Some(IncidentMessage {
        source: small(json, "src")?,
        destination: small(json, "tar")?,
        tag: whole(json, "tag")?,
        number: whole(json, "number")?,
        sent: end("sent")?,
        received: end("received")?,
    })
}
