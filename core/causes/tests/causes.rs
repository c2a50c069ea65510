//! Causes in runs small enough to be computed by hand: one for each kind of wait, and for each kind of cause.

mod support;

use callgrove_causes::{
    CauseKind, Causes, DelayCause, DelayRole, Incident, SimilarIncidents, Wait, WaitKind, WaitedFor,
};
use callgrove_model::{DurationNs, LaneIdx, Progress, RankId, TimeNs, Trace};
use support::{find, last, only, rank_on, root_rank, run, scripts};

/// Returns the cause of the last execution of a function on a rank.
fn cause(trace: &Trace, rank: u32, function: &str) -> DelayCause {
    find(trace).of(trace, last(trace, rank, function))
}

fn ms(duration_ms: i64) -> DurationNs {
    DurationNs(duration_ms * 1_000_000)
}

/// Returns the long waits of a rank: kind, the peer, and microseconds.
fn waits(trace: &Trace, rank: u32) -> Vec<(WaitKind, Option<u32>, i64)> {
    let plain = |it: &Wait| (it.kind, it.peer.map(|peer| peer.0), it.duration().as_us());
    let causes = find(trace);
    let all = causes.waits().all().iter();
    let of_rank = all.filter(|it| it.call.lane.0 == rank && it.duration() >= ms(1));
    of_rank.map(plain).collect()
}

#[test]
fn a_receive_waits_for_a_late_sender() {
    let trace = scripts(&[
        "0 +work 50000 -work 50010 +MPI_Send s1 50020 -MPI_Send",
        "100 +MPI_Recv 50030 r0 50040 -MPI_Recv",
    ]);
    assert_eq!(waits(&trace, 1), [(WaitKind::LateSender, Some(0), 49_910)]);
    let causes = find(&trace);
    let victim = cause(&trace, 1, "MPI_Recv");
    assert_eq!(victim.role, DelayRole::Victim);
    assert_eq!(victim.kind, CauseKind::Stalled);
    assert_eq!(root_rank(&causes, &victim), Some(0));
    assert_eq!(victim.hops.len(), 1);
    assert_eq!(victim.hops[0].peer_call, Some(last(&trace, 0, "work")));
    let root = cause(&trace, 0, "work");
    assert_eq!((root.role, root.hops.len()), (DelayRole::Root, 0));
    assert_eq!(root.waited, DurationNs(49_950_000), "longer than usual");
    assert_eq!(cause(&trace, 0, "MPI_Send").role, DelayRole::OnTime);
}

#[test]
fn a_send_waits_for_a_late_receiver() {
    let trace = scripts(&[
        "100 +MPI_Send s1 50030 -MPI_Send",
        "0 +work 50000 -work 50010 +MPI_Recv 50030 r0 50040 -MPI_Recv",
    ]);
    assert_eq!(
        waits(&trace, 0),
        [(WaitKind::LateReceiver, Some(1), 49_910)]
    );
    let causes = find(&trace);
    let victim = cause(&trace, 0, "MPI_Send");
    assert_eq!(victim.role, DelayRole::Victim);
    assert_eq!(root_rank(&causes, &victim), Some(1));
}

#[test]
fn a_send_stamped_where_a_receive_ends_belongs_to_the_send_that_begins_then() {
    let trace = scripts(&[
        "0 +MPI_Recv 50000 r1 s1 -MPI_Recv +MPI_Send 50003 -MPI_Send",
        "49900 +MPI_Send s0 49905 -MPI_Send 49990 +MPI_Recv 50002 r0 -MPI_Recv",
    ]);
    assert_eq!(waits(&trace, 0), [(WaitKind::LateSender, Some(1), 49_900)]);
}

