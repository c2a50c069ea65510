//! Archives: what is read of them, and that damage never ends the work.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use callgrove_local::{LocalFiles, Threads};
use callgrove_model::{Progress, Trace, WarningKind};
use callgrove_otf2::{Otf2Error, Otf2Format};
use callgrove_source::{
    FileSystem, MemoryFiles, OneByOne, Registry, SourceError, Workers, call_lines,
};
use proptest::prelude::*;
use support::{ArchiveWriter, CHUNK_BYTES, Writer};

fn read(files: MemoryFiles) -> Result<Trace, SourceError> {
    let registry = Registry::new(Arc::new(files), vec![Box::new(Otf2Format)]);
    registry.load(Path::new("run"), &OneByOne, Progress::none())
}

/// Writes two ranks, of which 1 has the lower location id. Rank 0 sends to rank 1 over a communicator of which only
/// rank 1 and 0 are members, in this order.
fn pair(is_big: bool) -> ArchiveWriter {
    let mut archive = ArchiveWriter::new(is_big);
    let events = archive.process(7, 700_000);
    events.at(100).enter(0).at(110).enter(2);
    // A send to rank 0 of communicator 5, as a record that a later version has made longer.
    events.record(14, |record| {
        record.value(0).value(5).value(33).value(4096).value(99);
    });
    // A record of a kind that does not exist, with a long length.
    events.record(200, |record| {
        record.bytes.resize(300, 1);
    });
    events.at(150).leave(2).at(200).leave(0);
    let events = archive.process(8, 3);
    events.at(100).enter(0).at(120).enter(1);
    events.at(160).values(18, &[1, 5, 33, 4096]);
    events.leave(1).at(210).leave(0);
    archive.group(1, 4, &[700_000, 3]);
    archive.group(1, 5, &[1, 0]);
    archive.group(2, 4, &[700_000, 3]);
    archive.definitions.values(22, &[4, u64::MAX, 2, u64::MAX]);
    archive.definitions.values(22, &[5, u64::MAX, 1, u64::MAX]);
    archive
}

const PAIR: [&str; 4] = [
    "0.0 0 main 100-200",
    "0.0 1 MPI_Send 110-150",
    "1.0 0 main 100-210",
    "1.0 1 work [{work.c} {42,0}] 120-160",
];

#[test]
fn calls_and_messages_of_both_byte_orders_are_read() {
    for is_big in [false, true] {
        let trace = read(pair(is_big).files()).unwrap();
        assert_eq!(call_lines(&trace), PAIR, "big-endian: {is_big}");
        assert_eq!(trace.messages.len(), 1);
        let sent = &trace.lanes[0].comms;
        assert_eq!((sent.tag[0] & 0xFFFF, sent.size_bytes[0]), (33, 4096));
        assert!(sent.tag[0] >> 32 != 0, "the communicator is not the world");
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    }
}

#[test]
fn collectives_are_numbered_within_their_communicator() {
    let mut archive = pair(false);
    archive.definitions.values(22, &[6, u64::MAX, 9, u64::MAX]);
    for (group, location) in [(17, 70), (18, 71)] {
        let events = archive.process(group, location);
        events.at(300).enter(1);
        // Operation 11 of the world, of the process alone, and of the world again, without a root.
        for communicator in [4, 6, 4] {
            events.record(23, |record| {
                record
                    .byte(11)
                    .value(communicator)
                    .value(u64::MAX)
                    .value(8)
                    .value(8);
            });
        }
        events.at(310).leave(1);
    }
    let trace = read(archive.files()).unwrap();
    let found = trace.collectives.iter();
    let found: Vec<_> = found
        .map(|it| (it.lane.0, it.communicator, it.sequence))
        .collect();
    let (world, a, b) = (found[0].1, found[2].1, found[5].1);
    assert!(world != a && a != b && world != b, "{found:?}");
    let of = |lane, alone| [(lane, world, 0), (lane, world, 1), (lane, alone, 0)];
    assert_eq!(found, [of(2, a), of(3, b)].concat());
}

#[test]
fn local_ids_and_clock_offsets_are_those_of_the_location() {
    let mut archive = ArchiveWriter::new(false);
    let events = archive.process(0, 0);
    events.at(0).enter(5).at(1_000).enter(1).leave(1);
    events.at(2_000).leave(5);
    let definitions = &mut archive.locations[0].1;
    definitions.chunk();
    // Regions: a sparse table with one entry.
    definitions.record(5, |record| {
        record.byte(3).value(1).byte(1).value(5).value(0);
    });
    for (tick, offset) in [(0, 100), (2_000, 300)] {
        definitions.record(6, |record| {
            record.full(tick).value(offset).full(0);
        });
    }
    let trace = read(archive.files()).unwrap();
    let expected = [
        "0.0 0 main 100-2300",
        "0.0 1 work [{work.c} {42,0}] 1200-1200",
    ];
    assert_eq!(call_lines(&trace), expected);
}

