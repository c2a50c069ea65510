//! Remote views of a session: they receive the same state.

use std::sync::Arc;

use callgrove_model::Label;
use callgrove_session::{
    Command, Engine, LearnSettings, MapMethod, Presence, Selection, Snapshot, SnapshotCell,
    ViewerId,
};
use callgrove_watch::{ConnectionId, Packet, QueryForm, QueryRequest, WatchRequest, WatchUpdate};
use callgrove_wire::{
    FrameContent, MAX_FILE_BYTES, SessionLink, SnapshotMirror, SnapshotSender, ViewerFile,
    ViewerHost, ViewerMessage, Viewers, WIRE_VERSION, WireError, watch_frame, welcome_frame,
};
use proptest::prelude::*;

use callgrove_app_tests::small_session::*;

/// Returns everything that a viewer sees of a snapshot, as text.
fn picture(snapshot: &Snapshot) -> String {
    let text = |it: &dyn std::fmt::Debug| format!("{it:?}");
    let trace = snapshot.trace();
    let ranks = trace.map(|trace| (trace.ranks(), &trace.writes, &trace.identity));
    let names: Option<Vec<_>> = trace.map(|trace| trace.names.iter().collect());
    let calls = snapshot.calls();
    let calls = calls.map(|it| (it.time_span(), it.num_calls(), it.num_messages()));
    let analysis = snapshot.analysis();
    let parts = [
        text(&serde_json::to_string(snapshot).unwrap()),
        text(&(ranks, names, calls)),
        text(&analysis.map(|it| (it.forest.trees(), &it.structures, &it.root_name))),
        text(&snapshot.map()),
        text(&snapshot.detection()),
        text(&snapshot.edits.labels_by_tree),
        text(&snapshot.causes().map(|causes| causes.incidents().to_vec())),
        text(
            &snapshot
                .trends()
                .map(|trends| trends.sentences().collect::<Vec<_>>()),
        ),
        text(&snapshot.tree_causes()),
        text(&snapshot.patterns()),
    ];
    parts.join("\n")
}

/// A viewer of a session.
struct Viewer {
    id: ViewerId,
    sender: SnapshotSender,
    mirror: SnapshotMirror,
    num_bytes: usize,
}

impl Viewer {
    fn new(id: ViewerId) -> Self {
        Self {
            id,
            sender: SnapshotSender::new(id),
            mirror: SnapshotMirror::default(),
            num_bytes: 0,
        }
    }

    /// Returns its snapshot once all frames have been received.
    fn receive(&mut self, newest: &Snapshot) -> Arc<Snapshot> {
        let mut seen = None;
        self.num_bytes = 0;
        while let Some(frame) = self.sender.next_frame(newest).unwrap() {
            self.num_bytes += frame.len();
            if let FrameContent::Snapshot(snapshot) = self.mirror.take(&frame).unwrap() {
                seen = Some(snapshot);
            }
        }
        seen.unwrap()
    }

    /// Returns the command with which the server reports its state.
    fn is(&self, presence: Presence) -> Command {
        Command::Viewer {
            viewer: self.id,
            presence,
        }
    }

    fn asks(&self, command: Command) -> Command {
        Command::ForViewer {
            viewer: self.id,
            number: 1,
            command: Box::new(command),
        }
    }
}

#[test]
fn a_viewer_sees_the_whole_state_and_only_changes_are_sent() {
    let mut session = SmallSession::on(&Disk::default());
    let mut viewer = Viewer::new(ViewerId(0));
    let seen = viewer.receive(&session.seen());
    assert!(seen.trace().is_none());
    session.run(open("run", "compute"));
    let seen = viewer.receive(&session.seen());
    assert_eq!(picture(&seen), picture(&session.seen()));
    assert_eq!(seen.focus(), Some(SLOW_TREE));
    let all = viewer.num_bytes;
    session.label(SLOW_TREE, Label::Abnormal);
    let seen = viewer.receive(&session.seen());
    assert_eq!(picture(&seen), picture(&session.seen()));
    assert_eq!(seen.label(SLOW_TREE), Some(Label::Abnormal));
    assert!(viewer.num_bytes * 2 < all, "{} of {all}", viewer.num_bytes);
    session.run(Command::SetMap(MapMethod::Smacof));
    let seen = viewer.receive(&session.seen());
    assert_eq!(picture(&seen), picture(&session.seen()));
    session.run(open("run", "MPI_Wait"));
    let seen = viewer.receive(&session.seen());
    assert_eq!(
        picture(&seen),
        picture(&session.seen()),
        "another forest of the same trace"
    );
    session.run(open("other run", "compute"));
    let seen = viewer.receive(&session.seen());
    assert_eq!(picture(&seen), picture(&session.seen()), "another trace");
}

