//! What fetches the news of a running job for the window, over HTTP, on threads of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use callgrove_server::Token;
use callgrove_server::client::{Client, ClientError, ClientOptions, DocumentsRequest};
use callgrove_session::monitor::{
    MonitorCarrier, MonitorHandle, MonitorRequest, MonitorUpdate, QueryRequest,
};

/// How long the server may hold a question for packets that are still to come.
const WAIT: Duration = Duration::from_secs(20);
/// Pause before a lost server is asked again.
const RETRY: Duration = Duration::from_secs(2);

/// Wakes the window.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Starts the threads; the answer is the window's end.
pub(crate) fn start(ca_file: Option<PathBuf>, wake: Wake) -> Result<MonitorHandle> {
    let (handle, MonitorCarrier { requests, updates }) = MonitorHandle::pair();
    let mut line = Line {
        updates,
        wake,
        generation: Arc::default(),
        ca_file,
        client: None,
    };
    thread::Builder::new()
        .name("monitor".to_owned())
        .spawn(move || {
            for request in requests {
                line.take(request);
            }
        })
        .context("cannot start the thread that watches the job")?;
    Ok(handle)
}

/// The line to one server at a time.
struct Line {
    updates: SyncSender<MonitorUpdate>,
    wake: Wake,
    /// Counts connections; what belongs to an earlier one ends.
    generation: Arc<AtomicU64>,
    ca_file: Option<PathBuf>,
    client: Option<Arc<Client>>,
}

/// Where one connection tells its news.
struct Teller {
    updates: SyncSender<MonitorUpdate>,
    wake: Wake,
    generation: Arc<AtomicU64>,
    own: u64,
}

impl Line {
    fn take(&mut self, request: MonitorRequest) {
        match request {
            MonitorRequest::Connect { address, token } => {
                let teller = self.next_teller();
                match self.client(&address, token) {
                    Ok(client) => {
                        let client = Arc::new(client);
                        self.client = Some(Arc::clone(&client));
                        spawn("monitor packets", move || follow(&client, &teller));
                    }
                    Err(error) => {
                        let cause = format!("{error:#}");
                        teller.tell(MonitorUpdate::Lost {
                            cause,
                            retry_in_ms: None,
                        });
                    }
                }
            }
            MonitorRequest::Disconnect => {
                self.next_teller();
                self.client = None;
            }
            MonitorRequest::Query(query) => {
                let teller = self.teller(self.generation.load(Ordering::Relaxed));
                let client = self.client.clone();
                spawn("monitor query", move || {
                    teller.tell(match client {
                        Some(client) => answer(&client, &query),
                        None => MonitorUpdate::QueryFailed {
                            id: query.id,
                            cause: "no server is connected".to_owned(),
                        },
                    });
                });
            }
        }
    }

    fn client(&self, address: &str, token: Option<String>) -> Result<Client> {
        let token = token
            .map(|secret| Token::new(&secret, "the token typed in"))
            .transpose()?;
        let options = ClientOptions {
            token,
            ca_file: self.ca_file.clone(),
        };
        Ok(Client::new(address, &options)?)
    }

    fn next_teller(&self) -> Teller {
        self.teller(self.generation.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn teller(&self, own: u64) -> Teller {
        Teller {
            updates: self.updates.clone(),
            wake: Arc::clone(&self.wake),
            generation: Arc::clone(&self.generation),
            own,
        }
    }
}

impl Teller {
    /// Whether the connection is still wanted and somebody listens.
    fn tell(&self, update: MonitorUpdate) -> bool {
        let is_wanted = self.generation.load(Ordering::Relaxed) == self.own;
        let is_told = is_wanted && self.updates.send(update).is_ok();
        (self.wake)();
        is_told
    }
}

/// A thread that cannot be started leaves its question without an answer, as a server that is lost does.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(work) {
        crate::output::complain(&format!("cannot start a thread: {error}"));
    }
}

fn lost(teller: &Teller, error: &ClientError, retry: Option<Duration>) -> bool {
    let retry_in_ms = retry.map(|retry| retry.as_millis() as u64);
    teller.tell(MonitorUpdate::Lost {
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
            teller.tell(MonitorUpdate::Connected(Box::default()));
            teller.tell(MonitorUpdate::Ended);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut version = answer.version;
    let mut is_over = !teller.tell(MonitorUpdate::Connected(Box::new(answer.overview)));
    while !is_over {
        let news = client.packets(version, WAIT)?;
        version = news.version;
        for packet in news.packets {
            is_over |= !teller.tell(MonitorUpdate::Packet(Box::new(packet)));
        }
        if news.ended {
            teller.tell(MonitorUpdate::Ended);
            is_over = true;
        }
    }
    Ok(())
}

fn answer(client: &Client, query: &QueryRequest) -> MonitorUpdate {
    let id = query.id;
    let ask = || -> Result<_> {
        let collection = query.collection.parse()?;
        let documents = client.documents(&DocumentsRequest {
            collection,
            filter: query.filter.clone(),
            sort: query.sort.map(str::to_owned),
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
        Ok((documents, total)) => MonitorUpdate::Found {
            id,
            documents,
            total: Some(total),
        },
        Err(error) => MonitorUpdate::QueryFailed {
            id,
            cause: format!("{error:#}"),
        },
    }
}
