//! Access to the servers of running jobs. A provenance database on this machine, possibly of a finished run, is queried
//! through the same interface, in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_provdb::AccessMode;
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::MonotonicClock;
use callgrove_server::api::{Api, Live};
use callgrove_server::client::{Client, ClientOptions};
use callgrove_server::hub::Hub;
use callgrove_server::{AddressFile, Credential, ServerError, Token, recorded_overview};

use crate::error::PipelineError;
use crate::stores::documents;

/// The access to servers.
#[derive(Clone, Default)]
pub struct ServerAccess {
    /// Certificates to trust instead of the public authorities.
    pub ca_file: Option<PathBuf>,
    /// The credential for servers for which no token is entered.
    pub credential: Option<Credential>,
    /// The run that this process analyses itself, with the name in place of its address.
    pub own: Option<(String, Api)>,
}

impl ServerAccess {
    /// Returns a client of the server at an address; `None` if it is not the address of a server.
    ///
    /// # Errors
    /// The address or the file of certificates is invalid.
    pub fn server(&self, address: &str) -> Result<Option<Client>, PipelineError> {
        self.server_with(address, None)
    }

    /// Returns a client of a source: the run of this process, a server, or a database.
    ///
    /// # Errors
    /// As [`server`](Self::server), and if the token is invalid or the database cannot be read.
    pub fn client(&self, address: &str, token: Option<String>) -> Result<Client, PipelineError> {
        let own = self.own.as_ref();
        if let Some((_, api)) = own.filter(|(name, _)| name == address) {
            return in_process(address, api.clone());
        }
        match self.server_with(address, token)? {
            Some(client) => Ok(client),
            None => in_process(address, api_of_database(address)?),
        }
    }

    fn server_with(
        &self,
        address: &str,
        token: Option<String>,
    ) -> Result<Option<Client>, PipelineError> {
        if !is_server(address) {
            return Ok(None);
        }
        let is_complete = address.contains("://") || AddressFile::named(address).is_some();
        let address = if is_complete {
            address.to_owned()
        } else {
            format!("http://{address}")
        };
        let entered = token
            .map(|secret| Token::new(&secret, "the entered token"))
            .transpose()
            .map_err(ServerError::from)?;
        let options = ClientOptions {
            credential: match (entered, &self.credential) {
                (None, own) => own.clone(),
                (Some(entered), None) => Some(entered.stated()),
                (Some(entered), Some(own)) => Some(own.with_entered(entered.secret())),
            },
            ca_file: self.ca_file.clone(),
        };
        Ok(Some(Client::new(&address, &options)?))
    }
}

fn in_process(address: &str, api: Api) -> Result<Client, PipelineError> {
    Client::in_process(address, api).map_err(PipelineError::InProcess)
}

/// Returns whether a source is a server, by its address, with or without `http://`, or its address file, rather than a
/// database.
pub fn is_server(address: &str) -> bool {
    let is_host_and_port = || {
        let port = address.rsplit_once(':').map(|(_, port)| port);
        !address.contains("://")
            && !Path::new(address).exists()
            && port.is_some_and(|port| port.parse::<u16>().is_ok())
    };
    address.starts_with("http://")
        || address.starts_with("https://")
        || AddressFile::named(address).is_some()
        || is_host_and_port()
}

/// Returns the interface that a server of a database would have, with the overview of its run.
fn api_of_database(url: &str) -> Result<Api, PipelineError> {
    let options = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let mut store = callgrove_provdb_stores::open(url, &options)?;
    let now_ms = MonotonicClock::new().now_ms();
    let hub = Arc::new(Hub::new(now_ms));
    hub.publish(&recorded_overview::packet(store.as_mut(), now_ms)?);
    hub.end();
    drop(store);
    Ok(Api {
        live: Live::Published(hub),
        tree_models: None,
        documents: Some(documents(url, &options)),
    })
}
