//! The watched run with a transport that the test controls.

use std::sync::Arc;

use callgrove_causes::CauseKind;
use callgrove_model::RunIdentity;
use serde_json::{Value, json};

use super::packet::{
    AnomalyMetrics, AnomalyStats, FuncAnomalies, RankAnomalies, StepAnomalies, VERSION,
};
use super::*;

fn stats(total: f64, count: u64) -> RunStats {
    RunStats {
        accumulate: total,
        count,
        mean: total / count as f64,
        maximum: total,
        ..RunStats::default()
    }
}

/// Returns anomalies of one step on each of three ranks: rank r has r + `step` % 2.
fn packet(step: u64) -> Packet {
    let rank = |rank: u32| {
        let n_anomalies = u64::from(rank) + step % 2;
        RankAnomalies {
            data: vec![StepAnomalies {
                app: 0,
                rank,
                step,
                n_anomalies,
                min_timestamp_us: 1,
                max_timestamp_us: 2,
                outlier_scores: RunStats::default(),
            }],
            key: format!("0:{rank}"),
            stats: stats((step * n_anomalies) as f64, step + 1),
        }
    };
    let func = |fid: u32, name: &str, total: f64| FuncAnomalies {
        app: 0,
        fid,
        name: name.to_owned(),
        exclusive: stats(1e3, 10),
        inclusive: stats(2e3, 10),
        stats: stats(total, step + 1),
    };
    let data = MetricsData {
        severity: stats(500.0, 2),
        score: stats(12.0, 2),
        count: stats(2.0, 1),
        ..MetricsData::default()
    };
    Packet {
        version: VERSION,
        created_at: 1_000 * (step + 1),
        run: RunIdentity::default(),
        anomaly_stats: Some(AnomalyStats {
            created_at: 1_000 * (step + 1),
            anomaly: (0..3).map(rank).collect(),
            func: vec![func(0, "MPI_Wait()", 6.0), func(1, "compute(int)", 2.0)],
        }),
        anomaly_metrics: vec![AnomalyMetrics {
            app: 0,
            rank: 1,
            fid: 1,
            fname: "compute(int)".to_owned(),
            _id: 0,
            new_data: data.clone(),
            all_data: data,
        }],
        counter_stats: None,
    }
}

fn document(rank: u32, index: u32) -> Value {
    json!({
        "event_id": format!("{rank}:3:{index}"), "func": "compute(int)", "fid": 1, "pid": 0, "rid": rank,
        "outlier_score": 7.5, "outlier_severity": 1_500, "entry": 1_000 + index, "exit": 2_000 + index,
    })
}

fn connected() -> (Watcher, WatchTransport) {
    let (handle, transport) = WatchHandle::pair();
    let mut watcher = Watcher::new(handle);
    watcher.carry_out(WatchCommand::Connect {
        address: "localhost:5559".to_owned(),
        token: None,
    });
    transport
        .updates
        .send((ConnectionId(1), WatchUpdate::Connected(Box::default())))
        .unwrap();
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::Packet(Box::new(packet(0))),
    );
    (watcher, transport)
}

fn deliver(watcher: &mut Watcher, transport: &WatchTransport, update: WatchUpdate) {
    transport.updates.send((ConnectionId(1), update)).unwrap();
    while watcher.update() {}
}

fn last_query(transport: &WatchTransport) -> QueryRequest {
    let last = transport.requests.try_iter().last();
    let Some(WatchRequest::Query(request)) = last else {
        panic!("no query but {last:?}");
    };
    request
}

fn incident() -> Value {
    json!({
        "version": 2, "incident_id": "6:3:7", "joined_to": null, "pid": 0, "io_step": 3, "start": 1_000, "end": 53_800,
        "kind": "stalled", "rid": 6, "fid": 4, "func": "MPI_Send()", "event_id": "6:3:7", "own_delay": 52_800,
        "confidence": 88, "next_best": 5, "host": null, "delay": 832_800, "num_executions": 2, "num_anomalies": 2, "num_ranks": 16, "ranks": [5, 6],
        "members": ["6:3:7", "5:3:2"], "hops": [],
        "messages": [{
            "src": 6, "tar": 5, "tag": 9, "number": 17,
            "sent": {"timestamp": 53_790, "event_id": "6:3:30"}, "received": {"timestamp": 53_800, "event_id": "5:3:2"}
        }],
    })
}

