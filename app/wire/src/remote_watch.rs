//! Requests and updates of a watched run over the wire.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::TrySendError;

use callgrove_watch::{
    ConnectionId, QueryRequest, WatchHandle, WatchRequest, WatchTransport, WatchUpdate,
};

/// Largest number of queued updates for a page in the background. Beyond it packets are dropped and the overview is
/// requested again.
const MAX_WAITING: usize = 1024;

/// The transport of a view whose run is watched by a remote process.
pub(crate) struct RemoteWatch {
    transport: WatchTransport,
    /// The wanted connection, requested again on each connection of the wire.
    wanted: Option<(ConnectionId, WatchRequest)>,
    /// True if it was requested on the current one.
    is_asked: bool,
    /// Numbers of the queries without an answer.
    unanswered: BTreeSet<u64>,
    /// Updates that the view could not take yet, oldest first.
    waiting: VecDeque<(ConnectionId, WatchUpdate)>,
}

impl RemoteWatch {
    pub(crate) fn new() -> (WatchHandle, Self) {
        let (handle, transport) = WatchHandle::pair();
        let watch = Self {
            transport,
            wanted: None,
            is_asked: false,
            unanswered: BTreeSet::new(),
            waiting: VecDeque::new(),
        };
        (handle, watch)
    }

    /// Returns the next request to send.
    pub(crate) fn next_request(&mut self) -> Option<WatchRequest> {
        self.hand_over();
        if !self.is_asked {
            self.is_asked = true;
            if let Some((_, connect)) = &self.wanted {
                return Some(connect.clone());
            }
        }
        let request = self.transport.requests.try_recv().ok()?;
        match &request {
            WatchRequest::Connect { connection, .. } => {
                self.wanted = Some((*connection, request.clone()));
            }
            WatchRequest::Disconnect => self.wanted = None,
            WatchRequest::Query(QueryRequest { id, .. }) | WatchRequest::Ranks { id, .. } => {
                self.unanswered.insert(*id);
            }
        }
        Some(request)
    }

    pub(crate) fn take(&mut self, connection: ConnectionId, update: WatchUpdate) {
        if let WatchUpdate::Found { id, .. }
        | WatchUpdate::Ranks { id, .. }
        | WatchUpdate::QueryFailed { id, .. } = &update
        {
            self.unanswered.remove(id);
        }
        self.waiting.push_back((connection, update));
        self.hand_over();
        if self.waiting.len() > MAX_WAITING {
            self.waiting.retain(|(_, update)| !is_packet(update));
            self.is_asked = false;
        }
    }

    /// Reports that the wire is disconnected, so that no request on it will be answered.
    pub(crate) fn lose(&mut self, why: &str) {
        self.is_asked = false;
        let (connection, lost) = match &self.wanted {
            Some((connection, _)) => (*connection, Some(lost(why))),
            None => (ConnectionId::default(), None),
        };
        let unanswered = std::mem::take(&mut self.unanswered);
        let failed = unanswered.into_iter().map(|id| WatchUpdate::QueryFailed {
            id,
            cause: why.to_owned(),
        });
        self.waiting
            .extend(lost.into_iter().chain(failed).map(|it| (connection, it)));
        self.hand_over();
    }

    fn hand_over(&mut self) {
        while let Some(update) = self.waiting.pop_front() {
            match self.transport.updates.try_send(update) {
                Ok(()) => {}
                Err(TrySendError::Full(update)) => return self.waiting.push_front(update),
                // The view has been closed.
                Err(TrySendError::Disconnected(_)) => self.waiting.clear(),
            }
        }
    }
}

fn is_packet(update: &WatchUpdate) -> bool {
    matches!(
        update,
        WatchUpdate::Packet(_) | WatchUpdate::Condensed { .. }
    )
}

fn lost(why: &str) -> WatchUpdate {
    WatchUpdate::Lost {
        cause: why.to_owned(),
        retry_in_ms: Some(1_000),
    }
}