#[test]
fn a_rank_stalled_in_a_send_while_its_receiver_waits_is_the_root() {
    let trace = scripts(&[
        "10000 +MPI_Send s1 50000 -MPI_Send",
        "100 +MPI_Recv 50030 r0 50040 -MPI_Recv",
    ]);
    assert_eq!(cause(&trace, 0, "MPI_Send").role, DelayRole::Root);
    let victim = cause(&trace, 1, "MPI_Recv");
    assert_eq!(victim.role, DelayRole::Victim);
    let all = waits(&trace, 0);
    assert_eq!(all, [(WaitKind::OwnDelay, None, 40_000)]);
}

#[test]
fn a_wait_for_an_available_message_is_an_own_delay() {
    let trace = scripts(&[
        "0 +MPI_Send s1 10 -MPI_Send",
        "100 +MPI_Wait 40000 r0 40010 -MPI_Wait",
    ]);
    let found = cause(&trace, 1, "MPI_Wait");
    assert_eq!(
        (found.role, found.kind),
        (DelayRole::Root, CauseKind::Stalled)
    );
    let kinds: Vec<_> = waits(&trace, 1).iter().map(|it| it.0).collect();
    assert_eq!(kinds, [WaitKind::OwnDelay]);
}

#[test]
fn waiting_for_a_newer_message_while_an_older_one_is_available_is_the_wrong_order() {
    let sends =
        "0 +MPI_Send s1.1 10 -MPI_Send 20 +work 30000 -work 30010 +MPI_Send s1 30020 -MPI_Send";
    let trace = scripts(&[
        sends,
        "100 +MPI_Recv 30030 r0 30040 -MPI_Recv 30050 +MPI_Recv 30060 r0.1 30070 -MPI_Recv",
    ]);
    assert_eq!(waits(&trace, 1), [(WaitKind::WrongOrder, Some(0), 29_910)]);
}

#[test]
fn a_collective_waits_for_the_last_rank() {
    let late = "0 +work 30000 -work 30010 +MPI_Allreduce 30100 -MPI_Allreduce";
    let soon = "50 +MPI_Allreduce 30120 -MPI_Allreduce";
    let trace = scripts(&[soon, late, soon]);
    let expected = [(WaitKind::WaitAtCollective, Some(1), 29_960)];
    assert_eq!(waits(&trace, 0), expected);
    assert_eq!(waits(&trace, 2), expected);
    assert_eq!(waits(&trace, 1), []);
    let causes = find(&trace);
    assert_eq!(
        causes.waits().collectives().len(),
        13,
        "with the usual rounds"
    );
    let wait = causes
        .waits()
        .of_call(last(&trace, 0, "MPI_Allreduce"))
        .next();
    let waited_for = wait.map(|wait| wait.waited_for);
    assert_eq!(waited_for, Some(WaitedFor::Collective(12)));
    let victim = cause(&trace, 2, "MPI_Allreduce");
    assert_eq!(
        (victim.role, root_rank(&causes, &victim)),
        (DelayRole::Victim, Some(1))
    );
}

#[test]
fn long_work_of_one_rank_is_a_delay_and_that_of_all_ranks_is_not() {
    let usual = "0 +start 8000 +check 8001 -check 8010 +prepare 28000 -prepare 28010 -start";
    let fast = "0 +start 8000 +check 8001 -check 8010 +prepare 26000 -prepare 28010 -start";
    let slow = "0 +start 8000 +check 8001 -check 8010 +prepare 98000 -prepare 98010 -start";
    let mut scripts = [usual, fast, usual, fast, usual, usual, fast, usual];
    let trace = only(&scripts);
    assert_eq!(cause(&trace, 0, "prepare").role, DelayRole::OnTime);
    let beginning = cause(&trace, 0, "start");
    assert_eq!(beginning.role, DelayRole::OnTime);
    scripts[2] = slow;
    let trace = only(&scripts);
    assert_eq!(cause(&trace, 0, "prepare").role, DelayRole::OnTime);
    assert_eq!(cause(&trace, 2, "prepare").role, DelayRole::Root);
}