#[test]
fn incidents_of_version_1_are_read() {
    let mut old = incident();
    let fields = old.as_object_mut().expect("an object");
    for name in ["own_delay", "confidence", "next_best", "host"] {
        fields.remove(name);
    }
    fields.insert("version".to_owned(), json!(1));
    fields.insert("stood".to_owned(), json!(52_800));
    for (kind, now) in [
        ("stood_still", CauseKind::Stalled),
        ("own_work", CauseKind::Slow),
        ("untold", CauseKind::Unknown),
    ] {
        old["kind"] = json!(kind);
        let read = RecordedIncident::new(&old).expect("an incident");
        assert_eq!(
            (read.record.kind, read.record.own_delay),
            (now, Some(52_800))
        );
    }
}

fn found(id: u64, documents: Vec<Value>) -> WatchUpdate {
    WatchUpdate::Found {
        id,
        documents,
        total: None,
    }
}

#[test]
fn incidents_are_queried_with_new_data_and_their_root_is_opened() {
    let (mut watcher, transport) = connected();
    let request = last_query(&transport);
    assert_eq!(
        (
            request.documents.collection,
            request.documents.sort.as_deref()
        ),
        (Collection::Incidents, Some("delay"))
    );
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::Packet(Box::new(packet(1))),
    );
    assert!(
        transport.requests.try_recv().is_err(),
        "one query at a time"
    );
    let mut part = incident();
    (part["incident_id"], part["joined_to"]) = (json!("9:3:7"), json!("6:3:7"));
    part["members"] = json!([]);
    deliver(
        &mut watcher,
        &transport,
        found(request.id, vec![incident(), part]),
    );
    let known = watcher.watch().incidents().to_vec();
    assert_eq!(
        known[0].sentence(),
        "Rank 6 stalled 52.8 ms in MPI_Send; 15 ranks waited 780 ms in all"
    );
    assert_eq!(
        known.len(),
        1,
        "an incident that was joined to another is not listed"
    );

    watcher.carry_out(WatchCommand::OpenIncident(Arc::clone(&known[0])));
    let request = last_query(&transport);
    let filter = "pid = 0 and (event_id in ('6:3:7', '6:3:7', '5:3:2'))";
    assert_eq!(request.documents.filter.as_deref(), Some(filter));
    let mut victim = document(5, 2);
    victim["event_window"] = json!({"comm_window": [
        {"type": "RECV", "src": 6, "tar": 5, "tag": 9, "number": 17, "timestamp": 53_800},
        {"type": "RECV", "src": 6, "tar": 5, "tag": 9, "number": null, "timestamp": 53_801},
    ]});
    deliver(
        &mut watcher,
        &transport,
        found(request.id, vec![victim, document(6, 7)]),
    );
    let opened = |watcher: &Watcher| watcher.watch().visit().document.clone().unwrap();
    assert_eq!(opened(&watcher).event_id, "6:3:7");
    assert!(
        transport.requests.try_recv().is_err(),
        "its incident is known"
    );

    watcher.carry_out(WatchCommand::Open(0));
    let (victim, incident) = (opened(&watcher), watcher.watch().incident().cloned());
    let incident = incident.unwrap();
    let messages = victim.window.comm_window.iter();
    let mates = messages.map(|it| incident.mate(&victim, it));
    let mates: Vec<_> = mates.map(|end| end.map(|end| end.timestamp_us)).collect();
    assert_eq!(mates, [Some(53_790), None]);
}

#[test]
fn trends_are_queried_after_the_incidents_and_listed() {
    let (mut watcher, transport) = connected();
    let request = last_query(&transport);
    deliver(&mut watcher, &transport, found(request.id, Vec::new()));
    let request = last_query(&transport);
    let wanted = &request.documents;
    assert_eq!(wanted.collection, Collection::Trends);
    assert_eq!(wanted.filter.as_deref(), Some("holds = true"));
    let words = "rank 4 1.30 times its peers in Solver::kernel throughout";
    let trend = json!({
        "__id": 0, "version": 1, "trend_id": "slow:1:4", "pid": 0, "kind": "slow", "holds": true, "io_step": 90,
        "num_ranks": 1, "ranks": [4], "host": null, "fid": 1, "func": "Solver::kernel", "other_funcs": [], "own": 1_300.0,
        "usual": 1_000.0, "factor": 1.3, "start": null, "peers": [0, 1], "cost": 60_000, "evidence": 9.5, "doubt": null,
        "words": words,
    });
    deliver(
        &mut watcher,
        &transport,
        found(request.id, vec![trend, json!({})]),
    );
    let known = watcher.watch().trends();
    assert_eq!(known.len(), 1, "an invalid trend is omitted");
    assert_eq!((known[0].words.as_str(), known[0].cost), (words, 60_000));
}

