//! The body of an answer that ends when its token is revoked.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

use super::members::Access;

/// An answer that breaks off once its token is revoked.
pub(super) struct RevocableBody {
    body: Body,
    revoked: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl RevocableBody {
    pub(super) fn new(body: Body, mut access: Access) -> Self {
        Self {
            body,
            revoked: Box::pin(async move { access.ended().await }),
        }
    }
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.revoked.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Error::new("the token was revoked"))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
