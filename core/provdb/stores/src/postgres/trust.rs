//! Trusted servers: those with a certificate that a given file vouches for.

use std::path::Path;
use std::sync::Arc;

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// The verifier's error code for a server that shows the certificate of an authority as its own.
const CA_AS_END_ENTITY: &str = "CaUsedAsEndEntity";

/// Returns a connector that trusts servers whose certificate is signed by one in `ca_file` (PEM), or is in it. The
/// error describes the problem of the file.
pub(super) fn trusting(ca_file: &Path) -> Result<MakeRustlsConnect, String> {
    let named = |cause: String| format!("{cause}: {}", ca_file.display());
    let certificates =
        CertificateDer::pem_file_iter(ca_file).map_err(|it| named(it.to_string()))?;
    let given: Result<Vec<_>, _> = certificates.collect();
    let given = given.map_err(|it| named(it.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in &given {
        roots
            .add(certificate.clone())
            .map_err(|it| named(it.to_string()))?;
    }
    if roots.is_empty() {
        return Err(named("no certificate in the file".to_owned()));
    }
    let provider = Arc::new(ring::default_provider());
    let signed = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .map_err(|it| named(it.to_string()))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|it| named(it.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(GivenOrSigned { given, signed }))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// A verifier that accepts certificates signed by a given authority, and an authority's certificate if it is the given
/// one: `openssl req -x509` creates such certificates, and servers use them.
#[derive(Debug)]
struct GivenOrSigned {
    given: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for GivenOrSigned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.signed
                .verify_server_cert(certificate, others, name, ocsp_response, now);
        match verified {
            // Its validity period was checked above.
            Err(Error::InvalidCertificate(CertificateError::Other(error)))
                if error.0.to_string() == CA_AS_END_ENTITY && self.given.contains(certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}
