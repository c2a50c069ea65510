//! Traces of any program: what is read of them, in every form in which they are written.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![allow(dead_code, reason = "each test file uses a part of the helpers")]

mod support;

use std::path::Path;
use std::sync::Arc;

use callgrove_chrome::{ChromeError, ChromeFormat};
use callgrove_model::{RankId, WarningKind};
use callgrove_source::{Input, MemoryFiles, RecordedRun, Registry, SourceError, call_lines};
use support::{gzip, read, read_all, read_as, warnings, zstandard};

/// Events with and without an end of their own, not in order of time.
const EVENTS: [&str; 5] = [
    r#"{"ph":"X","name":"b","pid":0,"tid":1,"ts":2,"dur":3,"args":{"x":[1,{"y":"}"}]}}"#,
    r#"{"ph":"B","name":"c","pid":0,"tid":1,"ts":6}"#,
    r#"{"ph":"E","pid":0,"tid":1,"ts":7.5}"#,
    r#"{"ph":"X","name":"a","pid":0,"tid":1,"ts":"1","dur":"9"}"#,
    r#"{"ph":"i","name":"instant","pid":0,"tid":1,"ts":3,"s":"g"}"#,
];

const CALLS: [&str; 3] = [
    "0.0 0 a 1000-10000",
    "0.0 1 b 2000-5000",
    "0.0 1 c 6000-7500",
];

