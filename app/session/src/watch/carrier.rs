//! The two ends of the line to the watched run: requests out, updates in.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Overview, Packet};

/// Requests that may wait for the carrier; a person makes one at a time.
const MAX_REQUESTS: usize = 32;
/// Updates that may wait for a window that is not drawn; then the carrier waits.
const MAX_UPDATES: usize = 256;

/// Counts the connections that a window asked for, from 1. News of an earlier one is void.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct ConnectionId(pub u64);

/// What a carrier shall do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WatchRequest {
    /// Watch the server at an address, and no other any more. Until it is told to stop, the carrier
    /// tries again when the connection is lost.
    Connect {
        /// Stands on all news of this connection.
        connection: ConnectionId,
        /// As the person typed it.
        address: String,
        /// For a server that asks for one.
        token: Option<String>,
    },
    /// Stop watching.
    Disconnect,
    /// Look up documents; answered by [`WatchUpdate::Found`] or [`WatchUpdate::QueryFailed`].
    Query(QueryRequest),
}

/// Which documents to look up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QueryRequest {
    /// Names the request in its answer.
    pub id: u64,
    /// Collection, as the schemas name it.
    pub collection: Cow<'static, str>,
    /// Condition in the language of the provenance database; all documents without one.
    pub filter: Option<String>,
    /// Field to sort by; unsorted without one.
    pub sort: Option<Cow<'static, str>>,
    /// Whether the largest comes first.
    pub is_descending: bool,
    /// At most that many documents.
    pub limit: u64,
    /// How many documents to leave out at the start.
    pub offset: u64,
}

/// What a carrier has to tell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum WatchUpdate {
    /// The server answered; this is all that it knows. What was known before is void.
    Connected(Box<Overview>),
    /// What is new.
    Packet(Box<Packet>),
    /// The connection is lost, or there never was one.
    Lost {
        /// What happened and what to do about it.
        cause: String,
        /// When the carrier tries again; `None` if there is no sense in it.
        retry_in_ms: Option<u64>,
    },
    /// The run is over; nothing new will come. Queries go on as long as the server runs.
    Ended,
    /// Documents.
    Found {
        /// The request's id.
        id: u64,
        /// In the order asked for.
        documents: Vec<Value>,
        /// How many there are in all, if the server said so.
        total: Option<u64>,
    },
    /// No documents.
    QueryFailed {
        /// The request's id.
        id: u64,
        /// What happened and what to do about it.
        cause: String,
    },
}

/// What the window holds.
pub struct WatchHandle {
    requests: SyncSender<WatchRequest>,
    updates: Receiver<(ConnectionId, WatchUpdate)>,
}

/// What the carrier holds. Without the window, `requests` ends and `updates` takes nothing any more. After
/// each update the carrier wakes the window.
pub struct WatchCarrier {
    /// Requests, oldest first.
    pub requests: Receiver<WatchRequest>,
    /// Takes updates, each with the connection that it comes from; waits while the window has many to
    /// read.
    pub updates: SyncSender<(ConnectionId, WatchUpdate)>,
}

impl WatchHandle {
    /// Both ends.
    pub fn pair() -> (Self, WatchCarrier) {
        let (request_sender, request_receiver) = sync_channel(MAX_REQUESTS);
        let (update_sender, update_receiver) = sync_channel(MAX_UPDATES);
        let handle = Self {
            requests: request_sender,
            updates: update_receiver,
        };
        let carrier = WatchCarrier {
            requests: request_receiver,
            updates: update_sender,
        };
        (handle, carrier)
    }

    /// Sends a request; never waits.
    ///
    /// # Errors
    /// The request itself, if the carrier is too busy to take it or has ended.
    pub fn send(&self, request: WatchRequest) -> Result<(), WatchRequest> {
        self.requests
            .try_send(request)
            .map_err(|error| match error {
                TrySendError::Full(request) | TrySendError::Disconnected(request) => request,
            })
    }

    /// The oldest update that was not read yet, and the connection that it comes from; never waits.
    pub fn poll(&self) -> Option<(ConnectionId, WatchUpdate)> {
        self.updates.try_recv().ok()
    }
}
