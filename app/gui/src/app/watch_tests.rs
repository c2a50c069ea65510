//! Tests of the watched run in the window, with a scripted transport.

mod many_ranks_tests;

use std::sync::mpsc::{Receiver, sync_channel};

use callgrove_actions::ACTIONS;
use callgrove_model::{ExecLabel, ProgramId, RunIdentity};
use callgrove_watch::packet::{
    AnomalyMetrics, AnomalyStats, FuncAnomalies, RankAnomalies, StepAnomalies, VERSION,
};
use callgrove_watch::{
    Collection, ConnectionId, CounterStats, MetricsData, Packet, Page, QueryRequest, RunStats,
    WatchHandle, WatchRequest, WatchTransport, WatchUpdate,
};
use egui::{Key, Modifiers, Role, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use callgrove_session::{Command, Label, Session, SessionHandle, SnapshotCell, UserCommand};
use callgrove_watch::WatchCommand;

use super::CallgroveApp;
use crate::platform::NoDialogs;

pub(super) const WAIT: &str = "MPI_Wait() [{mpi.c} {12,0}]";
const COMPUTE: &str = "ns::Pair::compute(int, int)";

/// The window with the transport's end of the channels.
pub(super) struct Window {
    pub(super) harness: Harness<'static, CallgroveApp>,
    transport: WatchTransport,
    /// Commands that the engine got.
    commands: Receiver<Command>,
}

impl Window {
    pub(super) fn new(address: Option<&str>) -> Self {
        let (handle, transport) = WatchHandle::pair();
        let address = address.map(ToOwned::to_owned);
        let builder = Harness::builder()
            .with_size(Vec2::new(1400.0, 900.0))
            .with_max_steps(200);
        let (sender, commands) = sync_channel(64);
        let engine = SessionHandle::new(sender, SnapshotCell::default());
        let mut session = Session::new(engine, Some(handle));
        if let Some(address) = address {
            let token = None;
            session.send(UserCommand::Watch(WatchCommand::Connect { address, token }));
        }
        let mut harness = builder
            .build_eframe(|creation| CallgroveApp::new(creation, session, Box::new(NoDialogs)));
        harness.run();
        Self {
            harness,
            transport,
            commands,
        }
    }

    /// Returns a connected window with the anomalies of eight steps.
    fn live() -> Self {
        let mut window = Self::new(Some("localhost:5559"));
        window.say(WatchUpdate::Connected(Box::default()));
        for step in 0..8 {
            window.say(WatchUpdate::Packet(Box::new(packet(step))));
        }
        while window.transport.requests.try_recv().is_ok() {}
        window
    }

    pub(super) fn say(&mut self, update: WatchUpdate) {
        self.transport
            .updates
            .send((ConnectionId(1), update))
            .unwrap();
        self.harness.run();
    }

    pub(super) fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.run();
    }

    /// Finds a text field, as opposed to its label.
    fn field<'a>(&'a self, label: &'a str) -> egui_kittest::Node<'a> {
        self.harness.get_by_role_and_label(Role::TextInput, label)
    }

    fn press(&mut self, key: Key) {
        self.harness.key_press(key);
        self.harness.run();
    }

    fn has(&self, text: &str) -> bool {
        self.harness
            .query_all_by_label_contains(text)
            .next()
            .is_some()
    }

    fn page(&self) -> Page {
        self.harness.state().session.snapshot().watch.visit().page
    }

    pub(super) fn asked(&self) -> QueryRequest {
        match self.transport.requests.try_iter().last() {
            Some(WatchRequest::Query(request)) => request,
            other => panic!("no query but {other:?}"),
        }
    }

    /// Answers the last query with executions on rank 2.
    fn answer(&mut self, num_documents: u32, total: u64) -> QueryRequest {
        let request = self.asked();
        let documents = (0..num_documents).map(document).collect();
        self.say(WatchUpdate::Found {
            id: request.id,
            documents,
            total: Some(total),
        });
        request
    }
}

fn stats(total: f64, count: u64) -> RunStats {
    RunStats {
        accumulate: total,
        count,
        mean: total / count.max(1) as f64,
        maximum: total,
        ..RunStats::default()
    }
}