#[test]
fn trees_are_seen_without_the_calls_of_the_run() {
    let session = SmallSession::opened(&Disk::default());
    let newest = session.seen();
    let seen = Viewer::new(ViewerId(0)).receive(&newest);
    let trace = seen.trace().unwrap();
    assert_eq!((trace.lanes.len(), trace.num_executions()), (4, 0));
    assert!(seen.calls().unwrap().is_remote());
    let durations = |snapshot: &Snapshot| -> Vec<_> {
        let forest = &snapshot.analysis().unwrap().forest;
        let trees = (0..forest.len()).map(callgrove_model::TreeIdx::from_index);
        let facts = |tree| {
            (
                forest.code(tree),
                forest.label(tree),
                forest.tree(tree).duration(),
            )
        };
        trees.map(facts).collect()
    };
    assert_eq!(durations(&seen), durations(&newest));
}

#[test]
fn late_and_slow_viewers_see_the_newest_snapshot() {
    let mut session = SmallSession::opened(&Disk::default());
    let mut slow = Viewer::new(ViewerId(0));
    let before = session.seen();
    // Half of its frames are sent when another trace is opened.
    for _ in 0..3 {
        let frame = slow.sender.next_frame(&before).unwrap().unwrap();
        slow.mirror.take(&frame).unwrap();
    }
    session.run(open("other run", "compute"));
    let seen = slow.receive(&session.seen());
    assert_eq!(picture(&seen), picture(&session.seen()));
    let late = Viewer::new(ViewerId(1)).receive(&session.seen());
    assert_eq!(picture(&late), picture(&session.seen()));
}

#[test]
fn viewers_have_selections_of_their_own_and_labels_in_common() {
    let mut session = SmallSession::opened(&Disk::default());
    let [mut ana, mut ben] = [ViewerId(0), ViewerId(1)].map(Viewer::new);
    let trees = [SLOW_TREE, callgrove_model::TreeIdx(3)];
    for (viewer, tree) in [&ana, &ben].into_iter().zip(trees) {
        session.run(viewer.asks(Command::Select(Selection::One(tree))));
    }
    session.run(ben.asks(Command::SetLabel {
        trees: vec![trees[1]],
        label: Some(Label::Normal),
    }));
    for (viewer, tree) in [&mut ana, &mut ben].into_iter().zip(trees) {
        let seen = viewer.receive(&session.seen());
        assert_eq!(seen.focus(), Some(tree));
        assert_eq!(seen.explanation.as_ref().unwrap().tree, tree);
        assert_eq!(seen.label(trees[1]), Some(Label::Normal));
    }
    session.run(ben.is(Presence::Gone));
    assert_eq!(session.seen().viewers.states.len(), 1);
}

