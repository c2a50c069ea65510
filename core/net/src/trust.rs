//! Trusted certificates.

use std::fs;
use std::path::Path;

use ureq::tls::{Certificate, PemItem, parse_pem};

/// Returns the certificates of a PEM file for requests over HTTP. There is at least one.
///
/// # Errors
/// As text, if the file cannot be read or holds no certificate.
pub fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let pem = fs::read(file).map_err(|error| error.to_string())?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err("no certificate in the file".to_owned());
    }
    Ok(certificates)
}
