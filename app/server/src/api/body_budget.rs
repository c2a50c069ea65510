//! A bound on the request bodies that a server holds while they arrive, over all connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tonic::Status;
use tonic::codegen::tokio_stream::Stream;

use super::error::ApiError;
use crate::grpc;

/// The remedy of a refused request.
const FULL: &str =
    "the requests that the server receives at present need too much memory: try again";

/// The bytes of all bodies that are arriving. Clones share the count.
#[derive(Clone)]
pub(crate) struct BodyBudget {
    num_held_bytes: Arc<AtomicUsize>,
    max_bytes: usize,
}

impl BodyBudget {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            num_held_bytes: Arc::default(),
            max_bytes,
        }
    }
}

/// Passes on a request, and answers it with 503 if the bodies of all requests need too much memory.
pub(crate) async fn limit_bodies(
    State(budget): State<BodyBudget>,
    request: Request,
    next: Next,
) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_grpc = grpc::is_grpc(request.headers());
    let is_refused = Arc::<AtomicBool>::default();
    let body = |body: Body| {
        Body::from_stream(CountedBody {
            data: body.into_data_stream(),
            budget,
            num_own_bytes: 0,
            is_refused: Arc::clone(&is_refused),
        })
    };
    let answer = next.run(request.map(body)).await;
    match (is_refused.load(Ordering::Relaxed), is_grpc) {
        (false, _) => answer,
        (true, true) => Status::unavailable(FULL).into_http(),
        (true, false) => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, FULL).into_response(),
    }
}

/// A body whose bytes are counted until it is dropped.
struct CountedBody {
    data: BodyDataStream,
    budget: BodyBudget,
    num_own_bytes: usize,
    is_refused: Arc<AtomicBool>,
}

impl Stream for CountedBody {
    type Item = Result<Bytes, axum::BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.data).poll_next(context).map(|next| {
            next.map(|bytes| {
                let bytes = bytes?;
                let num_bytes = bytes.len();
                self.num_own_bytes += num_bytes;
                let num_held = &self.budget.num_held_bytes;
                let before = num_held.fetch_add(num_bytes, Ordering::Relaxed);
                if before + num_bytes <= self.budget.max_bytes {
                    return Ok(bytes);
                }
                self.is_refused.store(true, Ordering::Relaxed);
                Err(io::Error::other(FULL).into())
            })
        })
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        let num_held = &self.budget.num_held_bytes;
        num_held.fetch_sub(self.num_own_bytes, Ordering::Relaxed);
    }
}
