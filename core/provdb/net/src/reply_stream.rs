//! Streams of reply messages: produced at the pace of the client, so that few are in memory, and cut off at a timeout.

use std::pin::Pin;
use std::time::Duration;

use callgrove_provdb::ProvDbError;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status};

use super::wire;

/// A client that takes no message of its reply for this time is cut off.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The messages of a reply.
pub(super) type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Sends the messages of a reply.
pub(super) struct ReplySender<T>(Sender<Result<T, Status>>);

impl<T> ReplySender<T> {
    /// Sends a message; returns false if the client is gone or too slow.
    pub(super) async fn send(&self, message: Result<T, ProvDbError>) -> bool {
        let message = message.map_err(wire::status);
        matches!(
            timeout(STALL_TIMEOUT, self.0.send(message)).await,
            Ok(Ok(()))
        )
    }
}

/// Returns a reply whose messages `write` sends, until the client is gone.
pub(super) fn reply_stream<T, F>(write: impl FnOnce(ReplySender<T>) -> F) -> Response<Replies<T>>
where
    T: Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(1);
    let writing = write(ReplySender(sender.clone()));
    tokio::spawn(async move {
        // When the client is gone, the pending work is dropped and thereby cancelled.
        tokio::select! {
            () = sender.closed() => {}
            () = writing => {}
        }
    });
    Response::new(Box::pin(ReceiverStream::new(receiver)))
}

/// Returns a reply of these messages.
pub(super) fn replies<T, I>(messages: I) -> Response<Replies<T>>
where
    T: Send + 'static,
    I: Iterator<Item = T> + Send + 'static,
{
    replies_holding(messages, ())
}

/// Returns a reply of these messages that holds `permit` until its end.
pub(super) fn replies_holding<T, I>(
    messages: I,
    permit: impl Send + 'static,
) -> Response<Replies<T>>
where
    T: Send + 'static,
    I: Iterator<Item = T> + Send + 'static,
{
    reply_stream(|out| async move {
        for message in messages {
            if !out.send(Ok(message)).await {
                break;
            }
        }
        drop(permit);
    })
}
