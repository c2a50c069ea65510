//! Pages that view a session: what they receive, what they may do, and what is refused.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::net::TcpListener;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use callgrove_model::{ExecIdx, ExecRef, Label, LaneIdx, TreeIdx};
use callgrove_query::TreeOf;
use callgrove_server::client::{Client, ClientOptions, RemoteSession, ServedSession};
use callgrove_server::view::WatchedRun;
use callgrove_server::{RunningServer, ServerConfig};
use callgrove_session::{
    Command, MapMethod, Presence, Selection, SessionHandle, Snapshot, ViewerId, Wake,
};
use callgrove_watch::{ConnectionId, WatchHandle, WatchRequest, WatchUpdate};
use callgrove_wire::{ViewerFile, ViewerMessage, WIRE_VERSION, welcome_frame};
use proptest::prelude::*;
use proptest::sample::Index;
use support::pages::{NUM_TREES, Page, Socket, TIMEOUT, dial, reason, serve, serve_with};
use support::{Certificate, SECRET, config, token};
use tungstenite::Message;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;

/// A run that accepts every connection and finds nothing for every query.
fn silent_run() -> WatchedRun {
    let dial = |wake: Wake| {
        let (handle, transport) = WatchHandle::pair();
        let answer = move || {
            for request in transport.requests {
                let update = match request {
                    WatchRequest::Connect { connection, .. } => {
                        (connection, WatchUpdate::Connected(Box::default()))
                    }
                    WatchRequest::Query(query) => {
                        let (id, documents, total) = (query.id, Vec::new(), Some(0));
                        let found = WatchUpdate::Found {
                            id,
                            documents,
                            total,
                        };
                        (ConnectionId::default(), found)
                    }
                    WatchRequest::Ranks { .. } | WatchRequest::Disconnect => continue,
                };
                transport.updates.send(update).unwrap();
                wake();
            }
        };
        let thread = std::thread::Builder::new().name("run".to_owned());
        thread.spawn(answer).unwrap();
        Ok(handle)
    };
    WatchedRun {
        address: "the job".to_owned(),
        dial: Arc::new(dial),
    }
}

#[test]
fn pages_share_the_run_and_labels_but_not_the_selection() {
    let server = serve(config());
    let [mut ana, mut ben] = [1, 2].map(|key| Page::open(&server, key));
    let seen = ana.until(|seen| seen.detection().is_some() && seen.causes().is_some());
    assert_eq!(seen.analysis().unwrap().forest.len(), NUM_TREES as usize);
    assert_eq!(seen.focus(), Some(TreeIdx(31)));
    let label = Command::SetLabel {
        trees: vec![TreeIdx(7)],
        label: Some(Label::Normal),
    };
    ana.handle.send(label).unwrap();
    ben.handle
        .send(Command::Select(Selection::One(TreeIdx(3))))
        .unwrap();
    let is_labelled = |seen: &Snapshot| seen.label(TreeIdx(7)) == Some(Label::Normal);
    let seen = ana.until(is_labelled);
    assert_eq!(seen.focus(), Some(TreeIdx(31)));
    let seen = ben.until(|seen| is_labelled(seen) && seen.focus() == Some(TreeIdx(3)));
    assert!(seen.explanation.is_some());
    assert_eq!(
        ana.handle.snapshot().focus(),
        Some(TreeIdx(31)),
        "each page has a selection of its own"
    );
    server.stop().unwrap();
    assert_eq!(reason(&mut ana.socket), "the server is stopping");
}

#[test]
fn pages_show_other_viewers_and_authors_of_labels() {
    let server = serve(config());
    let mut ana = Page::named(&server, 1, Some("ana"));
    let mut guest = Page::open(&server, 0xbeef);
    let names = |seen: &Snapshot| -> Vec<String> {
        let others = seen.viewers.present.iter().filter(|viewer| !viewer.is_you);
        others.map(|viewer| viewer.name.to_string()).collect()
    };
    ana.until(|seen| names(seen) == ["guest beef"]);
    guest.until(|seen| names(seen) == ["ana"] && seen.detection().is_some());
    let label = Command::SetLabel {
        trees: vec![TreeIdx(7)],
        label: Some(Label::Normal),
    };
    guest.handle.send(label).unwrap();
    guest
        .handle
        .send(Command::SetName("ben".to_owned()))
        .unwrap();
    guest.until(|seen| seen.viewers.name.as_deref() == Some("ben"));
    let seen = ana.until(|seen| names(seen) == ["ben"]);
    assert_eq!(seen.label_author(TreeIdx(7)), Some("guest beef"));
    drop(guest);
    ana.until(|seen| names(seen).is_empty());
    server.stop().unwrap();
}

