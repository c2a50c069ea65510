//! Damage never ends the work: what is whole is read, and memory stays bounded by the file.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::io::Write;

use callgrove_model::{Trace, WarningKind};
use callgrove_source::{SourceError, call_lines};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use support::{BEGIN, COUNTER, Message, SMALL, read, small};

/// Returns a trace with all that is read: clocks, names, defaults, flows, counters, annotations and older events.
fn rich() -> Vec<u8> {
    let mut trace = small();
    trace.packet(2, |packet| {
        packet
            .number(13, 1)
            .interned(2, 1, "named")
            .interned(1, 1, "tau_mpi");
        packet.message(6, |clocks| {
            clocks.reading((6, 1_000), (1, false));
            clocks.reading((1, 50_000), (1, false));
            clocks.reading((64, 1_000), (1, true));
        });
        packet.message(59, |defaults| {
            defaults.number(58, 64).message(11, |it| {
                it.number(11, 2);
            });
        });
    });
    for kind in [1, 2, 3] {
        trace.packet(2, |packet| {
            packet.number(8, 7).number(13, 2).message(11, |event| {
                event
                    .number(9, kind)
                    .number(10, 1)
                    .number(3, 1)
                    .fixed(47, 3);
                event.data(23, "MPI_Send").number(12, 4).number(31, 30);
                event.message(4, |it| {
                    it.data(10, "dst").number(4, 1);
                });
            });
        });
    }
    for phase in [b'X', b'b', b'e', b's'] {
        trace.packet(3, |packet| {
            packet.number(8, 4_000).message(11, |event| {
                event.data(23, "older").message(6, |legacy| {
                    legacy.number(2, phase.into()).number(3, 2).number(6, 1);
                });
            });
        });
    }
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(&small().bytes).unwrap();
    let deflated = deflated.finish().unwrap();
    trace.packet(0, |packet| {
        packet.data(50, deflated);
    });
    trace.bytes
}