#[test]
fn viewers_see_each_other_and_the_authors_of_labels() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let [mut ana, mut ben] = [ViewerId(0), ViewerId(1)].map(Viewer::new);
    for (viewer, name) in [(&ana, "ana"), (&ben, " guest \n 7 ")] {
        let name = name.to_owned();
        session.run(viewer.is(Presence::Connected { name }));
    }
    let there = |seen: &Snapshot| -> Vec<(String, bool)> {
        let viewers = seen.viewers.present.iter();
        viewers.map(|it| (it.name.to_string(), it.is_you)).collect()
    };
    let two = |name: &str| [("ana".to_owned(), false), (name.to_owned(), true)];
    let seen = ben.receive(&session.seen());
    assert_eq!(there(&seen), two("guest 7"));
    assert_eq!(seen.viewers.name.as_deref(), Some("guest 7"));
    session.run(ben.asks(Command::SetName("ben".to_owned())));
    session.run(ben.asks(label(3, Label::Normal)));
    session.run(ana.asks(label(4, Label::Abnormal)));
    assert_eq!(there(&ben.receive(&session.seen())), two("ben"));
    let seen = ana.receive(&session.seen());
    let author = |seen: &Snapshot, tree| {
        let author = seen.label_author(callgrove_model::TreeIdx(tree));
        author.map(str::to_owned)
    };
    assert_eq!(author(&seen, 3).as_deref(), Some("ben"));
    assert_eq!(author(&seen, 4).as_deref(), Some("ana"));
    assert_eq!(author(&seen, 5), None);
    session.run(ben.is(Presence::Lost));
    session.run(ben.asks(Command::SetName(" ".to_owned())));
    assert_eq!(
        there(&ana.receive(&session.seen())),
        [("ana".to_owned(), true)]
    );
    // Undoing a label restores the label and the author before it, also after a crash.
    session.run(ana.asks(label(3, Label::Abnormal)));
    assert_eq!(author(&session.seen(), 3).as_deref(), Some("ana"));
    let undone = session.run(Command::Undo);
    assert_eq!(author(&undone, 3).as_deref(), Some("ben"));
    drop(session);
    let mut session = SmallSession::opened(&disk);
    assert_eq!(author(&session.seen(), 3).as_deref(), Some("ben"));
    session.run(Command::SaveSession {
        path: "session.json".into(),
        view: serde_json::Value::Null,
    });
    disk.journal.lock().unwrap().clear();
    let loaded = SmallSession::on(&disk).run(Command::LoadSession {
        path: "session.json".into(),
    });
    assert_eq!(author(&loaded, 3).as_deref(), Some("ben"));
    assert_eq!(author(&loaded, 4).as_deref(), Some("ana"));
}

#[test]
fn without_viewers_labels_are_by_the_local_user() {
    let mut session = SmallSession::opened(&Disk::default());
    let seen = session.run(label(3, Label::Normal));
    let author = |seen: &Snapshot, tree| {
        let author = seen.label_author(callgrove_model::TreeIdx(tree));
        author.map(str::to_owned)
    };
    assert_eq!(author(&seen, 3).as_deref(), Some("ana"));
    session.run(Command::SetName("ana maria".to_owned()));
    let seen = session.run(label(4, Label::Normal));
    assert_eq!(seen.viewers.name.as_deref(), Some("ana maria"));
    assert_eq!(author(&seen, 4).as_deref(), Some("ana maria"));
}

#[test]
fn files_of_a_viewer_are_not_on_the_server_and_its_name_is_journalled() {
    let disk = Disk::default();
    let viewers = Viewers::default();
    let cell = SnapshotCell::default();
    let host = ViewerHost::new(DiskHost(disk.clone()), viewers.clone(), "run".to_owned());
    let host = host.watching(Some("job".to_owned()));
    let settings = LearnSettings::with_seed(1);
    let mut engine = Engine::new(Box::new(host), settings, cell.clone(), Arc::new(|| ()));
    engine.handle(open("run", "compute"));
    let id = viewers.connect(7);
    let viewer = Viewer::new(id);
    let name = "ben".to_owned();
    engine.handle(viewer.is(Presence::Connected { name }));
    engine.handle(viewer.asks(Command::SetLabel {
        trees: vec![SLOW_TREE],
        label: Some(Label::Abnormal),
    }));
    assert!(
        disk.journal
            .lock()
            .unwrap()
            .iter()
            .any(|line| line.contains("ben"))
    );
    engine.handle(viewer.asks(Command::ExportLabels {
        path: "labels.csv".to_owned(),
    }));
    let file = viewers.take_file(id).unwrap();
    assert_eq!(file.name, "labels.csv");
    assert!(disk.files.lock().unwrap().is_empty());
    let import = || Command::ImportLabels {
        path: "labels.csv".to_owned(),
    };
    engine.handle(viewer.asks(import()));
    assert!(last_notice(&cell.newest()).contains("did not arrive"));
    assert!(viewers.put_file(id, file.clone()));
    engine.handle(viewer.asks(import()));
    assert!(last_notice(&cell.newest()).contains("1 labels were imported"));
    let refused = Command::OpenTrace {
        source: "other run".to_owned(),
        function: None,
    };
    engine.handle(viewer.asks(refused));
    let refused = cell.newest();
    assert!(
        last_notice(&refused).contains("This page shows run"),
        "{:?}",
        refused.notices
    );
    // The watched job is not another run.
    engine.handle(viewer.asks(Command::OpenTrace {
        source: "trees:other job".to_owned(),
        function: None,
    }));
    assert!(last_notice(&cell.newest()).contains("This page shows run"));
    engine.handle(viewer.asks(Command::OpenTrace {
        source: "trees:job".to_owned(),
        function: None,
    }));
    assert_eq!(cell.newest().source.as_deref(), Some("trees:job"));
    assert!(viewers.disconnect(id));
    assert_eq!(viewers.connect(7), id, "it has reconnected");
    assert!(!viewers.remove(id));
    assert_eq!(viewers.connect(7), id, "before its old connection ended");
    assert!(!viewers.disconnect(id));
    assert!(viewers.disconnect(id));
    assert!(viewers.remove(id));
    assert!(!viewers.put_file(id, file), "a removed viewer has no files");
}