#[test]
fn barriers_are_distinguished_from_other_collectives() {
    let late = "0 +work 30000 -work 30010 +MPI_Barrier 30100 -MPI_Barrier";
    let trace = scripts(&["50 +MPI_Barrier 30120 -MPI_Barrier", late]);
    assert_eq!(
        waits(&trace, 0),
        [(WaitKind::WaitAtBarrier, Some(1), 29_960)]
    );
}

/// Rank 2 is late, rank 1 waits for it, and rank 0 for rank 1.
fn chain() -> Trace {
    scripts(&[
        "200 +MPI_Recv 41130 r1 41140 -MPI_Recv",
        "100 +MPI_Recv 40030 r2 40040 -MPI_Recv 40050 +work 41100 -work 41110 +MPI_Send s0 41120 -MPI_Send",
        "0 +work 40000 -work 40010 +MPI_Send s1 40020 -MPI_Send",
    ])
}

#[test]
fn a_chain_leads_to_its_root_with_the_costs_of_each_hop() {
    let trace = chain();
    let causes = find(&trace);
    let first = cause(&trace, 0, "MPI_Recv");
    assert_eq!(
        (first.role, root_rank(&causes, &first)),
        (DelayRole::Victim, Some(2))
    );
    let ranks: Vec<_> = first
        .hops
        .iter()
        .map(|hop| (hop.rank.0, hop.peer_rank.0))
        .collect();
    assert_eq!(ranks, [(0, 1), (1, 2)]);
    for hop in &first.hops {
        assert_eq!(hop.handed_on, hop.short_term + hop.long_term);
    }
    let [near, remote] = [first.hops[0], first.hops[1]];
    assert!(
        near.long_term > near.short_term,
        "the middle was handed its delay"
    );
    assert_eq!(
        remote.long_term,
        DurationNs::ZERO,
        "the root made it itself"
    );
    assert_eq!(causes.roots()[0].num_victims, 2);
}

#[test]
fn one_chain_is_one_incident_with_its_members() {
    let trace = chain();
    let causes = find(&trace);
    let incident = &causes.incidents().all()[0];
    assert_eq!(incident.root.rank, RankId(2));
    assert_eq!(incident.ranks, [0, 1, 2].map(RankId));
    let path: Vec<_> = incident
        .call_path
        .iter()
        .map(|&it| trace.names.name(it))
        .collect();
    assert_eq!(path, ["main", "work"]);
    let members = [(0, "MPI_Recv"), (1, "MPI_Recv"), (2, "work")];
    assert_eq!(
        incident.members,
        members.map(|(rank, it)| last(&trace, rank, it))
    );
    assert!(incident.delay > ms(119));
    let like = causes.incidents().similar_to(incident).expect("its group");
    assert_eq!(like.summary(), "");
    assert_eq!(cause(&trace, 1, "MPI_Recv").incident, Some(0));
}

#[test]
fn the_matrix_sums_waits_within_a_range() {
    let trace = chain();
    let causes = find(&trace);
    let whole = causes.waits().matrix(TimeNs(i64::MIN)..TimeNs(i64::MAX));
    let pairs: Vec<_> = whole.iter().map(|it| (it.waiter.0, it.peer.0)).collect();
    assert_eq!(pairs, [(0, 1), (1, 2)]);
    let start = TimeNs((support::START_US + 1_000) * 1_000);
    let part = causes.waits().matrix(start..start + ms(1));
    assert_eq!(
        part.iter().map(|it| it.total).collect::<Vec<_>>(),
        [ms(1), ms(1)]
    );
}

