//! The end of the connection to a page.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use callgrove_wire::WireError;
use tokio::time::timeout;
use tracing::debug;

/// Timeout for a viewer to receive the reason for a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The reason why a connection has closed.
pub(super) enum Closed {
    /// The connection broke.
    Lost,
    /// The viewer has closed its page, or reloaded it, which connects as another viewer.
    Left,
    /// The server closes the connection, with a code and a reason.
    Refused(u16, String),
}

impl Closed {
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(close_code::POLICY, why.into())
    }

    /// Sends the reason, if the connection is still open.
    pub(super) async fn send_close(self, mut socket: WebSocket) {
        let Self::Refused(code, reason) = self else {
            return;
        };
        debug!(reason, "closing the connection to a page");
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        socket.send(Message::Close(Some(frame))).await.ok();
        // Reading to the end keeps unread data from resetting the connection, which would lose the reason.
        let rest = async { while let Some(Ok(_)) = socket.recv().await {} };
        timeout(CLOSE_TIMEOUT, rest).await.ok();
    }
}

impl From<axum::Error> for Closed {
    fn from(error: axum::Error) -> Self {
        debug!(%error, "the connection to a page broke");
        Self::Lost
    }
}

impl From<WireError> for Closed {
    fn from(error: WireError) -> Self {
        Self::Refused(close_code::INVALID, error.to_string())
    }
}