#[test]
fn invalid_frames_are_errors_and_the_state_is_kept() {
    let session = SmallSession::opened(&Disk::default());
    let mut viewer = Viewer::new(ViewerId(0));
    let seen = viewer.receive(&session.seen());
    let forest = frame_of_kind(4);
    let short = &forest[..forest.len() - 1];
    for frame in [&[][..], &[77], &[3, 1, 2], short] {
        let refused = viewer.mirror.take(frame);
        assert!(matches!(refused, Err(WireError::Damaged(_))), "{frame:?}");
    }
    let mut newest = Snapshot::clone(&session.seen());
    newest.revision += 1;
    assert_eq!(viewer.receive(&newest).edits.labels, seen.edits.labels);
    newest.revision += 1;
    assert!(viewer.receive(&newest).trace().is_some());
    let refused = SnapshotMirror::default().take(&forest).err();
    assert!(
        matches!(refused, Some(WireError::Order)),
        "a forest without a trace"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        ViewerMessage::from_bytes(&bytes).ok();
        SnapshotMirror::default().take(&bytes).ok();
    }

    #[test]
    fn damaged_frames_are_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        which in any::<prop::sample::Index>(),
    ) {
        let (frames, mut mirror) = (frames_of_a_session(), SnapshotMirror::default());
        let which = which.index(frames.len());
        for (place, frame) in frames.iter().enumerate() {
            let mut frame = frame.clone();
            if place == which {
                for (at, byte) in &damage {
                    let at = at.index(frame.len());
                    frame[at] = *byte;
                }
            }
            let is_whole = frame == frames[place];
            prop_assert_eq!(mirror.take(&frame).is_ok(), is_whole);
            if !is_whole {
                break;
            }
        }
    }
}

/// Returns the first frame of a kind.
fn frame_of_kind(kind: u8) -> Vec<u8> {
    let mut frames = frames_of_a_session().iter();
    frames.find(|frame| frame[0] == kind).cloned().unwrap()
}

/// Returns all frames of a session with a trace, made once.
fn frames_of_a_session() -> &'static [Vec<u8>] {
    static FRAMES: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    FRAMES.get_or_init(|| {
        let session = SmallSession::opened(&Disk::default());
        let mut sender = SnapshotSender::new(ViewerId(0));
        let hello = ViewerMessage::Hello {
            version: WIRE_VERSION,
            key: 1,
            name: None,
        };
        let file = ViewerFile {
            name: "a".to_owned(),
            content: hello.to_bytes().unwrap(),
        };
        let mut frames = vec![file.to_frame().unwrap()];
        while let Some(frame) = sender.next_frame(&session.seen()).unwrap() {
            frames.push(frame);
        }
        frames
    })
}

/// A session behind a connection that can break.
struct LossySession {
    session: SmallSession,
    viewers: Viewers,
    epoch: u64,
}

impl LossySession {
    fn new(disk: &Disk, epoch: u64) -> Self {
        let mut session = SmallSession::on(disk);
        session.run(open("run", "compute"));
        Self {
            session,
            viewers: Viewers::default(),
            epoch,
        }
    }

