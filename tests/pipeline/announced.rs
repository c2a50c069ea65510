//! Servers that announce themselves by address files, without ports, tokens and certificates in command lines.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use callgrove_tests::process::Process;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 22;

/// Time within which a revoked token must have no effect any more.
const REVOCATION_TIME: Duration = Duration::from_secs(10);

/// A folder of a job, and a user without a token of any kind.
struct Job(TempDir);

impl Job {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        path_in(&self.0, name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env_remove("CALLGROVE_TOKEN");
        command.env("XDG_CONFIG_HOME", self.0.path().join("config"));
        command
    }

    fn start(&self, args: &[&str]) -> Process {
        Process::start(&mut self.command(args)).unwrap()
    }

    fn output(&self, args: &[&str]) -> (Output, String) {
        let output = self.command(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output, text)
    }

    /// Returns the standard output of a command that must succeed.
    fn succeed(&self, args: &[&str]) -> String {
        let (output, text) = self.output(args);
        assert!(output.status.success(), "{args:?}: {text}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Kills a server of `callgrove cluster`, and waits for its end.
    fn kill(&self, server: &str) {
        let file = self.path(&format!("job/{server}.process"));
        let text = fs::read_to_string(file).unwrap();
        let number = text.split(' ').next().unwrap();
        let killed = Command::new("kill").args(["-KILL", number]).status();
        assert!(killed.unwrap().success());
        let process = Path::new("/proc").join(number).join("exe");
        while fs::read_link(&process).is_ok() {}
    }

    /// Returns the number that a query of a database prints.
    fn count(&self, database: &str) -> u64 {
        let (output, text) = self.output(&["query", database, "--count"]);
        assert!(output.status.success(), "{text}");
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }
}

fn announced(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn port_of(file: &str) -> u16 {
    let content = announced(file);
    let url = content["url"].as_str().unwrap();
    url.rsplit_once(':').unwrap().1.parse().unwrap()
}

fn token_of(file: &str) -> String {
    announced(file)["token"].as_str().unwrap().to_owned()
}

#[test]
fn processes_find_each_other_in_any_order_of_their_starts() {
    let job = Job::new();
    let (provdb, pserver) = (
        job.path("job/provdb.address"),
        job.path("job/pserver.address"),
    );
    let trace = example();
    let instance = job.start(&[
        "ad",
        &trace,
        "--pserver",
        &pserver,
        "--provdb",
        &provdb,
        "--format",
        "json",
    ]);
    instance.line_with("waiting for it").unwrap();
    let server = job.start(&["pserver", "--provdb", &provdb, "--announce", &pserver]);
    server.line_with("waiting for it").unwrap();
    let database = job.start(&["provdb", &job.path("found"), "--announce", &provdb]);
    let summary = lines(&instance.finish().unwrap()).remove(0);
    let all = lines(&stdout(&["run", &trace, "--format", "json"])).remove(0);
    assert_eq!(summary["executions"], all["executions"]);
    assert!(job.count(&provdb) > 0);
    let (output, text) = job.output(&["model", "list", "--server", &pserver]);
    assert!(output.status.success(), "{text}");
    for file in [&provdb, &pserver] {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(job.path("job")).unwrap().mode() & 0o777, 0o700);
    assert_ne!(token_of(&provdb), token_of(&pserver));
    assert!(
        !Path::new(&job.path("config")).exists(),
        "no token of the user is needed"
    );
    server.terminate().unwrap();
    database.terminate().unwrap();
    let (executions, found) = (all["executions"].as_u64(), job.path("found"));
    check_counts(&found, &found, executions);
}

#[test]
fn instances_follow_servers_that_start_again_at_other_ports() {
    let job = Job::new();
    let (provdb, pserver) = (job.path("provdb.address"), job.path("pserver.address"));
    let (found, live) = (job.path("found"), job.path("live"));
    let database_args = ["provdb", &found, "--announce", &provdb];
    let server_args = ["pserver", "--provdb", &provdb, "--announce", &pserver];
    let mut database = job.start(&database_args);
    let mut server = job.start(&server_args);
    server.line_with("announced").unwrap();
    let replay = growing(&live, "bp5", "0.02");
    let servers = ["--pserver", &pserver, "--provdb", &provdb];
    let instance = job.start(&following(&live, &servers));
    while job.count(&provdb) == 0 {}
    for (process, args, file) in [
        (&mut server, &server_args[..], &pserver),
        (&mut database, &database_args, &provdb),
    ] {
        let before = announced(file);
        process.kill().unwrap();
        // The port remains in use by another program.
        let _squatter = TcpListener::bind(("0.0.0.0", port_of(file))).unwrap();
        *process = job.start(args);
        process.line_with("announced").unwrap();
        let after = announced(file);
        assert_ne!(before["url"], after["url"]);
        assert_ne!(before["fingerprint"], after["fingerprint"]);
        assert_eq!(before["token"], after["token"]);
    }
    replay.finish().unwrap();
    let summary = lines(&instance.finish().unwrap()).remove(0);
    server.terminate().unwrap();
    database.terminate().unwrap();
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    assert_eq!(summary["executions"], all["executions"]);
    check_counts(&found, &found, all["executions"].as_u64());
}

#[test]
fn another_server_at_the_announced_port_gets_no_token() {
    let job = Job::new();
    let (file, other) = (job.path("provdb.address"), job.path("other.address"));
    let mut database = job.start(&["provdb", &job.path("found"), "--announce", &file]);
    database.line_with("announced").unwrap();
    assert_eq!(job.count(&file), 0);
    database.kill().unwrap();
    let (port, token) = (port_of(&file), token_of(&file));

    // A server that records what it gets.
    let listener = TcpListener::bind(("0.0.0.0", port)).unwrap();
    let mut query = job.start(&["query", &file, "--count"]);
    let (mut socket, _) = listener.accept().unwrap();
    let mut received = [0; 512];
    let num_read = socket.read(&mut received).unwrap();
    assert_eq!(received[0], TLS_HANDSHAKE);
    let is_sent = received[..num_read]
        .windows(token.len())
        .any(|it| it == token.as_bytes());
    assert!(!is_sent);
    query.kill().unwrap();
    drop((socket, listener));

    // A server with another certificate.
    let address = format!("0.0.0.0:{port}");
    let args = [
        "provdb",
        &job.path("theirs"),
        "--announce",
        &other,
        "--listen",
        &address,
    ];
    let theirs = job.start(&args);
    theirs.line_with("announced").unwrap();
    assert_eq!(job.count(&other), 0);
    for args in [
        &["query", &file, "--count"][..],
        &["model", "list", "--server", &file],
    ] {
        let (output, text) = job.output(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text.contains("another certificate"), "{args:?}: {text}");
    }
    theirs.terminate().unwrap();
}

#[test]
fn address_files_of_others_and_for_all_are_refused() {
    let job = Job::new();
    let (file, found) = (job.path("provdb.address"), job.path("found"));
    let database = job.start(&["provdb", &found, "--announce", &file]);
    database.line_with("announced").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let (output, text) = job.output(&["query", &file, "--count"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("chmod 600"), "{text}");
    let exposed = token_of(&file);
    database.terminate().unwrap();
    // What others could read is no secret any more.
    let database = job.start(&["provdb", &found, "--announce", &file]);
    database.line_with("announced").unwrap();
    assert_ne!(token_of(&file), exposed);
    assert_eq!(job.count(&file), 0);
    database.terminate().unwrap();

    let public = job.path("public");
    fs::create_dir(&public).unwrap();
    fs::set_permissions(&public, Permissions::from_mode(0o777)).unwrap();
    for (name, remedy) in [
        ("public/provdb.address", "name a new folder"),
        ("provdb", "provdb.address"),
    ] {
        let (output, text) = job.output(&["provdb", &found, "--announce", &job.path(name)]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(text.contains(remedy), "{name}: {text}");
    }
}

#[test]
fn one_command_starts_the_servers_of_a_job_and_one_ends_them() {
    let job = Job::new();
    let (folder, found) = (job.path("job"), job.path("found"));
    let up = [
        "cluster", "up", &folder, "--provdb", &found, "--shards", "2",
    ];
    let (output, text) = job.output(&up);
    assert!(output.status.success(), "{text}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let files = ["provdb", "pserver"].map(|name| job.path(&format!("job/{name}.address")));
    // The printed command, word by word.
    let mut lines_printed = printed.lines();
    let line = lines_printed.find_map(|it| it.strip_prefix("on each node: callgrove "));
    let args = line.unwrap().replace("STREAMS", &example());
    let args: Vec<&str> = args.split_whitespace().collect();
    let (output, text) = job.output(&args);
    assert!(output.status.success(), "{text}");
    // One that was killed is started again, the other goes on.
    job.kill("pserver");
    let before = files.each_ref().map(|it| announced(it));
    let (output, text) = job.output(&up);
    assert!(output.status.success(), "{text}");
    let after = files.each_ref().map(|it| announced(it));
    assert_eq!(before[0], after[0]);
    assert_ne!(before[1]["fingerprint"], after[1]["fingerprint"]);
    let down = ["cluster", "down", &folder];
    for expected in ["has ended", "does not run"] {
        let (output, text) = job.output(&down);
        assert!(output.status.success(), "{text}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.matches(expected).count(), 2, "{printed}");
    }
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    check_counts(&found, &found, all["executions"].as_u64());
}

#[test]
fn a_colleague_reads_with_an_invitation_until_it_is_revoked() {
    let job = Job::new();
    let (folder, found) = (job.path("job"), job.path("found"));
    let up = ["cluster", "up", &folder, "--provdb", &found];
    job.succeed(&up);
    let printed = job.succeed(&["cluster", "invite", &folder, "ada", "--role", "read"]);
    let files: Vec<&str> = printed.lines().collect();
    let [database, server] = files[..] else {
        panic!("{printed}");
    };
    assert_eq!(token_of(database), token_of(server));
    let list = job.path("job/tokens");
    assert!(
        !fs::read_to_string(&list)
            .unwrap()
            .contains(&token_of(server))
    );
    for file in [database, server, &list] {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600, "{file}");
    }
    let reads = [
        &["query", database, "--count"][..],
        &["model", "list", "--server", server],
    ];
    for args in reads {
        job.succeed(args);
    }
    let trace = example();
    for args in [
        &["ad", &trace, "--provdb", database][..],
        &["ad", &trace, "--pserver", server],
    ] {
        let (output, text) = job.output(args);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("role `write`") && text.contains("`ada`"),
            "{text}"
        );
    }
    let uses = job.succeed(&[
        "token",
        "list",
        "--server",
        &job.path("job/pserver.address"),
    ]);
    let of_ada = uses.lines().find(|it| it.starts_with("ada")).unwrap();
    assert!(
        of_ada.contains("read") && of_ada.contains("request"),
        "{uses}"
    );

    // A server that starts again has another port and certificate; the invitation remains valid.
    let before = announced(server);
    job.kill("pserver");
    job.succeed(&up);
    assert_ne!(before["fingerprint"], announced(server)["fingerprint"]);
    for args in reads {
        job.succeed(args);
    }
    job.succeed(&["token", "revoke", &list, "ada"]);
    let start = Instant::now();
    for args in reads {
        while job.output(args).0.status.success() {
            assert!(start.elapsed() < REVOCATION_TIME, "{args:?}");
        }
        let (_, text) = job.output(args);
        assert!(text.contains("token"), "{text}");
    }
    let start = Instant::now();
    job.succeed(&["cluster", "down", &folder]);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "both have said goodbye"
    );
}

#[test]
fn a_server_that_was_killed_is_reported_at_the_end() {
    let job = Job::new();
    let (folder, found) = (job.path("job"), job.path("found"));
    job.succeed(&["cluster", "up", &folder, "--provdb", &found]);
    job.kill("pserver");
    let down = ["cluster", "down", &folder];
    let (output, text) = job.output(&down);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains("pserver does not run: it ended without an exit code"),
        "{printed}"
    );
    assert!(
        printed.contains("provdb has ended: exit code 0"),
        "{printed}"
    );
}

#[test]
fn a_server_that_cannot_start_is_reported_with_its_last_message() {
    let job = Job::new();
    let file = job.path("no-folder");
    fs::write(&file, "").unwrap();
    let (output, text) = job.output(&["cluster", "up", &job.path("job"), "--provdb", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("provdb has ended") && text.contains("no-folder"),
        "{text}"
    );
}
