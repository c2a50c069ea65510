//! Requests to the browser, its replies, and the events in between.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use super::TIMEOUT;

/// An open connection to a browser. While it waits for a reply, it reads and stores the events of each page.
pub(super) struct Connection {
    socket: WebSocket<TcpStream>,
    last_id: u64,
    pages: BTreeMap<String, Events>,
    /// The page's session for each worker's session.
    pages_of_workers: BTreeMap<String, String>,
}

/// Events so far of one page and its workers.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    /// Console errors, exceptions, refused requests and violations of the content security policy.
    pub(super) errors: Vec<String>,
    /// Number of bytes received over the network, headers included.
    pub(super) received_bytes: u64,
    /// Number of finished loads of the page.
    pub(super) num_loads: u64,
    /// Statuses of the server's replies for documents, by the protocol's id of their load.
    pub(super) statuses: BTreeMap<String, u16>,
    /// File inputs whose dialog was requested, by the protocol's id of their node.
    pub(super) file_inputs: Vec<u64>,
}

impl Connection {
    /// Connects to the address that the browser printed.
    pub(super) fn open(address: &str) -> Result<Self> {
        let authority = address.strip_prefix("ws://").context("a ws:// address")?;
        let authority = authority.split('/').next().unwrap_or_default();
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let (socket, _) = tungstenite::client(address, stream).map_err(|error| {
            anyhow::anyhow!("the browser refuses the connection to {address}: {error}")
        })?;
        Ok(Self {
            socket,
            last_id: 0,
            pages: BTreeMap::new(),
            pages_of_workers: BTreeMap::new(),
        })
    }

    /// Sends a request to a session, or to the browser itself, and returns its result.
    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value> {
        let id = self.send(session, method, params)?;
        let end = Instant::now() + TIMEOUT;
        while Instant::now() < end {
            let message = self
                .read()
                .with_context(|| format!("{method} got no reply"))?;
            if message["id"] == id {
                let error = &message["error"];
                ensure!(error.is_null(), "{method} failed: {error}");
                return Ok(message["result"].clone());
            }
        }
        bail!("{method} got no reply in {TIMEOUT:?}")
    }

    /// Starts to store the events of a page.
    pub(super) fn watch(&mut self, session: &str) {
        self.pages.insert(session.to_owned(), Events::default());
    }

    /// Returns the events of a page so far.
    pub(super) fn events(&self, session: &str) -> Events {
        self.pages.get(session).cloned().unwrap_or_default()
    }

    /// Sends a request, and returns the id of its reply.
    fn send(&mut self, session: Option<&str>, method: &str, params: &Value) -> Result<u64> {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = session {
            request["sessionId"] = session.into();
        }
        self.socket.send(Message::text(request.to_string()))?;
        Ok(self.last_id)
    }

    /// Reads the next message, and stores it if it is an event.
    fn read(&mut self) -> Result<Value> {
        loop {
            if let Message::Text(text) = self.socket.read()? {
                let message: Value = serde_json::from_str(&text)?;
                self.store_event(&message)?;
                return Ok(message);
            }
        }
    }

    /// Stores an event with those of its page; other messages have no effect.
    fn store_event(&mut self, message: &Value) -> Result<()> {
        let (Some(method), Some(session)) =
            (message["method"].as_str(), message["sessionId"].as_str())
        else {
            return Ok(());
        };
        let params = &message["params"];
        let page = self.pages_of_workers.get(session);
        let page = page.map_or(session, String::as_str).to_owned();
        if method == "Target.attachedToTarget" {
            return self.attach_worker(&page, params);
        }
        let Some(events) = self.pages.get_mut(&page) else {
            return Ok(());
        };
        match method {
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                events.errors.push(console_text(&params["args"]));
            }
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                events.errors.push(described(details));
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                events.errors.push(text(&params["entry"]["text"]));
            }
            "Network.responseReceived" if params["type"] == "Document" => {
                let status = params["response"]["status"].as_u64().unwrap_or_default();
                let load = text(&params["loaderId"]);
                events.statuses.insert(load, u16::try_from(status)?);
            }
            "Network.loadingFinished" => {
                let bytes = params["encodedDataLength"].as_f64().unwrap_or_default();
                events.received_bytes += bytes as u64;
            }
            "Page.loadEventFired" => events.num_loads += 1,
            "Page.fileChooserOpened" => {
                events.file_inputs.extend(params["backendNodeId"].as_u64());
            }
            _ => {}
        }
        Ok(())
    }

    /// Attaches to a worker that a page starts, from its first instruction on.
    fn attach_worker(&mut self, page: &str, params: &Value) -> Result<()> {
        let session = text(&params["sessionId"]);
        self.pages_of_workers
            .insert(session.clone(), page.to_owned());
        for method in [
            "Runtime.enable",
            "Log.enable",
            "Network.enable",
            "Runtime.runIfWaitingForDebugger",
        ] {
            self.send(Some(&session), method, &json!({}))?;
        }
        Ok(())
    }
}

/// Returns an exception's own description with its stack, or else the browser's text.
pub(super) fn described(details: &Value) -> String {
    let description = &details["exception"]["description"];
    match description.as_str() {
        Some(description) => description.to_owned(),
        None => text(&details["text"]),
    }
}

/// Returns the arguments of a console message in the form that the console shows.
fn console_text(args: &Value) -> String {
    let args = args.as_array().into_iter().flatten();
    let words = args.map(|arg| match (&arg["value"], &arg["description"]) {
        (Value::String(text), _) | (Value::Null, Value::String(text)) => text.clone(),
        (value, _) => value.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
