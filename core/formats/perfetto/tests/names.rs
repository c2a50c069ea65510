//! Names of events, and other state of the sequences of packets.

#![allow(dead_code, reason = "each test file uses a part of the helpers")]

mod support;

use callgrove_model::WarningKind;
use callgrove_source::call_lines;
use support::{BEGIN, END, Message, read};

#[test]
fn names_defaults_and_clocks_are_those_of_the_sequence() {
    let mut trace = Message::default();
    trace.packet(1, |packet| {
        packet.message(6, |clocks| {
            clocks.reading((6, 5_000), (1, false));
            clocks.reading((1, 1_700_000_005_000), (1, false));
        });
    });
    trace.process(1, 7, "app");
    for (thread, unit) in [(20, 1), (21, 1_000)] {
        trace.thread((thread, 1), (7, thread - 13), "");
        trace.packet(thread, |packet| {
            packet.number(13, 1).interned(2, 1, &format!("f{thread}"));
            packet.message(59, |defaults| {
                defaults.number(58, 64).message(11, |of_events| {
                    of_events.number(11, thread);
                });
            });
            packet.message(6, |clocks| {
                clocks.reading((6, 6_000), (1, false));
                clocks.reading((64, 6_000 / unit), (unit, true));
            });
        });
    }
    // Times are differences, of which each sequence has its own sum and unit.
    for (sequence, kind, time) in [
        (20, BEGIN, 10),
        (21, BEGIN, 2),
        (20, BEGIN, 5),
        (20, END, 5),
        (21, END, 3),
        (20, END, 80),
    ] {
        trace.packet(sequence, |packet| {
            packet.number(8, time).number(13, 2).message(11, |event| {
                event.number(9, kind);
                if kind == BEGIN {
                    event.number(10, 1);
                }
            });
        });
    }
    let expected = [
        "0.0 0 f20 1700000006010-1700000006100",
        "0.0 1 f20 1700000006015-1700000006020",
        "0.1 0 f21 1700000008000-1700000011000",
    ];
    assert_eq!(call_lines(&read(&trace.bytes).unwrap()), expected);
}

#[test]
fn names_of_asynchronous_ends_say_which_slice_ends() {
    let mut trace = Message::default();
    trace.process(1, 7, "Rank 0").thread((2, 1), (7, 7), "");
    for (phase, time_ns, name) in [
        (b'b', 1_000, "load"),
        (b'b', 2_000, "store"),
        (b'e', 3_000, "save"),
        (b'e', 3_000, "load"),
        (b'e', 9_000, "store"),
    ] {
        trace.event((0, 2, time_ns), |event| {
            event.data(23, name).message(6, |legacy| {
                legacy.number(2, phase.into()).number(6, 1);
            });
        });
    }
    let trace = read(&trace.bytes).unwrap();
    let expected = ["0.0 0 load 1000-3000", "0.1 0 store 2000-9000"];
    assert_eq!(call_lines(&trace), expected);
    assert_eq!(trace.warnings.total(WarningKind::ExitWithoutEntry), 1);
}

#[test]
fn arguments_in_names_are_not_parts_of_functions() {
    let mut trace = Message::default();
    trace.process(1, 7, "Rank 0").thread((2, 1), (7, 7), "");
    for (time_ns, name) in [
        (1_000, "aten::mm, seq = 3"),
        (2_000, "aten::mm, seq = 4"),
        (3_000, "f<3>(int)"),
    ] {
        trace.event((BEGIN, 2, time_ns), |event| {
            event.data(23, name);
        });
        trace.event((END, 2, time_ns + 500), |_| {});
    }
    let trace = read(&trace.bytes).unwrap();
    let names: Vec<_> = trace.names.iter().map(|it| it.1.to_owned()).collect();
    assert_eq!(names, ["aten::mm", "f<3>(int)"]);
}
