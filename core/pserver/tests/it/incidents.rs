//! Incidents built by hand: two and three ranks, collectives, unknown message numbers, late reports, restarts, any
//! order.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{CommKind, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId};
use proptest::prelude::*;
use serde_json::{Value, json};

use callgrove_incidents::{MessageEntry, StallEntry, StallSummary};
use callgrove_pserver::{
    FinalAnomalies, FunctionRequest, Hello, ModelExchange, Retention, ServerState, StateOptions,
    StepReport, TreePValues,
};

use crate::support::saved;

const PROGRAM: ProgramId = ProgramId(0);

fn label(rank: u32, step: u32, row: u32) -> ExecLabel {
    ExecLabel {
        rank: RankId(rank),
        step: StepId(step),
        row,
    }
}

/// Returns a stalled anomaly; times in µs.
fn stall(rank: u32, step: u32, row: u32, (from_us, to_us): (u64, u64)) -> StallEntry {
    StallEntry {
        label: label(rank, step, row),
        fid: FuncId(0),
        thread: ThreadId(0),
        from_us,
        to_us,
        is_anomaly: true,
        entry_us: from_us,
        exit_us: to_us,
    }
}

/// Returns a message of a call, entered at `called_us`, with its number; the event itself has another time.
fn message(
    kind: CommKind,
    partner: u32,
    number: u64,
    call: ExecLabel,
    (called_us, time_us): (u64, u64),
) -> MessageEntry {
    MessageEntry {
        kind,
        partner: RankId(partner),
        tag: 9,
        number,
        time_us,
        call: Some(call),
        called_us,
        thread: ThreadId(0),
    }
}

/// Rank 1 stalls in a call and then sends to rank 0, which meanwhile waits in a receive. The step is 4.
fn late_sender() -> Vec<(u32, StallSummary)> {
    let waits = StallSummary {
        stalls: vec![stall(0, 4, 10, (1_000, 51_000))],
        messages: vec![message(
            CommKind::Recv,
            1,
            7,
            label(0, 4, 10),
            (1_000, 51_000),
        )],
        ..StallSummary::default()
    };
    let late = StallSummary {
        stalls: vec![stall(1, 4, 3, (900, 50_900))],
        messages: vec![message(
            CommKind::Send,
            0,
            7,
            label(1, 4, 20),
            (50_950, 50_950),
        )],
        ..StallSummary::default()
    };
    vec![(0, waits), (1, late)]
}

/// The late sender, and rank 2, which waits for a message of rank 0.
fn chain() -> Vec<(u32, StallSummary)> {
    let mut stall_summaries = late_sender();
    let sent = message(CommKind::Send, 2, 0, label(0, 4, 12), (51_050, 51_050));
    stall_summaries[0].1.messages.push(sent);
    let waits = StallSummary {
        stalls: vec![stall(2, 3, 99, (1_500, 51_100))],
        messages: vec![message(
            CommKind::Recv,
            0,
            0,
            label(2, 3, 99),
            (1_500, 51_100),
        )],
        ..StallSummary::default()
    };
    stall_summaries.push((2, waits));
    stall_summaries
}

/// A server with a session for each rank.
struct TestRun {
    state: Arc<ServerState>,
    sessions: Vec<Box<dyn ModelExchange>>,
}

fn options(epoch: u64) -> StateOptions {
    StateOptions {
        joins_incidents: true,
        retention: Retention::Saved,
        epoch,
        ..StateOptions::default()
    }
}

impl TestRun {
    fn new(num_ranks: u32) -> Self {
        Self::on(Arc::new(ServerState::new(options(1))), num_ranks, None)
    }

