//! The fingerprint of a certificate, and TLS connections to the server that has this certificate.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};

/// The prefix of a fingerprint as text.
const PREFIX: &str = "sha256:";

/// The SHA-256 digest of a certificate in DER form. Its text is `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER form.
    pub fn of_certificate(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let digits = text.strip_prefix(PREFIX)?;
            let mut bytes = [0; 32];
            if digits.len() != 2 * bytes.len() {
                return None;
            }
            for (index, byte) in bytes.iter_mut().enumerate() {
                let pair = digits.get(2 * index..2 * index + 2)?;
                // A sign would be accepted as part of a number.
                if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return None;
                }
                *byte = u8::from_str_radix(pair, 16).ok()?;
            }
            Some(Self(bytes))
        };
        parse().ok_or_else(|| {
            format!("{text} is not the fingerprint of a certificate ({PREFIX} and 64 hexadecimal digits)")
        })
    }
}

/// Returns the TLS settings of a client that accepts one certificate and no other. The client verifies that the server
/// has the key of the certificate; names, dates and authorities do not matter.
///
/// # Errors
/// If the TLS library has no protocol version in common with its cryptography.
pub fn pinned_config(fingerprint: Fingerprint, protocols: &[&str]) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(PinnedCertificate {
            fingerprint,
            algorithms,
        }))
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    Ok(config)
}

/// Returns whether a handshake failed because the server has another certificate than the pinned one.
pub fn has_other_certificate(error: &Error) -> bool {
    let other = CertificateError::ApplicationVerificationFailure;
    *error == Error::InvalidCertificate(other)
}

/// Accepts one certificate. A server proves by the signatures of the handshake that it has the key.
#[derive(Debug)]
struct PinnedCertificate {
    fingerprint: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Fingerprint::of_certificate(end_entity) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_survives_as_text_and_others_are_refused() {
        let fingerprint = Fingerprint::of_certificate(b"a certificate");
        let text = fingerprint.to_string();
        assert_eq!(text.len(), PREFIX.len() + 64);
        assert_eq!(text.parse(), Ok(fingerprint));
        let signed = format!("{PREFIX}{}", "+1".repeat(32));
        let long = format!("{text}0");
        for wrong in [&text[1..], &text[..70], &long, &signed, "", PREFIX] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
