//! The port: one listener, a task for each connection, and a graceful shutdown.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use callgrove_access::Token;
use callgrove_net::Fingerprint;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use crate::access::{Gate, Members, check_access};
use crate::api::body_budget::{BodyBudget, limit_bodies};
use crate::config::ServerConfig;
use crate::connection::Shared;
use crate::connection::admission::PendingConnections;
use crate::connection::open_files::connections_within;
use crate::error::ServerError;
use crate::late_routes::{LateRoutes, not_found};

/// Maximum number of worker threads. More do not help a server whose work is to forward messages.
const MAX_THREADS: usize = 16;
/// Pause after the system has no more sockets to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Pause after a pending connection was closed, so that its socket becomes free.
const CLOSE_PAUSE: Duration = Duration::from_millis(5);

/// A server that listens; [`serve`](Self::serve) makes it answer.
pub struct Server {
    listener: TcpListener,
    local_addr: SocketAddr,
    page_token: Option<Token>,
    fingerprint: Option<Fingerprint>,
    shared: Shared,
    members: Option<Members>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Listens for requests to `routes` ([`api::router`](crate::api::router), [`grpc::mount`](crate::grpc::mount)). Every
    /// other path is answered by 404, or by "unimplemented" for a gRPC client.
    ///
    /// # Errors
    /// If the configuration is unsafe, a TLS file is invalid, or the address cannot be bound.
    pub async fn bind(config: ServerConfig, routes: Router) -> Result<Self, ServerError> {
        Self::bind_complete(config, routes.fallback(not_found)).await
    }

    /// Listens for requests to routes that answer every path.
    async fn bind_complete(config: ServerConfig, routes: Router) -> Result<Self, ServerError> {
        let ServerConfig {
            listen,
            token,
            tokens,
            tls,
            mut limits,
            ..
        } = config.check()?;
        let wanted = limits.max_connections.min(Semaphore::MAX_PERMITS);
        limits.max_connections = connections_within(wanted, limits.max_pending);
        let acceptor = tls.map(|it| it.acceptor(listen.ip())).transpose()?;
        let (acceptor, fingerprint) = acceptor.map(|it| (it.tls, it.fingerprint)).unzip();
        let failed = |cause| ServerError::Bind { listen, cause };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let local_addr = listener.local_addr().map_err(failed)?;
        let page_token = token.as_ref().map(|_| Token::random()).transpose()?;
        let own = token.as_ref().zip(page_token.as_ref());
        let members = own.map(|(server, page)| Members::new(server, page, tokens));
        let members = members.transpose()?;
        let gate = Gate {
            members: members.clone(),
            is_tls: acceptor.is_some(),
            max_connections: limits.max_connections,
            slot_timeout: limits.slot_timeout,
        };
        let budget = BodyBudget::new(limits.max_arriving_bytes);
        let routes = routes
            .layer(DefaultBodyLimit::max(limits.max_body_bytes))
            .layer(from_fn_with_state(budget, limit_bodies))
            .layer(from_fn_with_state(gate, check_access));
        let (stop, stopping) = watch::channel(false);
        let shared = Shared {
            routes,
            acceptor,
            limits,
            stopping,
        };
        Ok(Self {
            listener,
            local_addr,
            page_token,
            fingerprint,
            shared,
            members,
            stop,
        })
    }

    /// Returns the token for the address of the page: a new one at each start, valid for the page and the JSON interface
    /// of this server only. `None` if the server requires no token.
    pub fn page_token(&self) -> Option<&Token> {
        self.page_token.as_ref()
    }

    /// Returns the fingerprint of the certificate, by which clients recognize the server; `None` without TLS.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Returns the bound address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Returns the URL for clients on this machine, such as `https://127.0.0.1:7880`.
    pub fn url(&self) -> String {
        let scheme = if self.shared.acceptor.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.local_addr)
    }

    /// Answers until `shutdown` is ready, then lets running requests finish within the grace period.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let Self {
            listener,
            local_addr,
            shared,
            members,
            stop,
            ..
        } = self;
        let grace = shared.limits.shutdown_grace;
        let mut connections = JoinSet::new();
        let follow = async {
            match &members {
                Some(members) => members.follow().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = accept(listener, shared, &mut connections) => {}
            () = follow => {}
            () = shutdown => {}
        }
        stop.send_replace(true);
        let ended = async {
            while connections.join_next().await.is_some() {}
            // Tasks that outlive their connection, such as WebSockets, hold a receiver of `stop` until they have ended.
            stop.closed().await;
        };
        if timeout(grace, ended).await.is_err() {
            warn!(
                %local_addr,
                open = connections.len(),
                "connections did not finish within the grace period and are closed"
            );
            connections.shutdown().await;
        }
        info!(%local_addr, "the server has stopped");
    }
}