#[test]
fn the_incident_of_a_document_is_looked_up_when_it_is_opened() {
    let (mut watcher, transport) = connected();
    watcher.carry_out(WatchCommand::Query(Box::default()));
    let request = last_query(&transport);
    deliver(
        &mut watcher,
        &transport,
        found(request.id, vec![document(5, 2)]),
    );
    watcher.carry_out(WatchCommand::Open(0));
    let request = last_query(&transport);
    assert_eq!(request.documents.collection, Collection::Incidents);
    assert_eq!(
        request.documents.filter.as_deref(),
        Some("pid = 0 and members[*] = '5:3:2'")
    );
    assert!(watcher.watch().incident().is_none());
    deliver(
        &mut watcher,
        &transport,
        found(request.id, vec![incident()]),
    );
    assert_eq!(
        watcher.watch().incident().map(|it| it.record.rid),
        Some(Some(6))
    );
    let failed = WatchUpdate::QueryFailed {
        id: 0,
        cause: "no database".to_owned(),
    };
    deliver(&mut watcher, &transport, failed);
    assert_eq!(
        watcher.watch().query(),
        &QueryState::Idle,
        "the user did not query incidents"
    );
}

#[test]
fn packets_update_the_overview_and_the_history() {
    let (mut watcher, transport) = connected();
    let before = watcher.watch().revision();
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::Packet(Box::new(packet(1))),
    );
    assert_eq!(watcher.watch().connection(), &Connection::Live);
    assert_ne!(watcher.watch().revision(), before);
    assert_eq!(watcher.watch().overview().steps(), Some((0, 1)));
    let last = watcher.watch().updates().entries.back().unwrap();
    assert_eq!((last.num_anomalies, last.num_ranks), (6, 3));
    assert_eq!(last.by_func, [((0, 1), 2)]);
}

#[test]
fn a_pause_freezes_the_display_and_loses_nothing() {
    let (mut watcher, transport) = connected();
    watcher.carry_out(WatchCommand::Pause(true));
    let held = watcher.watch().overview().clone();
    for step in 1..4 {
        deliver(
            &mut watcher,
            &transport,
            WatchUpdate::Packet(Box::new(packet(step))),
        );
    }
    assert_eq!(watcher.watch().overview(), &held);
    assert_eq!(watcher.watch().num_waiting(), 3);
    watcher.carry_out(WatchCommand::Pause(false));
    assert_eq!(watcher.watch().overview().steps(), Some((0, 3)));
    assert_eq!(watcher.watch().updates().entries.len(), 4);
}

#[test]
fn a_lost_connection_has_a_cause_keeps_the_data_and_recovers() {
    let (mut watcher, transport) = connected();
    let cause = "connection refused; is the server running?".to_owned();
    let lost = Connection::Lost {
        cause: cause.clone(),
        retry_in_ms: Some(500),
    };
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::Lost {
            cause,
            retry_in_ms: Some(500),
        },
    );
    assert_eq!(watcher.watch().connection(), &lost);
    assert_eq!(watcher.watch().overview().ranks.len(), 3);
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::Packet(Box::new(packet(1))),
    );
    assert_eq!(watcher.watch().connection(), &Connection::Live);
}

#[test]
fn another_server_starts_without_data() {
    let (mut watcher, _carrier) = connected();
    watcher.carry_out(WatchCommand::Connect {
        address: "elsewhere:1".to_owned(),
        token: Some("secret".to_owned()),
    });
    assert_eq!(watcher.watch().overview(), &Overview::default());
    assert!(!watcher.watch().can_go_back());
}

