//! Certificate and key of the port, from PEM files or made at the start.

use std::fs::{self, File};
use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_access::{issued_by, readable_by_all, self_signed};
use callgrove_net::Fingerprint;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServerError;

/// The certificate of a server.
#[derive(Clone, Debug)]
pub enum TlsCertificate {
    /// One in files.
    Files(TlsFiles),
    /// A new one for this process, which clients recognize by its fingerprint.
    Generated,
}

/// Paths of certificate and key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// PEM file with the server's certificate, then those that signed it. The certificate of an authority is accepted
    /// too, even a self-signed one: with its key, the server issues itself a certificate.
    pub cert: PathBuf,
    /// PEM file with the key of the first certificate (PKCS #8, PKCS #1 or SEC 1).
    pub key: PathBuf,
}

impl From<TlsFiles> for TlsCertificate {
    fn from(files: TlsFiles) -> Self {
        Self::Files(files)
    }
}

/// An acceptor of connections, and the fingerprint of its certificate.
pub(crate) struct Acceptor {
    pub(crate) tls: TlsAcceptor,
    pub(crate) fingerprint: Fingerprint,
}

impl TlsCertificate {
    /// Returns an acceptor of TLS 1.2 and 1.3 connections at `listen`, which offers HTTP/2 before HTTP/1.1.
    ///
    /// # Errors
    /// If a file cannot be read or has other content, if the key does not match the certificate, or if none can be
    /// generated.
    pub(crate) fn acceptor(&self, listen: IpAddr) -> Result<Acceptor, ServerError> {
        let failed = |cause: String| match self {
            Self::Files(files) => ServerError::TlsPair {
                cause,
                cert: files.cert.clone(),
                key: files.key.clone(),
            },
            Self::Generated => ServerError::TlsGenerated { cause },
        };
        let (chain, key) = match self {
            Self::Generated => {
                let (own, key) = self_signed(listen).map_err(failed)?;
                (vec![own], key)
            }
            Self::Files(files) => files.read(listen, failed)?,
        };
        let fingerprint = Fingerprint::of_certificate(&chain[0]);
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| failed(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Acceptor {
            tls: TlsAcceptor::from(Arc::new(config)),
            fingerprint,
        })
    }
}

impl TlsFiles {
    /// Returns the certificate, followed by those that signed it, and its key.
    fn read(
        &self,
        listen: IpAddr,
        failed: impl FnOnce(String) -> ServerError,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ServerError> {
        let (mut chain, mut key) = (certificates(&self.cert)?, private_key(&self.key)?);
        if let Some((own, own_key)) = issued_by(&chain[0], &key, listen).map_err(failed)? {
            chain.insert(0, own);
            key = own_key;
        }
        Ok((chain, key))
    }
}

/// Returns a certificate that is signed by its own key, and the key, in PEM form: the content of a file that can be both
/// files of [`TlsFiles`].
///
/// # Errors
/// [`ServerError::TlsGenerated`], if no key can be made.
pub fn new_certificate_pem(listen: IpAddr) -> Result<String, ServerError> {
    callgrove_access::new_certificate_pem(listen)
        .map_err(|cause| ServerError::TlsGenerated { cause })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let content = |cause| ServerError::TlsContent {
        cause,
        expected: "certificates in PEM form",
        path: path.to_owned(),
    };
    let pem = fs::read(path).map_err(|cause| ServerError::TlsFile {
        path: path.to_owned(),
        cause,
    })?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| content(error.to_string()))?;
    if certificates.is_empty() {
        return Err(content("the file has no certificate".to_owned()));
    }
    Ok(certificates)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, ServerError> {
    let failed = |cause| ServerError::TlsFile {
        path: path.to_owned(),
        cause,
    };
    let mut file = File::open(path).map_err(failed)?;
    if readable_by_all(&file).map_err(failed)? {
        return Err(ServerError::KeyExposed {
            path: path.to_owned(),
        });
    }
    let mut pem = Vec::new();
    file.read_to_end(&mut pem).map_err(failed)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| ServerError::TlsContent {
        cause: error.to_string(),
        expected: "an unencrypted private key in PEM form",
        path: path.to_owned(),
    })
}