/// A packet in which rank r has r anomalies in each step.
pub(super) fn packet(step: u64) -> Packet {
    let created_at = 1_795_231_715_000 + step * 1_000;
    let rank = |rank: u32| RankAnomalies {
        data: vec![StepAnomalies {
            app: 0,
            rank,
            step,
            n_anomalies: u64::from(rank),
            min_timestamp_us: 1,
            max_timestamp_us: 2,
            outlier_scores: RunStats::default(),
        }],
        key: format!("0:{rank}"),
        stats: stats((u64::from(rank) * (step + 1)) as f64, step + 1),
    };
    let func = |fid: u32, name: &str, share: f64| FuncAnomalies {
        app: 0,
        fid,
        name: name.to_owned(),
        exclusive: stats(4_500.0 * f64::from(fid + 1), 10),
        inclusive: stats(9e6, 10),
        stats: stats(share * (step + 1) as f64, step + 1),
    };
    let metrics = |rank: u32, fid: u32, severity_us: f64| {
        let data = |num_steps: u64| MetricsData {
            first_io_step: step + 1 - num_steps,
            last_io_step: step,
            severity: stats(severity_us * num_steps as f64, num_steps),
            score: stats(12.0, 1),
            count: stats(2.0, 1),
            ..MetricsData::default()
        };
        AnomalyMetrics {
            app: 0,
            rank,
            fid,
            fname: [WAIT, COMPUTE][fid as usize].to_owned(),
            _id: 0,
            new_data: data(1),
            all_data: data(step + 1),
        }
    };
    Packet {
        version: VERSION,
        created_at,
        run: RunIdentity::default(),
        anomaly_stats: Some(AnomalyStats {
            created_at,
            anomaly: (0..4).map(rank).collect(),
            func: vec![func(0, WAIT, 4.5), func(1, COMPUTE, 1.5)],
        }),
        anomaly_metrics: vec![
            metrics(1, 0, 500.0),
            metrics(2, 0, 1_000.0),
            metrics(3, 0, 1_500.0),
            metrics(3, 1, 200.0),
        ],
        counter_stats: Some(vec![CounterStats {
            app: 0,
            counter: "Message size received".to_owned(),
            stats: stats(4_096.0, 2),
        }]),
    }
}

fn document(index: u32) -> serde_json::Value {
    let entry = 1_795_231_715_000_000_u64 + u64::from(index) * 10_000;
    let call = |label: u32, parent: &str, func: &str, from: u64, length: u64| {
        serde_json::json!({
            "event_id": format!("2:5:{label}"), "parent_event_id": parent, "func": func, "fid": 0,
            "entry": entry + from, "exit": entry + from + length, "is_anomaly": label == 100 + index,
        })
    };
    let own = format!("2:5:{}", 100 + index);
    serde_json::json!({
        "event_id": own, "func": WAIT, "fid": 0, "pid": 0, "rid": 2, "tid": 0, "hostname": "n17",
        "entry": entry, "exit": entry + 2_500, "runtime_exclusive": 2_500, "runtime_total": 2_500,
        "io_step": 5, "outlier_score": 12.5 - f64::from(index), "outlier_severity": 2_500 - index,
        "is_gpu_event": false, "gpu_location": null, "gpu_parent": null,
        "call_stack": [
            {"event_id": own, "func": WAIT, "fid": 0, "entry": entry, "exit": entry + 2_500, "is_anomaly": true},
            {"event_id": "2:0:1", "func": COMPUTE, "fid": 1, "entry": entry - 9_000_000, "exit": 0, "is_anomaly": false},
        ],
        "counter_events": [{"counter_name": "bytes received", "counter_value": 64, "ts": entry + 2_000}],
        "algo_params": {"histogram": {
            "Histogram Bin Counts": [90, 9, 1], "Histogram Bin Edges": [0.0, 10.0, 100.0, 5000.0],
        }, "internal_global_threshold": 3.5},
        "event_window": {
            "exec_window": [
                call(100 + index, "2:0:1", WAIT, 0, 2_500),
                call(900, "2:0:1", "MPI_Send()", 3_000, 100),
            ],
            "comm_window": [
                {"type": "RECV", "src": 3, "tar": 2, "bytes": 64, "tag": 7, "timestamp": entry + 2_400, "execdata_key": own},
            ],
        },
        "node_state": {"data": [{"field": "Memory Available (MB)", "value": 512}], "timestamp": entry},
    })
}

