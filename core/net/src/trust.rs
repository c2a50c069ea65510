//! Certificates to trust.

use std::fs;
use std::path::Path;

use ureq::tls::{Certificate, PemItem, parse_pem};

/// The certificates of a PEM file, at least one, for requests over HTTP.
///
/// # Errors
/// In words, if the file cannot be read, or has none.
pub fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let pem = fs::read(file).map_err(|error| error.to_string())?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(certificates)
}
