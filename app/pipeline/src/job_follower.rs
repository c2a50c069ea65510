//! Follows a running job for a window or a page, over HTTP, on threads of its own.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use callgrove_server::client::{Client, ClientError};
use callgrove_session::Wake;
use callgrove_watch::{
    ConnectionId, QueryRequest, RankRange, WatchHandle, WatchRequest, WatchTransport, WatchUpdate,
};

use crate::error::PipelineError;
use crate::server_access::ServerAccess;

/// Maximum time that the server may hold a request for packets.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Pause before a lost server is contacted again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Starts the threads that follow a job, and returns the handle of the view. `wake` is called after each update.
///
/// # Errors
/// [`PipelineError::Thread`].
pub fn follow_job(access: ServerAccess, wake: Wake) -> Result<WatchHandle, PipelineError> {
    let (handle, WatchTransport { requests, updates }) = WatchHandle::pair();
    let mut follower = JobFollower {
        updates,
        wake,
        newest: Arc::default(),
        access,
        client: None,
    };
    thread::Builder::new()
        .name("monitor".to_owned())
        .spawn(move || {
            for request in requests {
                follower.handle(request);
            }
            follower.newest.store(0, Ordering::Relaxed);
        })
        .map_err(PipelineError::Thread)?;
    Ok(handle)
}

/// Follows one job at a time.
struct JobFollower {
    updates: SyncSender<(ConnectionId, WatchUpdate)>,
    wake: Wake,
    /// Number of the current connection, or 0 without one. Threads of an earlier connection end.
    newest: Arc<AtomicU64>,
    access: ServerAccess,
    client: Option<Arc<Client>>,
}

/// Sends the updates of one connection.
#[derive(Clone)]
struct UpdateSender {
    updates: SyncSender<(ConnectionId, WatchUpdate)>,
    wake: Wake,
    newest: Arc<AtomicU64>,
    own: ConnectionId,
}

impl JobFollower {
    fn handle(&mut self, request: WatchRequest) {
        match request {
            WatchRequest::Connect {
                connection,
                address,
                token,
            } => {
                self.newest.store(connection.0, Ordering::Relaxed);
                let sender = self.update_sender();
                let lost = |cause| WatchUpdate::Lost {
                    cause,
                    retry_in_ms: None,
                };
                match self.access.client(&address, token) {
                    Ok(client) => {
                        let client = Arc::new(client);
                        self.client = Some(Arc::clone(&client));
                        sender.spawn("monitor packets", lost, move |sender| {
                            follow(&client, sender);
                        });
                    }
                    Err(error) => {
                        sender.send(lost(error.with_causes()));
                    }
                }
            }
            WatchRequest::Disconnect => {
                self.newest.store(0, Ordering::Relaxed);
                self.client = None;
            }
            WatchRequest::Query(query) => {
                self.spawn_answer(query.id, move |client| answer(client, &query));
            }
            WatchRequest::Ranks { id, ranks } => {
                self.spawn_answer(id, move |client| answer_ranks(client, id, ranks));
            }
        }
    }

    /// Answers a request on a thread of its own.
    fn spawn_answer(&self, id: u64, answer: impl FnOnce(&Client) -> WatchUpdate + Send + 'static) {
        let failed = move |cause| WatchUpdate::QueryFailed { id, cause };
        let client = self.client.clone();
        self.update_sender()
            .spawn("monitor query", failed, move |sender| {
                sender.answer(match client {
                    Some(client) => answer(&client),
                    None => failed("no server is connected".to_owned()),
                });
            });
    }

    fn update_sender(&self) -> UpdateSender {
        UpdateSender {
            updates: self.updates.clone(),
            wake: Arc::clone(&self.wake),
            newest: Arc::clone(&self.newest),
            own: ConnectionId(self.newest.load(Ordering::Relaxed)),
        }
    }
}

impl UpdateSender {
    fn is_current(&self) -> bool {
        self.newest.load(Ordering::Relaxed) == self.own.0
    }

    /// Sends an update of the connection. Returns false if the connection is no longer current, or the view has gone.
    fn send(&self, update: WatchUpdate) -> bool {
        self.is_current() && self.answer(update)
    }

