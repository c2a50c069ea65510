//! Access control of servers and of stored files.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use callgrove_tests::process::Process;

use crate::support::{command, example, free_address, stdout};

/// Returns a command of a user with a configuration folder and without a stated token.
fn command_of(config: &Path, args: &[&str]) -> Command {
    let mut command = command(args);
    command.env_remove("CALLGROVE_TOKEN");
    command.env("XDG_CONFIG_HOME", config);
    command
}

/// Returns the head of the reply to a request without a token.
fn answer_without_token(url: &str, path: &str) -> String {
    answer_with(url, path, "")
}

/// Returns the reply to a request with more headers, each with its line end.
fn answer_with(url: &str, path: &str, headers: &str) -> String {
    let authority = url.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(authority).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{headers}\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn commands_of_the_same_user_find_the_token_and_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let serve = |args: &[&str]| Process::start(&mut command_of(&own, args)).unwrap();
    let database = serve(&["provdb", &provdb, "--listen", "127.0.0.1:0"]);
    let database_url = database.url().unwrap();
    let pserver = serve(&[
        "pserver",
        "--provdb",
        &database_url,
        "--listen",
        "127.0.0.1:0",
    ]);
    let url = pserver.url().unwrap();
    assert_eq!(mode(&own.join("callgrove/token")), 0o600);

    for args in [
        &["model", "list", "--server", &url][..],
        &["query", &database_url, "--count"],
    ] {
        let mine = command_of(&own, args).output().unwrap();
        assert!(
            mine.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&mine.stderr)
        );
        let stranger = command_of(&other, args).output().unwrap();
        let error_output = String::from_utf8_lossy(&stranger.stderr).into_owned();
        assert_eq!(stranger.status.code(), Some(1), "{args:?}: {error_output}");
        assert!(
            error_output.contains("--token-file"),
            "{args:?}: {error_output}"
        );
    }
    for (path, status) in [("/api/health", "401"), ("/", "401"), ("/healthz", "200")] {
        let answer = answer_without_token(&url, path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {answer}"
        );
    }
    pserver.terminate().unwrap();
    database.terminate().unwrap();
}

#[test]
fn a_server_without_a_token_warns() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["pserver", "--no-token", "--listen", "127.0.0.1:0"];
    let server = Process::start(&mut command_of(folder.path(), &args)).unwrap();
    server.line_with("every user of this machine").unwrap();
    let url = server.url().unwrap();
    assert!(answer_without_token(&url, "/api/health").starts_with("HTTP/1.1 200"));
    assert!(!folder.path().join("callgrove").exists());
    server.terminate().unwrap();
}

#[test]
fn stored_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (provdb, model) = (path("found"), path("model.json"));
    stdout(&[
        "run",
        &example(),
        "--provdb",
        &provdb,
        "--save-model",
        &model,
    ]);
    assert_eq!(mode(Path::new(&model)), 0o600);
    assert_eq!(mode(Path::new(&provdb)), 0o700);
    let files: Vec<_> = fs::read_dir(&provdb)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let (folders, files): (Vec<_>, Vec<_>) = files.iter().partition(|path| path.is_dir());
    assert!(!files.is_empty());
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    assert!(
        folders.iter().all(|folder| mode(folder) == 0o700),
        "{folders:?}"
    );
}

#[test]
fn a_parameter_server_answers_while_it_waits_for_its_database() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let [database, server] = [free_address(), free_address()];
    let database_url = format!("http://{database}");
    let args = ["pserver", "--provdb", &database_url, "--listen", &server];
    let start = || {
        let pserver = Process::start(&mut command_of(folder.path(), &args)).unwrap();
        pserver.line_with("waiting for it").unwrap();
        pserver
    };
    let pserver = start();
    let url = format!("http://{server}");
    let status = |path| {
        let answer = answer_without_token(&url, path);
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("/healthz"), "200");
    assert_eq!(status("/readyz"), "503");
    let reason = answer_without_token(&url, "/readyz");
    assert!(reason.contains("waits for its database"), "{reason}");
    assert!(!reason.contains(&database), "{reason}");
    assert_eq!(status("/metrics"), "401");
    pserver.terminate().unwrap();

    let pserver = start();
    let args = ["provdb", &provdb, "--listen", &database];
    let database = Process::start(&mut command_of(folder.path(), &args)).unwrap();
    pserver.line_with("listens at").unwrap();
    assert_eq!(status("/readyz"), "200");
    // Its own queries of the database, whose paths have parameters.
    let token = fs::read_to_string(folder.path().join("callgrove/token")).unwrap();
    for (path, status) in [("/api/count/anomalies", 200), ("/api/nothing", 404)] {
        let answer = answer_with(
            &url,
            path,
            &format!("Authorization: Bearer {}\r\n", token.trim()),
        );
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {answer}"
        );
    }
    pserver.terminate().unwrap();
    database.terminate().unwrap();
}

#[test]
fn a_server_for_other_machines_has_one_certificate_that_clients_recognize() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    let state = folder.path().join("state");
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let of_user = |args: &[&str]| {
        let mut command = command_of(&own, args);
        command.env("XDG_STATE_HOME", &state);
        command
    };
    let start = || {
        let args = ["provdb", &provdb, "--listen", "0.0.0.0:0"];
        let process = Process::start(&mut of_user(&args)).unwrap();
        let url = process.url().unwrap();
        (process, url)
    };
    let count = |url: &str| of_user(&["query", url, "--count"]).output().unwrap();
    let (database, url) = start();
    let (address, fingerprint) = url.split_once('#').unwrap();
    let counted = count(&url);
    let text = String::from_utf8_lossy(&counted.stderr).into_owned();
    assert!(counted.status.success(), "{url}: {text}");
    assert_eq!(mode(&state.join("callgrove/server.pem")), 0o600);
    let other = format!("{address}#sha256:{}", "0".repeat(64));
    for (wrong, fault) in [
        (other.as_str(), "another certificate"),
        (address, "--ca-file"),
    ] {
        let refused = count(wrong);
        assert_eq!(refused.status.code(), Some(1));
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(text.contains(fault), "{wrong}: {text}");
    }
    database.terminate().unwrap();
    let (database, again) = start();
    assert!(again.ends_with(fingerprint), "{again}");
    assert!(count(&again).status.success());
    // Both protocols.
    let args = ["pserver", "--provdb", &again, "--listen", "0.0.0.0:0"];
    let server = Process::start(&mut of_user(&args)).unwrap();
    let server_url = server.url().unwrap();
    server.line_with("listens at").unwrap();
    let listed = of_user(&["model", "list", "--server", &server_url]).output();
    let listed = listed.unwrap();
    let text = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(listed.status.success(), "{text}");
    server.terminate().unwrap();
    database.terminate().unwrap();
}