    /// Carries out at most `max` messages of the link, and sends all frames if `is_answered`.
    fn exchange(&mut self, link: &mut SessionLink, max: usize, is_answered: bool) {
        let hello = ViewerMessage::from_bytes(&link.connected().unwrap()).unwrap();
        let ViewerMessage::Hello { key, .. } = hello else {
            panic!("it says hello first");
        };
        let viewer = self.viewers.connect(key);
        let mut sender = SnapshotSender::new(viewer);
        link.take(&welcome_frame(self.epoch).unwrap()).unwrap();
        for _ in 0..max {
            let Some(message) = link.next_message(|_| None).unwrap() else {
                break;
            };
            match ViewerMessage::from_bytes(&message).unwrap() {
                ViewerMessage::Command { number, command } => {
                    self.session.run(Command::ForViewer {
                        viewer,
                        number,
                        command,
                    });
                }
                other => assert_eq!(other, ViewerMessage::Cancel),
            }
        }
        if is_answered {
            while let Some(frame) = sender.next_frame(&self.session.seen()).unwrap() {
                link.take(&frame).unwrap();
            }
        }
        self.viewers.disconnect(viewer);
    }
}

fn label(tree: u32, label: Label) -> Command {
    Command::SetLabel {
        trees: vec![callgrove_model::TreeIdx(tree)],
        label: Some(label),
    }
}

#[test]
fn commands_survive_the_connection_and_are_carried_out_once() {
    let disk = Disk::default();
    let mut remote = LossySession::new(&disk, 1);
    let (handle, mut link) = SessionLink::new(7, None);
    remote.exchange(&mut link, 9, true);
    assert!(handle.snapshot().analysis().is_some());
    handle.send(Command::SetAutoTrain(false)).unwrap();
    handle.send(label(1, Label::Normal)).unwrap();
    handle.send(label(2, Label::Abnormal)).unwrap();
    handle.send(Command::Undo).unwrap();
    // All but the last one are carried out, but the answer is lost with the connection.
    remote.exchange(&mut link, 3, false);
    link.lost("the connection is lost");
    let lost = handle.snapshot();
    assert_eq!(
        lost.notices.last().unwrap().text,
        "the connection is lost. Trying again. 4 changes not sent yet."
    );
    remote.exchange(&mut link, 0, true);
    assert_eq!(
        link.num_unconfirmed(),
        1,
        "commands that were carried out are confirmed"
    );
    remote.exchange(&mut link, 9, true);
    let seen = handle.snapshot();
    assert_eq!((seen.edits.labels.len(), link.num_unconfirmed()), (1, 0));
    assert_eq!(seen.label(callgrove_model::TreeIdx(1)), Some(Label::Normal));
    assert!(!seen.notices.iter().any(|it| it.text.contains("lost")));
}

#[test]
fn a_restarted_session_gets_the_labels_again_and_no_undo() {
    let disk = Disk::default();
    let mut remote = LossySession::new(&disk, 1);
    let (handle, mut link) = SessionLink::new(7, None);
    remote.exchange(&mut link, 9, true);
    for command in [
        label(1, Label::Normal),
        label(2, Label::Normal),
        Command::Undo,
    ] {
        handle.send(command).unwrap();
    }
    remote.exchange(&mut link, 1, false);
    drop(remote);
    let mut remote = LossySession::new(&disk, 2);
    remote.exchange(&mut link, 9, true);
    let seen = handle.snapshot();
    assert_eq!((seen.edits.labels.len(), link.num_unconfirmed()), (2, 0));
}

#[test]
fn a_cancel_request_is_sent_or_kept_for_the_caller() {
    let (handle, mut link) = SessionLink::new(7, None);
    begin(&mut link);
    handle.cancel();
    assert_eq!(pending_messages(&mut link), [ViewerMessage::Cancel]);
    assert!(!link.wants_stop(), "it was sent");
    let (handle, link) = SessionLink::new(7, None);
    let mut link = link.with_external_stop();
    begin(&mut link);
    handle.cancel();
    assert_eq!(pending_messages(&mut link), []);
    assert!(link.wants_stop() && !link.wants_stop(), "once");
}