    fn on(state: Arc<ServerState>, num_ranks: u32, recorded_ranks: Option<u32>) -> Self {
        let mut sessions: Vec<Box<dyn ModelExchange>> = Vec::new();
        let process = json!({"host": "vm", "pid": 4900, "start": 1_793_787_072_034_000_000_i64});
        let program = json!({"executables": [], "command_lines": ["lmp"], "ranks": {"0": process}});
        let run = json!({"programs": {"0": program}});
        for rank in 0..num_ranks {
            let mut session = state.session();
            let hello = Hello {
                instance: format!("test:{rank}"),
                program: PROGRAM,
                ranks: vec![RankId(rank)],
                run: serde_json::from_value(run.clone()).expect("an identity"),
                recorded_ranks,
            };
            session.register(&hello).expect("ranks differ");
            for (fid, name) in (0..).zip(["MPI_Wait()", "MPI_Allreduce()", "work"]) {
                let request = FunctionRequest {
                    name: name.to_owned(),
                    proposed: Some(FuncId(fid)),
                };
                state.functions(PROGRAM, &[request]).expect("it is short");
                let known = session.functions(PROGRAM, &[name.to_owned()]);
                known.expect("it is known");
            }
            sessions.push(Box::new(session));
        }
        Self { state, sessions }
    }

    fn report(&mut self, rank: u32, step: u32, summary: StallSummary) {
        let report = StepReport {
            program: PROGRAM,
            rank: RankId(rank),
            step: StepId(step),
            functions: Vec::new(),
            counters: Vec::new(),
            stall_summary: summary,
            tree_p_values: TreePValues::new(),
        };
        let session = &mut self.sessions[rank as usize];
        session
            .sync_and_report(Vec::new(), &[report])
            .expect("nothing is refused");
    }

    /// Stores the documents that are due in a database; returns their number.
    fn save(&self, database: &mut BTreeMap<ExecLabel, Value>) -> usize {
        let documents = self.state.incidents(now_ms(), false).documents;
        for document in &documents {
            database.insert(document.id, json!(document.record));
        }
        self.state.confirm_incidents(&documents);
        documents.len()
    }
}

/// Returns the time now: sessions in the process use the real clock.
fn now_ms() -> u64 {
    callgrove_pserver::MonotonicClock::new().now_ms()
}

/// Reports all summaries and then an empty step, so that they are complete; returns the documents.
fn documents_of(stall_summaries: Vec<(u32, StallSummary)>) -> BTreeMap<ExecLabel, Value> {
    let mut run = TestRun::new(3);
    let mut database = BTreeMap::new();
    for (rank, summary) in stall_summaries {
        run.report(rank, 4, summary);
    }
    assert_eq!(
        run.save(&mut database),
        0,
        "no rank has reported the next step"
    );
    for rank in 0..3 {
        run.report(rank, 5, StallSummary::default());
    }
    run.save(&mut database);
    assert_eq!(run.save(&mut database), 0, "nothing is written twice");
    database
}

#[test]
fn a_late_sender_is_the_root_and_the_message_has_both_ends() {
    let database = documents_of(late_sender());
    let expected = json!({
        "version": 2, "incident_id": "1:4:3", "joined_to": null, "pid": 0, "io_step": 4, "start": 900, "end": 51_000,
        "kind": "stalled", "rid": 1, "fid": 0, "func": "MPI_Wait()", "event_id": "1:4:3", "own_delay": 50_000,
        "confidence": 50, "next_best": null, "host": null, "delay": 99_950, "num_executions": 2, "num_anomalies": 2, "num_ranks": 2, "ranks": [0, 1],
        "members": ["1:4:3", "0:4:10"],
        "hops": [{
            "rid": 0, "event_id": "0:4:10", "fid": 0, "func": "MPI_Wait()", "waited": 49_950, "kind": "late_sender",
            "peer_rid": 1, "peer_event_id": "1:4:3", "message": 0
        }],
        "messages": [{
            "src": 1, "tar": 0, "tag": 9, "number": 7,
            "sent": {"timestamp": 50_950, "event_id": "1:4:20"},
            "received": {"timestamp": 51_000, "event_id": "0:4:10"}
        }]
    });
    assert_eq!(database, BTreeMap::from([(label(1, 4, 3), expected)]));
}

