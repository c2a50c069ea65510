//! Clocks of hosts, and messages between hosts that seem to be late, in runs small enough to be computed by hand.

#![allow(dead_code, reason = "each test file uses a part of the helpers")]

mod support;

use callgrove_causes::{CauseKind, DelayRole, RootCause};
use callgrove_model::{DurationNs, RankId, Trace};
use support::{find, last, rank_on, root_rank, run};

#[test]
fn clocks_are_compared_by_messages_before_causes_are_found() {
    check_compared_by_messages(["near", "remote"]);
}

#[test]
fn ranks_whose_hosts_are_not_stated_have_a_clock_each() {
    check_compared_by_messages(["", ""]);
}

/// Two ranks, the second with a clock that is an hour ahead.
fn check_compared_by_messages(names: [&str; 2]) {
    let hour_us = 3_600_000_000;
    let exchange = |other: u32| {
        format!("0 +MPI_Send s{other} 10 -MPI_Send 20 +MPI_Recv 60 r{other} 70 -MPI_Recv ")
    };
    let trace = run(vec![
        rank_on(
            0,
            names[0],
            0,
            &(exchange(1) + "100 +MPI_Recv 50130 r1 50140 -MPI_Recv"),
        ),
        rank_on(
            1,
            names[1],
            hour_us,
            &(exchange(0) + "100 +work 50100 -work 50110 +MPI_Send s0 50120 -MPI_Send"),
        ),
    ]);
    let causes = find(&trace);
    let hosts = causes.clocks().hosts();
    let ahead = hosts[1].ahead.expect("messages go there and back");
    let off = (ahead - DurationNs(hour_us * 1_000)).0.abs();
    assert!(
        off <= hosts[1].uncertainty.0,
        "{ahead} ± {}",
        hosts[1].uncertainty
    );
    assert!(hosts[1].uncertainty <= DurationNs(60_000));
    let back = causes.clocks().back_in_time();
    assert_eq!(
        back.len(),
        1,
        "messages from the remote host come before they are sent"
    );
    assert_eq!((back[0].from, back[0].num_messages), (RankId(1), 26));
    assert_eq!(back[0].num_unexplained, 0);
    let victim = causes.of(&trace, last(&trace, 0, "MPI_Recv"));
    assert_eq!(
        (victim.role, root_rank(&causes, &victim)),
        (DelayRole::Victim, Some(1))
    );
}

/// One host sends to another, which never answers; the last message comes after `late`.
fn one_way(ahead_us: i64, send: &str, receive: &str, late: &str) -> Trace {
    run(vec![
        rank_on(0, "near", 0, &format!("{send} {late}")),
        rank_on(
            1,
            "remote",
            ahead_us,
            &format!("{receive} 100 +MPI_Recv 50125 r0 50130 -MPI_Recv"),
        ),
    ])
}

#[test]
fn finds_the_root_on_a_clock_bounded_from_one_side() {
    let ahead_us = -50_000;
    let trace = one_way(
        ahead_us,
        "0 +MPI_Send s1 5 -MPI_Send",
        "0 +MPI_Recv 10 r0 12 -MPI_Recv",
        "100 +work 50100 -work 50110 +MPI_Send s1 50120 -MPI_Send",
    );
    let causes = find(&trace);
    let remote = &causes.clocks().hosts()[1];
    let ahead = remote.ahead.expect("messages go there");
    let off = ahead - DurationNs::from_us(ahead_us);
    assert!(off.0.abs() <= 20_000, "{ahead}");
    assert!(remote.is_one_way);
    let victim = causes.of(&trace, last(&trace, 1, "MPI_Recv"));
    let found = (victim.role, root_rank(&causes, &victim));
    assert_eq!(found, (DelayRole::Victim, Some(0)));
}

/// Twelve rounds in which each rank is the last to enter the collective, in turn.
#[test]
fn collectives_bound_a_clock_from_both_sides() {
    for ahead_us in [-50_000, 50_000] {
        let trace = collectives_of_hosts(ahead_us, 0);
        let causes = find(&trace);
        let remote = &causes.clocks().hosts()[1];
        let ahead = remote.ahead.expect("they share collectives");
        let off = ahead - DurationNs::from_us(ahead_us);
        assert!(off.0.abs() <= remote.uncertainty.0, "{ahead}");
        assert!(
            remote.uncertainty <= DurationNs::from_us(4),
            "{}",
            remote.uncertainty
        );
        assert!(!remote.is_one_way);
    }
}

/// Calls of one path on two hosts that did not meet: the second host makes them 300 us later each time.
#[test]
fn collectives_of_different_communicators_bound_no_clock() {
    let trace = collectives_of_hosts(0, 300);
    assert_eq!(find(&trace).clocks().hosts()[1].ahead, None);
    let trace = collectives_of_hosts(0, 0);
    let ahead = find(&trace).clocks().hosts()[1].ahead;
    assert_eq!(ahead, Some(DurationNs::ZERO));
}