#[test]
fn a_question_about_calls_is_answered_while_the_session_works() {
    let server = serve(config());
    let mut page = Page::open(&server, 1);
    let seen = page.until(|seen| seen.detection().is_some());
    let calls = seen.calls().cloned().unwrap();
    assert!(calls.is_remote() && seen.trace().unwrap().num_executions() == 0);
    let forest = &seen.analysis().unwrap().forest;
    let tree = TreeOf(forest.trees()[7].root);
    // The commands are sent before the question, so the session is busy with them.
    page.handle.send(Command::SetMap(MapMethod::Tsne)).unwrap();
    assert!(calls.ask(&tree).is_none());
    page.until(|_| calls.ask(&tree).is_some());
    let packed = calls.ask(&tree).unwrap();
    assert_eq!(packed.unpack(calls.trace()).unwrap().tree().len(), 3);
    server.stop().unwrap();
}

#[test]
fn a_page_receives_its_files_and_cannot_read_those_of_the_server() {
    let server = serve(config());
    let mut page = Page::open(&server, 1);
    page.until(|seen| seen.detection().is_some());
    let path = "labels.csv".to_owned();
    page.handle.send(Command::ExportLabels { path }).unwrap();
    let path = "/etc/hostname".to_owned();
    page.handle.send(Command::ImportLabels { path }).unwrap();
    let seen = page.until(|seen| seen.notices.len() >= 2);
    let notices: Vec<&str> = seen.notices.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(notices[0], "0 labels were written to labels.csv.");
    assert!(notices[1].contains("did not arrive"), "{notices:?}");
    server.stop().unwrap();
}

#[test]
fn invalid_messages_close_their_connection_only() {
    let server = serve(config());
    let mut good = Page::open(&server, 1);
    let hello = |version| ViewerMessage::Hello {
        version,
        key: 5,
        name: None,
    };
    let of_another = ViewerMessage::Command {
        number: 1,
        command: Box::new(Command::Viewer {
            viewer: ViewerId(0),
            presence: Presence::Gone,
        }),
    };
    let bytes = |message: &ViewerMessage| Message::Binary(message.to_bytes().unwrap().into());
    let right = bytes(&hello(WIRE_VERSION));
    for (messages, expected) in [
        (vec![bytes(&hello(WIRE_VERSION + 1))], "load the page again"),
        (vec![Message::text("hello")], "messages are binary"),
        (vec![bytes(&of_another)], "must be a hello"),
        (
            vec![Message::Binary(vec![0xc1; 9].into())],
            "cannot be read",
        ),
        (vec![right.clone(), right.clone()], "hello was sent already"),
        (
            vec![right.clone(), bytes(&of_another)],
            "cannot send commands of the server",
        ),
        (vec![right, Message::Binary(vec![0; 65 << 20].into())], ""),
    ] {
        let mut socket = dial(&server, &[]).unwrap();
        for message in messages {
            // The server may close the connection while a message that is too large is sent.
            socket.send(message).ok();
        }
        let reason_text = reason(&mut socket);
        assert!(
            reason_text.contains(expected),
            "{reason_text:?} for {expected:?}"
        );
    }
    good.until(|seen| seen.detection().is_some());
    server.stop().unwrap();
}

#[test]
fn further_pages_are_refused_and_earlier_ones_may_reconnect_or_leave() {
    let server = serve(config());
    let hello = |key| {
        let (version, name) = (WIRE_VERSION, None);
        let hello = ViewerMessage::Hello { version, key, name };
        Message::Binary(hello.to_bytes().unwrap().into())
    };
    let enter = |key| {
        let mut socket = dial(&server, &[]).unwrap();
        socket.send(hello(key)).unwrap();
        socket
    };
    let mut all: Vec<Socket> = (0..64)
        .map(|key| {
            let mut socket = enter(key);
            assert!(socket.read().unwrap().is_binary(), "not welcomed");
            socket
        })
        .collect();
    assert!(reason(&mut enter(64)).contains("close one of them"));
    // As browsers do when a page is closed, or reloaded.
    let away = CloseFrame {
        code: CloseCode::Away,
        reason: "".into(),
    };
    let mut one = all.pop().unwrap();
    one.close(Some(away)).unwrap();
    while one.read().is_ok() {}
    let end = Instant::now() + TIMEOUT;
    while !enter(64).read().unwrap().is_binary() {
        assert!(Instant::now() < end, "a closed page still takes a place");
    }
    drop(all);
    assert!(enter(7).read().unwrap().is_binary(), "not welcomed again");
    server.stop().unwrap();
}

