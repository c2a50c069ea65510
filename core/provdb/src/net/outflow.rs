//! Answers in many messages: made as the client takes them, so that few are in memory, and not for ever.

use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status};

use super::wire;
use crate::ProvDbError;

/// A client that takes no message of its answer for this long is cut off.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The messages of an answer.
pub(super) type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Where the messages of an answer go.
pub(super) struct Outflow<T>(Sender<Result<T, Status>>);

impl<T> Outflow<T> {
    /// Sends a message. False if the client does not take it, and wants no more.
    pub(super) async fn send(&self, message: Result<T, ProvDbError>) -> bool {
        let message = message.map_err(wire::status);
        matches!(
            timeout(STALL_TIMEOUT, self.0.send(message)).await,
            Ok(Ok(()))
        )
    }
}

/// An answer whose messages `write` sends, for as long as the client wants them.
pub(super) fn outflow<T, F>(write: impl FnOnce(Outflow<T>) -> F) -> Response<Replies<T>>
where
    T: Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(1);
    let writing = write(Outflow(sender.clone()));
    tokio::spawn(async move {
        // Without the client, what is under way is dropped, which ends it.
        tokio::select! {
            () = sender.closed() => {}
            () = writing => {}
        }
    });
    Response::new(Box::pin(ReceiverStream::new(receiver)))
}

/// An answer of these messages.
pub(super) fn replies<T, I>(messages: I) -> Response<Replies<T>>
where
    T: Send + 'static,
    I: Iterator<Item = T> + Send + 'static,
{
    replies_within(messages, ())
}

/// An answer of these messages, which keeps `place` until its end.
pub(super) fn replies_within<T, I>(messages: I, place: impl Send + 'static) -> Response<Replies<T>>
where
    T: Send + 'static,
    I: Iterator<Item = T> + Send + 'static,
{
    outflow(|out| async move {
        for message in messages {
            if !out.send(Ok(message)).await {
                break;
            }
        }
        drop(place);
    })
}