/// Returns two hosts of two ranks that share only collectives. The clock of the second host is ahead. If the second
/// host is late by `late_us`, the hosts have a collective each.
fn collectives_of_hosts(ahead_us: i64, late_us: i64) -> Trace {
    let entered = |round: i64, rank: i64| 10 + (round * 37 + rank * 53) % 80;
    let rank = |number: u32| {
        let host = i64::from(number / 2);
        let others = if late_us == 0 {
            0..4
        } else {
            host * 2..host * 2 + 2
        };
        let mut script = String::new();
        for round in 0..12 {
            let start = round * 500 + host * late_us;
            let last = others.clone().map(|rank| entered(round, rank)).max();
            let end = start + last.expect("there are ranks") + 3 + i64::from(number % 2);
            let start = start + entered(round, i64::from(number));
            script += &format!("{start} +MPI_Allreduce {end} -MPI_Allreduce ");
        }
        let (name, ahead_us) = [("near", 0), ("remote", ahead_us)][number as usize / 2];
        rank_on(number, name, ahead_us, &script)
    };
    run((0..4).map(rank).collect())
}

/// A receive that ends late is not a contradiction, however constant it is.
#[test]
fn constant_delays_of_a_receiver_are_not_a_clock_offset() {
    let trace = one_way(
        50_000,
        "0 +MPI_Send s1 5 -MPI_Send",
        "0 +MPI_Recv 10 r0 12 -MPI_Recv",
        "100 +work 50100 -work 50110 +MPI_Send s1 50120 -MPI_Send",
    );
    let ahead = find(&trace).clocks().hosts()[1].ahead;
    assert_eq!(ahead, Some(DurationNs::ZERO));
}

#[test]
fn roots_that_depend_on_such_clocks_are_unsure() {
    let stalled = "100 +MPI_Send s1 50120 -MPI_Send";
    let trace = one_way(
        -50_000,
        "0 +MPI_Send s1 5 -MPI_Send",
        "0 +MPI_Recv 10 r0 12 -MPI_Recv",
        stalled,
    );
    let causes = find(&trace);
    let root = &causes.incidents().all()[0].root;
    assert!(root.is_in_library && root.is_clock_unsure, "{root:?}");
    assert!(root.confidence_percent <= 50, "{}", root.confidence_percent);
}

#[test]
fn varying_delays_of_a_receiver_are_not_a_clock_offset() {
    // The delay differs from message to message, so it is not a constant clock offset.
    let (mut send, mut receive) = (String::new(), String::new());
    for round in 0..8 {
        let at = round * 10;
        send += &format!("{at} +MPI_Send s1 {} -MPI_Send ", at + 2);
        let at = round * 11 + 4;
        receive += &format!("{at} +MPI_Recv {} r0 {} -MPI_Recv ", at + 1, at + 2);
    }
    let late = "100 +work 50100 -work 50110 +MPI_Send s1 50120 -MPI_Send";
    let causes = find(&one_way(0, &send, &receive, late));
    let ahead = causes.clocks().hosts()[1].ahead;
    assert_eq!(ahead, Some(DurationNs::ZERO));
}

/// Returns the roots in calls of a run in which messages were sent in time and received 50 ms late. Each message is given by its
/// sender and receiver; a rank has one. The first two ranks are on one host, the others on `other`.
fn roots_of_late_messages(messages: &[(u32, u32)], other: &str) -> Vec<RootCause> {
    let script = |rank: u32| {
        let sent = messages.iter().filter(|it| it.0 == rank);
        let sent = sent.map(|it| {
            let at = it.1 * 4;
            format!("{at} +MPI_Send s{} {} -MPI_Send ", it.1, at + 2)
        });
        let received = messages.iter().filter(|it| it.1 == rank);
        let received = received.map(|it| {
            format!(
                "20 +MPI_Waitall {} r{} 50050 -MPI_Waitall",
                50_040 + rank,
                it.0
            )
        });
        sent.chain(received).collect::<String>()
    };
    let host = |rank| if rank < 2 { "near" } else { other };
    let ranks = (0..4).map(|rank| rank_on(rank, host(rank), 0, &script(rank)));
    let causes = find(&run(ranks.collect()));
    let in_library = causes.roots().iter().filter(|it| it.is_in_library);
    in_library.copied().collect()
}

#[test]
fn one_late_message_may_be_the_network_or_its_receiver() {
    let roots = roots_of_late_messages(&[(0, 2)], "remote");
    let found = (roots[0].rank, roots[0].late_sender, roots[0].kind);
    assert_eq!(found, (RankId(2), Some(RankId(0)), CauseKind::Stalled));
    assert!(roots[0].confidence_percent <= 50, "{:?}", roots[0]);
    let of_one_host = roots_of_late_messages(&[(0, 2)], "near");
    assert_eq!(of_one_host[0].late_sender, None);
    let of_one_sender = roots_of_late_messages(&[(0, 2), (0, 3)], "remote");
    assert!(
        of_one_sender
            .iter()
            .all(|it| it.kind != CauseKind::Transfer)
    );
    let senders: Vec<_> = of_one_sender.iter().map(|it| it.late_sender).collect();
    assert_eq!(senders, [Some(RankId(0)); 2]);
}

#[test]
fn messages_that_cross_one_host_late_at_one_time_are_the_network() {
    for messages in [[(0, 2), (1, 3)], [(0, 2), (3, 1)]] {
        let roots = roots_of_late_messages(&messages, "remote");
        let late: Vec<_> = roots.iter().map(|it| (it.kind, it.late_sender)).collect();
        assert_eq!(late, [(CauseKind::Transfer, None)], "{messages:?}");
    }
    let roots = roots_of_late_messages(&[(0, 2), (1, 3)], "near");
    assert!(roots.iter().all(|it| it.kind == CauseKind::Stalled));
}