#[test]
fn a_tracer_write_is_its_own_kind_of_cause() {
    let calls = "0 +a 5 -a 10 +a 15 -a 20 +a 25 -a 30 +a 35 -a 40 +a 45 -a";
    let more = "60050 +a 60055 -a 60060 +a 60065 -a 60070 +a 60075 -a";
    let trace = scripts(&[
        &format!("{calls} | {more} 60080 +MPI_Send s1 60090 -MPI_Send"),
        "0 +MPI_Recv 60100 r0 60110 -MPI_Recv",
    ]);
    assert_eq!(trace.writes.len(), 1);
    let found = cause(&trace, 1, "MPI_Recv");
    assert_eq!(
        (found.role, found.kind),
        (DelayRole::Victim, CauseKind::TracerWrite)
    );
    assert_eq!(cause(&trace, 0, "main").kind, CauseKind::TracerWrite);
}

#[test]
fn simultaneous_delays_of_the_ranks_of_a_host_are_caused_by_the_host() {
    let scripts = [
        "0 +a 30000 -a",
        "40 +b 30020 -b",
        "90 +c 30080 -c",
        "20 +d 30040 -d",
    ];
    let on_host = |host| {
        let ranks = (0..).zip(scripts);
        run(ranks.map(|(rank, it)| rank_on(rank, host, 0, it)).collect())
    };
    let trace = on_host("one");
    let causes = find(&trace);
    let [incident] = causes.incidents().all() else {
        panic!("one incident, not {:?}", causes.incidents());
    };
    assert_eq!(
        (incident.kind, incident.ranks.len()),
        (CauseKind::BusyHost, 4)
    );
    assert_eq!(cause(&trace, 2, "c").role, DelayRole::Victim);
    // If no hosts are known, the ranks have a cause in common all the same.
    let causes = find(&on_host(""));
    let kinds = causes.incidents().all().iter().map(|it| it.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [CauseKind::BusyHost]);
}

/// Rank 0 works, sends to rank 1, and is late in every tenth of 60 rounds.
fn late_every_tenth_round() -> Trace {
    let mut scripts: [String; 2] = Default::default();
    let mut from = 0;
    for round in 0..60 {
        let work = if round % 10 == 9 { 40_000 } else { 1_000 };
        let sent = from + work + 10;
        scripts[0] += &format!(" {from} +work {} -work {sent} +MPI_Send s1", from + work);
        scripts[0] += &format!(" {} -MPI_Send", sent + 10);
        scripts[1] += &format!(" {} +MPI_Recv {} r0", from + 50, sent + 20);
        scripts[1] += &format!(" {} -MPI_Recv", sent + 30);
        from = sent + 100;
    }
    only(&[&scripts[0], &scripts[1]])
}

#[test]
fn recurring_incidents_of_one_rank_are_grouped() {
    let causes = find(&late_every_tenth_round());
    let incidents = causes.incidents();
    let wrong = incidents.all().iter().filter(|it| !it.kind.is_by_design());
    assert_eq!(wrong.count(), 6);
    let first = &incidents.all()[0];
    assert_eq!(
        (first.root.rank, first.root.confidence_percent),
        (RankId(0), 95)
    );
    let like = incidents.similar_to(first).map(SimilarIncidents::summary);
    let expected = "5 similar incidents on rank 0, about every 50 ms";
    assert_eq!(like.as_deref(), Some(expected));
}

#[test]
fn work_that_others_always_wait_for_is_one_incident_by_design() {
    let causes = find(&late_every_tenth_round());
    let by_design = causes.incidents().all().iter();
    let by_design: Vec<_> = by_design.filter(|it| it.kind.is_by_design()).collect();
    let [work] = by_design.as_slice() else {
        panic!("one incident by design, not {by_design:?}");
    };
    assert_eq!((work.kind, work.root.rank), (CauseKind::Serial, RankId(0)));
    assert_eq!(work.times, 54, "all rounds but those in which it is late");
}

