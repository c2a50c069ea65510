//! The user's certificate, for servers that other machines can reach: created once, and recognized by its fingerprint.

use anyhow::{Context as _, Result};
use callgrove_headless::{create_secret_file, default_folder};
use callgrove_server::{ServerConfig, TlsFiles, new_certificate_pem};

/// Name of the file with the certificate and its key.
const FILE_NAME: &str = "server.pem";

/// Gives a server that other machines can reach the certificate of the user, unless it has one or is to have none. Returns
/// whether it got that one.
///
/// # Errors
/// There is no folder for the certificate, or it cannot be written.
pub(crate) fn provide(config: &mut ServerConfig) -> Result<bool> {
    let listen = config.listen.ip();
    let is_local = listen.to_canonical().is_loopback();
    if is_local || config.tls.is_some() || config.allows_plain_http {
        return Ok(false);
    }
    let remedy = "pass --tls-cert and --tls-key";
    let folder =
        default_folder().with_context(|| format!("cannot keep a certificate; {remedy}"))?;
    let path = folder.join(FILE_NAME);
    if !path.exists() {
        create_secret_file(&path, || Ok(new_certificate_pem(listen)?)).with_context(|| {
            format!("cannot keep a certificate in {}; {remedy}", path.display())
        })?;
    }
    let files = TlsFiles {
        cert: path.clone(),
        key: path,
    };
    config.tls = Some(files.into());
    Ok(true)
}