#[test]
fn updates_of_an_old_connection_are_ignored() {
    let (mut watcher, transport) = connected();
    let connect = WatchCommand::Connect {
        address: "elsewhere:1".to_owned(),
        token: None,
    };
    let late = [
        WatchUpdate::Connected(Box::default()),
        WatchUpdate::Packet(Box::new(packet(1))),
        WatchUpdate::Ended,
    ];
    for (command, expected) in [
        (connect, Connection::Connecting),
        (WatchCommand::Disconnect, Connection::Idle),
    ] {
        watcher.carry_out(command);
        let overview = watcher.watch().overview().clone();
        for update in &late {
            deliver(&mut watcher, &transport, update.clone());
            assert_eq!(watcher.watch().connection(), &expected, "{update:?}");
            assert_eq!(watcher.watch().overview(), &overview, "{update:?}");
        }
    }
}

#[test]
fn a_query_is_answered_page_by_page_without_a_limit() {
    let (mut watcher, transport) = connected();
    watcher.carry_out(WatchCommand::QueryScope(Scope {
        rank: Some((0, 2)),
        steps: Some((3, 4)),
        ..Scope::default()
    }));
    let request = last_query(&transport);
    assert_eq!(
        request.documents.filter.as_deref(),
        Some("pid = 0 and rid = 2 and io_step >= 3 and io_step <= 4")
    );
    assert_eq!(watcher.watch().visit().page, Page::Executions);
    let limit = request.documents.limit;
    let first: Vec<Value> = (0..limit as u32).map(|index| document(2, index)).collect();
    let found = |documents, total| WatchUpdate::Found {
        id: request.id,
        documents,
        total,
    };
    deliver(&mut watcher, &transport, found(first, Some(limit + 5)));
    assert!(
        !watcher
            .watch()
            .visit()
            .results
            .as_ref()
            .unwrap()
            .is_complete
    );
    watcher.carry_out(WatchCommand::More);
    let more = last_query(&transport);
    assert_eq!((more.id, more.documents.offset), (request.id, limit));
    // A new anomaly arrived in between, so that one document occurs twice.
    let rest = (limit as u32 - 1..limit as u32 + 4).map(|index| document(2, index));
    deliver(&mut watcher, &transport, found(rest.collect(), None));
    let results = watcher.watch().visit().results.clone().unwrap();
    assert_eq!(results.documents.len() as u64, limit + 4);
    assert!(!results.is_complete, "the server reported one more");
    watcher.carry_out(WatchCommand::More);
    assert_eq!(last_query(&transport).documents.offset, limit + 4);
    deliver(&mut watcher, &transport, found(Vec::new(), None));
    assert!(
        watcher
            .watch()
            .visit()
            .results
            .as_ref()
            .unwrap()
            .is_complete
    );
    assert_eq!(watcher.watch().query(), &QueryState::Idle);
}

#[test]
fn back_and_forward_restore_positions_with_their_results() {
    let (mut watcher, transport) = connected();
    watcher.carry_out(WatchCommand::Query(Box::default()));
    let request = last_query(&transport);
    watcher.carry_out(WatchCommand::Back);
    assert_eq!(watcher.watch().visit().page, Page::Overview);
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::Found {
            id: request.id,
            documents: vec![document(0, 1)],
            total: Some(1),
        },
    );
    watcher.carry_out(WatchCommand::Forward);
    assert_eq!(
        watcher
            .watch()
            .visit()
            .results
            .as_ref()
            .unwrap()
            .documents
            .len(),
        1
    );
    watcher.carry_out(WatchCommand::Open(0));
    assert_eq!(
        watcher.watch().visit().document.as_ref().unwrap().event_id,
        "0:3:1"
    );
    watcher.carry_out(WatchCommand::Open(9));
    watcher.carry_out(WatchCommand::Back);
    watcher.carry_out(WatchCommand::Back);
    assert_eq!(watcher.watch().visit().page, Page::Overview);
    watcher.carry_out(WatchCommand::Back);
    assert!(!watcher.watch().can_go_back() && watcher.watch().can_go_forward());
}

#[test]
fn an_invalid_form_is_reported_with_field_and_example() {
    let (mut watcher, transport) = connected();
    let form = QueryForm {
        min_score: "high".to_owned(),
        ..QueryForm::default()
    };
    while transport.requests.try_recv().is_ok() {}
    watcher.carry_out(WatchCommand::Query(Box::new(form.clone())));
    assert_eq!(
        watcher.watch().query(),
        &QueryState::Failed(
            "`high` is not a number: correct “Score”, for example 2.5, or leave it empty"
                .to_owned()
        )
    );
    assert_eq!(watcher.watch().visit().form, form, "the typed text is kept");
    assert!(transport.requests.try_recv().is_err(), "no query was sent");
}

