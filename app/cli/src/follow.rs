//! What fetches the news of a running job for a window or a page, over HTTP, on threads of its own. A provenance
//! database on this machine, of a run that may be over, is asked as a server would be, without a network.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use callgrove_provdb::{AccessMode, OpenOptions};
use callgrove_pserver::MonotonicClock;
use callgrove_server::api::{Api, Live};
use callgrove_server::client::{Client, ClientError, ClientOptions, DocumentsRequest};
use callgrove_server::hub::Hub;
use callgrove_server::{Credential, Token, past};
use callgrove_session::Wake;
use callgrove_session::watch::{
    ConnectionId, QueryRequest, WatchCarrier, WatchHandle, WatchRequest, WatchUpdate,
};

use crate::connect::{documents, open_store};

/// How long the server may hold a question for packets that are still to come.
const WAIT: Duration = Duration::from_secs(20);
/// Pause before a lost server is asked again.
const RETRY: Duration = Duration::from_secs(2);

/// How servers are reached.
#[derive(Clone, Default)]
pub(crate) struct Reach {
    /// Certificates to trust instead of the public authorities.
    pub(crate) ca_file: Option<PathBuf>,
    /// What servers are shown for which no token is typed.
    pub(crate) credential: Option<Credential>,
    /// The run that this program watches itself, and the address that stands for it.
    pub(crate) own: Option<(String, Api)>,
}

impl Reach {
    /// A client of the server at an address, if it is one of a server.
    pub(crate) fn server(&self, address: &str) -> Result<Option<Client>> {
        self.server_with(address, None)
    }

    /// A client of whatever a person named: the run of this program, a server, or a database.
    pub(crate) fn client(&self, address: &str, token: Option<String>) -> Result<Client> {
        let own = self.own.as_ref();
        if let Some((_, api)) = own.filter(|(name, _)| name == address) {
            return Ok(Client::within(address, api.clone())?);
        }
        match self.server_with(address, token)? {
            Some(client) => Ok(client),
            None => Ok(Client::within(address, api_of_database(address)?)?),
        }
    }

    fn server_with(&self, address: &str, token: Option<String>) -> Result<Option<Client>> {
        if !is_server(address) {
            return Ok(None);
        }
        let address = if address.contains("://") {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let typed = token
            .map(|secret| Token::new(&secret, "the token typed in"))
            .transpose()?;
        let options = ClientOptions {
            credential: typed.map_or_else(|| self.credential.clone(), |it| Some(it.stated())),
            ca_file: self.ca_file.clone(),
        };
        Ok(Some(Client::new(&address, &options)?))
    }
}

/// Starts the threads; the answer is the view's end.
pub(crate) fn start(reach: Reach, wake: Wake) -> Result<WatchHandle> {
    let (handle, WatchCarrier { requests, updates }) = WatchHandle::pair();
    let mut line = Line {
        updates,
        wake,
        newest: Arc::default(),
        reach,
        client: None,
    };
    thread::Builder::new()
        .name("monitor".to_owned())
        .spawn(move || {
            for request in requests {
                line.take(request);
            }
            line.newest.store(0, Ordering::Relaxed);
        })
        .context("cannot start the thread that watches the job")?;
    Ok(handle)
}

/// The line to one server at a time.
struct Line {
    updates: SyncSender<(ConnectionId, WatchUpdate)>,
    wake: Wake,
    /// Number of the connection that is wanted; what belongs to an earlier one ends.
    newest: Arc<AtomicU64>,
    reach: Reach,
    client: Option<Arc<Client>>,
}

/// Where one connection tells its news.
#[derive(Clone)]
struct Teller {
    updates: SyncSender<(ConnectionId, WatchUpdate)>,
    wake: Wake,
    newest: Arc<AtomicU64>,
    own: ConnectionId,
}

impl Line {
    fn take(&mut self, request: WatchRequest) {
        match request {
            WatchRequest::Connect {
                connection,
                address,
                token,
            } => {
                self.newest.store(connection.0, Ordering::Relaxed);
                let teller = self.teller();
                let lost = |cause| WatchUpdate::Lost {
                    cause,
                    retry_in_ms: None,
                };
                match self.reach.client(&address, token) {
                    Ok(client) => {
                        let client = Arc::new(client);
                        self.client = Some(Arc::clone(&client));
                        teller.spawn("monitor packets", lost, move |teller| {
                            follow(&client, teller);
                        });
                    }
                    Err(error) => {
                        teller.tell(lost(format!("{error:#}")));
                    }
                }
            }
            WatchRequest::Disconnect => {
                self.newest.store(0, Ordering::Relaxed);
                self.client = None;
            }
            WatchRequest::Query(query) => {
                let id = query.id;
                let failed = move |cause| WatchUpdate::QueryFailed { id, cause };
                let client = self.client.clone();
                self.teller().spawn("monitor query", failed, move |teller| {
                    teller.answer(match client {
                        Some(client) => answer(&client, &query),
                        None => failed("no server is connected".to_owned()),
                    });
                });
            }
        }
    }

