//! A session on a server for a window on another machine: does what a page does, without a browser.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use callgrove_session::{SessionHandle, Wake};
use callgrove_wire::{LinkEvent, SessionLink, WireError};
use tungstenite::client::{IntoClientRequest as _, client_with_config};
use tungstenite::http::HeaderValue;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use super::remote_stream::{RemoteServer, RemoteStream};
use super::{Client, ClientError, ServedSession};

/// Read timeout while connected: the longest delay before the user's commands are sent to a silent server.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Timeout for connecting and for each answer of the server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before a lost server is contacted again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Connects a window to the session of a server, and reconnects when the connection is lost.
pub struct RemoteSession {
    path: String,
    client: Client,
    link: SessionLink,
    wake: Wake,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("The server closed the connection: {0}")]
    Ended(String),
    #[error("Lost the connection to the server: {0}")]
    Io(#[from] std::io::Error),
    #[error("Lost the connection to the server: {0}")]
    Socket(Box<tungstenite::Error>),
    #[error("Could not connect to the server: {0}")]
    Refused(#[from] ClientError),
    #[error("Could not read the server's answer: {0}")]
    Wire(#[from] WireError),
}

impl From<tungstenite::Error> for Lost {
    fn from(error: tungstenite::Error) -> Self {
        Self::Socket(Box::new(error))
    }
}

impl RemoteSession {
    /// A link to the session of the client's server, for a viewer with a unique key. `wake` is called whenever
    /// something has changed. Nothing is sent before [`run`](Self::run).
    ///
    /// # Errors
    /// If the server's address or the trusted certificates cannot be used.
    pub fn new(
        client: &Client,
        served: &ServedSession,
        key: u64,
        name: Option<String>,
        wake: Wake,
    ) -> Result<(SessionHandle, Self), ClientError> {
        server_of(client)?;
        let (handle, link) = SessionLink::new(key, name);
        let session = Self {
            path: served.path.clone(),
            client: client.clone(),
            link,
            wake,
        };
        Ok((handle, session))
    }

    /// Returns the link to the run that the server watches.
    pub fn link(&mut self) -> &mut SessionLink {
        &mut self.link
    }

    /// Exchanges messages in both directions; does not return.
    pub fn run(mut self) {
        loop {
            let Err(lost) = self.exchange();
            self.link.lost(&lost.to_string());
            (self.wake)();
            std::thread::sleep(RETRY_INTERVAL);
        }
    }

    fn exchange(&mut self) -> Result<std::convert::Infallible, Lost> {
        let mut socket = self.connect()?;
        socket.send(Message::Binary(self.link.connected()?.into()))?;
        socket.get_ref().set_read_timeout(POLL_INTERVAL)?;
        loop {
            while let Some(message) = self.link.next_message(|path| fs::read(path).ok())? {
                socket.send(Message::Binary(message.into()))?;
            }
            match socket.read() {
                Ok(Message::Binary(frame)) => self.take(&frame)?,
                Ok(Message::Close(why)) => {
                    let why = why.map_or_else(String::new, |why| why.reason.to_string());
                    return Err(Lost::Ended(why));
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn connect(&self) -> Result<WebSocket<RemoteStream>, Lost> {
        let (server, bearer) = server_of(&self.client)?;
        // The stream is encrypted already if the server has a certificate.
        let address = format!("ws://{}{}", server.authority(), self.path);
        let mut request = address.into_client_request()?;
        if let Some(bearer) = bearer {
            let bearer = HeaderValue::from_str(&bearer).map_err(tungstenite::Error::from)?;
            request.headers_mut().insert("authorization", bearer);
        }
        let stream = server.connect(TIMEOUT)?;
        // Snapshots of a run with many calls are large.
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = client_with_config(request, stream, Some(config))
            .map_err(|error| Lost::Ended(error.to_string()))?;
        Ok(socket)
    }

    fn take(&mut self, frame: &[u8]) -> Result<(), Lost> {
        if let LinkEvent::File(file) = self.link.take(frame)? {
            // The path that the user chose on this machine.
            fs::write(Path::new(&file.name), &file.content)?;
        }
        (self.wake)();
        Ok(())
    }
}

/// Returns the server that the client reaches now, and the header with its token.
fn server_of(client: &Client) -> Result<(RemoteServer, Option<String>), ClientError> {
    let unusable = |cause: String| ClientError::Url {
        cause,
        url: client.url().to_owned(),
    };
    let endpoint = client.endpoint()?;
    let endpoint = endpoint.ok_or_else(|| unusable("it is in this process".to_owned()))?;
    let server = RemoteServer::new(&endpoint.base, &endpoint.trust).map_err(unusable)?;
    Ok((server, endpoint.bearer))
}
