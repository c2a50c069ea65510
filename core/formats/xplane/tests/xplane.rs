//! XPlane files: what is read of those of each device.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::io::Write;

use callgrove_model::{LaneIdx, TimeNs, Trace, WarningKind};
use callgrove_source::{SourceError, call_lines};
use callgrove_xplane::XplaneError;
use flate2::Compression;
use flate2::write::GzEncoder;
use support::{PlaneMessage, SMALL_PLANES, START_NS, read_planes, small_planes};

fn read(file: &PlaneMessage) -> Trace {
    read_planes(&[("host.xplane.pb", &file.bytes)]).unwrap()
}

/// Returns the calls with times after the beginning of the profile.
fn calls(trace: &Trace) -> Vec<String> {
    let lines = call_lines(trace).into_iter().map(|line| {
        let (call, times) = line.rsplit_once(' ').unwrap();
        let times = times.split('-').map(|it| {
            let time: u64 = it.parse().unwrap();
            (if time >= START_NS {
                time - START_NS
            } else {
                time
            })
            .to_string()
        });
        format!("{call} {}", times.collect::<Vec<_>>().join("-"))
    });
    lines.collect()
}

fn metadata(trace: &Trace) -> Vec<String> {
    let entries = trace.metadata.iter();
    entries
        .map(|it| format!("{} {}={}", it.thread.0, it.key, it.value))
        .collect()
}

#[test]
fn threads_streams_and_ranges_are_lanes_and_times_are_since_the_epoch() {
    let trace = read(&small_planes());
    assert_eq!(calls(&trace), SMALL_PLANES);
    let start = trace.lanes.iter().map(|it| it.executions.entry[0].0).min();
    assert_eq!(start, Some(START_NS.cast_signed() + 1_000));
    let facts = metadata(&trace);
    for fact in [
        "0 Thread Name=python",
        "0 Hostname=worker-3",
        "0 pid=4711",
        "3 Thread Name=Stream #13(Compute)",
        "4 Thread Name=/device:TPU:0 Steps",
    ] {
        assert!(facts.iter().any(|it| it == fact), "{fact} {facts:?}");
    }
    let kinds: Vec<_> = trace.warnings.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [WarningKind::RankAssumed]);
}

#[test]
fn work_is_joined_with_the_call_that_launched_it() {
    let trace = read(&small_planes());
    let thread = |lane: LaneIdx| trace.lanes[lane.index()].thread.0;
    let since = |time: TimeNs| time.0 - START_NS.cast_signed();
    let launches = trace.launches.iter();
    let mut launches: Vec<_> = launches
        .map(|it| {
            [
                (thread(it.lane), since(it.time)),
                (thread(it.by), since(it.launched)),
            ]
        })
        .collect();
    launches.sort_unstable();
    assert_eq!(
        launches,
        [
            [(3, 4_500), (0, 2_000)],
            [(3, 9_500), (0, 8_000)],
            [(5, 9_000), (0, 8_000)],
        ]
    );
}

#[test]
fn a_packed_file_is_read_and_files_are_ranks_by_their_hosts() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&small_planes().bytes).unwrap();
    let packed = packed.finish().unwrap();
    let plain = small_planes().bytes;
    let files: [(&str, &[u8]); 2] = [
        ("worker-1.xplane.pb.gz", &packed),
        ("worker-0.xplane.pb", &plain),
    ];
    let trace = read_planes(&files).unwrap();
    assert_eq!(trace.num_executions(), 2 * SMALL_PLANES.len());
    let ranks: Vec<u32> = trace.lanes.iter().map(|it| it.rank.0).collect();
    assert_eq!(ranks, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn times_since_the_epoch_are_not_moved_and_times_without_a_start_begin_at_zero() {
    for (start_ns, line_ns, expected) in [
        (Some(START_NS), START_NS + 7, "0.0 0 work 7-9"),
        (Some(START_NS), 7, "0.0 0 work 7-9"),
        (None, 7, "0.0 0 work 7-9"),
    ] {
        let mut file = PlaneMessage::default();
        file.plane("/host:CPU", |plane| {
            plane.line((1, "main"), line_ns, |line| {
                line.event(1, (0, 2_000), &[]);
            });
            plane.entry(4, 1, "work");
        });
        if let Some(start_ns) = start_ns {
            file.environment(start_ns);
        }
        assert_eq!(calls(&read(&file)), [expected]);
    }
}

#[test]
fn the_number_and_name_of_a_line_may_follow_its_events() {
    let mut file = PlaneMessage::default();
    file.plane("/host:CPU", |plane| {
        plane.entry(4, 1, "work");
        plane.message(3, |line| {
            line.event(1, (5_999, 2_000), &[]);
            line.number(3, 100).data(11, "shown").data(2, "name");
        });
    });
    let trace = read(&file);
    assert_eq!(calls(&trace), ["0.0 0 work 105-107"]);
    assert!(metadata(&trace).contains(&"0 Thread Name=shown".to_owned()));
}

#[test]
fn counts_and_counters_are_no_calls_and_a_file_without_calls_is_an_error() {
    let mut file = PlaneMessage::default();
    file.plane("/host:CPU", |plane| {
        plane.line((1, "main"), 0, |line| {
            line.message(4, |event| {
                event.number(1, 1).number(5, 30);
            });
        });
        plane.line((2, "_counters_"), 0, |line| {
            line.event(1, (0, 1), &[]);
        });
        plane.entry(4, 1, "work");
    });
    let error = read_planes(&[("a.pb", &file.bytes)]).unwrap_err();
    let error = error.of_format::<XplaneError>();
    assert!(matches!(
        error,
        Some(XplaneError::NoEvents { num_planes: 1, .. })
    ));
}

#[test]
fn a_name_that_the_table_lacks_gets_a_placeholder() {
    let mut file = PlaneMessage::default();
    file.plane("/host:CPU", |plane| {
        plane.line((1, "main"), 0, |line| {
            line.event(8, (0, 1_000), &[]);
        });
    });
    let trace = read(&file);
    assert_eq!(calls(&trace), ["0.0 0 event 8 0-1"]);
    assert_eq!(trace.warnings.total(WarningKind::UnknownName), 1);
}

#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let file = small_planes().bytes;
    let cut = file.len() / 2;
    let trace = read_planes(&[("a.pb", &file[..cut])]).unwrap();
    assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 1);
    assert!(trace.num_executions() >= 5);
    let error = read_planes(&[("a.pb", &file[..80])]).unwrap_err();
    assert!(matches!(error, SourceError::Damaged { .. }), "{error}");
}