#[test]
fn calls_are_read_in_every_form() {
    let joined = EVENTS.join(",\n");
    let lines = EVENTS.join("\n");
    for text in [
        format!("[{joined}]"),
        format!("[\n{joined},\n"),
        format!("\u{feff} [{joined},]"),
        format!("[\n{lines}\n]"),
        format!("{lines}\n"),
        format!(r#"{{"traceEvents":[{joined}],"displayTimeUnit":"ns"}}"#),
        format!(r#"{{"x":{{"a":["]"]}},"displayTimeUnit":"ms","traceEvents" : [{joined}]}}"#),
    ] {
        let trace = read(&text).unwrap();
        assert_eq!(call_lines(&trace), CALLS, "{text}");
        assert_eq!(warnings(&trace), ["RankAssumed 1"], "{text}");
    }
}

#[test]
fn times_are_exact_wherever_their_base_is() {
    let event = |name: &str, ts: &str, dur: &str| {
        format!(r#"{{"ph":"X","name":"{name}","pid":7,"tid":7,"ts":{ts},"dur":{dur}}}"#)
    };
    let events = [
        event("a", "4203669604595.407", "340.024"),
        event("b", "1.7e3", "1e-3"),
        event("c", "-0.5", "0.25"),
    ];
    let events = events.join(",");
    let base = r#""baseTimeNanoseconds":1735632360000000000"#;
    for text in [
        format!(r#"{{{base},"traceEvents":[{events}]}}"#),
        format!(r#"{{"traceEvents":[{events}],{base}}}"#),
    ] {
        let expected = [
            "0.0 0 c 1735632359999999500-1735632359999999750",
            "0.0 0 b 1735632360001700000-1735632360001700001",
            "0.0 0 a 1739836029604595407-1739836029604935431",
        ];
        assert_eq!(call_lines(&read(&text).unwrap()), expected);
    }
}

#[test]
fn impossible_values_are_left_out_and_counted() {
    let event = |ts: &str, dur: &str| {
        format!(r#"{{"ph":"X","name":"a","pid":7,"tid":7,"ts":{ts},"dur":{dur}}}"#)
    };
    let events = [
        event("1", "1"),
        event("NaN", "1"),
        event("1e300", "1"),
        event("[]", "1"),
        event("5", "null"),
        event("7", "-2"),
        r#"{"ph":"X","name":"a","pid":7,"tid":7}"#.to_owned(),
    ];
    let trace = read(format!("[{}]", events.join(","))).unwrap();
    let expected = ["0.0 0 a 1000-2000", "0.0 0 a 7000-7000"];
    assert_eq!(call_lines(&trace), expected);
    assert_eq!(
        warnings(&trace),
        ["BadRow 5", "NegativeDuration 1", "RankAssumed 1"]
    );
}

#[test]
fn names_are_decoded_and_damage_in_them_is_counted_once_each() {
    let event = |name: &[u8]| {
        let mut text = br#"{"ph":"X","pid":1,"ts":1,"dur":1,"name":""#.to_vec();
        text.extend(name);
        text.extend(br#""}"#);
        text
    };
    let names: [&[u8]; 5] = [
        br"\u00e9\ud83d\ude00\/",
        b"a\x01\nb",
        b"a\x01\nb",
        b"\xff",
        "é".as_bytes(),
    ];
    let events: Vec<_> = names.iter().map(|it| event(it)).collect();
    let mut text = b"[".to_vec();
    text.extend(events.join(&b','));
    let trace = read(&text).unwrap();
    let found: Vec<_> = trace.names.iter().map(|it| it.1.to_owned()).collect();
    assert_eq!(found, ["é😀/", "a  b", "\u{fffd}", "é"]);
    assert_eq!(warnings(&trace), ["TextChanged 2", "RankAssumed 1"]);
}

#[test]
fn processes_are_ranks_by_name_or_number_or_order() {
    let run = |pids: [&str; 2], names: [&str; 2]| {
        let events = pids.iter().zip(names).map(|(pid, name)| {
            format!(
                r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{name}"}}}},
                {{"ph":"X","name":"f","pid":{pid},"tid":"main","ts":1,"dur":1}}"#
            )
        });
        let text = format!("[{}]", events.collect::<Vec<_>>().join(","));
        let trace = read(text).unwrap();
        let ranks: Vec<u32> = trace.lanes.iter().map(|it| it.rank.0).collect();
        (ranks, trace.warnings.total(WarningKind::RankAssumed))
    };
    assert_eq!(run(["70", "71"], ["Rank 3", "Rank 2"]), (vec![2, 3], 0));
    assert_eq!(run(["1", "0"], ["", ""]), (vec![0, 1], 0));
    assert_eq!(run(["70", "\"71\""], ["a", "b"]), (vec![0, 1], 1));
    assert_eq!(run(["\"rank 1\"", "\"rank 4\""], ["", ""]), (vec![1, 4], 0));
}

#[test]
fn a_file_of_one_process_has_the_rank_of_its_name() {
    let text = r#"[{"ph":"X","name":"f","pid":4711,"tid":4711,"ts":1,"dur":1}]"#;
    let other = text.replace('f', "g");
    let files = [
        ("a_rank5.json", text.as_bytes()),
        ("a_rank2.json", other.as_bytes()),
    ];
    let trace = read_all(&files).unwrap();
    assert_eq!(
        call_lines(&trace),
        ["2.0 0 g 1000-2000", "5.0 0 f 1000-2000"]
    );
    let first = trace.warnings.iter().next().unwrap();
    assert_eq!((first.kind, first.count), (WarningKind::RankAssumed, 2));
    assert_eq!(first.first.place, "run/a_rank2.json");
}

#[test]
fn flows_between_ranks_are_messages() {
    let calls = r#"{"ph":"X","name":"send","pid":0,"tid":1,"ts":10,"dur":5},
        {"ph":"X","name":"work","pid":0,"tid":1,"ts":30,"dur":5},
        {"ph":"X","name":"recv","pid":1,"tid":1,"ts":20,"dur":5}"#;
    let flow = r#",{"ph":"f","bp":"e","cat":"m","name":"m","id":"0x7","pid":1,"tid":1,"ts":24},
        {"ph":"s","cat":"m","name":"m","id":"0x7","pid":0,"tid":1,"ts":12},
        {"ph":"s","cat":"m","name":"m","id":"0x8","pid":0,"tid":1,"ts":12},
        {"ph":"f","cat":"m","name":"m","id":"0x8","pid":0,"tid":1,"ts":31}"#;
    let bound = calls
        .replace(r#""ts":10,"#, r#""ts":10,"bind_id":"0x3","flow_out":true,"#)
        .replace(r#""ts":20,"#, r#""ts":20,"bind_id":"0x3","flow_in":true,"#);
    for (text, times) in [
        (format!("[{calls}{flow}]"), (12, 24)),
        (format!("[{bound}]"), (10, 20)),
    ] {
        let trace = read(text).unwrap();
        assert_eq!(trace.messages.len(), 1);
        let found: Vec<_> = trace.lanes.iter().map(|it| it.comms.time[0].0).collect();
        assert_eq!(found, [times.0 * 1_000, times.1 * 1_000]);
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    }
}

#[test]
fn asynchronous_calls_are_on_lanes_of_their_category() {
    let event = |ph: &str, id: &str, time_us: u32| {
        format!(
            r#"{{"ph":"{ph}","cat":"io","name":"read{id}","id2":{{"local":"{id}"}},"pid":3,"ts":{time_us}}}"#
        )
    };
    let events = [
        r#"{"ph":"X","name":"main","pid":3,"tid":3,"ts":0,"dur":9}"#.to_owned(),
        event("b", "0x1", 1),
        event("b", "0x2", 2),
        event("n", "0x1", 2),
        event("e", "0x1", 4),
        event("e", "0x2", 8),
        event("e", "0x9", 8),
        event("b", "0x5", 8),
    ];
    let trace = read(format!("[{}]", events.join(","))).unwrap();
    let expected = [
        "0.0 0 main 0-9000",
        "0.1 0 read0x1 1000-4000",
        "0.1 0 read0x5 8000-8000",
        "0.2 0 read0x2 2000-8000",
    ];
    assert_eq!(call_lines(&trace), expected);
    assert_eq!(
        warnings(&trace),
        [
            "ExitWithoutEntry 1",
            "CallsOverlap 1",
            "RankAssumed 1",
            "Unclosed 1"
        ]
    );
}

#[test]
fn counters_are_whole_numbers_of_the_main_thread() {
    let event =
        |args: &str| format!(r#"{{"ph":"C","name":"mem","pid":3,"ts":5,"args":{{{args}}}}}"#);
    let events = [
        r#"{"ph":"X","name":"main","pid":3,"tid":3,"ts":0,"dur":9}"#.to_owned(),
        event(r#""value":12.5"#),
        event(r#""free":"3","used":1e6,"unit":"MB""#),
        event(r#""value":-1"#),
    ];
    let trace = read(format!("[{}]", events.join(","))).unwrap();
    let counters = &trace.lanes[0].counters;
    let names = counters
        .counter
        .iter()
        .map(|it| trace.counter_names.name(*it));
    let found: Vec<_> = names.zip(counters.value.iter().copied()).collect();
    assert_eq!(
        found,
        [("mem", 13), ("mem free", 3), ("mem used", 1_000_000)]
    );
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 1);
}

#[test]
fn compressed_files_are_read_and_cut_ones_as_far_as_they_go() {
    let text = format!("[{}]", EVENTS.join(",\n"));
    let (first, second) = text.split_at(100);
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let frames = [zstandard(first.as_bytes()), zstandard(second.as_bytes())].concat();
    for file in [
        gzip(text.as_bytes()),
        members,
        zstandard(text.as_bytes()),
        frames,
    ] {
        let trace = read_as("a.bin", &file).unwrap();
        assert_eq!(call_lines(&trace), CALLS);
    }
    let event = |at| format!(r#"{{"ph":"X","name":"f{at}","pid":1,"tid":1,"ts":{at},"dur":1}}"#);
    let long: Vec<_> = (0..40_000).map(event).collect();
    let long = format!("[{}]", long.join(","));
    for mut file in [gzip(long.as_bytes()), zstandard(long.as_bytes())] {
        let num = file.len();
        file.truncate(num * 3 / 4);
        let trace = read(&file).unwrap();
        assert!(
            trace.num_executions() > 10_000,
            "{}",
            trace.num_executions()
        );
        assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 1);
    }
}

#[test]
fn cut_files_are_read_as_far_as_they_go() {
    let joined = EVENTS.join(",\n");
    for (start, num_warnings) in [("[", 1), (r#"{"traceEvents":["#, 1), ("", 1)] {
        let text = format!("{start}{joined}");
        let trace = read(&text[..text.len() - 20]).unwrap();
        assert_eq!(call_lines(&trace), CALLS, "{start}");
        let num = trace.warnings.total(WarningKind::StreamTruncated);
        assert_eq!(num, num_warnings, "{start}");
    }
}

#[test]
fn a_file_of_jax_is_one_rank_with_its_devices() {
    let name = |pid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":"{name}"}}}}"#)
    };
    let events = [
        name(1, "/device:GPU:0"),
        name(701, "/host:CPU"),
        r#"{"ph":"X","name":"fusion","pid":1,"tid":14,"ts":5,"dur":1}"#.to_owned(),
        r#"{"ph":"X","name":"PjitFunction","pid":701,"tid":99,"ts":1,"dur":7}"#.to_owned(),
    ];
    let text = format!(
        r#"{{"displayTimeUnit":"ns","traceEvents":[{}]}}"#,
        events.join(",")
    );
    let trace = read(text).unwrap();
    let expected = ["0.0 0 PjitFunction 1000-8000", "0.1 0 fusion 5000-6000"];
    assert_eq!(call_lines(&trace), expected);
    let gpu = trace.metadata.iter().find(|it| it.key == "CUDA Stream");
    assert_eq!(gpu.unwrap().value, "14");
}

#[test]
fn rows_of_jax_that_show_work_again_are_no_streams() {
    let name = |kind: &str, tid: &str, name: &str| {
        format!(r#"{{"ph":"M","name":"{kind}","pid":1{tid},"args":{{"name":"{name}"}}}}"#)
    };
    let call = |name: &str, tid: u32, ts_us: u32, dur_us: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts_us},"dur":{dur_us}}}"#)
    };
    let events = [
        name("process_name", "", "/device:GPU:0"),
        name("thread_name", r#","tid":14"#, "Stream #14(Compute)"),
        name("thread_name", r#","tid":15"#, "XLA Ops"),
        call("while.3", 14, 0, 100),
        call("fusion.2", 14, 50, 9),
        call("while.3", 15, 0, 100),
        call("fusion.2", 15, 50, 9),
    ];
    let trace = read(format!("[{}]", events.join(","))).unwrap();
    let expected = [
        "0.0 0 while 0-100000",
        "0.1 0 fusion 50000-59000",
        "0.2 0 while 0-100000",
        "0.2 1 fusion 50000-59000",
    ];
    assert_eq!(call_lines(&trace), expected);
}

#[test]
fn a_file_of_the_first_profiler_of_pytorch_is_one_rank() {
    let event = |rest: &str| format!(r#"{{"args":{{}},{rest}}}"#);
    let text = [
        event(r#""name":"mm","ph":"X","ts":1,"dur":9,"tid":5,"pid":"CPU functions""#),
        event(
            r#""name":"mm","ph":"s","ts":1,"tid":5,"pid":"CPU functions","id":0,"cat":"cpu_to_cuda""#,
        ),
        event(r#""name":"gemm","ph":"X","ts":4,"dur":8,"tid":1,"pid":"CUDA functions""#),
        event(
            r#""name":"mm","ph":"f","ts":4,"tid":1,"pid":"CUDA functions","id":0,"cat":"cpu_to_cuda""#,
        ),
    ];
    let trace = read(format!("[{}]", text.join(","))).unwrap();
    assert_eq!(
        call_lines(&trace),
        ["0.0 0 mm 1000-10000", "0.1 0 gemm 4000-12000"]
    );
    let launch = trace.launches[0];
    assert_eq!((launch.lane.0, launch.by.0), (1, 0));
    let gpu = trace.metadata.iter().find(|it| it.key == "CUDA Device");
    assert_eq!(gpu.unwrap().value, "1");
}

#[test]
fn arguments_in_names_are_not_parts_of_functions() {
    let call = |name: &str, ts_us: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":0,"tid":1,"ts":{ts_us},"dur":1}}"#)
    };
    let run = "<built-in method run_backward of torch._C._EngineBase object at";
    let events = [
        call(&format!("{run} 0x7f4f85497ec0>"), 1),
        call(&format!("{run} 0x7f0000000000>"), 2),
        call("aten::copy_, seq = 46174, op_id = 993406", 3),
        call("aten::copy_", 4),
        call("cudaMemsetAsync_v3020", 5),
        call("all-reduce.2", 6),
        call("foo.cold.1", 7),
    ];
    let trace = read(format!("[{}]", events.join(","))).unwrap();
    let found: Vec<_> = trace.names.iter().map(|it| it.1.to_owned()).collect();
    let expected = [
        "<built-in method run_backward of torch._C._EngineBase object>",
        "aten::copy_",
        "cudaMemsetAsync",
        "all-reduce",
        "foo.cold.1",
    ];
    assert_eq!(found, expected);
    assert_eq!(warnings(&trace), ["RankAssumed 1"]);
}

#[test]
fn names_of_ends_say_which_call_ends() {
    let event = |ph: &str, name: &str, ts_us: u32| {
        format!(
            r#"{{"ph":"{ph}","name":"{name}","cat":"jobs","id":"1","pid":0,"tid":1,"ts":{ts_us}}}"#
        )
    };
    let check = |events: &[(&str, &str, u32)], lines: &[&str], expected: &[&str]| {
        let events = events.iter().map(|it| event(it.0, it.1, it.2));
        let trace = read(format!("[{}]", events.collect::<Vec<_>>().join(","))).unwrap();
        assert_eq!(call_lines(&trace), lines);
        let warnings = warnings(&trace);
        assert_eq!(warnings[..warnings.len() - 1], *expected);
    };
    // Asynchronous calls overlap.
    let events = [
        ("b", "outer", 0),
        ("b", "load", 0),
        ("e", "load", 3),
        ("b", "store", 1),
        ("e", "store", 4),
        ("e", "save", 4),
        ("e", "outer", 5),
    ];
    let lines = [
        "0.0 0 outer 0-5000",
        "0.0 1 load 0-3000",
        "0.1 0 store 1000-4000",
    ];
    let expected = ["ExitWithoutEntry 1", "CallsOverlap 1"];
    check(&events, &lines, &expected);
    // Ends of calls that began before the recording end no other call.
    let events = [
        ("E", "read", 0),
        ("B", "solve", 1),
        ("B", "sweep", 3),
        ("E", "read", 7),
        ("E", "init", 8),
        ("E", "sweep", 21),
        ("E", "solve", 23),
    ];
    let lines = ["0.0 0 solve 1000-23000", "0.0 1 sweep 3000-21000"];
    check(&events, &lines, &["ExitWithoutEntry 3"]);
    // An end of a caller ends its callees.
    let events = [
        ("B", "solve", 1),
        ("B", "sweep", 3),
        ("E", "solve", 7),
        ("E", "sweep", 9),
    ];
    let lines = ["0.0 0 solve 1000-7000", "0.0 1 sweep 3000-7000"];
    let expected = ["ExitWithoutEntry 1", "MissingExit 1"];
    check(&events, &lines, &expected);
}

#[test]
fn the_limit_of_jax_is_reported() {
    let event = r#"{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":1},"#;
    for (num, is_reported) in [(1_000_000, 1), (1_000_001, 0)] {
        let trace = read(format!("[{}]", event.repeat(num))).unwrap();
        let truncated = trace.warnings.total(WarningKind::StreamTruncated);
        assert_eq!(truncated, is_reported);
    }
}

#[test]
fn errors_name_the_fault() {
    let fault = |text: &str| match read(text).unwrap_err() {
        SourceError::Invalid { source, .. } => source.to_string(),
        error => error.with_causes(),
    };
    let empty = r#"{"traceEvents": [{"ph":"i","name":"x","ts":1}]}"#;
    assert_eq!(fault(empty), ChromeError::NoCalls(1).to_string());
    let cut = ChromeError::Cut("the text ends at its byte 17".to_owned());
    assert_eq!(fault(r#"{"traceEvents": [{"ph":"#), cut.to_string());
    let damaged = r#"{"traceEvents": 5}"#;
    assert_eq!(fault(damaged), ChromeError::Damaged(1).to_string());
    assert!(matches!(read("{}"), Err(SourceError::NoTrace { .. })));
}

#[test]
fn ranks_are_known_before_the_events_are_read() {
    let mut files = MemoryFiles::default();
    let event = r#"{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":1}"#;
    let text = format!(r#"{{"traceEvents":[{event}],"distributedInfo":{{"rank":7}}}}"#);
    files.put("a.json", text.as_bytes());
    files.put("b.json", format!("[{event}]").as_bytes());
    let files: Arc<MemoryFiles> = Arc::new(files);
    let ranks = |name: &str| {
        let registry = Registry::new(
            Arc::clone(&files) as Arc<dyn callgrove_source::FileSystem>,
            vec![Box::new(ChromeFormat)],
        );
        let Ok(RecordedRun::Events(mut parts)) = registry.open(Path::new(name)) else {
            panic!("{name} has parts");
        };
        parts[0].assume_rank(RankId(3));
        let ranks = parts[0].ranks().unwrap();
        (ranks[0].1.0, parts[0].named_rank())
    };
    assert_eq!(ranks("a.json"), (7, Some(RankId(3))));
    assert_eq!(ranks("b.json"), (3, Some(RankId(3))));
    let files = files as Arc<dyn callgrove_source::FileSystem>;
    assert!(!Input::new(Path::new("c.json"), &files).exists());
}