    fn teller(&self) -> Teller {
        Teller {
            updates: self.updates.clone(),
            wake: Arc::clone(&self.wake),
            newest: Arc::clone(&self.newest),
            own: ConnectionId(self.newest.load(Ordering::Relaxed)),
        }
    }
}

/// Whether a person named a server, with or without `http://`, rather than a database.
pub(crate) fn is_server(address: &str) -> bool {
    let is_host_and_port = || {
        let port = address.rsplit_once(':').map(|(_, port)| port);
        !address.contains("://")
            && !Path::new(address).exists()
            && port.is_some_and(|port| port.parse::<u16>().is_ok())
    };
    address.starts_with("http://") || address.starts_with("https://") || is_host_and_port()
}

/// What a server of a database would say, with what is known of its run.
fn api_of_database(url: &str) -> Result<Api> {
    let options = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let mut store = open_store(url, &options)?;
    let now_ms = MonotonicClock::new().now_ms();
    let hub = Arc::new(Hub::new(now_ms));
    hub.publish(&past::packet(store.as_mut(), now_ms)?);
    hub.end();
    drop(store);
    Ok(Api {
        live: Live::Published(hub),
        tree_models: None,
        documents: Some(documents(url, &options)),
    })
}

impl Teller {
    fn is_wanted(&self) -> bool {
        self.newest.load(Ordering::Relaxed) == self.own.0
    }

    /// Whether the connection is still wanted and somebody listens.
    fn tell(&self, update: WatchUpdate) -> bool {
        self.is_wanted() && self.answer(update)
    }

    /// Answers a question, whatever became of the connection; whether somebody listens.
    fn answer(&self, update: WatchUpdate) -> bool {
        let is_told = self.updates.send((self.own, update)).is_ok();
        (self.wake)();
        is_told
    }

    /// Has a thread work; what is told when it cannot be started, or panics, `failed` makes of the cause.
    fn spawn(
        self,
        name: &str,
        failed: impl Fn(String) -> WatchUpdate + Copy + Send + 'static,
        work: impl FnOnce(&Self) + Send + 'static,
    ) {
        let teller = self.clone();
        let worked = move || {
            if panic::catch_unwind(AssertUnwindSafe(|| work(&teller))).is_err() {
                let cause = "a thread of this program panicked; standard error says why";
                teller.answer(failed(cause.to_owned()));
            }
        };
        if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(worked) {
            self.answer(failed(format!("cannot start a thread: {error}")));
        }
    }
}

fn lost(teller: &Teller, error: &ClientError, retry: Option<Duration>) -> bool {
    let retry_in_ms = retry.map(|retry| retry.as_millis() as u64);
    teller.tell(WatchUpdate::Lost {
        cause: error.to_string(),
        retry_in_ms,
    })
}

/// Tells of the run until it ends or nobody listens.
fn follow(client: &Client, teller: &Teller) {
    loop {
        let error = match follow_once(client, teller) {
            Ok(()) => return,
            // What was missed is in the overview.
            Err(ClientError::FellBehind { .. }) => continue,
            Err(error) => error,
        };
        let retry = error.is_worth_a_retry().then_some(RETRY);
        if !lost(teller, &error, retry) || retry.is_none() {
            return;
        }
        thread::sleep(RETRY);
    }
}

fn follow_once(client: &Client, teller: &Teller) -> Result<(), ClientError> {
    let answer = match client.overview() {
        Ok(answer) => answer,
        // A server of a provenance database alone: nothing is live, but everything can be asked.
        Err(ClientError::Refused { status: 404, .. }) => {
            teller.tell(WatchUpdate::Connected(Box::default()));
            teller.tell(WatchUpdate::Ended);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut version = answer.version;
    let mut is_over = !teller.tell(WatchUpdate::Connected(Box::new(answer.overview)));
    while !is_over && teller.is_wanted() {
        let news = client.packets(version, WAIT)?;
        version = news.version;
        for packet in news.packets {
            is_over |= !teller.tell(WatchUpdate::Packet(Box::new(packet)));
        }
        if news.ended {
            teller.tell(WatchUpdate::Ended);
            is_over = true;
        }
    }
    Ok(())
}

fn answer(client: &Client, query: &QueryRequest) -> WatchUpdate {
    let id = query.id;
    let ask = || -> Result<_> {
        let collection = query.collection.parse()?;
        let documents = client.documents(&DocumentsRequest {
            collection,
            filter: query.filter.clone(),
            sort: query.sort.as_deref().map(str::to_owned),
            is_descending: query.is_descending,
            limit: query.limit,
            offset: query.offset,
        })?;
        Ok((
            documents,
            client.count(collection, query.filter.as_deref())?,
        ))
    };
    match ask() {
        Ok((documents, total)) => WatchUpdate::Found {
            id,
            documents,
            total: Some(total),
        },
        Err(error) => WatchUpdate::QueryFailed {
            id,
            cause: format!("{error:#}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_panic_is_told_to_who_waits_for_the_thread() {
        let (updates, told) = sync_channel(1);
        let teller = Teller {
            updates,
            wake: Arc::new(|| {}),
            newest: Arc::default(),
            own: ConnectionId(7),
        };
        let lost = |cause| WatchUpdate::Lost {
            cause,
            retry_in_ms: None,
        };
        teller.spawn("breaks", lost, |_| panic!("of the test"));
        let (of, update) = told.recv().unwrap();
        assert_eq!(of, ConnectionId(7));
        assert!(matches!(update, WatchUpdate::Lost { cause, .. } if cause.contains("panicked")));
    }
}