/// Threads of one rank meet 40 times; the last time, thread 2 arrives late. The first thread has a deeper stack.
#[test]
fn the_thread_that_is_late_to_a_barrier_is_the_root() {
    let trace = support::threads(40, 5_000);
    let causes = find(&trace);
    let wrong = causes.incidents().all().iter();
    let wrong: Vec<_> = wrong.filter(|it| !it.kind.is_by_design()).collect();
    let [incident] = wrong.as_slice() else {
        panic!("one incident, not {wrong:?}");
    };
    let thread = trace.lane(incident.root.lane).thread;
    assert_eq!((thread.0, incident.kind), (2, CauseKind::Stalled));
    let of_first = causes.waits().on_lane(LaneIdx(0)).last();
    let of_first = of_first.map(|it| (it.kind, it.peer));
    assert_eq!(of_first, Some((WaitKind::WaitAtBarrier, Some(LaneIdx(2)))));
}

#[test]
fn an_empty_run_has_no_causes() {
    let causes = find(&Trace::default());
    assert!(causes.roots().is_empty() && causes.incidents().all().is_empty());
    let quiet = scripts(&["0 +a 5 -a", "0 +a 5 -a"]);
    let none: &[Incident] = &[];
    assert_eq!(find(&quiet).incidents().all(), none);
}

#[test]
fn without_messages_waiting_ranks_waited_for_the_one_that_worked() {
    let waiting = "100 +MPI_Wait 50050 -MPI_Wait";
    let trace = scripts(&["0 +work 50000 -work", waiting, waiting, waiting]);
    let causes = find(&trace);
    let victim = cause(&trace, 2, "MPI_Wait");
    assert_eq!(victim.role, DelayRole::Victim);
    assert_eq!(root_rank(&causes, &victim), Some(0));
    let [incident] = causes.incidents().all() else {
        panic!("{:?}", causes.incidents());
    };
    let found = (
        incident.kind,
        incident.root.rank.0,
        incident.root.num_victims,
    );
    assert_eq!(found, (CauseKind::Stalled, 0, 3));
}

#[test]
fn without_messages_waits_of_all_ranks_have_no_root() {
    let trace = scripts(&["100 +MPI_Wait 50050 -MPI_Wait"; 4]);
    let causes = find(&trace);
    let late = cause(&trace, 0, "MPI_Wait");
    let found = (late.role, late.kind, late.root, late.incident);
    assert_eq!(
        found,
        (DelayRole::Undecided, CauseKind::Unknown, None, Some(0))
    );
    let [incident] = causes.incidents().all() else {
        panic!("{:?}", causes.incidents());
    };
    assert_eq!(
        (incident.kind, incident.ranks.len()),
        (CauseKind::Unknown, 4)
    );
}

/// Returns the causes among calls of a function that stalled, in an excerpt.
fn of_stalls(trace: &Trace, stalled: &[&str]) -> Causes {
    let is_stalled = |it| stalled.contains(&trace.function_name(it));
    Causes::of_stalls(trace, is_stalled, Progress::none()).expect("no cancellation")
}

/// Returns kind, rank of the root, its own delay in microseconds, its confidence, and the ranks of an excerpt's
/// incidents.
fn stalls(trace: &Trace, stalled: &[&str]) -> Vec<(CauseKind, u32, i64, u8, Vec<u32>)> {
    let causes = of_stalls(trace, stalled);
    let all = causes.incidents().all().iter();
    all.map(|it| {
        let ranks = it.ranks.iter().map(|rank| rank.0).collect();
        let root = &it.root;
        (
            it.kind,
            root.rank.0,
            root.own_delay.as_us(),
            root.confidence_percent,
            ranks,
        )
    })
    .collect()
}

