//! Posts packets as JSON to a URL until it is stopped.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use callgrove_net::{Credential, certificates};
use callgrove_overview::packet::Packet;
use callgrove_pserver::PserverError;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};

/// The receiver of packets, the credential and the timeouts.
#[derive(Clone, Debug)]
pub struct PosterOptions {
    /// `http://` or `https://`, with any path.
    pub url: String,
    /// The credential shown to the receiver.
    pub credential: Option<Credential>,
    /// Certificate of the authority that signed the receiver's, in PEM format; without it the public authorities are
    /// trusted.
    pub ca_file: Option<PathBuf>,
    /// Timeout for one packet.
    pub timeout: Duration,
    /// Delay from a failure to the next attempt.
    pub retry_after: Duration,
}

impl PosterOptions {
    /// Returns options without a credential, with a timeout of 10 s and a retry 1 s after a failure.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            credential: None,
            ca_file: None,
            timeout: Duration::from_secs(10),
            retry_after: Duration::from_secs(1),
        }
    }
}

/// Posts packets on its own thread. A packet that cannot be delivered waits, is merged with those that follow, and is
/// retried without limit. The receiver gets each step's data at least once; twice if its answer is lost.
#[derive(Debug)]
pub struct Poster {
    url: String,
    slot: Arc<Slot>,
    thread: Option<JoinHandle<()>>,
}

/// Counts of the poster so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PosterStatus {
    /// Requests that were answered with success.
    pub num_delivered: u64,
    /// Requests that failed.
    pub num_failed: u64,
    /// The reason of the last failure; `None` after success.
    pub failure: Option<String>,
}

#[derive(Debug, Default)]
struct Slot {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: Option<Packet>,
    status: PosterStatus,
    ends: bool,
}

impl Poster {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`PserverError::BadOption`] for a URL or certificate file that cannot be used.
    pub fn start(options: PosterOptions) -> Result<Self, PserverError> {
        let agent = agent(&options)?;
        let url = options.url.clone();
        let slot = Arc::<Slot>::default();
        let shared = Arc::clone(&slot);
        let thread = std::thread::Builder::new()
            .name(String::from("packet-poster"))
            .spawn(move || post_all(&agent, &options, &shared))
            .map_err(|error| bad_option("the thread that posts packets", &error))?;
        let thread = Some(thread);
        Ok(Self { url, slot, thread })
    }

    /// Hands over the next packet; never blocks.
    pub fn post(&self, packet: Packet) {
        let mut inner = self.slot.lock();
        inner.waiting = Some(match inner.waiting.take() {
            Some(before) => before.followed_by(packet),
            None => packet,
        });
        self.slot.changed.notify_all();
    }

    /// Returns its counts so far.
    pub fn status(&self) -> PosterStatus {
        self.slot.lock().status.clone()
    }

    /// Returns the URL that it posts to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Tries once more to deliver what is pending, then ends; returns the final status.
    pub fn finish(mut self) -> PosterStatus {
        self.end();
        self.status()
    }

    fn end(&mut self) {
        self.slot.lock().ends = true;
        self.slot.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            let failure = "the thread that posts packets ended early".to_owned();
            self.slot.lock().status.failure = Some(failure);
        }
    }
}

impl Drop for Poster {
    fn drop(&mut self) {
        self.end();
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a packet; `None` means that there is nothing more to do. The flag is true for the last attempt.
    fn next(&self) -> Option<(Packet, bool)> {
        let mut inner = self.lock();
        loop {
            if let Some(packet) = inner.waiting.take() {
                return Some((packet, inner.ends));
            }
            if inner.ends {
                return None;
            }
            inner = self
                .changed
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts a packet back, merged with those that came meanwhile, and waits until the next attempt.
    fn put_back(&self, packet: Packet, failure: String, retry_after: Duration) {
        let mut inner = self.lock();
        inner.waiting = Some(match inner.waiting.take() {
            Some(next) => packet.followed_by(next),
            None => packet,
        });
        inner.status.num_failed += 1;
        inner.status.failure = Some(failure);
        let wait = self
            .changed
            .wait_timeout_while(inner, retry_after, |inner| !inner.ends);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }

    fn note_success(&self) {
        let mut inner = self.lock();
        inner.status.num_delivered += 1;
        inner.status.failure = None;
    }
}

fn post_all(agent: &Agent, options: &PosterOptions, slot: &Slot) {
    while let Some((packet, is_last)) = slot.next() {
        match post(agent, options, &packet) {
            Ok(()) => slot.note_success(),
            Err(failure) => {
                slot.put_back(packet, failure, options.retry_after);
                if is_last {
                    return;
                }
            }
        }
    }
}

fn post(agent: &Agent, options: &PosterOptions, packet: &Packet) -> Result<(), String> {
    let mut request = agent.post(&options.url);
    let url: Uri = request.uri_ref().cloned().unwrap_or_default();
    let credential = options.credential.as_ref();
    if let Some(token) = credential.map_or(Ok(None), |it| it.for_server(&url))? {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let answer = request
        .send_json(packet)
        .map_err(|error| error.to_string())?;
    // The rest of the answer is ignored. An unread long body only means that the connection is not reused.
    drop(answer);
    Ok(())
}

fn agent(options: &PosterOptions) -> Result<Agent, PserverError> {
    let url = &options.url;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let cause = "it must begin with http:// or https://";
        return Err(bad_option(&format!("the URL for packets {url}"), &cause));
    }
    let mut config = Agent::config_builder().timeout_global(Some(options.timeout));
    if let Some(file) = &options.ca_file {
        let roots = certificates(file)
            .map_err(|cause| bad_option(&format!("the certificate {}", file.display()), &cause))?;
        let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(roots)));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().into())
}

fn bad_option(option: &str, cause: &impl ToString) -> PserverError {
    PserverError::BadOption {
        option: option.to_owned(),
        cause: cause.to_string(),
    }
}