/// A hello, and after it every other kind of message of a page.
fn page_messages() -> Vec<Vec<u8>> {
    let command = |command| ViewerMessage::Command {
        number: 1,
        command: Box::new(command),
    };
    let (version, key, name) = (WIRE_VERSION, 5, Some("eve".to_owned()));
    let (trace, number) = (1, 1);
    let label = Some(Label::Abnormal);
    let trees = vec![TreeIdx(2), TreeIdx(3)];
    let path = "a.csv".to_owned();
    let of_call = TreeOf(ExecRef {
        lane: LaneIdx(0),
        exec: ExecIdx(0),
    });
    let messages = [
        ViewerMessage::Hello { version, key, name },
        command(Command::Select(Selection::Group(trees.clone()))),
        command(Command::SetLabel { trees, label }),
        command(Command::ImportLabels { path: path.clone() }),
        command(Command::ExportLabels { path: path.clone() }),
        command(Command::SetMap(MapMethod::Smacof)),
        command(Command::Undo),
        ViewerMessage::Cancel,
        ViewerMessage::File(ViewerFile {
            name: path,
            content: b"rank,index,label\n0,1,normal\n".to_vec(),
        }),
        ViewerMessage::Watch(WatchRequest::Connect {
            connection: ConnectionId(1),
            address: "the job".to_owned(),
            token: None,
        }),
        ViewerMessage::Ask {
            trace,
            number,
            question: of_call.into(),
        },
        ViewerMessage::Forget { number },
    ];
    messages.map(|it| it.to_bytes().unwrap()).to_vec()
}

/// Index of a message, replacements for some of its bytes, and the length to which it is cut.
type DamagedMessage = (Index, Vec<(Index, u8)>, Option<Index>);