#[test]
fn every_field_of_the_form_becomes_a_condition() {
    let form = QueryForm {
        collection: RecordCollection::NormalExecs,
        apps: "1".to_owned(),
        ranks: "0, 3, 8-11".to_owned(),
        first_step: "5".to_owned(),
        last_step: "9".to_owned(),
        func: "it's".to_owned(),
        fid: "7".to_owned(),
        min_severity: "1,5".to_owned(),
        severity_unit: TimeUnit::Ms,
        min_score: "2".to_owned(),
        filter: "tid = 0 or not is_gpu_event".to_owned(),
        sort: SortField::Score,
        is_descending: false,
    };
    let request = form.request().unwrap();
    assert_eq!(request.collection, Collection::NormalExecs);
    assert_eq!(
        request.filter.unwrap(),
        "pid = 1 and ((rid >= 8 and rid <= 11) or rid in (0, 3)) and io_step >= 5 and io_step <= 9 \
         and fid = 7 and func like '*it''s*' and outlier_severity >= 1500 and outlier_score >= 2 \
         and (tid = 0 or not is_gpu_event)"
    );
    assert_eq!(
        (request.sort.as_deref(), request.is_descending),
        (Some("outlier_score"), false)
    );
    assert_eq!(QueryForm::default().request().unwrap().filter, None);
}

#[test]
fn ranks_and_functions_are_sorted_by_any_statistic_and_filtered_by_name() {
    let mut overview = Overview::default();
    overview.apply(&packet(3));
    let order = |ranking: &Ranking| -> Vec<usize> {
        ranked_ranks(&overview, ranking)
            .iter()
            .map(|ranked| ranked.index)
            .collect()
    };
    let top = Ranking {
        measure: Measure::Anomalies,
        ..Ranking::default()
    };
    assert_eq!(order(&top), [2, 1, 0]);
    let bottom = Ranking {
        end: RankedEnd::Bottom,
        ..top.clone()
    };
    assert_eq!(order(&bottom), [0, 1, 2]);
    let severe = Ranking {
        measure: Measure::Severity,
        statistic: Statistic::Mean,
        ..top.clone()
    };
    assert_eq!(order(&severe), [1, 0, 2], "equal values stay in order");
    let searched = Ranking {
        search: " MPI_w".to_owned(),
        ..top
    };
    let found = ranked_funcs(&overview, &searched);
    assert_eq!(found.len(), 1);
    assert_eq!(overview.funcs[found[0].index].name, "MPI_Wait()");
}

#[test]
fn the_heat_map_has_every_anomaly_in_its_column() {
    let mut overview = Overview::default();
    for step in 0..1_000 {
        overview.apply(&packet(step));
    }
    let total: u64 = (0..1_000).map(|step| 3 + 3 * (step % 2)).sum();
    for max_columns in [1, 7, 100, 5_000] {
        let heat = HeatMap::new(&overview, None, max_columns);
        assert!(heat.columns.len() <= max_columns);
        assert_eq!(
            heat.columns.iter().map(|column| column.total).sum::<u64>(),
            total
        );
        assert_eq!(heat.rows.iter().map(|row| row.total).sum::<u64>(), total);
    }
    let part = HeatMap::new(&overview, Some((10, 19)), 100);
    assert_eq!(part.columns.len(), 10);
    assert_eq!(
        part.rows[2].cells,
        (10..20).map(|step| Some(2 + step % 2)).collect::<Vec<_>>()
    );
    assert_eq!(
        HeatMap::new(&overview, Some((5_000, 6_000)), 100),
        HeatMap::default()
    );
}

#[test]
fn a_rank_without_a_report_differs_from_one_without_anomalies() {
    let mut overview = Overview::default();
    overview.apply(&packet(4));
    let mut late = packet(8);
    late.anomaly_stats.as_mut().unwrap().anomaly.truncate(1);
    overview.apply(&late);
    let heat = HeatMap::new(&overview, None, 100);
    assert_eq!(heat.rows[0].cells, [Some(0); 5]);
    assert_eq!(heat.rows[2].cells, [Some(2), None, None, None, None]);
}