#[test]
fn threads_and_streams_belong_to_the_rank_of_their_process() {
    let mut archive = ArchiveWriter::new(false);
    archive.process(0, 10).at(0).enter(0).at(90).leave(0);
    archive.location(0, 11, 1).at(10).enter(1).at(20).leave(1);
    // An accelerator that process 0 created.
    archive.definitions.record(13, |record| {
        record
            .value(1)
            .value(u64::MAX)
            .byte(2)
            .value(u64::MAX)
            .value(0);
    });
    archive.location(1, 12, 2).at(30).enter(1).at(40).leave(1);
    let trace = read(archive.files()).unwrap();
    let expected = [
        "0.0 0 main 0-90",
        "0.1 0 work [{work.c} {42,0}] 10-20",
        "0.2 0 work [{work.c} {42,0}] 30-40",
    ];
    assert_eq!(call_lines(&trace), expected);
    let keys: Vec<_> = trace.metadata.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(keys, ["CUDA Device", "CUDA Stream"]);
}

#[test]
fn samples_of_metrics_are_on_the_first_thread_of_their_process() {
    let mut archive = ArchiveWriter::new(false);
    archive.process(0, 10).at(0).enter(0).at(90).leave(0);
    archive.string(20, "power");
    archive.string(21, "W");
    archive.definitions.record(19, |record| {
        record.value(0).value(20).value(u64::MAX);
        record.byte(0).byte(0).byte(4).byte(1).value(0).value(21);
    });
    archive.definitions.record(20, |record| {
        record.value(6).byte(1).value(0).byte(0).byte(0);
    });
    // Two devices have one metric; a group without threads is no process.
    for (group, location) in [(0, 13), (0, 14), (7, 15)] {
        let events = archive.location(group, location, 3);
        for tick in [20, 50] {
            events.at(tick + location).record(31, |record| {
                record.value(6).byte(1).byte(4).value(100 * location + tick);
            });
        }
    }
    let trace = read(archive.files()).unwrap();
    assert_eq!(call_lines(&trace), ["0.0 0 main 0-90"]);
    let counters: Vec<_> = trace.counter_names.iter().map(|(_, name)| name).collect();
    assert_eq!(counters, ["power (W)", "power (W), location 14"]);
    let samples = &trace.lanes[0].counters;
    assert_eq!(samples.value, [1320, 1420, 1350, 1450]);
    assert_eq!(trace.lanes.len(), 1);
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
}

#[test]
fn metrics_flushes_probed_messages_and_the_program_are_read() {
    let mut archive = pair(false);
    for (id, text) in [
        (20, "PAPI_TOT_CYC"),
        (21, "cycles"),
        (22, "./app"),
        (23, "-n 4"),
    ] {
        archive.string(id, text);
    }
    archive.definitions.record(19, |record| {
        record.value(0).value(20).value(u64::MAX);
        record.byte(0).byte(0).byte(4).byte(1).value(0).value(21);
    });
    archive.definitions.record(20, |record| {
        record.value(6).byte(1).value(0).byte(0).byte(0);
    });
    let events = &mut archive.locations[1].2;
    events.at(300).enter(0);
    events.record(31, |record| {
        record.value(6).byte(1).byte(4).value(1234);
    });
    // Found by a probe, requested, and received.
    events.values(89, &[1, 5, 34, 77]).values(91, &[77, 1]);
    events.at(310).values(92, &[1, 64]);
    events.record(10, |record| {
        record.full(350);
    });
    events.record(83, |record| {
        record.value(22).value(1).value(23);
    });
    events.at(360).leave(0);
    archive.locations[0]
        .2
        .at(290)
        .enter(2)
        .values(14, &[0, 5, 34, 64]);
    archive.locations[0].2.at(295).leave(2);
    let trace = read(archive.files()).unwrap();
    assert_eq!(trace.messages.len(), 2);
    let counters: Vec<_> = trace.counter_names.iter().map(|(_, name)| name).collect();
    assert_eq!(counters, ["PAPI_TOT_CYC (cycles)"]);
    assert_eq!(trace.lanes[1].counters.value, [1234]);
    let writes = trace
        .writes
        .iter()
        .map(|it| (it.lane.0, it.start.0, it.end.0));
    assert_eq!(writes.collect::<Vec<_>>(), [(1, 310, 350)]);
    let line = trace.metadata.iter().find(|it| it.key == "Command Line");
    assert_eq!(line.unwrap().value, "./app -n 4");
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
}

