//! Who may do what: every route, gRPC method and command with every role, and what a revoked token has open.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Method;
use callgrove_model::{Label, TreeIdx};
use callgrove_provdb::AccessMode;
use callgrove_provdb_net::{ProvDbService, ReadPolicy};
use callgrove_provdb_stores::{OpenOptions, open};
use callgrove_pserver::{ModelInForce, ServerState, StateOptions};
use callgrove_pserver_net::service;
use callgrove_server::access::{ROUTES, least_role};
use callgrove_server::api::{self, Api, Live};
use callgrove_server::client::{Client, ClientOptions};
use callgrove_server::hub::Hub;
use callgrove_server::monitoring::{self, Monitored};
use callgrove_server::{
    Credential, RunningServer, ServerConfig, Token, TokenFile, TokenList, TokenRole, grpc, view,
};
use callgrove_session::{Command, Selection, Snapshot};
use support::pages::{Page, reason, session};
use support::{config, raw, token};
use tempfile::TempDir;

/// Time within which a revoked token must have no effect any more.
const REVOCATION_TIME: Duration = Duration::from_secs(5);

/// A list of tokens with one of each role, in a file.
struct Listed {
    folder: TempDir,
    list: TokenList,
    tokens: [Token; 4],
}

impl Listed {
    fn new() -> Self {
        let mut list = TokenList::default();
        let tokens = TokenRole::ALL.map(|role| list.add(&format!("of-{role}"), role).unwrap());
        let listed = Self {
            folder: tempfile::tempdir().unwrap(),
            list,
            tokens,
        };
        listed.write();
        listed
    }

    fn file(&self) -> TokenFile {
        TokenFile::new(&self.folder.path().join("tokens"))
    }

    fn secret(&self, role: TokenRole) -> &str {
        self.tokens[TokenRole::ALL.iter().position(|it| *it == role).unwrap()].secret()
    }

    fn write(&self) {
        use std::os::unix::fs::PermissionsExt as _;
        let (file, draft) = (self.file(), self.folder.path().join("draft"));
        fs::write(&draft, self.list.to_json().unwrap()).unwrap();
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(&draft, file.path()).unwrap();
    }

    fn revoke(&mut self, role: TokenRole) {
        self.list.revoke(&format!("of-{role}")).unwrap();
        self.write();
    }

    fn config(&self) -> ServerConfig {
        ServerConfig {
            token: Some(token()),
            tokens: Some(self.file()),
            ..config()
        }
    }

    fn client(&self, server: &RunningServer, role: TokenRole) -> Client {
        let options = ClientOptions {
            credential: Some(Credential::explicit(self.secret(role))),
            ca_file: None,
        };
        Client::new(server.url(), &options).unwrap()
    }
}

/// Starts a server with all services and routes of this program.
fn complete_server(config: ServerConfig, database: &Path) -> RunningServer {
    let location = database.to_string_lossy().into_owned();
    let store = open(&location, &OpenOptions::default()).unwrap();
    let read_only = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let reader = move || open(&location, &read_only);
    let (provdb, _served) = ProvDbService::serve(store, reader, ReadPolicy::PlainSql).unwrap();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let api = Api {
        live: Live::Posted(Arc::new(Hub::new(0))),
        tree_models: None,
        documents: None,
    };
    let viewed = session(None);
    RunningServer::start(config, || {
        let routes = api::router(api)
            .merge(monitoring::router(Monitored::default()))
            .merge(view::router(viewed));
        grpc::mount(grpc::mount(routes, provdb), service(state))
    })
    .unwrap()
}

/// Returns method and path of every route in the source text of this crate.
fn routes_of_sources(folder: &Path, found: &mut BTreeSet<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            routes_of_sources(&path, found);
        } else {
            routes_of_source(&fs::read_to_string(&path).unwrap(), found);
        }
    }
}

fn routes_of_source(text: &str, found: &mut BTreeSet<(String, String)>) {
    let code = text.split("#[cfg(test)]").next().unwrap();
    for route in code.split(".route(").skip(1) {
        let route = route.trim_start();
        let path = match route.strip_prefix('"').and_then(|it| it.split_once('"')) {
            Some((path, _)) => path,
            None if route.starts_with("VIEW_PATH") => "/view",
            // The files of the page.
            None if route.starts_with("&path") => continue,
            None => panic!("unknown route: {}", &route[..route.len().min(60)]),
        };
        let mut pattern = String::new();
        for (index, part) in path.split(['{', '}']).enumerate() {
            pattern += if index % 2 == 0 { part } else { "{}" };
        }
        for (call, method) in [("get(", "GET"), ("post(", "POST")] {
            if route.contains(call) {
                found.insert((method.to_owned(), pattern.clone()));
            }
        }
        for other in [" put(", " delete(", " patch(", " any("] {
            assert!(!route.contains(other), "{path}:{other} needs a rule here");
        }
    }
}

