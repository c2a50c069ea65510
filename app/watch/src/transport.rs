//! The channel to the watched run: requests out, updates in.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use callgrove_overview::packet::{Packet, PacketDigest};
use callgrove_overview::{Overview, RankRange};
use callgrove_provdb::Collection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Largest number of queued requests. A user makes one at a time.
const MAX_REQUESTS: usize = 32;
/// Largest number of queued updates for a window that is not drawn. Beyond it the transport blocks.
const MAX_UPDATES: usize = 256;

/// Number of a connection of the window, from 1. Updates of an earlier connection are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct ConnectionId(pub u64);

/// A request to the transport.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WatchRequest {
    /// Watch the server at an address, and no other. The transport reconnects when the connection is lost, until it is
    /// disconnected.
    Connect {
        /// Number that marks all updates of this connection.
        connection: ConnectionId,
        /// As the user typed it.
        address: String,
        /// Access token, if the server requires one.
        token: Option<String>,
    },
    /// Stop watching.
    Disconnect,
    /// Query documents; answered by [`WatchUpdate::Found`] or [`WatchUpdate::QueryFailed`].
    Query(QueryRequest),
    /// Get some ranks of a job one by one; answered by [`WatchUpdate::Ranks`] or [`WatchUpdate::QueryFailed`].
    Ranks {
        /// Number that the answer repeats; queries have other numbers.
        id: u64,
        /// The ranks.
        ranks: RankRange,
    },
}

/// A numbered query for documents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QueryRequest {
    /// Number that the answer repeats.
    pub id: u64,
    /// The query.
    pub documents: DocumentsRequest,
}

/// A query for documents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DocumentsRequest {
    /// The collection that is queried.
    pub collection: Collection,
    /// Condition in the language of the provenance database; `None` for all documents.
    pub filter: Option<String>,
    /// Field to sort by; `None` sorts by `__id`.
    pub sort: Option<String>,
    /// True for descending order.
    pub is_descending: bool,
    /// Largest number of documents.
    pub limit: u64,
    /// Number of documents to skip at the start.
    pub offset: u64,
}

/// An update from the transport.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum WatchUpdate {
    /// The server answered with its complete state, which replaces what was known before.
    Connected(Box<Overview>),
    /// New data.
    Packet(Box<Packet>),
    /// New data of a job with many ranks: what is new in each packet, and the state after them, which replaces what was
    /// known before.
    Condensed {
        /// What is new in each packet.
        digests: Vec<PacketDigest>,
        /// The state after the packets, with the ranks in blocks.
        overview: Box<Overview>,
    },
    /// The connection is lost, or could not be made.
    Lost {
        /// Cause and remedy, as text.
        cause: String,
        /// Time until the next attempt; `None` if the transport gives up.
        retry_in_ms: Option<u64>,
    },
    /// The run has ended; no new data will come. Queries work as long as the server runs.
    Ended,
    /// The documents of a query.
    Found {
        /// Number of the query.
        id: u64,
        /// Documents in the requested order.
        documents: Vec<Value>,
        /// Number of all matching documents, if the server reported it.
        total: Option<u64>,
    },
    /// The requested ranks.
    Ranks {
        /// Number of the request.
        id: u64,
        /// These ranks with their histories and metrics, without functions and counters.
        overview: Box<Overview>,
    },
    /// The failure of a query, or of a request for ranks.
    QueryFailed {
        /// Number of the query.
        id: u64,
        /// Cause and remedy, as text.
        cause: String,
    },
}

/// The window's end of the channel.
pub struct WatchHandle {
    requests: SyncSender<WatchRequest>,
    updates: Receiver<(ConnectionId, WatchUpdate)>,
}

/// The transport's end of the channel. When the window is closed, `requests` ends and `updates` accepts nothing more.
/// The transport wakes the window after each update.
pub struct WatchTransport {
    /// Requests, oldest first.
    pub requests: Receiver<WatchRequest>,
    /// Sends updates, each with its connection. Blocks while the window has many unread ones.
    pub updates: SyncSender<(ConnectionId, WatchUpdate)>,
}

impl WatchHandle {
    /// Returns both ends.
    pub fn pair() -> (Self, WatchTransport) {
        let (request_sender, request_receiver) = sync_channel(MAX_REQUESTS);
        let (update_sender, update_receiver) = sync_channel(MAX_UPDATES);
        let handle = Self {
            requests: request_sender,
            updates: update_receiver,
        };
        let transport = WatchTransport {
            requests: request_receiver,
            updates: update_sender,
        };
        (handle, transport)
    }

    /// Sends a request. Never blocks.
    ///
    /// # Errors
    /// The request itself, if the transport is too busy to take it or has ended.
    pub fn send(&self, request: WatchRequest) -> Result<(), WatchRequest> {
        self.requests
            .try_send(request)
            .map_err(|error| match error {
                TrySendError::Full(request) | TrySendError::Disconnected(request) => request,
            })
    }

    /// Returns the oldest unread update and its connection. Never blocks.
    pub fn poll(&self) -> Option<(ConnectionId, WatchUpdate)> {
        self.updates.try_recv().ok()
    }
}
