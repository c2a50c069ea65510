//! A connection that is re-established when it breaks.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::thread;
use std::time::{Duration, Instant};

use callgrove_provdb::{AccessMode, ProvDbError, ReadBounds, without_secrets};
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{CancelToken, Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::advisory_lock;
use super::trust::trusting;
use crate::options::OpenOptions;

/// Timeout of the retries of an operation while the server is unreachable.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of one attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before the first retry; it doubles up to the maximum.
const MIN_RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Maximum pause before a retry.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(2);

/// A connection to the server, and the claims that it holds there.
pub(super) struct PostgresConnection {
    client: Option<Client>,
    config: Config,
    tls: Option<MakeRustlsConnect>,
    mode: AccessMode,
    place: String,
    /// Instance by program and rank. The server releases them when the connection breaks.
    pub(super) claims: BTreeMap<(u32, u32), String>,
    /// The bounds of the following reads.
    bounds: Option<ReadBounds>,
    /// The `statement_timeout` of the connection; `None` unless one was set.
    timeout_ms: Option<u128>,
}

impl PostgresConnection {
    /// Connects for the first time, without a retry.
    pub(super) fn open(url: &str, options: &OpenOptions) -> Result<Self, ProvDbError> {
        let place = without_secrets(url);
        let bad = |cause: String| ProvDbError::BadUrl {
            cause,
            url: place.clone(),
        };
        let mut config: Config = url
            .parse()
            .map_err(|error: Error| bad(message_of(&error)))?;
        config.connect_timeout(CONNECT_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("callgrove");
        }
        let ca_file = options.remote.ca_file.as_deref();
        let tls = match (config.get_ssl_mode(), ca_file) {
            (_, Some(ca_file)) => {
                config.ssl_mode(SslMode::Require);
                Some(trusting(ca_file).map_err(bad)?)
            }
            (SslMode::Require, None) => {
                return Err(bad(
                    "sslmode=require needs the certificate that signed the server's (--ca-file)"
                        .to_owned(),
                ));
            }
            // Without verification, a server could be impersonated.
            _ => {
                config.ssl_mode(SslMode::Disable);
                None
            }
        };
        let mode = options.mode;
        let mut connection = Self {
            client: None,
            config,
            tls,
            mode,
            place,
            claims: BTreeMap::new(),
            bounds: None,
            timeout_ms: None,
        };
        let client = connection
            .connect()
            .map_err(|error| connection.failure(&error))?;
        connection.client = Some(client);
        Ok(connection)
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Returns the bounds of the following reads.
    pub(super) fn bounds(&self) -> Option<&ReadBounds> {
        self.bounds.as_ref()
    }

    /// Sets the bounds of the following reads, or removes them.
    pub(super) fn bound(&mut self, bounds: Option<&ReadBounds>) {
        self.bounds = bounds.cloned();
    }

    /// Runs an idempotent operation. If the connection breaks, runs it again on a new one with the same claims.
    pub(super) fn run<T>(
        &mut self,
        mut operation: impl FnMut(&mut Client) -> Result<T, Error>,
    ) -> Result<T, ProvDbError> {
        let deadline = Instant::now() + RETRY_TIMEOUT;
        let mut pause = MIN_RETRY_PAUSE;
        loop {
            let error = match self.attempt(&mut operation)? {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if let Some(bounds) = &self.bounds {
                bounds.check()?;
            }
            if !is_break(&error) || Instant::now() + pause > deadline {
                return Err(self.failure(&error));
            }
            self.client = None;
            thread::sleep(pause);
            pause = (2 * pause).min(MAX_RETRY_PAUSE);
        }
    }

    /// Makes one attempt. The outer error is final.
    fn attempt<T>(
        &mut self,
        operation: &mut impl FnMut(&mut Client) -> Result<T, Error>,
    ) -> Result<Result<T, Error>, ProvDbError> {
        if self.client.as_ref().is_some_and(Client::is_closed) {
            self.client = None;
        }
        if self.client.is_none() {
            let mut client = match self.connect() {
                Ok(client) => client,
                Err(error) => return Ok(Err(error)),
            };
            for (&(program, rank), instance) in &self.claims {
                match advisory_lock::take(&mut client, program, rank, instance) {
                    Ok(true) => {}
                    Ok(false) => {
                        return Err(ProvDbError::ClaimLost {
                            program,
                            rank,
                            place: self.place.clone(),
                        });
                    }
                    Err(error) => return Ok(Err(error)),
                }
            }
            self.client = Some(client);
            self.timeout_ms = None;
        }
        if let Err(error) = self.watch()? {
            return Ok(Err(error));
        }
        Ok(self
            .client
            .as_mut()
            .map(operation)
            .expect("it was connected above"))
    }

    /// Applies the bounds to the statements that follow, on the server. The outer error is final.
    fn watch(&mut self) -> Result<Result<(), Error>, ProvDbError> {
        let Some(client) = &mut self.client else {
            return Ok(Ok(()));
        };
        let limit_ms = self.bounds.as_ref().map(|it| it.limits().time.as_millis());
        if limit_ms != self.timeout_ms {
            // 0 means no limit.
            let set = format!("set statement_timeout = {}", limit_ms.unwrap_or(0));
            if let Err(error) = client.batch_execute(&set) {
                return Ok(Err(error));
            }
            self.timeout_ms = limit_ms;
            let work_bytes = self.bounds.as_ref().map(|it| it.limits().work_bytes);
            if let Some(work_bytes) = work_bytes.filter(|it| *it < u64::MAX) {
                let limit_disk = format!("set temp_file_limit = {}", work_bytes >> 10);
                // Few roles may set this. For the others only the time limits the temporary files.
                client.batch_execute(&limit_disk).ok();
            }
        }
        if let Some(bounds) = &self.bounds {
            let (token, tls) = (client.cancel_token(), self.tls.clone());
            bounds.on_interrupt(move || cancel(token, tls));
            // Unless it was already interrupted.
            bounds.check()?;
        }
        Ok(Ok(()))
    }

    /// Returns the connection, if it is up.
    pub(super) fn client(&mut self) -> Option<&mut Client> {
        self.client.as_mut()
    }

    fn connect(&self) -> Result<Client, Error> {
        let mut client = match &self.tls {
            Some(tls) => self.config.connect(tls.clone())?,
            None => self.config.connect(NoTls)?,
        };
        // An acknowledged commit is on disk, whatever the server's or the user's default.
        client.batch_execute(match self.mode {
            AccessMode::ReadWrite => "set synchronous_commit = on",
            AccessMode::ReadOnly => "set default_transaction_read_only = on",
        })?;
        Ok(client)
    }

    pub(super) fn failure(&self, error: &Error) -> ProvDbError {
        let (cause, place) = (message_of(error), self.place.clone());
        match (error.code(), &self.bounds) {
            (Some(code), _) if *code == SqlState::DISK_FULL => {
                ProvDbError::DiskFull { cause, place }
            }
            (Some(code), Some(bounds)) if *code == SqlState::QUERY_CANCELED => bounds.failure(),
            _ if is_break(error) => ProvDbError::Unreachable { cause, place },
            _ => ProvDbError::Database { cause, place },
        }
    }
}

/// Cancels the statement of a connection on the server. This takes a separate connection on its own thread, since a
/// task may be the one that interrupts.
fn cancel(token: CancelToken, tls: Option<MakeRustlsConnect>) {
    let work = move || match tls {
        Some(tls) => token.cancel_query(tls),
        None => token.cancel_query(NoTls),
    };
    // If there is no thread or connection, the statement ends by its timeout.
    thread::Builder::new()
        .name("postgres-cancel".to_owned())
        .spawn(work)
        .ok();
}

/// Returns the complete message of the server or system.
pub(super) fn message_of(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(error), _) => error.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// Returns true if the connection is gone or could not be established, so that a retry may help.
fn is_break(error: &Error) -> bool {
    match error.code() {
        Some(code) => {
            let breaks = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
            ];
            breaks.contains(code) || code.code().starts_with("08")
        }
        None => {
            error.is_closed()
                || error
                    .source()
                    .is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
        }
    }
}
