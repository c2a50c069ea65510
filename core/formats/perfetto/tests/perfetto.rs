//! Traces: what is read of those of each writer.

mod support;

use std::io::Write;

use callgrove_model::{CommKind, Trace, WarningKind};
use callgrove_perfetto::PerfettoError;
use callgrove_source::{SourceError, call_lines};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use support::{BEGIN, COUNTER, END, Message, SMALL, read, read_files, small};

/// The type of an event without a duration.
const INSTANT: u64 = 3;

/// Returns messages as `rank kind partner tag bytes time`.
fn messages(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for lane in &trace.lanes {
        let it = &lane.comms;
        for row in 0..it.time.len() {
            let kind = match it.kind[row] {
                CommKind::Send => "send",
                CommKind::Recv => "recv",
            };
            let (partner, tag, size) = (it.partner[row], it.tag[row], it.size_bytes[row]);
            lines.push(format!(
                "{} {kind} {partner} {tag} {size} {}",
                lane.rank, it.time[row].0
            ));
        }
    }
    lines
}

/// Returns counter samples as `rank.thread name value time`.
fn counters(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for lane in &trace.lanes {
        let it = &lane.counters;
        for row in 0..it.time.len() {
            let name = trace.counter_names.name(it.counter[row]);
            let (rank, thread) = (lane.rank, lane.thread.0);
            let (value, time) = (it.value[row], it.time[row].0);
            lines.push(format!("{rank}.{thread} {name} {value} {time}"));
        }
    }
    lines
}

fn metadata(trace: &Trace) -> Vec<String> {
    let entries = trace.metadata.iter();
    entries
        .map(|it| format!("{}.{} {}={}", it.rank, it.thread.0, it.key, it.value))
        .collect()
}

#[test]
fn slices_of_threads_are_calls_also_of_packed_files() {
    let plain = small().bytes;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(&plain).unwrap();
    let deflated = deflated.finish().unwrap();
    let zstd = compress_to_vec(&plain[..], CompressionLevel::Fastest);
    let packed = |field, bytes: &[u8]| {
        let mut trace = Message::default();
        trace.packet(0, |packet| {
            packet.data(field, bytes);
        });
        trace.bytes
    };
    for bytes in [
        &plain,
        &gzip.finish().unwrap(),
        &packed(50, &deflated),
        &packed(133, &zstd),
    ] {
        let trace = read(bytes).unwrap();
        assert_eq!(call_lines(&trace), SMALL);
        assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 1);
        assert!(trace.warnings.damage().next().is_none());
    }
}