#[test]
fn without_an_address_the_window_asks_for_one() {
    let mut window = Window::new(None);
    window.click("Attach a running job…");
    let field = window.harness.get_by_label("Folder or address");
    field.type_text("node17:5559");
    window.harness.run();
    window.press(Key::Enter);
    let expected = WatchRequest::Connect {
        connection: ConnectionId(1),
        address: "node17:5559".to_owned(),
        token: None,
    };
    assert_eq!(window.transport.requests.try_recv(), Ok(expected));
    assert!(window.has("Connecting to node17:5559"));
}

#[test]
fn a_server_that_does_not_answer_is_shown_with_cause_and_remedy() {
    let mut window = Window::new(Some("localhost:1"));
    window.say(WatchUpdate::Lost {
        cause: "connection refused; start callgrove pserver, or make the tunnel".to_owned(),
        retry_in_ms: Some(2_000),
    });
    assert!(window.has("localhost:1 does not answer"));
    assert!(window.has("start callgrove pserver"));
    assert!(window.has("Retrying every 2.0 s."));
    window.say(WatchUpdate::Connected(Box::default()));
    assert!(window.has("no anomaly detector has reported yet"));
    window.say(WatchUpdate::Packet(Box::new(packet(0))));
    assert!(window.has("● Live"));
    window.say(WatchUpdate::Lost {
        cause: "timed out".to_owned(),
        retry_in_ms: None,
    });
    assert!(window.has("▲ Connection lost"));
    assert!(window.has("rank 3, 1.7 ms"), "known data stays");
    window.say(WatchUpdate::Ended);
    assert!(window.has("■ Run is over"));
}

#[test]
fn ranks_and_functions_are_bars_with_names_and_units() {
    let mut window = Window::live();
    window.harness.get_by_label("MPI_Wait, 24 ms");
    window.harness.get_by_label("Pair::compute, 1.6 ms");
    window.harness.get_by_label("rank 3, 13.6 ms");
    window.click("Measure of functions");
    window.click("Exclusive time");
    window.harness.get_by_label("Pair::compute, 9 ms");
    window.click("Statistic of functions");
    window.click("mean");
    window.harness.get_by_label("Pair::compute, 900 µs");
}

#[test]
fn a_search_finds_functions_by_a_part_of_their_name() {
    let mut window = Window::live();
    window.press(Key::Slash);
    let field = window.harness.get_by_label("Find a function");
    assert!(field.is_focused());
    field.type_text("pair");
    window.harness.run();
    assert!(window.has("Pair::compute, 1.6 ms"));
    assert!(!window.has("MPI_Wait, 24 ms"));
}

#[test]
fn from_a_rank_to_its_executions_to_a_record_and_back() {
    let mut window = Window::live();
    window.click("rank 2, 8 ms");
    assert_eq!(window.page(), Page::Executions);
    let request = window.answer(3, 3);
    let request = request.documents;
    assert_eq!(request.filter.as_deref(), Some("pid = 0 and rid = 2"));
    assert_eq!(
        (request.collection, request.sort.as_deref()),
        (Collection::Anomalies, Some("outlier_severity"))
    );
    window
        .harness
        .get_by_label("Scatter plot of 3 executions, Severity against Entry");
    window.click(
        "2:5:101, MPI_Wait, 2.499 ms, 11.50, 2, 5, 2.5 ms, 2.5 ms, 2026-11-21 03:28:35.010000, n17",
    );
    assert_eq!(window.page(), Page::Document);
    assert!(window.has("MPI_Wait on rank 2, execution 2:5:101"));
    window
        .harness
        .get_by_label("Timeline of 3 calls and 1 message with 1 rank");
    assert!(window.has("2.5 ms is in a bin of 1 out of 100 executions; 0 took longer"));
    assert!(window.has("bytes received"));
    assert!(window.has("Memory Available (MB)"));
    assert!(window.has("still running"), "the caller has not returned");
    window.press(Key::Comma);
    assert!(
        window.has("execution 2:5:100"),
        "the one before in the table"
    );
    window
        .harness
        .key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    window.harness.run();
    assert_eq!(window.page(), Page::Executions);
    window.click("Back");
    assert_eq!(window.page(), Page::Overview);
    window.click("Forward");
    assert!(window.has("2:5:102"), "the answer is still there");
}