/// Returns the path of every method of a protocol.
fn methods_of_protocol(text: &str, found: &mut BTreeSet<(String, String)>) {
    let named = |line: &str, kind: &str| {
        let rest = line.trim_start().strip_prefix(kind)?;
        let end = rest.find([' ', ';', '(', '{']).unwrap();
        Some(rest[..end].to_owned())
    };
    let (mut package, mut service) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(name) = named(line, "package ") {
            package = name;
        } else if let Some(name) = named(line, "service ") {
            service = name;
        } else if let Some(name) = named(line, "rpc ") {
            found.insert(("POST".to_owned(), format!("/{package}.{service}/{name}")));
        }
    }
}

#[test]
fn every_route_and_method_is_in_the_table() {
    let mut found = BTreeSet::new();
    routes_of_sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(found.len() > 10, "{found:?}");
    methods_of_protocol(
        include_str!("../../../core/provdb/net/proto/provdb.proto"),
        &mut found,
    );
    methods_of_protocol(
        include_str!("../../../core/pserver/net/proto/pserver.proto"),
        &mut found,
    );
    // Answered by the check of tokens itself.
    found.insert(("GET".to_owned(), "/api/tokens".to_owned()));
    let table = ROUTES.iter();
    let table = table.map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()));
    assert_eq!(found, table.collect());
}

/// Sends a request of a path, and returns whether it is refused for its role; the refusal must name the role.
fn is_forbidden(server: &RunningServer, (method, path): (&str, &str), secret: &str) -> bool {
    let is_grpc = path.starts_with("/callgrove.");
    let kind = if is_grpc {
        "application/grpc"
    } else {
        "application/json"
    };
    let answer = raw(
        server.local_addr(),
        &format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n\
             Content-Length: 0\r\nAuthorization: Bearer {secret}\r\n\r\n"
        ),
    );
    let is_unauthorized = answer.starts_with("HTTP/1.1 401") || answer.contains("grpc-status: 16");
    assert!(!is_unauthorized, "{method} {path}: {answer}");
    let is_forbidden = if is_grpc {
        answer.contains("grpc-status: 7")
    } else {
        answer.starts_with("HTTP/1.1 403")
    };
    let least = least_role(&method.parse::<Method>().unwrap(), path);
    // As in gRPC's messages.
    let text = answer.replace("%20", " ").replace("%60", "`");
    assert!(
        !is_forbidden || text.contains(&format!("role `{least}`")),
        "{method} {path}: {answer}"
    );
    is_forbidden
}

#[test]
fn every_role_can_do_what_it_includes_and_nothing_else() {
    let listed = Listed::new();
    let server = complete_server(listed.config(), &listed.folder.path().join("found"));
    let unlisted = [
        ("GET", "/", TokenRole::Read),
        ("GET", "/nowhere", TokenRole::Read),
        ("POST", "/nowhere", TokenRole::Write),
        ("GET", "/api/nowhere", TokenRole::Write),
        (
            "POST",
            "/callgrove.provdb.v1.ProvDb/Nothing",
            TokenRole::Write,
        ),
    ];
    for (method, pattern, least) in ROUTES.iter().chain(&unlisted) {
        let path = pattern.replace("{}", "anomalies");
        for role in TokenRole::ALL {
            let secret = listed.secret(role);
            assert_eq!(
                is_forbidden(&server, (method, &path), secret),
                role < *least,
                "{role}: {method} {path}"
            );
        }
        assert!(!is_forbidden(&server, (method, &path), support::SECRET));
    }
    let refused = listed.client(&server, TokenRole::Label).token_uses();
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("role `write`") && refused.contains("of-label"),
        "{refused}"
    );
    server.stop().unwrap();
}

#[test]
fn the_holder_of_the_full_token_sees_who_uses_the_server() {
    let listed = Listed::new();
    let server = support::start(listed.config(), Live::Absent);
    listed.client(&server, TokenRole::Read).health().unwrap();
    let uses = listed
        .client(&server, TokenRole::Write)
        .token_uses()
        .unwrap();
    let names: Vec<&str> = uses.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "server",
            "page",
            "of-read",
            "of-label",
            "of-publish",
            "of-write"
        ]
    );
    let counts: Vec<u64> = uses.iter().map(|it| it.num_requests).collect();
    assert_eq!(counts, [0, 0, 1, 0, 0, 1]);
    assert!(uses[2].last_used_s.is_some() && uses[3].last_used_s.is_none());
    server.stop().unwrap();
}