#[test]
fn a_chain_of_waits_leads_to_the_rank_that_did_not_wait() {
    let database = documents_of(chain());
    assert_eq!(database.len(), 1);
    let incident = &database[&label(1, 4, 3)];
    assert_eq!(incident["rid"], 1);
    assert_eq!(incident["ranks"], json!([0, 1, 2]));
    let hops = incident["hops"].as_array().expect("a list");
    let peers: Vec<_> = hops
        .iter()
        .map(|hop| (&hop["rid"], &hop["peer_rid"]))
        .collect();
    assert_eq!(peers, [(&json!(0), &json!(1)), (&json!(2), &json!(0))]);
}

#[test]
fn a_rank_that_came_late_without_a_stall_was_slow() {
    let mut stall_summaries = chain();
    stall_summaries[1].1.stalls.clear();
    // Rank 2 falls silent together with rank 0; rank 1 is known only from its message.
    let incident = documents_of(stall_summaries)
        .into_values()
        .next()
        .expect("one");
    assert_eq!(incident["kind"], "slow");
    assert_eq!(
        (&incident["rid"], &incident["event_id"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(incident["ranks"], json!([0, 1, 2]));
}

#[test]
fn without_messages_the_cause_is_unknown() {
    let mut stall_summaries = chain();
    for (_, summary) in &mut stall_summaries {
        summary.messages.clear();
    }
    let incident = documents_of(stall_summaries)
        .into_values()
        .next()
        .expect("one");
    assert_eq!(incident["kind"], "unknown");
    assert_eq!(incident["rid"], Value::Null);
    assert_eq!(
        (&incident["next_best"], &incident["confidence"]),
        (&json!(1), &json!(30))
    );
    assert_eq!(incident["num_ranks"], 3);
    assert_eq!(incident["hops"], json!([]));
}

#[test]
fn a_report_that_comes_late_changes_the_document_under_its_name() {
    let mut run = TestRun::new(3);
    let mut database = BTreeMap::new();
    for (rank, summary) in late_sender() {
        run.report(rank, 4, summary);
    }
    let late = chain().pop().expect("three");
    assert_eq!(run.save(&mut database), 0);
    // Rank 2 is silent past the timeout.
    let waited = run.state.incidents(now_ms() + 60_000, false).documents;
    assert_eq!(waited.len(), 1);
    for (rank, step) in [(0, 5), (1, 5), (2, 3)] {
        run.report(rank, step, StallSummary::default());
    }
    assert_eq!(run.save(&mut database), 1);
    assert_eq!(database[&label(1, 4, 3)]["num_ranks"], 2);
    run.report(late.0, 4, late.1.clone());
    assert_eq!(run.save(&mut database), 1);
    assert_eq!(database.len(), 1);
    assert_eq!(database[&label(1, 4, 3)]["num_ranks"], 3);
    // A repeated report counts once.
    run.report(late.0, 4, late.1);
    assert_eq!(run.save(&mut database), 0);
}

#[test]
fn incidents_of_a_recorded_run_come_from_the_reports_of_all_its_ranks() {
    let conclude = |run: &mut TestRun, rank: u32| {
        let session = &mut run.sessions[rank as usize];
        session.conclude(vec![(RankId(rank), FinalAnomalies::default())]);
        let concluded = session.sync_and_report(Vec::new(), &[]);
        concluded.expect("nothing is refused");
    };
    let server = |epoch| Arc::new(ServerState::new(options(epoch)));
    let mut run = TestRun::on(server(1), 3, Some(3));
    for (rank, summary) in late_sender() {
        run.report(rank, 4, summary);
        conclude(&mut run, rank);
    }
    let due = run.state.incidents(now_ms() + 60_000, false);
    assert_eq!(due.documents, [], "a rank is not judged");
    let saved = saved(&run.state);
    let partial = run.state.incidents(now_ms(), true);
    assert_eq!(partial.documents.len(), 1, "the server ends");

    // The successor has the rest: a stall that comes before the others.
    let restored = saved.restore(options(2)).expect("just saved");
    let mut run = TestRun::on(Arc::new(restored), 3, Some(3));
    let mut late = chain().pop().expect("three");
    late.1.stalls[0].from_us = 800;
    late.1.stalls[0].entry_us = 800;
    run.report(late.0, 4, late.1);
    assert_eq!(run.state.incidents(now_ms(), false).documents, []);
    conclude(&mut run, 2);
    let due = run.state.incidents(now_ms(), false);
    let ids: Vec<ExecLabel> = due.documents.iter().map(|it| it.id).collect();
    assert_eq!(ids, [label(2, 3, 99)], "the first of all members");
    assert_ne!(ids[0], partial.documents[0].id);
    let final_ids = due.final_ids[&PROGRAM].iter().copied();
    assert_eq!(final_ids.collect::<Vec<_>>(), ids, "others are removed");
    run.state.confirm_incidents(&due.documents);
    let due = run.state.incidents(now_ms(), true);
    assert!(due.documents.is_empty() && due.final_ids.is_empty());
}

#[test]
fn two_incidents_that_turn_out_to_be_one_are_joined() {
    let pair = |ranks: [u32; 2], at: (u64, u64)| {
        ranks.map(|rank| {
            let stall = stall(rank, 4, rank, at);
            (
                rank,
                StallSummary {
                    stalls: vec![stall],
                    messages: Vec::new(),
                    ..StallSummary::default()
                },
            )
        })
    };
    let mut run = TestRun::new(5);
    let mut database = BTreeMap::new();
    for (rank, summary) in pair([0, 1], (1_000, 11_000))
        .into_iter()
        .chain(pair([2, 3], (12_000, 22_000)))
    {
        run.report(rank, 4, summary);
    }
    let due = run.state.incidents(now_ms() + 60_000, true).documents;
    assert_eq!(due.len(), 2);
    for (rank, summary) in pair([4, 4], (5_000, 18_000)).into_iter().take(1) {
        run.report(rank, 4, summary);
    }
    assert_eq!(run.save(&mut database), 2);
    let (first, second) = (&database[&label(0, 4, 0)], &database[&label(2, 4, 2)]);
    assert_eq!(
        (&first["num_executions"], &first["joined_to"]),
        (&json!(5), &Value::Null)
    );
    assert_eq!(
        (&second["num_executions"], &second["joined_to"]),
        (&json!(0), &json!("0:4:0"))
    );
    assert_eq!(run.save(&mut database), 0);
}

#[test]
fn a_restarted_server_goes_on_with_the_same_names() {
    let mut run = TestRun::new(3);
    let mut database = BTreeMap::new();
    for (rank, summary) in late_sender() {
        run.report(rank, 4, summary);
    }
    for rank in 0..2 {
        run.report(rank, 5, StallSummary::default());
    }
    run.sessions
        .pop()
        .expect("three")
        .goodbye()
        .expect("it is in this process");
    assert_eq!(run.save(&mut database), 1);
    let saved = saved(&run.state);
    let before = database.clone();
    let state = saved.restore(options(2));
    let mut again = TestRun::on(Arc::new(state.expect("what was saved")), 3, None);
    assert_eq!(
        again.save(&mut database),
        1,
        "in case it was not stored before"
    );
    assert_eq!(database, before);
    for (rank, summary) in chain() {
        again.report(rank, 4, summary);
    }
    again.save(&mut database);
    assert_eq!(database.len(), 1);
    assert_eq!(database[&label(1, 4, 3)]["num_ranks"], 3);
}

/// Returns a report of many messages that were never received.
fn filler(rank: u32, step: u32, num_messages: usize) -> StallSummary {
    let sent = message(CommKind::Send, rank, 0, label(rank, step, 0), (0, 0));
    StallSummary {
        messages: vec![sent; num_messages],
        ..StallSummary::default()
    }
}

#[test]
fn steps_that_every_rank_has_left_are_closed() {
    // Whether the last rank goes on.
    for goes_on in [true, false] {
        let mut run = TestRun::new(3);
        let mut database = BTreeMap::new();
        for (rank, summary) in chain() {
            run.report(rank, 4, summary);
        }
        for step in 5..35 {
            for rank in 0..3 {
                if rank < 2 || goes_on {
                    run.report(rank, step, filler(rank, step, 1 << 11));
                }
            }
            run.save(&mut database);
        }
        let num_ranks = database.get(&label(1, 4, 3)).map(|it| &it["num_ranks"]);
        assert_eq!(
            num_ranks,
            goes_on.then_some(&json!(3)),
            "it waits otherwise"
        );
        let num_saved: usize = saved(&run.state)
            .parts
            .values()
            .map(|part| part.matches("stalls").count())
            .sum();
        let expected = if goes_on { 1..=15 } else { 60..=63 };
        assert!(expected.contains(&num_saved), "{num_saved} {goes_on}");
    }
}

#[test]
fn old_steps_are_closed_and_stay_as_they_are() {
    let mut run = TestRun::new(3);
    let mut database = BTreeMap::new();
    for (rank, summary) in chain() {
        run.report(rank, 4, summary);
    }
    for step in 5..40 {
        run.report(0, step, filler(0, step, 1 << 14));
        run.state.fold();
    }
    run.save(&mut database);
    let before = database.clone();
    assert_eq!(before[&label(1, 4, 3)]["num_ranks"], 3);
    let late = StallSummary {
        stalls: vec![stall(1, 4, 77, (1_000, 51_000))],
        messages: Vec::new(),
        ..StallSummary::default()
    };
    run.report(1, 4, late);
    run.save(&mut database);
    assert_eq!(database, before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_order_of_reports_does_not_matter(
        stalls in prop::collection::vec((0_u32..4, 0_u32..4, 0_u64..400, 5_u64..60, 0_u32..4), 1..40),
        order in Just((0..16).collect::<Vec<usize>>()).prop_shuffle(),
        saves in prop::collection::vec(any::<bool>(), 16),
    ) {
        let steps = random_steps(&stalls);
        let documents = |order: &[usize], saves: &[bool]| {
            let mut run = TestRun::new(4);
            let mut database = BTreeMap::new();
            let mut next = [0_u32; 4];
            for (&at, &is_saved) in order.iter().zip(saves) {
                // Each rank reports its steps in order.
                let rank = at as u32 % 4;
                let step = next[rank as usize];
                next[rank as usize] += 1;
                run.report(rank, step, steps[&(rank, step)].clone());
                if is_saved {
                    run.save(&mut database);
                }
            }
            for rank in 0..4 {
                run.report(rank, 9, StallSummary::default());
            }
            run.save(&mut database);
            // Leave out incidents that were joined to others, and withdrawn ones.
            database.retain(|_, incident| incident["num_executions"] != 0);
            database
        };
        let in_order: Vec<usize> = (0..16).collect();
        let expected = documents(&in_order, &[false; 16]);
        prop_assert_eq!(&documents(&order, &[false; 16]), &expected);
        // An incident that was reported early may end up with another identifier, and is otherwise equal.
        let contents = |database: &BTreeMap<ExecLabel, Value>| {
            let mut all: Vec<Value> = database.values().cloned().collect();
            for incident in &mut all {
                incident["incident_id"] = Value::Null;
            }
            all.sort_by_key(ToString::to_string);
            all
        };
        prop_assert_eq!(contents(&documents(&order, &saves)), contents(&expected));
    }
}

/// Four steps of four ranks; each call receives from a rank whose next call has sent.
fn random_steps(stalls: &[(u32, u32, u64, u64, u32)]) -> BTreeMap<(u32, u32), StallSummary> {
    let mut steps: BTreeMap<(u32, u32), StallSummary> = BTreeMap::new();
    for key in (0..4).flat_map(|rank| (0..4).map(move |step| (rank, step))) {
        steps.insert(key, StallSummary::default());
    }
    let mut free_from = [0_u64; 4];
    for (at, &(rank, step, after_us, length_us, peer)) in stalls.iter().enumerate() {
        let (row, number) = (at as u32, at as u64);
        // Calls on one lane do not overlap.
        let from_us = free_from[rank as usize] + after_us * 1_000;
        let length_us = length_us * 1_000;
        let to_us = from_us + length_us;
        free_from[rank as usize] = to_us;
        let summary = steps.entry((rank, step)).or_default();
        summary
            .stalls
            .push(stall(rank, step, row, (from_us, to_us)));
        let received = message(
            CommKind::Recv,
            peer,
            number,
            label(rank, step, row),
            (from_us, to_us),
        );
        summary.messages.push(received);
        let sent_us = to_us.saturating_sub(length_us / 3);
        let sent = message(
            CommKind::Send,
            rank,
            number,
            label(peer, step, 1000 + row),
            (sent_us, sent_us),
        );
        steps.entry((peer, step)).or_default().messages.push(sent);
    }
    steps
}

/// All three ranks stall in a collective that rank 1 entered late.
fn in_collective(is_reported: bool) -> Vec<(u32, StallSummary)> {
    let summary = |rank: u32, fid: u32, at: (u64, u64)| {
        let mut stall = stall(rank, 4, rank, at);
        stall.fid = FuncId(fid);
        let stalls = if rank == 1 && !is_reported {
            Vec::new()
        } else {
            vec![stall]
        };
        StallSummary {
            stalls,
            host: format!("n{rank}"),
            ..StallSummary::default()
        }
    };
    vec![
        (0, summary(0, 1, (1_000, 51_000))),
        (1, summary(1, 2, (900, 50_950))),
        (2, summary(2, 1, (1_010, 51_005))),
    ]
}

#[test]
fn a_rank_that_stalled_in_its_work_is_what_a_collective_waited_for() {
    let incident = documents_of(in_collective(true)).into_values().next();
    let incident = incident.expect("one");
    assert_eq!(
        (&incident["kind"], &incident["rid"]),
        (&json!("stalled"), &json!(1))
    );
    assert_eq!(incident["ranks"], json!([0, 1, 2]));
    assert_eq!(incident["func"], "work");
    // Without it, one of the waiting ranks is named, and the document states the low confidence.
    let incident = documents_of(in_collective(false)).into_values().next();
    let incident = incident.expect("one");
    assert_eq!(
        (&incident["kind"], &incident["confidence"]),
        (&json!("stalled"), &json!(50))
    );
}

#[test]
fn any_times_and_labels_do_no_harm() {
    let odd = [0, 1, 50_000, u64::MAX / 2_000, u64::MAX / 1_000, u64::MAX];
    let mut run = TestRun::new(3);
    for rank in 0..3 {
        let mut summary = StallSummary::default();
        for (row, (from_us, to_us)) in (0..).zip(odd.into_iter().flat_map(|a| odd.map(|b| (a, b))))
        {
            let mut it = stall(rank, 4, row / 2, (from_us, to_us));
            (it.fid, it.thread) = (FuncId(row % 3), ThreadId(row % 2));
            (it.entry_us, it.exit_us) = (to_us, from_us);
            summary.stalls.push(it);
            for (kind, partner) in [(CommKind::Send, row % 4), (CommKind::Recv, (row + 1) % 4)] {
                let call = label(rank, 4, row);
                let message = message(kind, partner, (row % 5).into(), call, (from_us, to_us));
                summary.messages.push(message);
            }
        }
        summary.host = format!("n{}", rank % 2);
        run.report(rank, 4, summary);
    }
    let documents = run.state.incidents(now_ms(), true).documents;
    for document in &documents {
        assert!(document.record.num_ranks >= 2);
    }
}
