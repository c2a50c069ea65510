//! The store on PostgreSQL, against a server that the test starts.

#![cfg(unix)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use callgrove_provdb::{
    AccessMode, Collection, Document, ProvDbError, Query, ReadBounds, ReadLimits, Store,
};
use callgrove_provdb_net::RemoteOptions;
use callgrove_provdb_stores::{OpenOptions, PostgresStore, open};

use support::conforms::{conforms, eventually};
use support::execution;
use support::postgres_server::PostgresServer;

fn options(mode: AccessMode) -> OpenOptions {
    OpenOptions {
        mode,
        ..OpenOptions::default()
    }
}

fn anomaly(rank: u32, step: u64, index: u64) -> Document {
    Document::execution(Collection::Anomalies, &execution(rank, step, index)).expect("a record")
}

fn writer(url: &str) -> PostgresStore {
    PostgresStore::open(url, &options(AccessMode::ReadWrite)).expect("opened")
}

#[test]
fn conforms_and_keeps_runs_apart() {
    let server = PostgresServer::start(&[]);
    let missing = PostgresStore::open(&server.url(), &options(AccessMode::ReadOnly));
    assert!(matches!(missing, Err(ProvDbError::Missing(_))));
    conforms(&|mode| open(&server.url(), &options(mode)).expect("opened"));

    let mut admin = postgres::Client::connect(&server.url(), postgres::NoTls).expect("connected");
    admin.batch_execute("create schema run2").expect("made");
    let other = format!("{}?options=-csearch_path%3Drun2", server.url());
    conforms(&|mode| open(&other, &options(mode)).expect("opened"));
    let (mut first, mut second) = (writer(&server.url()), writer(&other));
    let _claims = (
        first.claim(0, 1, "a").expect("free"),
        second.claim(0, 1, "b").expect("another run"),
    );

    admin
        .batch_execute("update run2.meta set value = 99 where name = 'format'")
        .expect("changed");
    let newer = PostgresStore::open(&other, &options(AccessMode::ReadWrite));
    assert!(matches!(
        newer,
        Err(ProvDbError::NewerFormat { found: 99, .. })
    ));
}

#[test]
fn many_instances_open_and_write_at_once() {
    let server = PostgresServer::start(&[]);
    thread::scope(|scope| {
        for rank in 0..8 {
            let url = server.url();
            scope.spawn(move || {
                let mut store = writer(&url);
                let _claim = store.claim(0, rank, "writer").expect("its own rank");
                for index in 0..20 {
                    store.put(&[anomaly(rank, 1, index)]).expect("stored");
                }
            });
        }
    });
    let everything = Query::all(Collection::Anomalies);
    assert_eq!(
        writer(&server.url()).count(&everything).expect("counted"),
        8 * 20
    );
}

#[test]
fn a_crash_of_the_server_loses_no_acknowledged_data_and_no_claim() {
    let server = PostgresServer::start(&[("synchronous_commit", "off")]);
    let mut store = writer(&server.url());
    let claim = store.claim(0, 0, "first").expect("free");
    for index in 0..50 {
        store.put(&[anomaly(0, 1, index)]).expect("stored");
    }
    server.crash();
    let restarted = thread::scope(|scope| {
        // The write waits until the server is back.
        let write = scope.spawn(|| store.put(&[anomaly(0, 1, 50)]));
        server.restart();
        write.join().expect("no panic")
    });
    restarted.expect("stored after the restart");
    assert_eq!(
        store
            .count(&Query::all(Collection::Anomalies))
            .expect("counted"),
        51
    );
    let error = writer(&server.url())
        .claim(0, 0, "second")
        .expect_err("the first took it again");
    assert!(error.to_string().contains("first"), "{error}");
    drop(claim);
}