#[test]
fn a_click_on_the_heat_map_queries_one_rank_and_step() {
    let mut window = Window::live();
    let map = window
        .harness
        .get_by_label("Heat map of 48 anomalies on 4 ranks, steps 0 to 7");
    let rect = map.rect();
    // Four rows at most 32 points high, from the top; eight columns: the last cell of rank 2.
    let row_height = (rect.height() / 4.0).min(32.0);
    let cell = egui::pos2(
        rect.right() - rect.width() / 16.0,
        rect.top() + row_height * 2.5,
    );
    window.harness.hover_at(cell);
    window.harness.run();
    assert!(window.has("2 anomalies"));
    for pressed in [true, false] {
        window.harness.event(egui::Event::PointerButton {
            pos: cell,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
        window.harness.run();
    }
    let request = window.asked();
    assert_eq!(
        request.documents.filter.as_deref(),
        Some("pid = 0 and rid = 2 and io_step >= 7 and io_step <= 7")
    );
}

#[test]
fn a_pause_freezes_the_view_and_counts_the_updates() {
    let mut window = Window::live();
    window.press(Key::P);
    window.say(WatchUpdate::Packet(Box::new(packet(8))));
    window.say(WatchUpdate::Packet(Box::new(packet(9))));
    window.harness.get_by_label("rank 3, 13.6 ms");
    window.click("Resume (2 updates waiting)");
    window.harness.get_by_label("rank 3, 17 ms");
}

#[test]
fn newest_anomalies_are_a_table_whose_rows_query() {
    let mut window = Window::live();
    window.click("03:28:42, rank 3, MPI_Wait, 7 to 7, 2, 1.5 ms, 1.5 ms, 12");
    let filter = window.asked().documents.filter.unwrap();
    assert_eq!(
        filter,
        "pid = 0 and rid = 3 and io_step >= 7 and io_step <= 7 and fid = 0"
    );
}

#[test]
fn an_incident_without_records_shows_its_summary() {
    let mut window = Window::new(Some("localhost:5559"));
    window.say(WatchUpdate::Connected(Box::default()));
    let request = window.asked();
    assert_eq!(request.documents.collection, Collection::Incidents);
    window.say(WatchUpdate::Packet(Box::new(packet(0))));
    let incident = serde_json::json!({
        "version": 2, "incident_id": "2:3:7", "joined_to": null, "pid": 0, "io_step": 3,
        "start": 1_795_231_715_000_000_u64, "end": 1_795_231_715_060_000_u64, "kind": "stalled", "confidence": 88,
        "rid": 2, "fid": 0, "func": WAIT, "event_id": "2:3:7", "own_delay": 60_000, "delay": 900_000,
        "num_executions": 2, "num_anomalies": 0, "num_ranks": 4, "ranks": [1, 2],
        "members": ["2:3:7", "1:3:2"], "hops": [], "messages": [],
    });
    window.say(WatchUpdate::Found {
        id: request.id,
        documents: vec![incident],
        total: None,
    });
    window.click("Incidents");
    let row = "Rank 2 stalled 60 ms in MPI_Wait; 3 ranks waited 840 ms in all";
    window.harness.get_by_label_contains(row).click();
    window.harness.run();
    window.answer(0, 0);
    assert_eq!(window.page(), Page::Executions);
    assert!(window.has(&format!(
        "No executions were recorded for this incident because none was anomalous: {row}"
    )));
}

#[test]
fn the_profile_sorts_by_any_column_and_queries_a_function() {
    let mut window = Window::live();
    window.press(Key::Num7);
    let top = |window: &Window, label: &str| {
        let mut rows = window.harness.query_all_by_label_contains(label);
        rows.next().map(|row| row.rect().top())
    };
    assert!(
        top(&window, "MPI_Wait, 24 ms, 12 ms, 36, 75.0 %")
            < top(&window, "Pair::compute, 1.6 ms, 1.6 ms, 12, 25.0 %")
    );
    window.click("Sort by Excl. total");
    assert!(top(&window, "MPI_Wait, 24 ms") > top(&window, "Pair::compute, 1.6 ms"));
    let row = window
        .harness
        .query_all_by_label_contains("Pair::compute, 1.6 ms")
        .next();
    row.unwrap().click();
    window.harness.run();
    assert_eq!(
        window.asked().documents.filter.as_deref(),
        Some("pid = 0 and fid = 1")
    );
}

#[test]
fn counters_are_listed_with_their_statistics() {
    let mut window = Window::live();
    window.click("Tab Counters");
    window
        .harness
        .get_by_label("Message size received, 0, 2, 2,048, 0, 4,096, 0, 4,096, 0, 0");
}

#[test]
fn the_form_converts_units_and_names_invalid_input() {
    let mut window = Window::live();
    window.press(Key::Num8);
    window.press(Key::Slash);
    let field = window.field("Function");
    assert!(field.is_focused());
    field.type_text("MPI_*");
    window.harness.run();
    window.field("Minimum severity").focus();
    window.harness.run();
    window.field("Minimum severity").type_text("1.5");
    window.harness.run();
    window.click("Run query");
    assert_eq!(
        window.asked().documents.filter.as_deref(),
        Some("func like 'MPI_*' and outlier_severity >= 1500")
    );
    window.field("Rank").focus();
    window.harness.run();
    window.field("Rank").type_text("first");
    window.harness.run();
    window.click("Run query");
    assert!(window.has("`first` is not a list of whole numbers"));
    assert!(window.transport.requests.try_recv().is_err());
}

#[test]
fn a_long_answer_is_paged() {
    let mut window = Window::live();
    window.click("rank 1, 4 ms");
    let first = window.answer(200, 350);
    assert!(window.has("200 of 350"));
    window.click("More");
    let more = window.asked();
    assert_eq!((more.id, more.documents.offset), (first.id, 200));
}

#[test]
fn a_failed_query_shows_its_cause() {
    let mut window = Window::live();
    window.click("rank 1, 4 ms");
    let request = window.asked();
    window.say(WatchUpdate::QueryFailed {
        id: request.id,
        cause: "expected a comparison after `rid`".to_owned(),
    });
    assert!(window.has("▲ expected a comparison after `rid`"));
}

#[test]
fn keys_label_successive_records() {
    let mut window = Window::live();
    window.click("rank 2, 8 ms");
    window.answer(3, 3);
    window.press(Key::Period);
    window.press(Key::X);
    window.press(Key::N);
    window.harness.key_press_modifiers(Modifiers::SHIFT, Key::X);
    window.harness.run();
    let label = |row: u32, label: Option<Label>| Command::SetRecordLabel {
        program: ProgramId(0),
        event: ExecLabel::parse(&format!("2:5:{row}")).unwrap(),
        func: WAIT.to_owned(),
        label,
    };
    let expected = [
        label(100, Some(Label::Abnormal)),
        label(101, Some(Label::Normal)),
        label(102, None),
    ];
    assert_eq!(window.commands.try_iter().collect::<Vec<_>>(), expected);
    window.click("Abnormal 2:5:102");
    let expected = [label(102, Some(Label::Abnormal))];
    assert_eq!(window.commands.try_iter().collect::<Vec<_>>(), expected);
    // While a tree is focused, the keys act on it.
    window.press(Key::Num3);
    window.press(Key::X);
    assert_eq!(window.commands.try_iter().count(), 0);
}

#[test]
fn a_narrow_view_shows_either_the_answer_or_the_query() {
    let mut window = Window::live();
    window.harness.set_size(Vec2::new(560.0, 600.0));
    window.press(Key::Num8);
    assert!(window.has("Run query"), "there was no query yet");
    window.field("Rank").focus();
    window.harness.run();
    window.field("Rank").type_text("2");
    window.harness.run();
    window.press(Key::Enter);
    window.answer(3, 3);
    assert!(window.has("3 of 3") && !window.has("Run query"));
    window.click("Edit query…");
    assert!(window.has("Run query") && !window.has("3 of 3"));
}

#[test]
fn the_record_is_shown_as_json_and_leads_to_normal_executions() {
    let mut window = Window::live();
    window.click("rank 2, 8 ms");
    window.answer(1, 1);
    window.press(Key::Period);
    assert_eq!(window.page(), Page::Document);
    window.press(Key::J);
    let json = window.harness.get_by_label("Record as JSON");
    assert!(json.value().unwrap().contains("\"event_id\": \"2:5:100\""));
    window.click("Compare");
    let request = window.asked().documents;
    assert_eq!(request.collection, Collection::NormalExecs);
    assert_eq!(request.filter.as_deref(), Some("pid = 0 and fid = 0"));
}

#[test]
fn another_server_is_entered_over_the_views_and_escape_closes_the_form() {
    let mut window = Window::live();
    for key in [Key::Escape, Key::Enter] {
        window
            .harness
            .key_press_modifiers(Modifiers::COMMAND, Key::L);
        window.harness.run();
        assert!(window.field("Folder or address").is_focused());
        window.press(key);
        assert!(window.harness.query_by_label("Folder or address").is_none());
    }
    let expected = WatchRequest::Connect {
        connection: ConnectionId(2),
        address: "localhost:5559".to_owned(),
        token: None,
    };
    assert_eq!(
        window.transport.requests.try_iter().collect::<Vec<_>>(),
        [expected]
    );
    assert!(window.has("● Live") || window.has("◌ Connecting"));
}

#[test]
fn a_drag_over_the_heat_map_selects_steps_and_shows_only_them() {
    let mut window = Window::live();
    let map = window
        .harness
        .get_by_label("Heat map of 48 anomalies on 4 ranks, steps 0 to 7");
    let rect = map.rect();
    let at = |column: f32| {
        egui::pos2(
            rect.left() + rect.width() * (column + 0.5) / 8.0,
            rect.top() + 8.0,
        )
    };
    window.harness.drag_at(at(2.0));
    window.harness.run();
    window.harness.hover_at(at(3.0));
    window.harness.run();
    window.harness.hover_at(at(4.0));
    window.harness.run();
    window.harness.drop_at(at(4.0));
    window.harness.run();
    window
        .harness
        .get_by_label("Heat map of 18 anomalies on 4 ranks, steps 2 to 4");
    assert!(window.has("Selected: steps 2 to 4"));
    window.click("All steps");
    window
        .harness
        .get_by_label("Heat map of 48 anomalies on 4 ranks, steps 0 to 7");
}

#[test]
fn the_help_lists_all_keys_and_escape_closes_it() {
    let mut window = Window::live();
    window.press(Key::Questionmark);
    assert!(window.has("How it works"));
    for entry in &ACTIONS {
        assert!(window.has(entry.name), "{}", entry.name);
    }
    window.press(Key::Escape);
    assert!(!window.has("How it works"));
}

#[test]
fn both_appearances_draw_every_page() {
    let mut window = Window::live();
    window.click("rank 2, 8 ms");
    window.answer(5, 5);
    window.press(Key::Period);
    for name in ["Light appearance", "Dark appearance", "Light appearance"] {
        if window.harness.query_by_label(name).is_some() {
            window.click(name);
        }
        for key in [Key::Num6, Key::Num7, Key::Num8, Key::Num9] {
            window.press(key);
        }
    }
    assert_eq!(window.page(), Page::Document);
}

#[test]
fn an_empty_view_says_what_it_is_for_and_what_to_do() {
    let mut window = Window::live();
    window.press(Key::Num2);
    assert!(window.has("similar ones are close together"));
    window.click("Open recorded executions");
    let asked = window.commands.try_iter().last();
    assert!(
        matches!(&asked, Some(Command::OpenTrace { source, .. }) if source == "trees:localhost:5559"),
        "{asked:?}"
    );
    window.press(Key::Q);
    assert!(window.has("Recurring patterns") && window.has("Open a trace…"));
    window.press(Key::I);
    window.click("Show Overview");
    assert!(window.has("Heat map of"));
}
