//! The service of one connection, from its first byte to its last.

pub(crate) mod admission;
pub(crate) mod open_files;
mod stall;

use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_rustls::TlsAcceptor;
use tonic::codegen::Service;
use tracing::debug;

use crate::config::Limits;

use admission::Admission;
use stall::Stalling;

/// Maximum number of concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;

/// True once the server is stopping; an extension of each request, for handlers that wait long.
#[derive(Clone)]
pub(crate) struct Stopping(pub(crate) watch::Receiver<bool>);

/// The state that all connections of a server share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) routes: Router,
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Serves one client until it leaves, exceeds a limit, or the server stops.
    pub(crate) async fn serve(self, socket: TcpStream, admission: Admission) {
        let deadline = Instant::now() + self.limits.header_timeout;
        // Answers are written as a whole, so Nagle's algorithm would only delay them.
        if let Err(error) = socket.set_nodelay(true) {
            debug!(%error, "the connection closed before it was set up");
            return;
        }
        let socket = Stalling::new(socket, self.limits.stall_timeout);
        match self.acceptor.clone() {
            None => self.speak_http(socket, deadline, admission).await,
            Some(acceptor) => match timeout_at(deadline, acceptor.accept(socket)).await {
                Ok(Ok(stream)) => self.speak_http(stream, deadline, admission).await,
                Ok(Err(error)) => debug!(%error, "TLS handshake failed"),
                Err(_) => debug!("closed: TLS handshake timed out"),
            },
        }
    }

    /// Speaks HTTP/2 if the client opens with its preface, else HTTP/1.1. Until a request has passed the token check
    /// the deadline holds, whether the client is silent, sends byte by byte, or answers pings. The time that such a
    /// request waits for a slot is not counted.
    async fn speak_http<S>(self, stream: S, mut deadline: Instant, admission: Admission)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = TowerToHyperService::new(ConnectionRoutes {
            routes: self.routes.clone(),
            admission: admission.clone(),
            stopping: Stopping(self.stopping.clone()),
        });
        let builder = http(&self.limits);
        let mut connection =
            pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let mut stopping = self.stopping;
        let mut asked = false;
        let mut admitted = false;
        let mut stopped = false;
        loop {
            tokio::select! {
                outcome = connection.as_mut() => {
                    if let Err(error) = outcome {
                        debug!(error, "connection failed");
                    }
                    return;
                }
                () = admission.asked(), if !asked => {
                    asked = true;
                    deadline += self.limits.slot_timeout;
                }
                () = admission.admitted(), if !admitted => admitted = true,
                () = sleep_until(deadline), if !admitted => {
                    debug!("closed: no valid request in time");
                    return;
                }
                // An error means that the server has been dropped, which is a reason to stop as well.
                _ = stopping.wait_for(|stop| *stop), if !stopped => {
                    stopped = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

fn http(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(limits.stall_timeout / 2)
        .keep_alive_timeout(limits.stall_timeout / 2);
    builder
}

/// The routes, with the connection's state added to each request.
#[derive(Clone)]
struct ConnectionRoutes {
    routes: Router,
    admission: Admission,
    stopping: Stopping,
}

impl<B> Service<Request<B>> for ConnectionRoutes
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<axum::body::Body>;
    type Error = Infallible;
    type Future = <Router as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.admission.clone());
        request.extensions_mut().insert(self.stopping.clone());
        self.routes.call(request)
    }
}
