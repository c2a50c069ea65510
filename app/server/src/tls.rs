//! Certificate and key of the port, from PEM files.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServerError;
use crate::issued_certificate::issued_by;

/// Paths of certificate and key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// PEM file with the server's certificate, then those that signed it. The certificate of an authority is accepted
    /// too, even a self-signed one: with its key, the server issues itself a certificate.
    pub cert: PathBuf,
    /// PEM file with the key of the first certificate (PKCS #8, PKCS #1 or SEC 1).
    pub key: PathBuf,
}

impl TlsFiles {
    /// Returns an acceptor of TLS 1.2 and 1.3 connections at `listen`, which offers HTTP/2 before HTTP/1.1.
    ///
    /// # Errors
    /// If a file cannot be read or has other content, or if the key does not match the certificate.
    pub(crate) fn acceptor(&self, listen: IpAddr) -> Result<TlsAcceptor, ServerError> {
        let pair = |cause: String| ServerError::TlsPair {
            cause,
            cert: self.cert.clone(),
            key: self.key.clone(),
        };
        let (mut chain, mut key) = (certificates(&self.cert)?, private_key(&self.key)?);
        if let Some((own, own_key)) = issued_by(&chain[0], &key, listen).map_err(pair)? {
            chain.insert(0, own);
            key = own_key;
        }
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| pair(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| pair(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let content = |cause| ServerError::TlsContent {
        cause,
        expected: "certificates in PEM form",
        path: path.to_owned(),
    };
    let pem = read(path)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| content(error.to_string()))?;
    if certificates.is_empty() {
        return Err(content("the file has no certificate".to_owned()));
    }
    Ok(certificates)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, ServerError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| ServerError::TlsContent {
        cause: error.to_string(),
        expected: "an unencrypted private key in PEM form",
        path: path.to_owned(),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, ServerError> {
    fs::read(path).map_err(|source| ServerError::TlsFile {
        path: path.to_owned(),
        source,
    })
}
