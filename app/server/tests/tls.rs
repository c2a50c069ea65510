//! TLS on the port, for both protocols, with certificates that are made for the test.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::os::unix::fs::PermissionsExt as _;

use callgrove_server::api::Live;
use callgrove_server::client::{Client, ClientError, ClientOptions};
use callgrove_server::{RunningServer, ServerConfig, TlsFiles};
use support::{Certificate, SECRET, block_on, call_at, config, start, token};
use tonic::transport::{Channel, ClientTlsConfig};

fn encrypted(certificate: &Certificate) -> RunningServer {
    let tls = Some(certificate.files().into());
    start(
        ServerConfig {
            token: Some(token()),
            tls,
            ..config()
        },
        Live::Absent,
    )
}

fn trusting(certificate: &Certificate) -> ClientOptions {
    ClientOptions {
        credential: Some(token().stated()),
        ca_file: Some(certificate.signer()),
    }
}

#[test]
fn both_protocols_work_over_tls() {
    check_both_protocols(&Certificate::new());
}

#[test]
fn both_protocols_work_with_a_certificate_signed_by_an_authority() {
    check_both_protocols(&Certificate::signed_by_authority());
}

#[test]
fn both_protocols_work_with_an_openssl_req_x509_certificate() {
    check_both_protocols(&Certificate::of_openssl());
}

fn check_both_protocols(certificate: &Certificate) {
    let server = encrypted(certificate);
    assert!(server.url().starts_with("https://"));
    Client::new(server.url(), &trusting(certificate))
        .unwrap()
        .health()
        .unwrap();
    let said = block_on(async {
        let pem = std::fs::read_to_string(certificate.signer()).unwrap();
        let tls =
            ClientTlsConfig::new().ca_certificate(tonic::transport::Certificate::from_pem(pem));
        let channel = Channel::from_shared(server.url().to_owned())
            .unwrap()
            .tls_config(tls)
            .unwrap();
        call_at(
            channel.connect().await.unwrap(),
            "/test.Echo/Say",
            Some(SECRET),
            "hello",
        )
        .await
    });
    assert_eq!(said.unwrap(), "hello");
}

#[test]
fn an_untrusted_certificate_is_reported_with_a_remedy() {
    for make in [Certificate::new, Certificate::signed_by_authority] {
        let server = encrypted(&make());
        for options in [ClientOptions::default(), trusting(&make())] {
            let failed = Client::new(server.url(), &options)
                .unwrap()
                .health()
                .expect_err("untrusted");
            assert!(
                matches!(failed, ClientError::Certificate { .. }),
                "{failed}"
            );
            assert!(failed.to_string().contains("--ca"), "{failed}");
            assert!(!failed.is_worth_a_retry());
        }
    }
}

#[test]
fn the_wrong_scheme_is_reported_on_either_side() {
    let certificate = Certificate::new();
    let server = encrypted(&certificate);
    let plain = server.url().replace("https", "http");
    let failed = Client::new(&plain, &trusting(&certificate))
        .unwrap()
        .health()
        .expect_err("TLS");
    assert!(failed.to_string().contains("https://"), "{failed}");

    let open = start(config(), Live::Absent);
    let secure = open.url().replace("http", "https");
    let failed = Client::new(&secure, &trusting(&certificate))
        .unwrap()
        .health()
        .expect_err("no TLS");
    assert!(matches!(failed, ClientError::Tls { .. }), "{failed}");
    assert!(failed.to_string().contains("http://"), "{failed}");
}

#[test]
fn invalid_files_are_named() {
    let (one, other) = (Certificate::new(), Certificate::new());
    let refusal = |tls: TlsFiles| {
        let config = ServerConfig {
            tls: Some(tls.into()),
            ..config()
        };
        RunningServer::start(config, axum::Router::new)
            .err()
            .expect("unfit")
            .to_string()
    };
    let missing = refusal(TlsFiles {
        cert: "no/cert.pem".into(),
        key: one.files().key,
    });
    assert!(missing.contains("no/cert.pem"), "{missing}");
    let no_key = refusal(TlsFiles {
        cert: one.signer(),
        key: one.signer(),
    });
    assert!(no_key.contains("private key"), "{no_key}");
    let no_cert = refusal(TlsFiles {
        cert: one.files().key,
        key: one.files().key,
    });
    assert!(no_cert.contains("certificate"), "{no_cert}");
    let mixed = refusal(TlsFiles {
        cert: one.signer(),
        key: other.files().key,
    });
    assert!(mixed.contains("is the key of"), "{mixed}");
    let exposed = one.files().key;
    std::fs::set_permissions(&exposed, std::fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = refusal(one.files());
    assert!(exposed.contains("chmod 600"), "{exposed}");
    let (authority, openssl) = (Certificate::of_openssl(), Certificate::of_openssl());
    let rsa = |form: &str| {
        let key = openssl.files().key;
        let pem = std::fs::read_to_string(&key).unwrap();
        std::fs::write(&key, pem.replace("PRIVATE KEY", form)).unwrap();
        key
    };
    let other_form = refusal(TlsFiles {
        cert: authority.signer(),
        key: rsa("RSA PRIVATE KEY"),
    });
    assert!(other_form.contains("openssl pkcs8"), "{other_form}");
}