#[test]
fn a_revoked_token_loses_its_page_and_its_open_requests() {
    let mut listed = Listed::new();
    let server = complete_server(listed.config(), &listed.folder.path().join("found"));
    let mut page = Page::with_token(&server, 1, listed.secret(TokenRole::Read));
    let mut other = Page::with_token(&server, 2, listed.secret(TokenRole::Label));
    page.until(|seen| seen.detection().is_some());
    other.until(|seen| seen.detection().is_some());
    // A request that waits for packets.
    let mut waiting = TcpStream::connect(server.local_addr()).unwrap();
    let request = format!(
        "GET /api/packets?after=0&wait_ms=60000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        listed.secret(TokenRole::Read)
    );
    waiting.write_all(request.as_bytes()).unwrap();
    waiting
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    listed.client(&server, TokenRole::Read).health().unwrap();
    let revoked_at = Instant::now();
    listed.revoke(TokenRole::Read);
    let mut answer = [0; 12];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    assert_eq!(reason(&mut page.socket), "your token was revoked");
    assert!(revoked_at.elapsed() < REVOCATION_TIME);
    let refused = listed
        .client(&server, TokenRole::Read)
        .health()
        .unwrap_err();
    assert!(
        refused.to_string().contains("rejects the token"),
        "{refused}"
    );
    // The other one goes on.
    let label = Command::SetLabel {
        trees: vec![TreeIdx(7)],
        label: Some(Label::Normal),
    };
    other.handle.send(label).unwrap();
    other.until(|seen| seen.label(TreeIdx(7)) == Some(Label::Normal));
    listed.client(&server, TokenRole::Label).health().unwrap();
    server.stop().unwrap();
}

#[test]
fn a_list_that_others_can_read_is_not_used_until_it_is_mended() {
    use std::os::unix::fs::PermissionsExt as _;
    let listed = Listed::new();
    let server = support::start(listed.config(), Live::Absent);
    let client = listed.client(&server, TokenRole::Read);
    client.health().unwrap();
    let file = listed.file();
    let set_mode = |mode| fs::set_permissions(file.path(), fs::Permissions::from_mode(mode));
    let until = |is_accepted: bool| {
        let start = Instant::now();
        while client.health().is_ok() != is_accepted {
            assert!(start.elapsed() < REVOCATION_TIME, "{is_accepted}");
        }
    };
    set_mode(0o644).unwrap();
    until(false);
    set_mode(0o600).unwrap();
    until(true);
    fs::remove_file(file.path()).unwrap();
    until(false);
    server.stop().unwrap();
}

#[test]
fn a_page_shows_why_its_command_is_refused() {
    let listed = Listed::new();
    let server = complete_server(listed.config(), &listed.folder.path().join("found"));
    let mut reader = Page::with_token(&server, 1, listed.secret(TokenRole::Read));
    let mut labeller = Page::with_token(&server, 2, listed.secret(TokenRole::Label));
    reader.until(|seen| seen.detection().is_some());
    let label = |tree| Command::SetLabel {
        trees: vec![TreeIdx(tree)],
        label: Some(Label::Normal),
    };
    let is_refused = |seen: &Snapshot, least: TokenRole| {
        let text = format!("This needs the role `{least}`");
        seen.notices.iter().any(|it| it.text.starts_with(&text))
    };
    reader.handle.send(label(7)).unwrap();
    let seen = reader.until(|seen| is_refused(seen, TokenRole::Label));
    assert!(seen.label(TreeIdx(7)).is_none());
    let refusal = seen.notices.iter().find(|it| it.text.contains("of-read"));
    // What a page sees without changing it for others is allowed, and the refusal can be closed.
    let select = Command::Select(Selection::One(TreeIdx(3)));
    reader.handle.send(select).unwrap();
    reader.until(|seen| seen.focus() == Some(TreeIdx(3)));
    let notice = refusal.unwrap().id;
    reader.handle.send(Command::Dismiss { notice }).unwrap();
    reader.until(|seen| !is_refused(seen, TokenRole::Label));

    labeller.handle.send(label(8)).unwrap();
    labeller.until(|seen| seen.label(TreeIdx(8)) == Some(Label::Normal));
    let publish = Command::PutModelInForce {
        server: String::new(),
        wanted: ModelInForce {
            name: "step".to_owned(),
            version: None,
        },
    };
    labeller.handle.send(publish).unwrap();
    labeller.until(|seen| is_refused(seen, TokenRole::Publish));
    let seen = reader.until(|seen| seen.label(TreeIdx(8)).is_some());
    assert!(
        !is_refused(&seen, TokenRole::Publish),
        "a refusal is shown to its page only"
    );
    server.stop().unwrap();
}

#[test]
fn a_browser_exchanges_a_listed_token_for_a_cookie_of_the_same_role() {
    let listed = Listed::new();
    let server = support::start(listed.config(), Live::Absent);
    let ask = |method: &str, path: &str, headers: &str| {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        raw(server.local_addr(), &format!("{head}{headers}\r\n"))
    };
    let answer = ask(
        "GET",
        &format!("/?token={}", listed.secret(TokenRole::Read)),
        "",
    );
    let cookie = answer
        .lines()
        .find_map(|it| it.strip_prefix("set-cookie: "));
    let cookie = cookie.unwrap().split(';').next().unwrap();
    let header = format!("Cookie: {cookie}\r\n");
    assert!(ask("GET", "/api/health", &header).starts_with("HTTP/1.1 200"));
    let answer = ask("POST", "/api/anomalydata", &header);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    server.stop().unwrap();
}