proptest! {
    #[test]
    fn other_pages_are_served_whatever_one_page_sends(
        says_hello in prop::bool::weighted(0.8),
        talk in prop::collection::vec(any::<DamagedMessage>(), 1..8),
    ) {
        static SERVED: OnceLock<(RunningServer, Mutex<Page>)> = OnceLock::new();
        let (server, good) = SERVED.get_or_init(|| {
            let server = serve_with(config(), Some(silent_run()));
            let good = Page::open(&server, 1);
            (server, Mutex::new(good))
        });
        let said = page_messages();
        let mut socket = dial(server, &[]).unwrap();
        // Sending fails once the server has closed the connection.
        let mut send = |bytes: Vec<u8>| socket.send(Message::Binary(bytes.into())).ok();
        if says_hello {
            send(said[0].clone());
        }
        for (which, damage, cut) in talk {
            // A hello with another key would add a page each time.
            let mut bytes = said[1 + which.index(said.len() - 1)].clone();
            for (at, byte) in damage.into_iter().take(3) {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            send(bytes);
        }
        let mut good = good.lock().unwrap();
        let name = format!("{:?}", good.handle.snapshot().revision);
        good.handle.send(Command::SetName(name.clone())).unwrap();
        good.until(|seen| seen.viewers.name.as_deref() == Some(&name));
    }
}

#[test]
fn clients_without_the_token_or_from_other_origins_are_refused() {
    let server = serve(ServerConfig {
        token: Some(token()),
        ..config()
    });
    let own = format!("http://{}", server.local_addr());
    let right = format!("Bearer {SECRET}");
    for headers in [
        vec![],
        vec![("authorization", "Bearer not-the-token-at-all")],
        vec![
            ("authorization", right.as_str()),
            ("origin", "http://evil.example"),
        ],
    ] {
        assert!(dial(&server, &headers).is_err(), "{headers:?}");
    }
    let allowed = [("authorization", right.as_str()), ("origin", own.as_str())];
    assert!(dial(&server, &allowed).is_ok());
    server.stop().unwrap();
}

/// Returns the answer to a viewer that wants to watch `address`.
fn watch(server: &RunningServer, key: u64, address: &str) -> WatchUpdate {
    let mut page = Page::open(server, key);
    let view = page.link.watch();
    let connect = WatchRequest::Connect {
        connection: ConnectionId(1),
        address: address.to_owned(),
        token: None,
    };
    view.send(connect).unwrap();
    loop {
        if let Some((_, update)) = view.poll() {
            return update;
        }
        while let Some(message) = page.link.next_message(|_| None).unwrap() {
            page.socket.send(Message::Binary(message.into())).unwrap();
        }
        if let Message::Binary(frame) = page.socket.read().unwrap() {
            page.link.take(&frame).unwrap();
        }
    }
}

#[test]
fn a_page_can_watch_only_the_run_of_its_server() {
    let server = serve_with(config(), Some(silent_run()));
    let answer = watch(&server, 1, "the job");
    assert_eq!(answer, WatchUpdate::Connected(Box::default()));
    for other in ["http://10.0.0.1:80", "/etc", ""] {
        let answer = watch(&server, 2, other);
        let WatchUpdate::Lost { cause, retry_in_ms } = answer else {
            panic!("{answer:?}");
        };
        assert!(cause.contains("watches the job"), "{cause}");
        assert_eq!(retry_in_ms, None);
    }
    server.stop().unwrap();
    let server = serve(config());
    let answer = watch(&server, 1, "the job");
    assert!(
        matches!(&answer, WatchUpdate::Lost { cause, .. } if cause.contains("watches no run")),
        "{answer:?}"
    );
    server.stop().unwrap();
}

/// Returns the handle of a window on another machine for the session of the client's server.
fn remote_window(client: &Client, wake: Wake) -> SessionHandle {
    let served = ServedSession {
        path: "/view".to_owned(),
        watched: None,
    };
    let (handle, remote) = RemoteSession::new(client, &served, 9, None, wake).unwrap();
    let thread = std::thread::Builder::new().name("remote".to_owned());
    thread.spawn(|| remote.run()).unwrap();
    handle
}

#[test]
fn a_remote_window_views_and_labels() {
    label_remotely(None);
}

#[test]
fn a_remote_window_views_and_labels_over_tls() {
    label_remotely(Some(&Certificate::new()));
}

#[test]
fn a_remote_window_rejects_an_untrusted_certificate() {
    let [own, other] = [Certificate::new(), Certificate::new()];
    let secured = ServerConfig {
        tls: Some(own.files().into()),
        ..config()
    };
    let server = serve(secured);
    let options = ClientOptions {
        credential: None,
        ca_file: Some(other.signer()),
    };
    let client = Client::new(server.url(), &options).unwrap();
    let handle = remote_window(&client, Arc::new(|| ()));
    let start = Instant::now();
    let notice = loop {
        if let Some(notice) = handle.snapshot().notices.first() {
            break notice.text.clone();
        }
        assert!(start.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(notice.contains("certificate"), "{notice}");
    server.stop().unwrap();
}

fn label_remotely(certificate: Option<&Certificate>) {
    let secured = ServerConfig {
        token: Some(token()),
        tls: certificate.map(|it| it.files().into()),
        ..config()
    };
    let server = serve(secured);
    let options = ClientOptions {
        credential: Some(token().stated()),
        ca_file: certificate.map(Certificate::signer),
    };
    let client = Client::new(server.url(), &options).unwrap();
    let (wake, woken) = sync_channel(1);
    let wake: Wake = Arc::new(move || {
        wake.try_send(()).ok();
    });
    let handle = remote_window(&client, wake);
    let until = |is_there: &dyn Fn(&Snapshot) -> bool| {
        while !is_there(&handle.snapshot()) {
            woken.recv_timeout(TIMEOUT).unwrap();
        }
    };
    until(&|seen| seen.detection().is_some());
    let label = Command::SetLabel {
        trees: vec![TreeIdx(7)],
        label: Some(Label::Normal),
    };
    handle.send(label).unwrap();
    until(&|seen| seen.label(TreeIdx(7)) == Some(Label::Normal));
    server.stop().unwrap();
    until(&|seen| {
        seen.notices
            .iter()
            .any(|it| it.text.contains("Trying again"))
    });
}

#[test]
fn a_remote_window_receives_large_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let name = path.to_string_lossy().into_owned();
    let content = vec![7; 20 << 20];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let frame = ViewerFile { name, content }.to_frame().unwrap();
    let answer = move || {
        let (stream, _) = listener.accept().unwrap();
        let mut socket = tungstenite::accept(stream).unwrap();
        for frame in [welcome_frame(1).unwrap(), frame] {
            socket.send(Message::Binary(frame.into())).unwrap();
        }
        // Keeps the connection open until the test ends.
        while socket.read().is_ok() {}
    };
    let thread = std::thread::Builder::new().name("server".to_owned());
    thread.spawn(answer).unwrap();
    let client = Client::new(&url, &ClientOptions::default()).unwrap();
    let handle = remote_window(&client, Arc::new(|| ()));
    let start = Instant::now();
    while std::fs::metadata(&path).map_or(0, |file| file.len()) < 20 << 20 {
        let notices = handle.snapshot().notices.clone();
        assert!(
            notices.is_empty() && start.elapsed() < TIMEOUT,
            "{notices:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
