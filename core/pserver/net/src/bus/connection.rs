//! A connection to a message bus, and the two streams of a job on it.

use async_nats::jetstream::{self, stream};
use async_nats::{Client, ConnectOptions, HeaderMap};
use callgrove_net::{AddressFile, Credential, pinned_config};
use prost::bytes::Bytes;

use crate::MAX_MESSAGE_BYTES;
use crate::grpc_exchange::ExchangeOptions;

/// The oldest release of the server that has atomic batches.
const OLDEST_SERVER: (i64, i64, i64) = (2, 12, 0);
/// The name of a job whose address has none: a bus of its own.
const ONLY_JOB: &str = "job";
/// The header of a refusal, with the code of gRPC for it.
pub(super) const REFUSAL: &str = "Callgrove-Refusal";
/// The headers of an atomic batch (NATS ADR-50).
const BATCH_ID: &str = "Nats-Batch-Id";
const BATCH_SEQUENCE: &str = "Nats-Batch-Sequence";
const BATCH_COMMIT: &str = "Nats-Batch-Commit";

/// A connected bus. Errors are texts that name cause and remedy.
#[derive(Clone)]
pub(super) struct Bus {
    pub(super) client: Client,
    pub(super) jetstream: jetstream::Context,
    pub(super) log: stream::Stream<()>,
    pub(super) models: stream::Stream<()>,
    /// The beginning of all subjects of the job.
    prefix: String,
}

/// Where a bus is.
struct BusAddress {
    url: String,
    job: String,
    options: ConnectOptions,
}

impl Bus {
    /// Connects, and creates the streams of the job unless they exist.
    pub(super) async fn open(options: &ExchangeOptions) -> Result<Self, String> {
        let address = BusAddress::of(options).await?;
        let client = address
            .options
            .name("callgrove")
            .connection_timeout(options.connect_timeout)
            .request_timeout(Some(options.deadline))
            .connect(&address.url)
            .await
            .map_err(|error| in_full(&error))?;
        check_server(&client)?;
        let job = &address.job;
        let prefix = format!("callgrove.{job}");
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(options.deadline);
        let log = stream::Config {
            name: format!("callgrove-{job}-log"),
            subjects: vec![format!("{prefix}.log")],
            discard: stream::DiscardPolicy::New,
            allow_atomic_publish: true,
            allow_direct: true,
            ..stream::Config::default()
        };
        let models = stream::Config {
            name: format!("callgrove-{job}-models"),
            subjects: vec![format!("{prefix}.models.*")],
            max_messages_per_subject: 1,
            allow_direct: true,
            ..stream::Config::default()
        };
        for config in [&log, &models] {
            create(&jetstream, config).await?;
        }
        let stream = |config: stream::Config| jetstream.get_stream_no_info(config.name);
        let failed = |error: jetstream::context::GetStreamError| in_full(&error);
        Ok(Self {
            log: stream(log).await.map_err(failed)?,
            models: stream(models).await.map_err(failed)?,
            client,
            jetstream,
            prefix,
        })
    }

    /// Returns the subject of requests for a method; `*` for all methods.
    pub(super) fn requests(&self, method: &str) -> String {
        format!("{}.requests.{method}", self.prefix)
    }

    /// Returns the subject of a block of models, or of their version.
    pub(super) fn models_of(&self, block: &str) -> String {
        format!("{}.models.{block}", self.prefix)
    }

    /// Appends entries to the log, all or none. Returns the position of the last one.
    pub(super) async fn append(&self, entries: &[Vec<u8>], id: &str) -> Result<u64, String> {
        let subject = format!("{}.log", self.prefix);
        let last = entries.len().saturating_sub(1);
        for (index, entry) in entries.iter().enumerate() {
            let mut headers = HeaderMap::new();
            if last > 0 {
                headers.insert(BATCH_ID, id);
                headers.insert(BATCH_SEQUENCE, (index + 1).to_string().as_str());
            }
            let payload = Bytes::from(entry.clone());
            if index < last {
                let sent = self
                    .client
                    .publish_with_headers(subject.clone(), headers, payload);
                sent.await.map_err(|error| in_full(&error))?;
                continue;
            }
            if last > 0 {
                headers.insert(BATCH_COMMIT, "1");
            }
            let sent = self
                .jetstream
                .publish_with_headers(subject.clone(), headers, payload);
            let failed = |error: jetstream::context::PublishError| in_full(&error);
            let acknowledged = sent.await.map_err(failed)?.await.map_err(failed)?;
            return Ok(acknowledged.sequence);
        }
        Ok(0)
    }
}