/// Accepts connections forever, each as a task of `connections`. Connections of clients that have made a valid request
/// hold slots; of the others, the oldest is closed if there are too many.
async fn accept(listener: TcpListener, shared: Shared, connections: &mut JoinSet<()>) {
    let max_connections = shared.limits.max_connections;
    let slots = Arc::new(Semaphore::new(max_connections));
    let pending = PendingConnections::new(shared.limits.max_pending);
    let mut is_full = false;
    loop {
        let socket = accept_one(&listener, &pending, connections).await;
        let shared = shared.clone();
        let admission = pending.enter(&slots);
        connections.spawn(async move {
            tokio::select! {
                () = shared.serve(socket, admission.clone()) => {}
                () = admission.ended() => debug!("closed: no valid request before too many other clients connected"),
            }
        });
        let num_free = slots.available_permits();
        if num_free == 0 && !is_full {
            warn!(
                max_connections,
                "all connections are in use, so further clients are refused; see --max-connections"
            );
        }
        // The next warning needs a free slot first: at the limit every connection would cause a warning.
        is_full = num_free == 0 || (is_full && num_free < max_connections / 2);
    }
}

async fn accept_one(
    listener: &TcpListener,
    pending: &PendingConnections,
    connections: &mut JoinSet<()>,
) -> TcpStream {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => return socket,
                Err(error) if pending.end_oldest() => {
                    debug!(%error, "closed a pending connection, because another could not be accepted");
                    sleep(CLOSE_PAUSE).await;
                }
                Err(error) => {
                    warn!(%error, "could not accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            // Ended tasks are removed here, so that they do not accumulate.
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A server with threads of its own, for programs that are not asynchronous. Dropping it stops the server.
pub struct RunningServer {
    local_addr: SocketAddr,
    page_token: Option<Token>,
    fingerprint: Option<Fingerprint>,
    url: String,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    /// Starts to serve `routes`; see [`Server::bind`]. `routes` is called on the server's runtime, for services that
    /// start tasks when they are created.
    ///
    /// # Errors
    /// As [`Server::bind`], and if the system provides no threads.
    pub fn start(
        config: ServerConfig,
        routes: impl FnOnce() -> Router,
    ) -> Result<Self, ServerError> {
        Self::start_complete(config, || routes().fallback(not_found))
    }

    /// Starts to serve routes that are set later.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_late(config: ServerConfig, routes: &LateRoutes) -> Result<Self, ServerError> {
        Self::start_complete(config, || routes.router())
    }

    fn start_complete(
        config: ServerConfig,
        routes: impl FnOnce() -> Router,
    ) -> Result<Self, ServerError> {
        let threads = |cause| ServerError::Threads { cause };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(processors.min(MAX_THREADS))
            .thread_name("callgrove-server")
            .enable_all()
            .build()
            .map_err(threads)?;
        let grace = config.limits.shutdown_grace;
        let server = runtime.block_on(async { Server::bind_complete(config, routes()).await })?;
        let (local_addr, url) = (server.local_addr(), server.url());
        let page_token = server.page_token().cloned();
        let fingerprint = server.fingerprint();
        let (stop, stopped) = oneshot::channel();
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new().name("callgrove-port".to_owned());
        let thread = thread
            .spawn(move || {
                // A dropped sender stops the server, just as a message does.
                runtime.block_on(server.serve(async { drop(stopped.await) }));
                runtime.shutdown_timeout(grace);
            })
            .map_err(threads)?;
        Ok(Self {
            local_addr,
            page_token,
            fingerprint,
            url,
            runtime: handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the bound address.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Returns the token for the address of the page ([`Server::page_token`]).
    pub fn page_token(&self) -> Option<&Token> {
        self.page_token.as_ref()
    }

    /// Returns the fingerprint of the certificate ([`Server::fingerprint`]).
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Returns the URL for clients on this machine.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the runtime of the server, for tasks that run as long as the server.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Blocks until the user or the batch system stops the program (Ctrl-C, SIGTERM).
    ///
    /// # Errors
    /// If the system cannot report signals.
    pub fn wait_for_interrupt(&self) -> Result<(), ServerError> {
        let outcome = self.runtime.block_on(interrupted());
        outcome.map_err(|cause| ServerError::Signals { cause })
    }

    /// Stops the server, lets running requests finish within the grace period, and waits for the end.
    ///
    /// # Errors
    /// If the server's thread has panicked.
    pub fn stop(mut self) -> Result<(), ServerError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServerError> {
        drop(self.stop.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(ServerError::Panicked { what: "the server" }),
            _ => Ok(()),
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            warn!(%error, "the server stopped with an error");
        }
    }
}

#[cfg(unix)]
async fn interrupted() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = tokio::signal::ctrl_c() => outcome,
        _ = terminated.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn interrupted() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
