//! Server certificates that this program makes: self-signed, or issued by the given certificate authority, as `openssl
//! req -x509` makes one.
//!
//! Clients accept an authority's certificate for the certificates that it has signed, and many (all that use rustls)
//! reject it as a server's own. The authority's key is available, so the server issues itself a certificate, which
//! every client that trusts the authority also trusts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use callgrove_local::host_name;
use rcgen::{
    Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

/// The subject of certificates that this program makes.
const COMMON_NAME: &str = "Callgrove server";

/// A certificate and its key.
pub type IssuedCertificate = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// Returns the server's own certificate, if `given` is that of an authority. It has the names of the authority; without
/// any, the names and addresses by which the server at `listen` is reached without a name service.
///
/// # Errors
/// A message, if the authority's key cannot sign.
pub fn issued_by(
    given: &CertificateDer<'_>,
    key: &PrivateKeyDer<'_>,
    listen: IpAddr,
) -> Result<Option<IssuedCertificate>, String> {
    let (_, authority) = X509Certificate::from_der(given).map_err(|error| error.to_string())?;
    if !authority.is_ca() {
        return Ok(None);
    }
    let failed = |error: rcgen::Error| {
        format!(
            "{error}: the certificate is that of an authority, whose key cannot sign one for the server; convert the key with \
             `openssl pkcs8 -topk8 -nodes`, or add `-addext basicConstraints=critical,CA:FALSE` to `openssl req -x509`"
        )
    };
    let signing_key = KeyPair::try_from(key).map_err(failed)?;
    let issuer = Issuer::from_ca_cert_der(given, signing_key).map_err(failed)?;
    let mut params = CertificateParams::new(names(&authority, listen)).map_err(failed)?;
    params
        .distinguished_name
        .push(DnType::CommonName, COMMON_NAME);
    params.not_before = authority.validity().not_before.to_datetime();
    params.not_after = authority.validity().not_after.to_datetime();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let own_key = KeyPair::generate().map_err(failed)?;
    let own = params.signed_by(&own_key, &issuer).map_err(failed)?;
    let own_key = PrivatePkcs8KeyDer::from(own_key.serialize_der());
    Ok(Some((own.der().clone(), own_key.into())))
}

/// Returns a certificate that is signed by its own key.
///
/// # Errors
/// A message, if no key can be made.
pub fn self_signed(listen: IpAddr) -> Result<IssuedCertificate, String> {
    let (certificate, key) = sign_itself(listen).map_err(|error| error.to_string())?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok((certificate.der().clone(), key.into()))
}

/// Returns a certificate that is signed by its own key, and the key, in PEM form: the content of a file that can be both
/// files of a server.
///
/// # Errors
/// A message, if no key can be made.
pub fn new_certificate_pem(listen: IpAddr) -> Result<String, String> {
    let (certificate, key) = sign_itself(listen).map_err(|error| error.to_string())?;
    Ok(certificate.pem() + &key.serialize_pem())
}

fn sign_itself(listen: IpAddr) -> Result<(Certificate, KeyPair), rcgen::Error> {
    let mut names = names_of_machine(listen);
    tidy(&mut names);
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, COMMON_NAME);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?, key))
}

fn names(authority: &X509Certificate<'_>, listen: IpAddr) -> Vec<String> {
    let stated = authority.subject_alternative_name().ok().flatten();
    let stated = stated.iter().flat_map(|it| &it.value.general_names);
    let mut names: Vec<String> = stated.filter_map(name).collect();
    if names.is_empty() {
        let subject = authority.subject().iter_common_name();
        let subject = subject.filter_map(|it| it.as_str().ok());
        names.extend(subject.map(str::to_owned));
        names.extend(names_of_machine(listen));
    }
    tidy(&mut names);
    names
}

/// Returns the names and addresses by which a server at `listen` is reached without a name service.
fn names_of_machine(listen: IpAddr) -> Vec<String> {
    let mut names: Vec<String> = host_name().into_iter().collect();
    names.push("localhost".to_owned());
    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let addresses = loopback.into_iter().chain([listen]);
    let addresses = addresses.filter(|it| !it.is_unspecified());
    names.extend(addresses.map(|it| it.to_string()));
    names
}

/// Leaves the names that a certificate can have, in order.
fn tidy(names: &mut Vec<String>) {
    for name in &mut *names {
        *name = name.trim().to_lowercase();
    }
    names.retain(|name| name.parse::<IpAddr>().is_ok() || is_host(name));
    names.sort_unstable();
    names.dedup();
}

fn name(stated: &GeneralName<'_>) -> Option<String> {
    match stated {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let of_four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let of_sixteen = || <[u8; 16]>::try_from(*bytes).map(IpAddr::from);
            Some(of_four.or_else(|_| of_sixteen()).ok()?.to_string())
        }
        _ => None,
    }
}

/// Returns whether a name can be a host name; an authority's name can be any text.
fn is_host(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '*' | '_');
    !name.is_empty() && name.chars().all(is_fit)
}
