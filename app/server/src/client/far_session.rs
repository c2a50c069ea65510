//! A session that lies on a server, for a window of another machine: what a page does, without a browser.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use callgrove_session::wire::{LinkEvent, SessionLink, WireError};
use callgrove_session::{SessionHandle, Wake};
use tungstenite::client::{IntoClientRequest as _, client_with_config};
use tungstenite::http::HeaderValue;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use super::far_line::{FarLine, FarServer};
use super::{Client, ClientError, ServedSession};

/// How long a silent server is listened to before what the person did meanwhile is sent.
const LISTEN: Duration = Duration::from_millis(20);
/// How long a server may take for anything it must answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before a lost server is asked again.
const RETRY: Duration = Duration::from_secs(2);

/// Keeps a window and the session of a server together, and connects again when the connection is lost.
pub struct FarSession {
    server: FarServer,
    path: String,
    client: Client,
    link: SessionLink,
    wake: Wake,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("The server has ended the connection: {0}")]
    Ended(String),
    #[error("The connection to the server is lost: {0}")]
    Io(#[from] std::io::Error),
    #[error("The connection to the server is lost: {0}")]
    Socket(Box<tungstenite::Error>),
    #[error("The server is not connected to: {0}")]
    OtherUser(#[from] ClientError),
    #[error("The server is not understood: {0}")]
    Wire(#[from] WireError),
}

impl From<tungstenite::Error> for Lost {
    fn from(error: tungstenite::Error) -> Self {
        Self::Socket(Box::new(error))
    }
}

impl FarSession {
    /// The session that the client's server has, for a viewer with a key that no other has; `wake` is called whenever
    /// there is something new. Nothing happens until [`run`](Self::run).
    ///
    /// # Errors
    /// The server's address or the certificates that are trusted cannot be used.
    pub fn new(
        client: &Client,
        served: &ServedSession,
        key: u64,
        name: Option<String>,
        wake: Wake,
    ) -> Result<(SessionHandle, Self), ClientError> {
        let server = FarServer::new(client.url(), client.trusted());
        let server = server.map_err(|cause| ClientError::Url {
            cause,
            url: client.url().to_owned(),
        })?;
        let (handle, link) = SessionLink::new(key, name);
        let session = Self {
            server,
            path: served.path.clone(),
            client: client.clone(),
            link,
            wake,
        };
        Ok((handle, session))
    }

    /// The line to the run that the server watches.
    pub fn link(&mut self) -> &mut SessionLink {
        &mut self.link
    }

    /// Carries what is said both ways; does not end by itself.
    pub fn run(mut self) {
        loop {
            let Err(lost) = self.talk();
            self.link.lost(&lost.to_string());
            (self.wake)();
            std::thread::sleep(RETRY);
        }
    }

    fn talk(&mut self) -> Result<std::convert::Infallible, Lost> {
        let mut socket = self.connect()?;
        socket.send(Message::Binary(self.link.connected()?.into()))?;
        socket.get_ref().set_read_timeout(LISTEN)?;
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

    fn connect(&self) -> Result<WebSocket<FarLine>, Lost> {
        // The line is encrypted already where it shall be.
        let address = format!("ws://{}{}", self.server.authority(), self.path);
        let mut request = address.into_client_request()?;
        if let Some(bearer) = self.client.bearer()? {
            let bearer = HeaderValue::from_str(&bearer).map_err(tungstenite::Error::from)?;
            request.headers_mut().insert("authorization", bearer);
        }
        let line = self.server.connect(PATIENCE)?;
        // What a run of many calls has to tell at once is large.
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (socket, _) = client_with_config(request, line, Some(config))
            .map_err(|error| Lost::Ended(error.to_string()))?;
        Ok(socket)
    }

    fn take(&mut self, frame: &[u8]) -> Result<(), Lost> {
        if let LinkEvent::File(file) = self.link.take(frame)? {
            // Where the person wanted it, on this machine.
            fs::write(Path::new(&file.name), &file.content)?;
        }
        (self.wake)();
        Ok(())
    }
}