#[test]
fn a_stall_that_no_message_explains_is_a_delay() {
    let trace = only(&[
        "0 +work 50000 -work 50010 +MPI_Send s1 50020 -MPI_Send",
        "100 +MPI_Recv 50030 r0 50040 -MPI_Recv 50050 +MPI_Send s2 50060 -MPI_Send",
        "200 +MPI_Recv 50080 r1 50090 -MPI_Recv",
    ]);
    let expected = (CauseKind::Stalled, 0, 50_000, 95, vec![0, 1, 2]);
    assert_eq!(stalls(&trace, &["work", "MPI_Recv"]), [expected]);
    // The work did not stall, so its usual duration is unknown.
    let expected = (CauseKind::Slow, 0, 49_910, 95, vec![0, 1, 2]);
    assert_eq!(stalls(&trace, &["MPI_Recv"]), [expected]);
    assert_eq!(stalls(&trace, &[]), []);
    let causes = of_stalls(&trace, &["MPI_Recv"]);
    let victim = causes.of(&trace, last(&trace, 2, "MPI_Recv"));
    let peers: Vec<u32> = victim.hops.iter().map(|it| it.peer_rank.0).collect();
    assert_eq!(peers, [1, 0]);
}

#[test]
fn work_common_to_all_ranks_of_an_excerpt_is_not_a_delay() {
    let trace = only(&[
        "0 +start 50000 +MPI_Recv 90000 r1 90010 -MPI_Recv 90020 -start",
        "100 +start 89990 +MPI_Send s0 90000 -MPI_Send 90020 -start",
    ]);
    let all = stalls(&trace, &["start", "MPI_Recv"]);
    let own: Vec<(u32, i64)> = all.iter().map(|it| (it.1, it.2)).collect();
    assert_eq!(own, [(1, 39_890)]);
}

#[test]
fn a_lane_hands_on_a_delay_after_calls_without_a_wait() {
    let trace = only(&[
        "0 +work 50000 -work 50002 +MPI_Send s1 50004 -MPI_Send 50006 +MPI_Send s1 50008 -MPI_Send",
        "100 +MPI_Recv 50005 r0 50010 -MPI_Recv 50012 +MPI_Recv 50013 r0 50014 -MPI_Recv 50400 +MPI_Send s2 50402 -MPI_Send",
        "200 +MPI_Recv 50405 r1 50410 -MPI_Recv",
    ]);
    let expected = (CauseKind::Stalled, 0, 50_000, 95, vec![0, 1, 2]);
    assert_eq!(stalls(&trace, &["work", "MPI_Recv"]), [expected]);
}

#[test]
fn stalls_without_messages_have_an_unknown_or_unsure_cause() {
    let wait = "100 +MPI_Wait 50000 -MPI_Wait";
    let trace = only(&["90 +MPI_Wait 49990 -MPI_Wait", wait, wait]);
    let expected = (CauseKind::Unknown, 0, 49_900, 30, vec![0, 1, 2]);
    assert_eq!(stalls(&trace, &["MPI_Wait"]), [expected]);
    let trace = only(&["90 +work 49990 -work", wait, wait]);
    let expected = (CauseKind::Stalled, 0, 49_900, 50, vec![0, 1, 2]);
    assert_eq!(stalls(&trace, &["MPI_Wait", "work"]), [expected]);
}

#[test]
fn collectives_of_an_excerpt_are_those_that_overlap() {
    // The first collective of rank 0 was not reported.
    let trace = only(&[
        "60000 +MPI_Allreduce 90000 -MPI_Allreduce",
        "0 +MPI_Allreduce 30000 -MPI_Allreduce 60000 +MPI_Allreduce 90000 -MPI_Allreduce",
        "10 +work 29900 -work 29990 +MPI_Allreduce 30000 -MPI_Allreduce 89980 +MPI_Allreduce 90000 -MPI_Allreduce",
    ]);
    let causes = of_stalls(&trace, &["MPI_Allreduce", "work"]);
    let members: Vec<usize> = (causes.waits().collectives().iter())
        .map(|it| it.calls.len())
        .collect();
    assert_eq!(members, [2, 3]);
    let mut all = causes.incidents().all().iter();
    let of_work = all.find(|it| it.root.func == trace.names.get("work").expect("it is called"));
    assert_eq!(
        of_work.map(|it| it.ranks.clone()),
        Some(vec![RankId(1), RankId(2)])
    );
}
