//! One connection from its first byte to its last.

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

use crate::Limits;

use admission::Admission;
use stall::Stalling;

/// Requests of one connection of HTTP/2 that may be under way at once.
const MAX_STREAMS: u32 = 256;

/// True once the server is told to stop; an extension of each request, for those that would wait long.
#[derive(Clone)]
pub(crate) struct Stopping(pub(crate) watch::Receiver<bool>);

/// What all connections of a server share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) routes: Router,
    pub(crate) acceptor: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Serves one client until it leaves, breaks a bound, or the server stops.
    pub(crate) async fn serve(self, socket: TcpStream, admission: Admission) {
        let deadline = Instant::now() + self.limits.header_timeout;
        // Answers are written whole, so waiting for more to send with them only delays them.
        if let Err(error) = socket.set_nodelay(true) {
            debug!(%error, "the connection ended before it began");
            return;
        }
        let socket = Stalling::new(socket, self.limits.stall_timeout);
        match self.acceptor.clone() {
            None => self.speak_http(socket, deadline, admission).await,
            Some(acceptor) => match timeout_at(deadline, acceptor.accept(socket)).await {
                Ok(Ok(stream)) => self.speak_http(stream, deadline, admission).await,
                Ok(Err(error)) => debug!(%error, "no TLS connection came about"),
                Err(_) => debug!("cut off: the client took too long over TLS"),
            },
        }
    }

    /// HTTP/2 if the client opens with its preface, else HTTP/1.1. Until a request has passed the guard the deadline
    /// holds, however the client spends the time: silent, byte by byte, or answering pings. What such a request waits for a
    /// place is not counted.
    async fn speak_http<S>(self, stream: S, mut deadline: Instant, admission: Admission)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = TowerToHyperService::new(Labelled {
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
                        debug!(error, "a connection broke");
                    }
                    return;
                }
                () = admission.asked(), if !asked => {
                    asked = true;
                    deadline += self.limits.place_timeout;
                }
                () = admission.admitted(), if !admitted => admitted = true,
                () = sleep_until(deadline), if !admitted => {
                    debug!("cut off: the client made no valid request in time");
                    return;
                }
                // An error means that the server is gone, which is a reason to stop as well.
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

/// The routes, with what a request must know of its connection.
#[derive(Clone)]
struct Labelled {
    routes: Router,
    admission: Admission,
    stopping: Stopping,
}

impl<B> Service<Request<B>> for Labelled
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