#[test]
fn hosts_are_nodes_and_not_the_numbers_of_processes() {
    let host = |name: &str, class: &str| {
        let mut archive = ArchiveWriter::new(false);
        archive.string(30, name);
        archive.string(31, class);
        archive.definitions.values(12, &[2, 30, 31, u64::MAX]);
        archive.definitions.record(13, |record| {
            record.value(0).value(u64::MAX).byte(1).value(2);
        });
        archive.location(0, 0, 1).at(0).enter(0).at(1).leave(0);
        let trace = read(archive.files()).unwrap();
        trace.metadata.first().map(|entry| entry.value.clone())
    };
    assert_eq!(host("n17", "node").as_deref(), Some("n17"));
    assert_eq!(host("node 0", "node"), None);
    assert_eq!(host("lmp", "application"), None);
}

#[test]
fn events_of_many_chunks_are_read_in_steps_of_one_length() {
    let mut archive = ArchiveWriter::new(false);
    let events = archive.process(0, 0);
    let mut tick = 0;
    for _ in 0..3 {
        for _ in 0..10_000 {
            events.at(tick).enter(1).at(tick + 1).leave(1);
            tick += 2;
        }
        events.chunk();
    }
    let trace = read(archive.files()).unwrap();
    assert_eq!((trace.num_executions(), trace.num_steps), (30_000, 1));
    assert!(trace.warnings.is_empty() && trace.writes.is_empty());
}

#[test]
fn no_event_is_lost_where_a_piece_of_a_chunk_ends() {
    let mut archive = ArchiveWriter::new(false);
    archive.process(0, 0);
    archive.location(0, 1, 1);
    for (location, mut tick) in [(0, 0), (1, 1)] {
        let events = &mut archive.locations[location].2;
        for call in 0..7_000 {
            events.at(tick);
            // In one file a piece ends with a time, in the other one anywhere in a record.
            let filler = if location == 1 { call % 70 } else { 11 };
            if call == 0 || (location == 1 && call % 5 == 0) {
                events.record(37, |record| record.bytes.resize(filler, 7));
            }
            events.enter(1).at(tick + 2).leave(1);
            tick += 4;
        }
    }
    let trace = read(archive.files()).unwrap();
    assert_eq!(trace.num_executions(), 14_000);
    assert!(trace.warnings.is_empty());
}

#[test]
fn events_before_the_first_time_are_left_out() {
    let mut archive = ArchiveWriter::new(false);
    let events = archive.process(7, 3);
    events.enter(0).leave(0);
    events.at(100).enter(1).at(200).leave(1);
    let trace = read(archive.files()).unwrap();
    assert_eq!(call_lines(&trace), ["0.0 0 work [{work.c} {42,0}] 100-200"]);
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 2);
}

#[test]
fn damage_costs_the_rest_of_its_chunk() {
    let mut archive = ArchiveWriter::new(false);
    let events = archive.process(0, 0);
    events.at(0).enter(1).at(1).leave(1);
    // A record whose length is beyond the chunk.
    events.byte(14).byte(0xFF).full(u64::MAX);
    events.chunk().at(5).enter(1).at(6).leave(1);
    let trace = read(archive.files()).unwrap();
    assert_eq!(trace.num_executions(), 2);
    let warning = trace.warnings.iter().next().unwrap();
    assert_eq!(warning.kind, WarningKind::BadRow);
    assert_eq!(
        warning.first.since(None),
        "chunk at byte 0: run/traces/0.evt"
    );
}

#[test]
fn zeros_in_a_chunk_that_states_more_events_are_damage() {
    let warnings = |num_events: u64| {
        let mut archive = ArchiveWriter::new(false);
        let events = archive.process(0, 0);
        // The head states the numbers of the first and the last event.
        events.bytes[10..18].copy_from_slice(&num_events.to_le_bytes());
        events.at(0).enter(1).record(6, |_| {}).at(1).leave(1);
        events.chunk().at(5).enter(1).at(6).leave(1);
        let trace = read(archive.files()).unwrap();
        assert_eq!(trace.num_executions(), 2);
        trace.warnings.total(WarningKind::BadRow)
    };
    assert_eq!([0, 2, 3].map(warnings), [0, 0, 1]);
}

#[test]
fn what_is_missing_is_reported() {
    let mut archive = pair(false);
    archive.locations.remove(1);
    let trace = read(archive.files()).unwrap();
    assert_eq!(call_lines(&trace), PAIR[..2]);
    assert_eq!(trace.warnings.total(WarningKind::FileMissing), 1);

    let fault = |files: MemoryFiles| match read(files).unwrap_err() {
        SourceError::Invalid { source, .. } => source.to_string(),
        error => error.with_causes(),
    };
    let mut killed = MemoryFiles::default();
    killed.put("run/traces/0.evt", &archive.locations[0].2.bytes);
    assert_eq!(fault(killed), Otf2Error::Killed.to_string());
    let mut empty = ArchiveWriter::new(false).files();
    assert_eq!(fault(empty.clone()), Otf2Error::NoProcesses.to_string());
    empty.put("run/traces.otf2", b"\x03\x42OTF2\0\x03\x02");
    assert_eq!(fault(empty.clone()), Otf2Error::ShortAnchor.to_string());
    empty.put("run/traces.otf2", b"text");
    assert_eq!(fault(empty), Otf2Error::NoAnchor.to_string());
    let mut cut = pair(false);
    let length = cut.definitions.bytes.len();
    cut.definitions.bytes.truncate(length - 3);
    assert_eq!(fault(cut.files()), Otf2Error::Definitions(0).to_string());
}

