//! The token in the requests of a channel.

use tonic::codegen::http::Uri;
use tonic::metadata::errors::InvalidMetadataValue;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

use crate::credential::Credential;
use crate::pinned_server::PinnedServer;

/// An interceptor that adds the token to each request.
#[derive(Clone, Debug)]
pub struct Bearer(Source);

/// Where the token comes from.
#[derive(Clone, Debug)]
enum Source {
    /// The server requires none.
    Nowhere,
    Credential {
        credential: Credential,
        url: Uri,
        /// `None` while there is no token.
        header: Option<MetadataValue<Ascii>>,
    },
    Pinned(PinnedServer),
}

impl Bearer {
    /// Returns the interceptor for the server at a URL.
    pub(crate) fn new(credential: Option<Credential>, url: Uri) -> Result<Self, String> {
        let mut bearer =
            Self(
                credential.map_or(Source::Nowhere, |credential| Source::Credential {
                    credential,
                    url,
                    header: None,
                }),
            );
        bearer.header()?;
        Ok(bearer)
    }

    /// Returns the interceptor for a server that is known by its certificate.
    pub(crate) fn pinned(server: PinnedServer) -> Self {
        Self(Source::Pinned(server))
    }

    /// Returns the header of a request; `None` as long as there is no token.
    fn header(&mut self) -> Result<Option<MetadataValue<Ascii>>, String> {
        match &mut self.0 {
            Source::Nowhere => Ok(None),
            Source::Credential {
                credential,
                url,
                header,
            } => {
                if header.is_none() {
                    *header = credential.after_check(url).map(as_header).transpose()?;
                }
                Ok(header.clone())
            }
            Source::Pinned(server) => {
                let token = server.token().map_err(|error| error.to_string())?;
                token.as_deref().map(as_header).transpose()
            }
        }
    }
}

fn as_header(token: &str) -> Result<MetadataValue<Ascii>, String> {
    let header = format!("Bearer {token}").parse();
    let mut header: MetadataValue<Ascii> =
        header.map_err(|error: InvalidMetadataValue| format!("{error} in the token"))?;
    header.set_sensitive(true);
    Ok(header)
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let header = self.header().map_err(|cause| match &self.0 {
            // Its server has not started yet.
            Source::Pinned(_) => Status::unavailable(cause),
            _ => Status::unauthenticated(cause),
        })?;
        if let Some(header) = header {
            request.metadata_mut().insert("authorization", header);
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        let explicit = Credential::explicit("secret-of-the-site");
        let url = Uri::from_static("http://node7:5559");
        let bearer = Bearer::new(Some(explicit), url).expect("a token");
        assert!(!format!("{bearer:?}").contains("secret-of-the-site"));
    }
}