/// Returns the pending messages as the session receives them.
fn pending_messages(link: &mut SessionLink) -> Vec<ViewerMessage> {
    let messages = std::iter::from_fn(|| link.next_message(|_| None).unwrap());
    messages
        .map(|message| ViewerMessage::from_bytes(&message).unwrap())
        .collect()
}

#[test]
fn a_file_that_is_too_large_is_not_sent() {
    let (handle, mut link) = SessionLink::new(7, None);
    begin(&mut link);
    for (num_bytes, is_sent) in [(MAX_FILE_BYTES, true), (MAX_FILE_BYTES + 1, false)] {
        let path = "model.json".to_owned();
        handle.send(Command::LoadModel { path }).unwrap();
        let file = |_: &str| Some(vec![0; num_bytes as usize]);
        let pending_messages: Vec<_> =
            std::iter::from_fn(|| link.next_message(file).unwrap()).collect();
        assert_eq!(
            pending_messages.len(),
            1 + usize::from(is_sent),
            "{num_bytes} bytes"
        );
        let last = ViewerMessage::from_bytes(pending_messages.last().unwrap()).unwrap();
        assert!(
            matches!(last, ViewerMessage::Command { .. }),
            "the command is sent, so that the session reports the missing file"
        );
    }
}

fn begin(link: &mut SessionLink) {
    link.connected().unwrap();
    link.take(&welcome_frame(1).unwrap()).unwrap();
}

fn connect() -> WatchRequest {
    WatchRequest::Connect {
        connection: ConnectionId(3),
        address: "job".to_owned(),
        token: None,
    }
}

#[test]
fn a_run_is_watched_again_on_each_connection_and_lost_queries_fail() {
    let (_, mut link) = SessionLink::new(7, None);
    let view = link.watch();
    view.send(connect()).unwrap();
    let documents = QueryForm::default().request().unwrap();
    let query = QueryRequest { id: 5, documents };
    view.send(WatchRequest::Query(query.clone())).unwrap();
    begin(&mut link);
    let asked = [connect(), WatchRequest::Query(query)].map(ViewerMessage::Watch);
    assert_eq!(pending_messages(&mut link), asked);
    let overview = WatchUpdate::Connected(Box::default());
    let frame = watch_frame(ConnectionId(3), &overview).unwrap();
    link.take(&frame).unwrap();
    assert_eq!(view.poll(), Some((ConnectionId(3), overview)));
    link.lost("gone");
    let updates: Vec<_> = std::iter::from_fn(|| view.poll()).map(|it| it.1).collect();
    assert!(
        matches!(
            &updates[..],
            [
                WatchUpdate::Lost { .. },
                WatchUpdate::QueryFailed { id: 5, .. }
            ]
        ),
        "{updates:?}"
    );
    begin(&mut link);
    assert_eq!(
        pending_messages(&mut link),
        [ViewerMessage::Watch(connect())]
    );
    view.send(WatchRequest::Disconnect).unwrap();
    assert_eq!(pending_messages(&mut link).len(), 1);
    link.lost("gone");
    begin(&mut link);
    assert_eq!(
        pending_messages(&mut link),
        [],
        "no connection is wanted any more"
    );
}

#[test]
fn a_view_in_the_background_requests_the_overview_again_instead_of_queueing_all_packets() {
    let (_, mut link) = SessionLink::new(7, None);
    let view = link.watch();
    view.send(connect()).unwrap();
    begin(&mut link);
    pending_messages(&mut link);
    let packet = Packet {
        version: callgrove_watch::packet::VERSION,
        created_at: 1,
        run: callgrove_model::RunIdentity::default(),
        anomaly_stats: None,
        anomaly_metrics: Vec::new(),
        counter_stats: None,
    };
    let update = WatchUpdate::Packet(Box::new(packet));
    let frame = watch_frame(ConnectionId(3), &update).unwrap();
    for _ in 0..5_000 {
        link.take(&frame).unwrap();
    }
    let num_kept = std::iter::from_fn(|| view.poll()).count();
    assert!(num_kept < 1_000, "{num_kept}");
    assert_eq!(
        pending_messages(&mut link),
        [ViewerMessage::Watch(connect())]
    );
}
