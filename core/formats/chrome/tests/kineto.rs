//! Traces of PyTorch: rows of threads and GPUs, launches, collectives that all ranks number alike.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![allow(dead_code, reason = "each test file uses a part of the helpers")]

mod support;

use callgrove_model::{Property, Trace, WarningKind};
use callgrove_source::call_lines;
use support::{KinetoText, read, read_all, read_as, warnings};

const MAIN: (&str, &str) = ("41", "41");
const BACKWARD: (&str, &str) = ("41", "52");
const STREAM: (&str, &str) = ("1", "7");
const NCCL: (&str, &str) = ("1", "20");

/// Returns a training of two iterations with a kernel in each, which the backward thread launches.
fn training() -> KinetoText {
    let mut file = KinetoText::of_rank(1);
    file.head.push(
        r#""deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "NVIDIA H100"}]"#
            .to_owned(),
    );
    let thread = |tid: &str, name: &str| {
        format!(
            r#""name": "thread_name", "ph": "M", "pid": 41, "tid": {tid}, "ts": 0, "args": {{"name": "{name}"}}"#
        )
    };
    file.event(&thread("52", "pt_autograd"));
    for (number, ts) in [(5, 100), (6, 200)] {
        let at = |offset| format!("{}.000", ts + offset);
        let correlation = format!(r#""External id": 3, "correlation": {ts}"#);
        file.call("cpu_op", "aten::add", BACKWARD, (&at(10), "30"), "");
        file.call(
            "cuda_runtime",
            "cudaLaunchKernel",
            BACKWARD,
            (&at(11), "5"),
            &correlation,
        );
        let kernel = format!(r#"{correlation}, "device": 1, "stream": 7"#);
        file.call("kernel", "vectorized", STREAM, (&at(20), "40.5"), &kernel);
        let name = format!("ProfilerStep#{number}");
        file.call("user_annotation", &name, MAIN, (&at(0), "90"), "");
        file.call("gpu_user_annotation", &name, STREAM, (&at(19), "50"), "");
    }
    file.call(
        "Trace",
        "PyTorch Profiler (0)",
        ("\"Spans\"", "\"PyTorch Profiler\""),
        ("90", "300"),
        "",
    );
    file.event(
        r#""name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 390"#,
    );
    file
}

#[test]
fn threads_streams_and_ranges_are_lanes_of_one_rank() {
    let trace = read(training().text()).unwrap();
    let expected = [
        "1.0 0 ProfilerStep 100000-190000",
        "1.0 0 ProfilerStep 200000-290000",
        "1.1 0 aten::add 110000-140000",
        "1.1 1 cudaLaunchKernel 111000-116000",
        "1.1 0 aten::add 210000-240000",
        "1.1 1 cudaLaunchKernel 211000-216000",
        "1.2 0 vectorized 120000-160500",
        "1.2 0 vectorized 220000-260500",
        "1.3 0 ProfilerStep 119000-169000",
        "1.3 0 ProfilerStep 219000-269000",
        "1.4 0 PyTorch Profiler (0) 90000-390000",
    ];
    assert_eq!(call_lines(&trace), expected);
    let facts: Vec<_> = trace
        .metadata
        .iter()
        .map(|it| format!("{} {}={}", it.thread.0, it.key, it.value))
        .collect();
    for fact in [
        "0 pid=41",
        "1 Thread Name=pt_autograd",
        "2 CUDA Device=1",
        "2 CUDA Stream=7",
        "2 GPU Name=NVIDIA H100",
    ] {
        assert!(facts.contains(&fact.to_owned()), "{fact} in {facts:?}");
    }
    assert_eq!(warnings(&trace), ["MissingRank 1"]);
}

/// Returns the launches as text: lane and time of the work, and of the call.
fn launches(trace: &Trace) -> Vec<String> {
    let launches = trace.launches.iter();
    launches
        .map(|it| {
            format!(
                "{} {} by {} {}",
                it.lane.0, it.time.0, it.by.0, it.launched.0
            )
        })
        .collect()
}

#[test]
fn work_is_joined_with_the_call_that_launched_it() {
    let expected = ["2 120000 by 1 111000", "2 220000 by 1 211000"];
    let mut file = training();
    // Neither a call without work nor work without a call is a fault.
    file.call(
        "cuda_runtime",
        "cudaEventQuery",
        MAIN,
        ("150", "1"),
        r#""correlation": 7"#,
    );
    file.call(
        "kernel",
        "early",
        STREAM,
        ("95", "1"),
        r#""correlation": 8"#,
    );
    let trace = read(file.text()).unwrap();
    assert_eq!(launches(&trace), expected);
    assert_eq!(warnings(&trace), ["MissingRank 1"]);
}

#[test]
fn flows_join_work_that_states_no_number() {
    let mut file = training();
    for event in &mut file.events {
        *event = event.replace("\"correlation\"", "\"other\"");
    }
    for ts in [100, 200] {
        file.event(&format!(
            r#""ph": "f", "id": {ts}, "pid": 1, "tid": 7, "ts": {}.000, "cat": "ac2g", "name": "ac2g", "bp": "e""#,
            ts + 20
        ));
        file.event(&format!(
            r#""ph": "s", "id": {ts}, "pid": 41, "tid": 52, "ts": {}.000, "cat": "ac2g", "name": "ac2g""#,
            ts + 11
        ));
    }
    let trace = read(file.text()).unwrap();
    let expected = ["2 120000 by 1 111000", "2 220000 by 1 211000"];
    assert_eq!(launches(&trace), expected);
}

#[test]
fn old_names_of_categories_are_known() {
    let mut file = KinetoText::default();
    file.tail
        .push(r#""distributedInfo": {"rank": 1}"#.to_owned());
    file.call(
        "Runtime",
        "cudaLaunchKernel",
        MAIN,
        ("1", "1"),
        r#""correlation": 4"#,
    );
    file.call(
        "Kernel",
        "old",
        ("0", "7"),
        ("3", "1"),
        r#""correlation": 4"#,
    );
    file.call(
        "Memcpy",
        "Memcpy HtoD",
        ("0", "7"),
        ("5", "1"),
        r#""correlation": 5"#,
    );
    let trace = read(file.text()).unwrap();
    let expected = [
        "1.0 0 cudaLaunchKernel 1000-2000",
        "1.1 0 old 3000-4000",
        "1.1 0 Memcpy HtoD 5000-6000",
    ];
    assert_eq!(call_lines(&trace), expected);
    assert_eq!(launches(&trace), ["1 3000 by 0 1000"]);
}

#[test]
fn ranks_are_found_after_the_events_and_assumed_without() {
    let mut after = training();
    after.tail.push(after.head.remove(1));
    let trace = read_as("rank-8.4711.pt.trace.json", after.text().as_bytes()).unwrap();
    assert_eq!(trace.lanes[0].rank.0, 1);
    assert_eq!(warnings(&trace), ["MissingRank 1"]);
    let mut none = training();
    none.head.remove(1);
    let trace = read_as("node-3_41.99.pt.trace.json", none.text().as_bytes()).unwrap();
    assert_eq!(trace.lanes[0].rank.0, 0);
    assert_eq!(warnings(&trace), ["RankAssumed 1"]);
    assert_eq!(Property::Host.of(&trace.metadata), Some("node-3"));
}

/// Returns the collectives as text: rank, time, and whether communicator and number are those of the first rank's.
fn collectives(trace: &Trace) -> Vec<(u32, i64, u64, u64)> {
    let of = |it: &callgrove_model::CollectiveMember| {
        let rank = trace.lanes[it.lane.index()].rank;
        (rank.0, it.time.0, it.communicator, it.sequence)
    };
    trace.collectives.iter().map(of).collect()
}

/// Adds a kernel of NCCL with the call that launched it and the operation that states its process group.
fn all_reduce(file: &mut KinetoText, time_us: u32, operation: &str, kernel: &str) {
    let at = |offset: u32| (time_us + offset).to_string();
    let ids = format!(r#""External id": {time_us}"#);
    let join = |more: &str| {
        if more.is_empty() {
            ids.clone()
        } else {
            format!("{ids}, {more}")
        }
    };
    let correlation = format!(r#""correlation": {time_us}"#);
    file.call(
        "cpu_op",
        "record_param_comms",
        MAIN,
        (&at(1), "6"),
        &join(operation),
    );
    file.call(
        "cuda_runtime",
        "cudaLaunchKernelExC",
        MAIN,
        (&at(2), "2"),
        &correlation,
    );
    let kernel = format!("{}, {correlation}", join(kernel));
    file.call(
        "kernel",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
        NCCL,
        (&at(10), "9"),
        &kernel,
    );
}

#[test]
fn collectives_have_the_stated_numbers_of_their_group_on_all_ranks() {
    let group = r#""Process Group Name": "3", "Process Group Ranks": "[0, 1]""#;
    // One rank states the group with the kernel too, and in another form.
    let own = r#""Process Group Name": "3", "Process Group Ranks": [0,1], "Group size": 2"#;
    let [first, second] = [(0, ""), (1, own)].map(|(rank, kernel)| {
        let mut file = KinetoText::of_rank(rank);
        // The recording of rank 1 begins later.
        for seq in rank..3 {
            let operation = format!(
                r#"{group}, "Seq": {}, "Collective name": "allreduce""#,
                40 + seq
            );
            all_reduce(&mut file, 100 * (seq + 1) + rank, &operation, kernel);
        }
        let message = r#""Collective name": "send", "Dst Rank": 1, "Seq": 9"#;
        all_reduce(&mut file, 900, message, "");
        file.text()
    });
    let files = [("a.json", first.as_bytes()), ("b.json", second.as_bytes())];
    let found = collectives(&read_all(&files).unwrap());
    let group = found[0].2;
    let expected = [
        (0, 110_000, group, 40),
        (0, 210_000, group, 41),
        (0, 310_000, group, 42),
        (1, 211_000, group, 41),
        (1, 311_000, group, 42),
    ];
    assert_eq!(found, expected);
}

#[test]
fn kernels_that_state_the_other_rank_are_messages() {
    let [first, second] = [(0, "send", "Dst Rank"), (1, "recv", "Src Rank")].map(|it| {
        let (rank, name, partner) = it;
        let mut file = KinetoText::of_rank(rank);
        for (time, group) in [(100, "\"3\""), (200, "\"pipeline\"")] {
            let operation = format!(
                r#""Process Group Name": {group}, "Collective name": "{name}", "{partner}": {}"#,
                1 - rank
            );
            all_reduce(&mut file, time, &operation, "");
        }
        // Without the other rank it is no message.
        all_reduce(&mut file, 300, r#""Collective name": "send""#, "");
        file.text()
    });
    let files = [("a.json", first.as_bytes()), ("b.json", second.as_bytes())];
    let trace = read_all(&files).unwrap();
    assert!(trace.collectives.is_empty());
    let of_lane = |lane: &callgrove_model::Lane| {
        let comms = &lane.comms;
        let times = comms.time.iter().zip(&comms.tag);
        let texts = times.map(|(time, tag)| format!("{} {} {tag}", lane.rank.0, time.0));
        texts.collect::<Vec<_>>()
    };
    let messages: Vec<_> = trace.lanes.iter().flat_map(of_lane).collect();
    let in_group = 3_u64 << 32;
    let expected = [
        format!("0 110000 {in_group}"),
        "0 210000 0".to_owned(),
        format!("1 119000 {in_group}"),
        "1 219000 0".to_owned(),
    ];
    assert_eq!(messages, expected);
}

#[test]
fn collectives_without_numbers_are_counted_in_their_iteration() {
    let group = r#""Process Group Name": "0", "Process Group Ranks": "[0, 1]""#;
    let [first, second] = [0, 1].map(|rank| {
        let mut file = KinetoText::of_rank(rank);
        // A kernel that was launched before the recording.
        file.call(
            "kernel",
            "ncclKernel_AllReduce_RING_LL_Sum_float(x)",
            NCCL,
            ("5", "9"),
            r#""correlation": 1"#,
        );
        for step in 4 + rank..7 {
            let ts = 1_000 * step + rank;
            let name = format!("ProfilerStep#{step}");
            file.call("user_annotation", &name, MAIN, (&ts.to_string(), "900"), "");
            all_reduce(&mut file, ts + 100, "", group);
            // It begins in the next iteration, but belongs to that of its launch.
            all_reduce(&mut file, ts + 895, "", group);
        }
        file.text()
    });
    let files = [("a.json", first.as_bytes()), ("b.json", second.as_bytes())];
    let found = collectives(&read_all(&files).unwrap());
    let numbers = |rank| {
        let of_rank = found.iter().filter(move |it| it.0 == rank);
        of_rank.map(|it| (it.2, it.3)).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0).len(), 6);
    assert_eq!(numbers(1), numbers(0)[2..]);
    assert!(numbers(0).iter().all(|it| it.0 != 0), "the group is known");
}

#[test]
fn collectives_of_old_files_and_of_gloo_are_counted_in_order() {
    let old = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)";
    let exchange = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)";
    let mut file = KinetoText::of_rank(0);
    file.call("kernel", old, NCCL, ("30", "5"), "");
    file.call("kernel", exchange, NCCL, ("20", "5"), "");
    file.call("user_annotation", "gloo:all_reduce", MAIN, ("50", "5"), "");
    file.call("user_annotation", "gloo:recv", MAIN, ("60", "5"), "");
    file.call("user_annotation", "nccl:all_to_all", MAIN, ("10", "1"), "");
    let found = collectives(&read(file.text()).unwrap());
    let mut numbers: Vec<_> = found.iter().map(|it| (it.1, it.2, it.3)).collect();
    numbers.sort_unstable();
    // An exchange has a number of its own, as a rank may have more of them.
    assert_eq!(numbers, [(20_000, 1, 0), (30_000, 0, 0), (50_000, 0, 1)]);
    // Where messages between two are sent, a kernel that says no more may be one.
    file.call("user_annotation", "nccl:send", MAIN, ("12", "1"), "");
    let found = collectives(&read(file.text()).unwrap());
    assert_eq!(found.len(), 2);
}

/// Returns the waits as text: lane and time of the call, and the lane of the stream.
fn device_waits(trace: &Trace) -> Vec<String> {
    let line = |it: &callgrove_model::DeviceWait| {
        let stream = it.stream.map(|it| it.0.to_string());
        let stream = stream.unwrap_or_else(|| "all".to_owned());
        format!("{} {} for {stream}", it.lane.0, it.time.0)
    };
    trace.device_waits.iter().map(line).collect()
}

#[test]
fn calls_wait_for_the_streams_of_their_synchronisations() {
    let mut file = KinetoText::of_rank(0);
    let mut call = |name: &str, ts: &str, id: u32| {
        let correlation = format!(r#""correlation": {id}"#);
        file.call("cuda_runtime", name, MAIN, (ts, "9"), &correlation);
    };
    call("cudaStreamSynchronize", "10", 1);
    call("cudaEventSynchronize", "20", 2);
    call("cudaDeviceSynchronize", "30", 3);
    call("cudaStreamWaitEvent", "40", 4);
    call("cudaStreamSynchronize", "50", 5);
    call("hipStreamSynchronize", "60", 6);
    call("cudaMemcpy", "70", 7);
    call("cudaMemcpyAsync", "80", 8);
    let no_stream = u32::MAX;
    for (id, name, facts) in [
        (1, "Stream Sync", r#""stream": 7"#.to_owned()),
        (
            2,
            "Event Sync",
            r#""stream": -1, "wait_on_stream": 7"#.to_owned(),
        ),
        (3, "Context Sync", format!(r#""stream": {no_stream}"#)),
        (
            4,
            "Stream Wait Event",
            r#""stream": 20, "wait_on_stream": 7"#.to_owned(),
        ),
        // No work is known on this stream.
        (5, "Stream Sync", r#""stream": 99"#.to_owned()),
    ] {
        let facts = format!(r#""correlation": {id}, "device": 1, {facts}"#);
        file.call("cuda_sync", name, STREAM, ("11", "5"), &facts);
    }
    for (ts, id) in [("71", 7), ("81", 8)] {
        let facts = format!(r#""correlation": {id}, "device": 1, "stream": 7, "bytes": 64"#);
        let name = "Memcpy DtoH (Device -> Pageable)";
        file.call("gpu_memcpy", name, STREAM, (ts, "5"), &facts);
    }
    let trace = read(file.text()).unwrap();
    assert_eq!(
        device_waits(&trace),
        [
            "0 10000 for 1",
            "0 20000 for 1",
            "0 30000 for all",
            "0 60000 for all",
            "0 70000 for 1"
        ]
    );
    let sizes = trace
        .sizes
        .iter()
        .map(|it| (it.lane.0, it.time.0, it.bytes));
    let sizes: Vec<_> = sizes.collect();
    assert_eq!(sizes, [(1, 71_000, 64), (1, 81_000, 64)]);
    let mirrors = trace.metadata.iter();
    let mirrors = mirrors.filter(|it| callgrove_model::Property::MirrorsWaits.is_in(it));
    let mirrors: Vec<u32> = mirrors.map(|it| it.thread.0).collect();
    // The synchronisations overlap, so that they are on several lanes.
    assert_eq!(mirrors[0], 2);
}

#[test]
fn collectives_have_the_size_of_their_elements() {
    let mut file = KinetoText::of_rank(0);
    let kernel = "ncclDevKernel_AllGather_RING_LL(x)";
    let facts = r#""In msg nelems": 10, "Out msg nelems": 40, "dtype": "BFloat16""#;
    file.call("kernel", kernel, NCCL, ("30", "5"), facts);
    let trace = read(file.text()).unwrap();
    assert_eq!(
        trace.sizes.iter().map(|it| it.bytes).collect::<Vec<_>>(),
        [80]
    );
}

#[test]
fn overlapping_kernels_keep_their_launches() {
    let mut file = KinetoText::of_rank(0);
    for (ts, id) in [(10, 1), (20, 2)] {
        let correlation = format!(r#""correlation": {id}"#);
        let (launched, begins) = ((ts - 5).to_string(), ts.to_string());
        file.call(
            "cuda_runtime",
            "cudaLaunchKernel",
            MAIN,
            (&launched, "1"),
            &correlation,
        );
        file.call("kernel", "k", STREAM, (&begins, "15"), &correlation);
    }
    let trace = read(file.text()).unwrap();
    assert_eq!(
        launches(&trace),
        ["1 10000 by 0 5000", "2 20000 by 0 15000"]
    );
    assert_eq!(trace.warnings.total(WarningKind::CallsOverlap), 1);
}