/// Checks what holds for any bytes: calls nest and there are no more of them than the file has bytes.
fn check(bytes: &[u8]) -> Option<Trace> {
    match read(bytes) {
        Ok(trace) => {
            assert!(trace.num_executions() <= 64 * bytes.len());
            assert_eq!(trace.warnings.total(WarningKind::TimeWentBack), 0);
            Some(trace)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

#[test]
fn a_cut_file_yields_what_precedes_the_cut() {
    let whole = rich();
    for length in 0..whole.len() {
        if let Some(trace) = check(&whole[..length]) {
            let calls = call_lines(&trace);
            if length > small().bytes.len() {
                assert!(calls.len() >= SMALL.len(), "{length}: {calls:?}");
            }
        }
    }
    let bytes = small().bytes;
    let trace = read(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 1);
    assert_eq!(trace.warnings.total(WarningKind::Unclosed), 1);
    let error = read(&bytes[..30]).unwrap_err();
    assert!(matches!(error, SourceError::Damaged { .. }), "{error}");
}

#[test]
fn a_packet_that_is_no_message_is_counted_and_the_rest_is_read() {
    let mut trace = small();
    trace.data(1, [0x5A, 90, 1]);
    trace.data(1, [0xFF; 30]);
    trace.begin(2, 9_500, "after").end(2, 9_600);
    // A name that is no text, and an event without a time.
    trace.event((BEGIN, 2, 9_700), |event| {
        event.data(23, [0xFF, b'x']);
    });
    trace.end(2, 9_800);
    trace.packet(1, |packet| {
        packet.message(11, |event| {
            event.number(9, BEGIN);
        });
    });
    let trace = read(&trace.bytes).unwrap();
    let calls = call_lines(&trace);
    assert!(
        calls.contains(&"0.0 0 after 9500-9600".to_owned()),
        "{calls:?}"
    );
    assert!(
        calls.contains(&"0.0 0 \u{FFFD}x 9700-9800".to_owned()),
        "{calls:?}"
    );
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 3);
    assert_eq!(trace.warnings.total(WarningKind::TextChanged), 1);
}

#[test]
fn many_tracks_deep_messages_and_circles_of_parents_are_read() {
    let mut trace = small();
    // A message in a message, and groups, to a depth that would exhaust a stack.
    trace.packet(1, |packet| {
        let mut nested = vec![0x0A, 0];
        for _ in 0..2_000 {
            let mut outer = Message::default();
            outer.data(99, &nested);
            nested = outer.bytes;
        }
        packet.data(99, nested);
        packet.bytes.extend([0x9B, 6].repeat(100_000));
        packet.bytes.extend([0x9C, 6].repeat(100_000));
    });
    // Tracks that are above each other in a circle, or above themselves.
    trace
        .track((50, 51), "a")
        .track((51, 50), "b")
        .track((52, 52), "c");
    for uuid in 50..53 {
        trace.begin(uuid, 10, "in a circle").end(uuid, 11);
    }
    for uuid in 1_000..101_000 {
        trace
            .track((uuid, 1), "t")
            .begin(uuid, 10, "one")
            .end(uuid, 11);
        trace.event((COUNTER, uuid + 1_000_000, 12), |event| {
            event.number(30, 1);
        });
    }
    let trace = read(&trace.bytes).unwrap();
    assert_eq!(trace.num_executions(), 3 + 3 + 100_000);
    assert_eq!(trace.lanes.len(), 2 + 3 + 100_000);
    assert!(trace.warnings.damage().next().is_none());
}

#[test]
fn many_clocks_sequences_and_names_cost_no_more_than_their_bytes() {
    let mut trace = small();
    for number in 0..20_000_u64 {
        trace.packet(number << 20, |packet| {
            packet.number(13, 1).interned(2, u64::MAX - number, "far");
            packet.number(8, 5).number(58, 200 + number);
            packet.message(6, |clocks| {
                clocks.reading((200 + number, 1), (1, false));
                clocks.reading((300 + number, 1), (1, false));
            });
            packet.message(11, |event| {
                event.number(9, 3);
            });
        });
    }
    let trace = read(&trace.bytes).unwrap();
    assert_eq!(call_lines(&trace), SMALL);
    assert!(trace.warnings.total(WarningKind::BadRow) > 19_000);
}

#[test]
fn a_packet_that_unpacks_to_much_more_than_its_file_is_given_up() {
    // Packets without an event.
    let inner = [0x0A, 4, 0x50, 1, 0x40, 5].repeat(20_000_000);
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::best());
    deflated.write_all(&inner).unwrap();
    let deflated = deflated.finish().unwrap();
    let mut trace = small();
    trace.packet(0, |packet| {
        packet.data(50, deflated);
    });
    let trace = read(&trace.bytes).unwrap();
    assert_eq!(call_lines(&trace), SMALL);
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_flipped_byte_is_survived(at in any::<prop::sample::Index>(), mask in 1_u8..) {
        let mut bytes = rich();
        let at = at.index(bytes.len());
        bytes[at] ^= mask;
        check(&bytes);
    }

    #[test]
    fn any_bytes_after_a_valid_start_are_survived(
        rest in prop::collection::vec(any::<u8>(), 0..400),
        is_in_packet in any::<bool>(),
    ) {
        let mut trace = small();
        if is_in_packet {
            trace.data(1, &rest);
        } else {
            trace.bytes.extend(&rest);
        }
        let read = check(&trace.bytes).unwrap();
        prop_assert!(call_lines(&read).len() >= SMALL.len());
    }

    /// Fields that are valid, with any numbers.
    #[test]
    fn any_fields_are_survived(
        packets in prop::collection::vec(
            prop::collection::vec((1_u64..64, any::<u64>(), 0_u8..3), 0..8), 1..40,
        ),
    ) {
        let mut trace = small();
        for fields in &packets {
            trace.packet(1, |packet| {
                packet.number(8, 5_000).message(11, |event| {
                    for &(field, value, kind) in fields {
                        match kind {
                            0 => event.number(field, value),
                            1 => event.fixed(field, value),
                            _ => event.data(field, value.to_le_bytes()),
                        };
                    }
                });
            });
        }
        check(&trace.bytes);
    }
}

#[test]
fn absurd_times_are_bounded() {
    let late = u64::MAX >> 1;
    let mut trace = small();
    trace.begin(2, 20_000, "long").begin(3, late, "late");
    trace.end(2, late).end(3, late);
    let trace = read(&trace.bytes).unwrap();
    assert!(call_lines(&trace).iter().any(|it| it.contains("long")));
    for calls in trace.lanes.iter().map(|lane| &lane.executions) {
        assert!(calls.entry.iter().all(|it| it.0 < 1 << 62));
        assert!(calls.inclusive.iter().all(|it| it.0 < 1 << 62));
    }
}