#[test]
fn packets_that_need_a_lost_state_are_counted_until_it_begins_again() {
    let mut trace = Message::default();
    trace.process(1, 7, "Rank 7").thread((2, 1), (7, 7), "");
    let mut event = |kind, time, flags, name: Option<&str>, is_after_loss: bool| {
        trace.packet(5, |packet| {
            packet.number(8, time).number(13, flags);
            packet.number(42, is_after_loss.into());
            if let Some(name) = name {
                packet.interned(2, 1, name);
            }
            packet.message(11, |event| {
                event.number(9, kind).number(11, 2).number(10, 1);
            });
        });
    };
    event(BEGIN, 5, 2, None, false);
    event(BEGIN, 10, 3, Some("a"), false);
    event(END, 20, 2, None, false);
    event(BEGIN, 30, 2, None, true);
    event(END, 40, 2, None, false);
    event(BEGIN, 50, 3, Some("b"), true);
    event(END, 60, 2, None, false);
    event(BEGIN, 70, 1, None, false);
    event(END, 80, 2, None, false);
    let trace = read(&trace.bytes).unwrap();
    let expected = ["7.0 0 a 10-20", "7.0 0 b 50-60", "7.0 0 unknown 70-80"];
    assert_eq!(call_lines(&trace), expected);
    let damage = trace.warnings.damage().map(|it| (it.kind, it.count));
    let expected = [
        (WarningKind::PacketsDropped, 2),
        (WarningKind::StateLost, 3),
        (WarningKind::UnknownName, 1),
    ];
    assert_eq!(
        damage
            .filter(|it| it.0 != WarningKind::MissingRank)
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn descriptors_and_snapshots_may_come_after_the_events() {
    let mut trace = Message::default();
    trace.begin(2, 1_000, "late").end(2, 1_400);
    trace.packet(1, |packet| {
        packet.number(8, 90).number(58, 3).message(11, |event| {
            event.number(9, BEGIN).data(23, "on");
        });
    });
    trace.packet(1, |packet| {
        packet.number(8, 95).number(58, 3).message(11, |event| {
            event.number(9, END);
        });
    });
    trace.process(1, 3, "MPI Rank 3").thread((2, 1), (3, 3), "");
    trace.packet(1, |packet| {
        packet.message(6, |clocks| {
            clocks.reading((3, 100), (1, false));
            clocks.reading((6, 2_000), (1, false));
        });
    });
    let expected = ["3.0 0 late 1000-1400", "3.1 0 on 1990-1995"];
    assert_eq!(call_lines(&read(&trace.bytes).unwrap()), expected);
}

#[test]
fn custom_tracks_and_streams_of_a_gpu_are_lanes_and_launches_follow_flows() {
    let mut trace = Message::default();
    trace.process(1, 5, "Rank 0").thread((2, 1), (5, 5), "main");
    trace.track((3, 2), "requests");
    trace.track((4, 1), "COMPUTE Agent [1] QUEUE [2] GPU");
    trace.event((BEGIN, 2, 10), |event| {
        event.data(23, "hipLaunchKernel").fixed(47, 9);
    });
    trace.end(2, 20).begin(3, 12, "read").end(3, 40);
    trace.event((BEGIN, 4, 30), |event| {
        event.data(23, "kernel").fixed(47, 9);
    });
    trace.end(4, 60);
    let trace = read(&trace.bytes).unwrap();
    let expected = [
        "0.0 0 hipLaunchKernel 10-20",
        "0.1 0 kernel 30-60",
        "0.2 0 read 12-40",
    ];
    assert_eq!(call_lines(&trace), expected);
    let launches: Vec<_> = trace.launches.iter().collect();
    assert_eq!(launches.len(), 1);
    let launch = launches[0];
    let lanes = (launch.lane.0, launch.by.0);
    assert_eq!((lanes, launch.time.0, launch.launched.0), ((1, 0), 30, 10));
    assert!(trace.messages.is_empty());
    let expected = [
        "0.0 Thread Name=main",
        "0.0 pid=5",
        "0.1 CUDA Device=1",
        "0.1 CUDA Stream=2",
        "0.1 Thread Name=COMPUTE Agent [1] QUEUE [2] GPU",
        "0.2 Thread Name=requests",
    ];
    assert_eq!(metadata(&trace), expected);
}

#[test]
fn flows_between_ranks_are_messages() {
    let mut trace = Message::default();
    for rank in 0..2 {
        trace.process(10 + rank, 900 + rank, &format!("rank {rank}"));
        trace.thread((20 + rank, 10 + rank), (900 + rank, 900 + rank), "");
    }
    let mut slice = |uuid, name: &str, from, to, field, id: u64| {
        trace.event((BEGIN, uuid, from), |event| {
            event.data(23, name);
            if field < 47 {
                event.number(field, id);
            } else {
                event.fixed(field, id);
            }
        });
        trace.end(uuid, to);
    };
    // The receive waits: it begins before the send, so the message arrives at its end.
    slice(21, "recv", 80, 170, 48, 5);
    slice(20, "send", 100, 150, 47, 5);
    // Ids of the older kind, and a slice that the message starts.
    slice(20, "call", 300, 310, 36, 5);
    slice(21, "handle", 320, 400, 42, 5);
    let trace = read(&trace.bytes).unwrap();
    let expected = [
        "0 send 1 0 0 100",
        "0 send 1 1 0 300",
        "1 recv 0 0 0 170",
        "1 recv 0 1 0 320",
    ];
    assert_eq!(messages(&trace), expected);
    assert_eq!(trace.messages.len(), 2);
}

#[test]
fn counters_have_units_multipliers_and_differences() {
    let mut trace = Message::default();
    trace.process(1, 5, "Rank 4").thread((2, 1), (5, 5), "main");
    for (uuid, name, fields) in [
        (20, "memory", &[(3, 3), (4, 1024)][..]),
        (21, "retired", &[(5, 1)]),
        (22, "load", &[]),
    ] {
        trace.packet(1, |packet| {
            packet.message(60, |track| {
                track.number(1, uuid).number(5, 1).data(10, name);
                track.message(8, |counter| {
                    for &(field, value) in fields {
                        counter.number(field, value);
                    }
                });
            });
        });
    }
    trace.event((BEGIN, 2, 100), |event| {
        event.data(23, "f").number(31, 21).number(12, 5);
    });
    trace.event((END, 2, 200), |event| {
        event.data(31, [21]).data(12, [7]);
    });
    trace.event((COUNTER, 20, 150), |event| {
        event.number(30, 3);
    });
    trace.event((COUNTER, 22, 160), |event| {
        event.fixed(44, 12.75_f64.to_bits());
    });
    trace.event((COUNTER, 22, 170), |event| {
        event.number(30, u64::MAX);
    });
    let trace = read(&trace.bytes).unwrap();
    let expected = [
        "4.0 retired 5 100",
        "4.0 memory (bytes) 3072 150",
        "4.0 load 12 160",
        "4.0 retired 12 200",
    ];
    assert_eq!(counters(&trace), expected);
    assert_eq!(
        trace.warnings.total(WarningKind::BadRow),
        1,
        "a negative value"
    );
}

#[test]
fn older_events_have_phases_and_times_in_microseconds() {
    let mut trace = Message::default();
    trace.packet(1, |packet| {
        packet.number(13, 1).message(44, |thread| {
            thread
                .number(1, 50)
                .number(2, 50)
                .data(5, "CrMain")
                .number(6, 1_000);
        });
        packet.message(43, |process| {
            process
                .number(1, 50)
                .data(2, "chrome")
                .data(2, "--flag")
                .data(6, "rank 2");
        });
    });
    let mut older = |phase: u8, delta: u64, name: &str, fields: &[(u64, u64)]| {
        trace.packet(1, |packet| {
            packet.number(13, 2).message(11, |event| {
                event.number(1, delta).data(23, name);
                event.message(6, |legacy| {
                    legacy.number(2, phase.into());
                    for &(field, value) in fields {
                        legacy.number(field, value);
                    }
                });
            });
        });
    };
    older(b'B', 1, "outer", &[]);
    older(b'X', 1, "whole", &[(3, 2)]);
    older(b'b', 1, "async", &[(6, 9)]);
    older(b'B', 4, "inner", &[]);
    older(b'E', 1, "", &[]);
    older(b'e', 1, "", &[(6, 9)]);
    older(b'e', 0, "", &[(6, 8)]);
    older(b'E', 1, "", &[]);
    older(b'X', 0, "other", &[(3, 3), (19, 77)]);
    let trace = read(&trace.bytes).unwrap();
    let expected = [
        "2.0 0 outer 1001000-1010000",
        "2.0 1 whole 1002000-1004000",
        "2.0 1 inner 1007000-1008000",
        "2.1 0 other 1010000-1013000",
        "2.2 0 async 1003000-1009000",
    ];
    assert_eq!(call_lines(&trace), expected);
    assert_eq!(trace.warnings.total(WarningKind::ExitWithoutEntry), 1);
    assert!(metadata(&trace).contains(&"2.0 Command Line=chrome --flag".to_owned()));
}

#[test]
fn joined_files_with_equal_ids_of_tracks_are_reported() {
    let file = |pid: u64| {
        let mut trace = Message::default();
        trace
            .process(1, pid, "solver")
            .thread((2, 1), (pid, pid), "main");
        // A tracer repeats its descriptors.
        trace
            .process(1, pid, "solver")
            .thread((2, 1), (pid, pid), "main");
        trace.event((BEGIN, 2, 1_000), |event| {
            event.data(23, "f");
        });
        trace.event((END, 2, 1_500), |_| {});
        trace.bytes
    };
    let count = |bytes: &[u8]| {
        read(bytes)
            .unwrap()
            .warnings
            .total(WarningKind::TracksShared)
    };
    assert_eq!(count(&file(7)), 0);
    assert_eq!(count(&[file(7), file(8)].concat()), 2, "process and thread");
}

#[test]
fn older_slices_that_end_before_they_begin_or_never_are_counted_as_such() {
    let mut trace = Message::default();
    trace.process(1, 7, "Rank 0").thread((2, 1), (7, 7), "");
    for (phase, time_ns, duration_us) in [
        (b'X', 1_000, u64::MAX),
        (b'b', 9_000, 0),
        (b'e', 8_000, 0),
        (b'b', 9_500, 0),
    ] {
        trace.event((0, 2, time_ns), |event| {
            event.data(23, "older").message(6, |legacy| {
                legacy.number(2, phase.into()).number(3, duration_us);
                legacy.number(6, 1);
            });
        });
    }
    let trace = read(&trace.bytes).unwrap();
    let expected = ["0.0 0 older 1000-1000", "0.1 0 older 9000-9000"];
    assert_eq!(call_lines(&trace), expected);
    let damage = trace.warnings.damage().map(|it| (it.kind, it.count));
    let expected = [
        (WarningKind::EntryWithoutExit, 1),
        (WarningKind::NegativeDuration, 2),
    ];
    assert_eq!(damage.collect::<Vec<_>>(), expected);
}

/// Writes one rank as TAU does: names in the events, categories and names of arguments interned, times since the epoch
/// that are stated as times since boot.
fn tau(rank: u64, epoch: u64) -> Message {
    let (process, thread, pid) = (0x1100 + rank, 0x2200 + rank, 5_000 + rank);
    let name = format!("Rank {rank}");
    let mut trace = Message::default();
    trace.packet(1, |packet| {
        packet.message(6, |clocks| {
            clocks.reading((6, 77_000 + rank), (1, false));
            clocks.reading((1, epoch - 500), (1, false)).number(2, 6);
        });
    });
    trace.packet(2, |packet| {
        packet.number(87, 1).number(42, 1).number(13, 1);
        packet.message(12, |interned| {
            for (table, id, name) in [
                (1, 1, "tau"),
                (1, 2, "tau_mpi"),
                (1, 3, "tau_meta"),
                (3, 1, "dst"),
                (3, 2, "src"),
                (3, 3, "tag"),
                (3, 4, "bytes"),
                (3, 5, "value"),
                (3, 6, "data"),
            ] {
                interned.message(table, |entry| {
                    entry.number(1, id).data(2, name);
                });
            }
        });
        packet.message(59, |defaults| {
            defaults.number(58, 6).message(11, |of_events| {
                of_events.number(11, thread);
            });
        });
    });
    trace.packet(2, |packet| {
        packet.message(60, |track| {
            track.number(1, process).data(2, &name);
            track.message(3, |it| {
                it.number(1, pid).data(6, &name);
            });
        });
    });
    trace.packet(2, |packet| {
        packet.message(60, |track| {
            track.number(1, thread).number(5, process).message(4, |it| {
                it.number(1, pid).number(2, pid);
                it.data(5, format!("Rank {rank}, CPU Thread 0"));
            });
        });
    });
    let (is_sender, other) = (rank == 0, 1 - rank);
    let mut event = |time, kind, category, name: &str, arguments: &[(u64, u64)]| {
        trace.packet(2, |packet| {
            packet
                .number(8, epoch + time)
                .number(13, 2)
                .message(11, |event| {
                    event.number(9, kind).number(3, category).data(23, name);
                    for &(name, value) in arguments {
                        event.message(4, |it| {
                            it.number(1, name).number(4, value);
                        });
                    }
                    if category == 2 {
                        event.fixed(if is_sender { 47 } else { 48 }, 1 << 32 | 33 << 16);
                    }
                });
        });
    };
    event(1_000, BEGIN, 1, "main", &[]);
    event(2_000, BEGIN, 1, "MPI_Sendrecv()", &[]);
    let partner = if is_sender { (1, other) } else { (2, other) };
    let name = if is_sender { "MPI_Send" } else { "MPI_Recv" };
    event(
        2_500 + rank,
        INSTANT,
        2,
        name,
        &[partner, (3, 33), (4, 4096)],
    );
    event(3_000, END, 1, "", &[]);
    event(3_001, INSTANT, 1, "Message size", &[(5, 4096)]);
    event(9_000, END, 1, "", &[]);
    trace.packet(2, |packet| {
        packet
            .number(8, epoch + 9_500)
            .number(13, 2)
            .message(11, |event| {
                event
                    .number(9, INSTANT)
                    .number(3, 3)
                    .data(23, "TAU Metadata");
                event.message(4, |it| {
                    it.number(1, 6)
                        .data(6, "Hostname=node7\nCommand Line=./lmp -in x=1");
                });
            });
    });
    trace
}

#[test]
fn ranks_messages_and_user_events_of_tau_are_read() {
    let epoch = 1_790_000_000_000_000_000;
    let (first, second) = (tau(0, epoch).bytes, tau(1, epoch).bytes);
    // The names of the files say another rank than the files themselves.
    let files = [
        ("tau.rank_1.perfetto", &first[..]),
        ("tau.rank_0.perfetto", &second[..]),
    ];
    let in_files = read_files(&files).unwrap();
    // TAU also joins the files into one; sequences differ then.
    let joined = read(&[&first[..], &second[..]].concat()).unwrap();
    for trace in [in_files, joined] {
        let time = |time_ns: u64| epoch + time_ns;
        let mut calls = Vec::new();
        for rank in 0..2 {
            calls.push(format!("{rank}.0 0 main {}-{}", time(1_000), time(9_000)));
            let (from, to) = (time(2_000), time(3_000));
            calls.push(format!("{rank}.0 1 MPI_Sendrecv() {from}-{to}"));
        }
        assert_eq!(call_lines(&trace), calls);
        let expected = [
            format!("0 send 1 33 4096 {}", time(2_500)),
            format!("1 recv 0 33 4096 {}", time(2_501)),
        ];
        assert_eq!(messages(&trace), expected);
        assert_eq!(trace.messages.len(), 1);
        let sample = format!("0.0 Message size 4096 {}", time(3_001));
        assert_eq!(counters(&trace)[0], sample);
        let facts = metadata(&trace);
        for fact in [
            "Hostname=node7",
            "Command Line=./lmp -in x=1",
            "Thread Name=Rank 1, CPU Thread 0",
        ] {
            assert!(facts.contains(&format!("1.0 {fact}")), "{fact}: {facts:?}");
        }
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    }
}

#[test]
fn ranks_are_stated_or_numbers_of_processes_or_their_order() {
    for (processes, expected, num_assumed) in [
        (&[(900, "Rank 5"), (800, "Rank 4")][..], &["4", "5"][..], 0),
        (&[(1, "a"), (0, "b")], &["0", "1"], 0),
        (&[(900, "a"), (800, "b")], &["0", "1"], 2),
        (&[(900, "Rank 0"), (800, "b")], &["0", "1"], 1),
        (&[(900, "Rank 0"), (900, "Rank 1")], &["0", "1"], 0),
        (&[(900, "a")], &["0"], 1),
    ] {
        let mut trace = Message::default();
        for (index, &(pid, name)) in (0..).zip(processes) {
            trace.process(10 + index, pid, name);
            trace.thread((20 + index, 10 + index), (pid, pid), "");
            trace.begin(20 + index, 5, name).end(20 + index, 9);
        }
        let trace = read(&trace.bytes).unwrap();
        let mut ranks: Vec<_> = trace.lanes.iter().map(|it| it.rank.to_string()).collect();
        ranks.dedup();
        assert_eq!(ranks, expected, "{processes:?}");
        let num = trace.warnings.total(WarningKind::RankAssumed);
        assert_eq!(num, num_assumed, "{processes:?}");
    }
}

#[test]
fn files_without_a_rank_have_that_of_their_names() {
    let bytes = small().bytes;
    let trace = read_files(&[
        ("app-rank-3.pftrace", &bytes),
        ("app-rank-8.pftrace", &bytes),
    ]);
    let trace = trace.unwrap();
    let ranks: Vec<_> = trace.lanes.iter().map(|it| it.rank.0).collect();
    assert_eq!(ranks, [3, 3, 8, 8]);
    assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 2);
}

#[test]
fn the_main_thread_is_the_first_one() {
    for (threads, expected) in [
        (&[(8, "a"), (5, "b"), (9, "c")][..], "b"),
        (
            &[(8, "a"), (7, "x, CPU Thread 1"), (9, "x, CPU Thread 0")],
            "x, CPU Thread 0",
        ),
        (&[(8, "a"), (7, "b")], "b"),
    ] {
        let mut trace = Message::default();
        trace.process(1, 5, "Rank 0");
        for (index, &(tid, name)) in (0..).zip(threads) {
            trace.thread((20 + index, 1), (5, tid), name);
            trace.begin(20 + index, 5, name).end(20 + index, 9);
        }
        let uuid = 19 + threads.len() as u64;
        trace.begin(uuid, 10, "more").end(uuid, 11);
        let trace = read(&trace.bytes).unwrap();
        let main = format!("0.0 Thread Name={expected}");
        assert!(metadata(&trace).contains(&main), "{threads:?}");
    }
}

#[test]
fn a_trace_without_track_events_is_an_error_that_says_how_to_record_them() {
    let mut trace = Message::default();
    trace.packet(1, |packet| {
        packet.message(1, |ftrace| {
            ftrace.number(1, 0);
        });
    });
    let error = read(&trace.bytes).unwrap_err();
    assert!(matches!(
        error.of_format(),
        Some(PerfettoError::NoTrackEvents { num_packets: 1, .. })
    ));
    assert!(error.to_string().contains("track_event data source"));
    // Other packets are no damage if there are track events.
    let mut both = small().bytes;
    both.extend(&trace.bytes);
    let both = read(&both).unwrap();
    assert!(both.warnings.damage().next().is_none());
}

#[test]
fn a_trace_without_the_clock_of_its_events_is_an_error_that_says_so() {
    let mut trace = Message::default();
    trace.packet(1, |packet| {
        // A clock of the sequence, which no snapshot defines.
        packet.number(8, 7).number(58, 99);
        packet.message(11, |event| {
            event.number(9, 1).data(23, "f");
        });
    });
    let error = read(&trace.bytes).unwrap_err();
    assert!(matches!(
        error.of_format(),
        Some(PerfettoError::NoTimes { num_events: 1, .. })
    ));
}

#[test]
fn other_files_are_not_taken() {
    for bytes in [
        &b"{\"traceEvents\": []}"[..],
        b"\n{\"traceEvents\": []}\n",
        b"\n\nTimestamp (ns),Event Type,Name\n",
        b"\x03\x42OTF2",
        b"SQLite format 3\0",
        &[0x1F, 0x8B, 8, 0, 0],
    ] {
        let error = read(bytes).unwrap_err();
        assert!(
            matches!(error, SourceError::NoTrace { .. }),
            "{bytes:?}: {error}"
        );
    }
}
