//! A connection to a message bus, and the streams of a job on it.

use std::sync::atomic::Ordering;

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
    /// The log that the server reads.
    pub(super) log: Log,
    pub(super) models: stream::Stream<()>,
    streams: JobStreams,
}

/// A log of a job.
#[derive(Clone)]
pub(super) struct Log {
    pub(super) stream: stream::Stream<()>,
    subject: String,
}

/// What a log has at a moment.
#[derive(Clone, Debug)]
pub(super) struct LogExtent {
    /// Identifies the log: another one with its name has another time of creation.
    pub(super) id: String,
    /// The position before the first entry that it still has.
    pub(super) before: u64,
    /// The position of the last entry.
    pub(super) last: u64,
}

/// The streams of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct JobStreams {
    job: String,
    /// Servers that have each stream.
    num_replicas: usize,
}

/// Where a bus is.
struct BusAddress {
    /// The URLs of its servers.
    servers: Vec<String>,
    streams: JobStreams,
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
            .connect(&address.servers)
            .await
            .map_err(|error| in_full(&error))?;
        check_server(&client)?;
        let streams = address.streams;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(options.deadline);
        let models = stream::Config {
            name: format!("callgrove-{}-models", streams.job),
            subjects: vec![format!("callgrove.{}.models.*", streams.job)],
            max_messages_per_subject: 1,
            ..streams.config()
        };
        Ok(Self {
            log: Log::open(&jetstream, &streams, None).await?,
            models: create(&jetstream, models).await?,
            client,
            jetstream,
            streams,
        })
    }

    /// Returns the log of a group, which is created unless it exists.
    pub(super) async fn log_of_group(&self, group: u32) -> Result<Log, String> {
        Log::open(&self.jetstream, &self.streams, Some(group)).await
    }

    /// Returns how often it has connected: the connection restores itself.
    pub(super) fn num_connects(&self) -> u64 {
        let statistics = self.client.statistics();
        statistics.connects.load(Ordering::Relaxed)
    }

    /// Returns the subject of requests for a method; `*` for all methods.
    pub(super) fn requests(&self, method: &str) -> String {
        format!("callgrove.{}.requests.{method}", self.streams.job)
    }

    /// Returns the subject on which the server says that the job is over.
    pub(super) fn over(&self) -> String {
        format!("callgrove.{}.over", self.streams.job)
    }

    /// Returns the subject of a block of models, or of their version.
    pub(super) fn models_of(&self, block: &str) -> String {
        format!("callgrove.{}.models.{block}", self.streams.job)
    }

    /// Appends entries to a log, all or none. Returns the position of the last one.
    pub(super) async fn append(
        &self,
        log: &Log,
        entries: &[Vec<u8>],
        id: &str,
    ) -> Result<u64, String> {
        let subject = &log.subject;
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

impl JobStreams {
    /// Returns the settings that all streams have.
    fn config(&self) -> stream::Config {
        stream::Config {
            num_replicas: self.num_replicas,
            allow_direct: true,
            ..stream::Config::default()
        }
    }
}

impl Log {
    async fn open(
        jetstream: &jetstream::Context,
        streams: &JobStreams,
        group: Option<u32>,
    ) -> Result<Self, String> {
        let job = &streams.job;
        let of_group = |separator: char| group.map(|it| format!("{separator}{it}"));
        let of_group = |separator| of_group(separator).unwrap_or_default();
        let subject = format!("callgrove.{job}.log{}", of_group('.'));
        let config = stream::Config {
            name: format!("callgrove-{job}-log{}", of_group('-')),
            subjects: vec![subject.clone()],
            discard: stream::DiscardPolicy::New,
            allow_atomic_publish: true,
            ..streams.config()
        };
        let stream = create(jetstream, config).await?;
        Ok(Self { stream, subject })
    }

    /// Returns what it has.
    pub(super) async fn extent(&self) -> Result<LogExtent, String> {
        let info = self.stream.get_info().await.map_err(|it| in_full(&it))?;
        let state = info.state;
        Ok(LogExtent {
            id: info.created.unix_timestamp_nanos().to_string(),
            before: match state.messages {
                0 => state.last_sequence,
                _ => state.first_sequence.saturating_sub(1),
            },
            last: state.last_sequence,
        })
    }

    /// Forgets all entries up to a position.
    pub(super) async fn forget(&self, position: u64) -> Result<(), String> {
        let purge = self.stream.purge().sequence(position + 1).await;
        purge.map(|_| ()).map_err(|error| in_full(&error))
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
        let (rest, query) = rest.split_once('?').unwrap_or((rest, "replicas=1"));
        let (servers, job) = rest.split_once('/').unwrap_or((rest, ""));
        let job = if job.is_empty() { ONLY_JOB } else { job };
        let is_word = |text: &str| {
            let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            text.chars().all(is_fit)
        };
        let num_replicas = query.strip_prefix("replicas=").map(str::parse);
        let has_servers = servers.split(',').all(|it| !it.is_empty());
        let is_fit = matches!(scheme, "nats" | "tls") && has_servers && is_word(job);
        match num_replicas {
            Some(Ok(num_replicas @ 1..=5)) if is_fit => Ok(Self {
                servers: servers
                    .split(',')
                    .map(|it| format!("{scheme}://{it}"))
                    .collect(),
                streams: JobStreams {
                    job: job.to_owned(),
                    num_replicas,
                },
                options: ConnectOptions::new(),
            }),
            _ => Err(format!(
                "{url} is no address of a message bus; write nats://host:port/JOB, where JOB has letters, digits, - and _, \
                 nats://host:port,host:port,host:port/JOB?replicas=3 for a cluster of servers, or the path of the address file \
                 of `callgrove bus`"
            )),
        }
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

/// Returns a stream, which is created unless it exists, and checks that the server has taken its settings.
async fn create(
    jetstream: &jetstream::Context,
    config: stream::Config,
) -> Result<stream::Stream<()>, String> {
    let name = &config.name;
    let created = jetstream.get_or_create_stream(&config).await;
    let created = created.map_err(|error| format!("{}: stream {name}", in_full(&error)))?;
    let taken = &created.cached_info().config;
    let settings = |of: &stream::Config| {
        (
            of.subjects.clone(),
            of.allow_atomic_publish,
            of.allow_direct,
            of.max_messages_per_subject.max(0),
            of.num_replicas,
            of.discard == stream::DiscardPolicy::New,
        )
    };
    if settings(taken) == settings(&config) {
        let stream = jetstream.get_stream_no_info(name).await;
        return stream.map_err(|error| in_full(&error));
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