#[test]
fn a_rank_that_another_took_during_a_break_stops_the_first_instance() {
    let server = PostgresServer::start(&[]);
    let mut first = writer(&server.url());
    let _claim = first.claim(0, 0, "first").expect("free");
    let mut admin = postgres::Client::connect(&server.url(), postgres::NoTls).expect("connected");
    admin
        .execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'first'", &[])
        .expect("ended");
    let mut second = writer(&server.url());
    let _taken = eventually(|| second.claim(0, 0, "second").ok());
    let error = first
        .put(&[anomaly(0, 1, 1)])
        .expect_err("it lost its rank");
    assert!(
        matches!(
            error,
            ProvDbError::ClaimLost {
                program: 0,
                rank: 0,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn plain_sql_cannot_write_by_any_way() {
    let server = PostgresServer::start(&[]);
    let mut store = writer(&server.url());
    store.put(&[anomaly(0, 1, 1)]).expect("stored");
    for statement in [
        "with gone as (delete from anomalies returning id) select * from gone",
        "select nextval('anomalies_id_seq')",
        "copy (select 1) to program 'true'",
        "copy anomalies to stdout",
        "commit; drop table anomalies",
        "rollback",
        "set transaction read write",
        "select $1::int",
        "select * from anomalies for update",
    ] {
        let error = store.find_plain_sql(statement).expect_err(statement);
        assert!(
            matches!(error, ProvDbError::PlainSql(_)),
            "{statement}: {error:?}"
        );
    }
    let table = store
        .find_plain_sql("select doc ->> 'func' as f, doc -> 'fid' as fid, 1.5::numeric, 'nan'::float8, true from anomalies;")
        .expect("read");
    let expected = serde_json::json!([["Comm::exchange(int [*])", 1, 1.5, "NaN", true]]);
    assert_eq!(serde_json::to_value(table.rows).expect("JSON"), expected);
}

#[test]
fn the_bounds_of_a_read_also_apply_on_the_server() {
    // Runs for hours, without disk space.
    const PAIRS: &str = "from generate_series(1, 100000) x, generate_series(1, 100000) y, generate_series(1, 100000) z";
    let endless = format!("select count(*) {PAIRS}");
    let server = PostgresServer::start(&[]);
    let mut store = writer(&server.url());
    store.put(&[anomaly(0, 1, 1)]).expect("stored");
    let limits = |time| ReadLimits {
        time,
        num_rows: 100,
        ..ReadLimits::LOCAL
    };
    store.bound_reads(&ReadBounds::new(limits(Duration::from_millis(300))));
    let error = store.find_plain_sql(&endless).expect_err("too slow");
    assert!(matches!(error, ProvDbError::TooSlow { .. }), "{error:?}");

    let bounds = ReadBounds::new(limits(Duration::from_mins(5)));
    store.bound_reads(&bounds);
    let error = thread::scope(|scope| {
        let read = scope.spawn(|| store.find_plain_sql(&endless));
        thread::sleep(Duration::from_millis(500));
        bounds.interrupt();
        read.join().expect("no panic").expect_err("interrupted")
    });
    assert!(matches!(error, ProvDbError::Interrupted), "{error:?}");
    let refused = store.count(&Query::all(Collection::Anomalies));
    assert!(matches!(refused, Err(ProvDbError::Interrupted)));

    store.bound_reads(&ReadBounds::new(limits(Duration::from_mins(5))));
    let rows = format!("select x, y, z {PAIRS}");
    let error = store.find_plain_sql(&rows).expect_err("too many rows");
    assert!(
        matches!(error, ProvDbError::AnswerTooLarge { .. }),
        "{error:?}"
    );
    assert_eq!(
        store.count(&Query::all(Collection::Anomalies)).ok(),
        Some(1)
    );
}

/// Enables encryption on a server with a certificate.
fn encrypt(server: &PostgresServer, certificate: &rcgen::Certificate, key: &rcgen::KeyPair) {
    for (name, text) in [
        ("server.crt", certificate.pem()),
        ("server.key", key.serialize_pem()),
    ] {
        let path = server.folder().join("data").join(name);
        fs::write(&path, text).expect("written");
        server.hand_over(&path);
    }
    let mut admin = postgres::Client::connect(&server.url(), postgres::NoTls).expect("connected");
    admin
        .batch_execute("alter system set ssl = on")
        .expect("set");
    admin
        .batch_execute("select pg_reload_conf()")
        .expect("reloaded");
}

/// Writes a certificate to a file, and returns options that trust it.
fn trusting(file: PathBuf, certificate: &rcgen::Certificate) -> OpenOptions {
    fs::write(&file, certificate.pem()).expect("written");
    OpenOptions {
        remote: RemoteOptions {
            credential: None,
            ca_file: Some(file),
        },
        ..OpenOptions::default()
    }
}

/// Checks that clients which trust `trusted` can connect, and others with another certificate or name cannot.
fn check_trust(server: &PostgresServer, trusted: &rcgen::Certificate) {
    let file = |name| server.folder().join(name);
    let trusted = trusting(file("trusted.pem"), trusted);
    let url = server.url().replace("127.0.0.1", "localhost");
    let mut store = eventually(|| PostgresStore::open(&url, &trusted).ok());
    let encrypted = store
        .find_plain_sql("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
        .expect("answered");
    assert_eq!(encrypted.rows, [[serde_json::json!(true)]]);
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let other = trusting(file("other.pem"), &other.expect("another one").cert);
    let another_authority = trusting(file("authority.pem"), &authority().0);
    for (url, options, words) in [
        (
            format!("{url}?sslmode=require"),
            OpenOptions::default(),
            "--ca-file",
        ),
        (url.clone(), other, "certificate"),
        (url, another_authority, "certificate"),
        (server.url(), trusted, "certificate"),
    ] {
        let error = PostgresStore::open(&url, &options).err().expect(words);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn encrypted_connections_check_the_certificate() {
    let server = PostgresServer::start(&[]);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .and_then(|it| it.self_signed(&key))
        .expect("a certificate");
    encrypt(&server, &certificate, &key);
    check_trust(&server, &certificate);
}

/// Returns the certificate of an authority, and its issuer.
fn authority() -> (rcgen::Certificate, rcgen::Issuer<'static, rcgen::KeyPair>) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate, rcgen::Issuer::new(params, key))
}

#[test]
fn a_server_is_trusted_for_the_authority_that_signed_its_certificate() {
    let server = PostgresServer::start(&[]);
    let (authority, issuer) = authority();
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .and_then(|it| it.signed_by(&key, &issuer))
        .expect("a certificate");
    encrypt(&server, &certificate, &key);
    check_trust(&server, &authority);
}

#[test]
fn a_server_that_shows_an_authority_certificate_is_trusted_if_it_is_the_given_one() {
    let server = PostgresServer::start(&[]);
    let key = rcgen::KeyPair::generate().expect("a key");
    // As created by `openssl req -x509`.
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("a certificate");
    encrypt(&server, &certificate, &key);
    check_trust(&server, &certificate);
}

#[test]
fn errors_name_the_server_and_no_password() {
    let server = PostgresServer::start(&[]);
    for url in [
        server.url().replace("tester@", "unknown:secret@"),
        server
            .url()
            .replace("tester@", "tester:secret@")
            .replace("/postgres", "/nowhere")
            .replace("postgres:", "postgresql:"),
        "postgres://tester:secret@127.0.0.1:1/postgres".to_owned(),
        "postgres://tester:secret@127.0.0.1/x?nonsense=1".to_owned(),
    ] {
        let error = PostgresStore::open(&url, &options(AccessMode::ReadWrite))
            .err()
            .expect("refused")
            .to_string();
        assert!(error.contains("://127.0.0.1"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn retention_rules_delete_documents_unless_an_instance_writes() {
    use callgrove_provdb_stores::upkeep::{RetentionMode, RetentionRules, retain};
    let server = PostgresServer::start(&[]);
    support::retention::rules_delete_matching_documents(&server.url());
    let mut store = writer(&server.url());
    let delete = || {
        let rules = RetentionRules::default();
        let options = OpenOptions::default();
        retain(&server.url(), &options, &rules, RetentionMode::Delete)
    };
    // Rank 6 has no documents.
    let _other = store.claim(0, 6, "of another rank").expect("free");
    delete().expect("no instance writes rank 0");
    let claim = store.claim(0, 0, "an instance").expect("free");
    let refusal = delete().expect_err("refused").to_string();
    assert!(refusal.contains("an instance"), "{refusal}");
    drop(claim);
    eventually(|| delete().ok());
}
