//! The page on the port: a truncated or incomplete bundle affects no other file.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::io::Write as _;

use axum::body::Bytes;
use callgrove_server::RunningServer;
use callgrove_server::page::{PageError, PageFile, router};
use flate2::Compression;
use flate2::write::GzEncoder;
use support::{config, raw};

fn gzip(text: &str) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().into()
}

fn file(name: &str, text: &str) -> PageFile {
    PageFile {
        name: name.to_owned(),
        brotli: Bytes::from_static(b"by brotli"),
        gzip: gzip(text),
    }
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
}

#[test]
fn a_missing_page_is_reported_with_a_remedy() {
    let refused = router(Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("cargo xtask web"), "{refused}");
    let refused = router(vec![file("boot-1.js", "")]).unwrap_err();
    assert_eq!(refused, PageError::NoIndex);
}

#[test]
fn a_truncated_file_affects_no_other_file() {
    let cut = PageFile {
        gzip: gzip("a text of some length").slice(..12),
        ..file("boot-1.js", "")
    };
    let page = router(vec![file("index.html", "<p>Hello"), cut]).unwrap();
    let server = RunningServer::start(config(), || page).unwrap();
    let address = server.local_addr();
    let answer = raw(address, &get("/boot-1.js", ""));
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(answer.contains("defect of the server"), "{answer}");
    let answer = raw(address, &get("/", ""));
    assert!(answer.ends_with("<p>Hello"), "{answer}");
    let answer = raw(address, &get("/", "Accept-Encoding: gzip, br\r\n"));
    assert!(answer.ends_with("by brotli"), "{answer}");
    server.stop().unwrap();
}