    /// Sends an answer to a query, even if the connection is no longer current. Returns false if the view has gone.
    fn answer(&self, update: WatchUpdate) -> bool {
        let is_sent = self.updates.send((self.own, update)).is_ok();
        (self.wake)();
        is_sent
    }

    /// Runs `work` on a thread. If the thread cannot be started, or panics, sends the update that `failed` returns.
    fn spawn(
        self,
        name: &str,
        failed: impl Fn(String) -> WatchUpdate + Copy + Send + 'static,
        work: impl FnOnce(&Self) + Send + 'static,
    ) {
        let sender = self.clone();
        let worked = move || {
            if panic::catch_unwind(AssertUnwindSafe(|| work(&sender))).is_err() {
                let cause = "a thread of this program panicked; see standard error";
                sender.answer(failed(cause.to_owned()));
            }
        };
        if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(worked) {
            self.answer(failed(format!("cannot start a thread: {error}")));
        }
    }
}

fn lost(sender: &UpdateSender, error: &ClientError, retry: Option<Duration>) -> bool {
    let retry_in_ms = retry.map(|retry| retry.as_millis() as u64);
    sender.send(WatchUpdate::Lost {
        cause: error.to_string(),
        retry_in_ms,
    })
}

/// Sends updates of the run until it ends or the view has gone.
fn follow(client: &Client, sender: &UpdateSender) {
    loop {
        let error = match follow_once(client, sender) {
            Ok(()) => return,
            // The missed packets are included in the overview.
            Err(ClientError::FellBehind { .. }) => continue,
            Err(error) => error,
        };
        let retry = error.is_worth_a_retry().then_some(RETRY_INTERVAL);
        if !lost(sender, &error, retry) || retry.is_none() {
            return;
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

fn follow_once(client: &Client, sender: &UpdateSender) -> Result<(), ClientError> {
    let answer = match client.overview() {
        Ok(answer) => answer,
        // A server with a provenance database only: it has no live data, but can be queried.
        Err(ClientError::Refused { status: 404, .. }) => {
            sender.send(WatchUpdate::Connected(Box::default()));
            sender.send(WatchUpdate::Ended);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut version = answer.version;
    let overview = Box::new(Arc::unwrap_or_clone(answer.overview));
    let mut is_over = !sender.send(WatchUpdate::Connected(overview));
    while !is_over && sender.is_current() {
        let news = client.packets(version, MAX_WAIT)?;
        version = news.version;
        for packet in news.packets {
            is_over |= !sender.send(WatchUpdate::Packet(Box::new(packet)));
        }
        if let Some(overview) = news.overview {
            let digests = news.digests;
            is_over |= !sender.send(WatchUpdate::Condensed { digests, overview });
        }
        if news.ended {
            sender.send(WatchUpdate::Ended);
            is_over = true;
        }
    }
    Ok(())
}

fn answer(client: &Client, query: &QueryRequest) -> WatchUpdate {
    let (id, request) = (query.id, &query.documents);
    let found = client.documents(request).and_then(|documents| {
        let total = client.count(request.collection, request.filter.as_deref())?;
        Ok((documents, total))
    });
    match found {
        Ok((documents, total)) => WatchUpdate::Found {
            id,
            documents,
            total: Some(total),
        },
        Err(error) => WatchUpdate::QueryFailed {
            id,
            cause: error.to_string(),
        },
    }
}

fn answer_ranks(client: &Client, id: u64, ranks: RankRange) -> WatchUpdate {
    match client.overview_of(ranks) {
        Ok(answer) => WatchUpdate::Ranks {
            id,
            overview: Box::new(Arc::unwrap_or_clone(answer.overview)),
        },
        Err(error) => WatchUpdate::QueryFailed {
            id,
            cause: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_panic_of_a_thread_is_reported() {
        let (updates, receiver) = sync_channel(1);
        let sender = UpdateSender {
            updates,
            wake: Arc::new(|| {}),
            newest: Arc::default(),
            own: ConnectionId(7),
        };
        let lost = |cause| WatchUpdate::Lost {
            cause,
            retry_in_ms: None,
        };
        sender.spawn("panicking", lost, |_| panic!("of the test"));
        let (of, update) = receiver.recv().unwrap();
        assert_eq!(of, ConnectionId(7));
        assert!(matches!(update, WatchUpdate::Lost { cause, .. } if cause.contains("panicked")));
    }
}