#[test]
fn an_archive_of_eztrace_reads_as_otf2_print_counts_it() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/data/lammps-4r-eztrace-otf2"
    );
    let registry = Registry::new(Arc::new(LocalFiles), vec![Box::new(Otf2Format)]);
    let threads = Threads::of_this_machine();
    let trace = registry.load(Path::new(folder), &threads, Progress::none());
    let trace = trace.unwrap();
    assert_eq!((trace.num_executions(), trace.lanes.len()), (6_844, 4));
    let num_sends: usize = trace.lanes.iter().map(|lane| lane.comms.len()).sum();
    assert_eq!(num_sends, 2_008);
    assert_eq!(trace.warnings.total(WarningKind::OneSideOnly), 2_008);
}

#[test]
fn several_threads_read_the_same_run_as_one() {
    let mut archive = ArchiveWriter::new(false);
    for rank in 0..12 {
        for thread in 0..3 {
            let location = 10 * rank + thread;
            let events = match thread {
                0 => archive.process(rank, location),
                _ => archive.location(rank, location, 1),
            };
            for call in 0..2_000 {
                let start = 40 * call + 7 * thread + rank;
                events.at(start).enter(call % 2);
                events.record(14, |record| {
                    record.value((rank + 1) % 12).value(4).value(call).value(8);
                });
                events.at(start + 30).leave(call % 2);
            }
        }
    }
    let members: Vec<u64> = (0..12).collect();
    let mains: Vec<u64> = members.iter().map(|rank| 10 * rank).collect();
    archive.group(1, 4, &mains);
    archive.group(1, 5, &members);
    archive.definitions.values(22, &[4, u64::MAX, 1, u64::MAX]);
    let registry = Registry::new(Arc::new(archive.files()), vec![Box::new(Otf2Format)]);
    let read = |workers: &dyn Workers| {
        let trace = registry.load(Path::new("run"), workers, Progress::none());
        let trace = trace.unwrap();
        let names: Vec<_> = trace.names.iter().map(|it| it.1.to_owned()).collect();
        let (lanes, messages) = (&trace.lanes, &trace.messages);
        format!("{names:?} {lanes:?} {messages:?} {:?}", trace.warnings)
    };
    let one = read(&OneByOne);
    assert!(one.len() > 1_000_000, "{}", one.len());
    for num_threads in [2, 5] {
        let threads = Threads::new(NonZeroUsize::new(num_threads).unwrap());
        assert!(read(&threads) == one, "{num_threads} threads");
    }
}

/// Returns the files of an archive with one file changed.
fn with_file(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> MemoryFiles {
    let mut files = pair(false).files();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut files.open(Path::new(name)).unwrap(), &mut bytes).unwrap();
    change(&mut bytes);
    files.put(name, &bytes);
    files
}

fn any_file() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "run/traces.otf2",
        "run/traces.def",
        "run/traces/700000.evt",
        "run/traces/3.evt",
    ])
}

proptest! {
    #[test]
    fn a_cut_anywhere_is_never_fatal(name in any_file(), at in 0.0..1.0) {
        let files = with_file(name, |bytes| bytes.truncate((bytes.len() as f64 * at) as usize));
        if let Ok(trace) = read(files) {
            prop_assert!(trace.num_executions() <= 4);
        }
    }

    #[test]
    fn a_changed_byte_anywhere_is_never_fatal(name in any_file(), at in 0.0..1.0, byte: u8) {
        let files = with_file(name, |bytes| {
            let at = (bytes.len() as f64 * at) as usize;
            bytes[at] = byte;
        });
        if let Ok(trace) = read(files) {
            prop_assert!(trace.num_executions() <= 16);
        }
    }

    #[test]
    fn any_events_are_never_fatal(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut archive = ArchiveWriter::new(false);
        let events = archive.process(0, 0);
        events.at(0).bytes.extend(noise);
        prop_assert!(read(archive.files()).is_ok());
    }
}

#[test]
fn the_writer_of_these_tests_fills_chunks() {
    let mut writer = Writer::new(false);
    writer.chunk().at(1).chunk();
    assert_eq!(writer.bytes.len(), CHUNK_BYTES + 18);
}