impl BusAddress {
    async fn of(options: &ExchangeOptions) -> Result<Self, String> {
        let Some(file) = AddressFile::named(&options.address) else {
            return Self::of_url(&options.address);
        };
        let credential = options.credential.as_ref();
        let trusted = credential.and_then(Credential::server_user);
        // A network file system may not answer.
        let read = tokio::task::spawn_blocking(move || file.read_bus(trusted));
        let announcement = read.await.map_err(|error| error.to_string())?;
        let announcement = announcement.map_err(|error| error.to_string())?;
        let address = Self::of_url(&announcement.url.to_string())?;
        let pinned = pinned_config(announcement.fingerprint, &[])?;
        Ok(Self {
            options: address
                .options
                .token(announcement.token)
                .require_tls(true)
                .tls_client_config(pinned),
            ..address
        })
    }

    fn of_url(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (server, job) = rest.split_once('/').unwrap_or((rest, ""));
        let job = if job.is_empty() { ONLY_JOB } else { job };
        let is_word = |text: &str| {
            let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            text.chars().all(is_fit)
        };
        if !matches!(scheme, "nats" | "tls") || server.is_empty() || !is_word(job) {
            return Err(format!(
                "{url} is no address of a message bus; write nats://host:port/JOB, where JOB has letters, digits, - and _, \
                 or the path of the address file of `callgrove bus`"
            ));
        }
        Ok(Self {
            url: format!("{scheme}://{server}"),
            job: job.to_owned(),
            options: ConnectOptions::new(),
        })
    }
}

/// Refuses servers that lack what is needed. Older ones take unknown settings and ignore them.
fn check_server(client: &Client) -> Result<(), String> {
    let info = client.server_info();
    let (major, minor, patch) = OLDEST_SERVER;
    if !client.is_server_compatible(major, minor, patch) {
        return Err(format!(
            "the bus is nats-server {}, which has no atomic batches: version {major}.{minor} or newer is needed",
            info.version
        ));
    }
    if !info.jetstream {
        return Err("the bus has no JetStream: start nats-server with `-js`".to_owned());
    }
    if info.max_payload < MAX_MESSAGE_BYTES {
        return Err(format!(
            "the bus takes messages up to {} bytes: set `max_payload: 8MB` in the configuration of nats-server",
            info.max_payload
        ));
    }
    Ok(())
}

/// Creates a stream, unless it exists, and checks that the server has taken its settings.
async fn create(jetstream: &jetstream::Context, config: &stream::Config) -> Result<(), String> {
    let name = &config.name;
    let created = jetstream.get_or_create_stream(config).await;
    let created = created.map_err(|error| format!("{}: stream {name}", in_full(&error)))?;
    let taken = &created.cached_info().config;
    let settings = |of: &stream::Config| {
        (
            of.subjects.clone(),
            of.allow_atomic_publish,
            of.allow_direct,
            of.max_messages_per_subject.max(0),
            of.discard == stream::DiscardPolicy::New,
        )
    };
    if settings(taken) == settings(config) {
        return Ok(());
    }
    Err(format!(
        "the stream {name} on the bus has other settings than this release needs; remove it (`nats stream rm {name}`), or use \
         another job"
    ))
}

/// Returns an error with its causes.
pub(super) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(of) = cause {
        let named = of.to_string();
        if !text.contains(&named) {
            text = format!("{text}: {named}");
        }
        cause = of.source();
    }
    text
}
