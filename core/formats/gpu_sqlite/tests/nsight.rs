//! Files of Nsight Systems: what is read of them.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use callgrove_model::{RankId, WarningKind};
use callgrove_source::{Contents, Format, call_lines};
use support::{
    Fixture, NSIGHT, collectives, damage, device_waits, launches, load, messages, registry, sizes,
    tid, trace_of,
};

/// Returns the names of the calls of a rank on GPUs.
fn metadata(trace: &callgrove_model::Trace, key: &str) -> Vec<(u32, String)> {
    let entries = trace.metadata.iter().filter(|it| it.key == key);
    entries.map(|it| (it.thread.0, it.value.clone())).collect()
}

#[test]
fn calls_and_the_work_that_they_launch_are_on_threads_and_streams() {
    let (main, other, pid) = (tid(40, 40), tid(40, 7), tid(40, 0));
    let rows = format!(
        "create table TARGET_INFO_SESSION_START_TIME (utcEpochNs integer, utcTime text, localTime text);
        insert into TARGET_INFO_SESSION_START_TIME values (1000000, '', '');
        create table TARGET_INFO_SYSTEM_ENV (globalVid integer, devStateName text, name text, nameEnum integer, value text);
        insert into TARGET_INFO_SYSTEM_ENV values (0, '', 'Hostname', 1, 'node17');
        create table ThreadNames (nameId integer not null, priority integer, globalTid integer);
        insert into ThreadNames values (5, 0, {other});
        create table TARGET_INFO_GPU (vmId integer, id integer, name text);
        insert into TARGET_INFO_GPU values (0, 0, 'H100'), (0, 1, 'H200');
        create table TARGET_INFO_CUDA_DEVICE (gpuId integer, cudaId integer, pid integer);
        insert into TARGET_INFO_CUDA_DEVICE values (1, 0, 40);
        create table OSRT_API (start integer, end integer, eventClass integer, globalTid integer, nameId integer);
        insert into OSRT_API values (12, 14, 0, {other}, 8);
        create table CUPTI_ACTIVITY_KIND_MEMCPY (start integer, end integer, deviceId integer, contextId integer,
            streamId integer, correlationId integer, globalPid integer, bytes integer, copyKind integer);
        insert into CUPTI_ACTIVITY_KIND_MEMCPY values (60, 70, 0, 1, 7, 3, {pid}, 64, 1);
        create table CUPTI_ACTIVITY_KIND_MEMSET (start integer, end integer, deviceId integer, contextId integer,
            streamId integer, correlationId integer, globalPid integer, value integer, bytes integer);
        insert into CUPTI_ACTIVITY_KIND_MEMSET values (71, 72, 0, 1, 7, 99, {pid}, 0, 8);
        create table CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start integer, end integer, deviceId integer, contextId integer,
            streamId integer, correlationId integer, globalPid integer, graphId integer, graphExecId integer);
        insert into CUPTI_ACTIVITY_KIND_GRAPH_TRACE values (73, 79, 0, 1, 7, 2, {pid}, 6, 6);
        create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start integer, end integer, deviceId integer,
            contextId integer, streamId integer, correlationId integer, globalPid integer, syncType integer);
        insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values (30, 90, 0, 1, 7, 4, {pid}, 3);
        insert into CUPTI_ACTIVITY_KIND_RUNTIME values (10, 20, 0, {other}, 1, 1, 0, null),
            (15, 18, 0, {main}, 2, 1, 0, null), (40, 50, 0, {main}, 3, 4, 0, null);
        insert into CUPTI_ACTIVITY_KIND_KERNEL values (22, 30, 0, 1, 7, 1, {pid}, 2, 3, 1, null),
            (22, 35, 1, 1, 13, 2, {pid}, 2, 3, 1, null);"
    );
    let trace = trace_of(&[NSIGHT], &rows);
    assert_eq!(
        call_lines(&trace),
        [
            "0.0 0 cudaLaunchKernel 1000015-1000018",
            "0.0 0 cudaMemcpyAsync 1000040-1000050",
            "0.1 0 cudaLaunchKernel 1000010-1000020",
            "0.1 1 read 1000012-1000014",
            "0.2 0 void gemm<float, 4>(int) 1000022-1000030",
            "0.2 0 Memcpy HtoD 1000060-1000070",
            "0.2 0 Memset 1000071-1000072",
            "0.2 0 CUDA graph 6 1000073-1000079",
            "0.3 0 void gemm<float, 4>(int) 1000022-1000035",
            "0.4 0 Stream Sync 1000030-1000090",
        ]
    );
    assert_eq!(
        launches(&trace),
        [
            "2.1000022 by 1.1000010",
            "2.1000060 by 0.1000040",
            "2.1000073 by 0.1000015",
            "3.1000022 by 0.1000015"
        ]
    );
    assert_eq!(sizes(&trace), ["2.1000060 64", "2.1000071 8"]);
    assert_eq!(metadata(&trace, "Mirrors Waits").len(), 1);
    assert_eq!(metadata(&trace, "Mirrors Waits")[0].0, 4);
    assert_eq!(metadata(&trace, "Hostname"), [(0, "node17".to_owned())]);
    assert_eq!(metadata(&trace, "Thread Name"), [(1, "worker".to_owned())]);
    // Device 0 of the process is GPU 1 of the machine.
    assert_eq!(metadata(&trace, "GPU Name"), [(2, "H200".to_owned())]);
    assert_eq!(metadata(&trace, "CUDA Stream").len(), 2);
    assert_eq!(damage(&trace), []);
}

/// Tables of synchronisations and events.
const SYNCHRONIZATIONS: &str = "
create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start integer, end integer, deviceId integer, contextId integer,
    streamId integer, correlationId integer, globalPid integer, syncType integer, eventId integer, eventSyncId integer);
create table CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId integer, contextId integer, streamId integer,
    correlationId integer, globalPid integer, eventId integer, eventSyncId integer);
create table CUPTI_ACTIVITY_KIND_MEMCPY (start integer, end integer, deviceId integer, contextId integer,
    streamId integer, correlationId integer, globalPid integer, bytes integer, copyKind integer);
insert into StringIds values (50, 'cudaStreamSynchronize_v3020'), (51, 'cudaDeviceSynchronize_v3020'),
    (52, 'cudaEventSynchronize_v3020'), (53, 'cudaMemcpy_v3020'), (54, 'cudaStreamWaitEvent_v3020');
";

#[test]
fn calls_of_the_host_wait_for_the_streams_that_the_file_states() {
    let (main, pid) = (tid(40, 40), tid(40, 0));
    let unstated = u32::MAX;
    let rows = format!(
        "insert into CUPTI_ACTIVITY_KIND_RUNTIME values (10, 12, 0, {main}, 1, 1, 0, null),
            (13, 15, 0, {main}, 2, 1, 0, null), (20, 30, 0, {main}, 3, 50, 0, null), (31, 40, 0, {main}, 4, 51, 0, null),
            (41, 50, 0, {main}, 5, 52, 0, null), (51, 60, 0, {main}, 6, 52, 0, null), (61, 62, 0, {main}, 7, 54, 0, null),
            (63, 64, 0, {main}, 8, 50, 0, null), (65, 70, 0, {main}, 9, 53, 0, null), (71, 72, 0, {main}, 10, 53, 0, null),
            (73, 74, 0, {main}, 11, 4, 0, null), (75, 76, 0, {main}, 12, 50, 0, null);
        insert into CUPTI_ACTIVITY_KIND_KERNEL values (14, 29, 0, 1, 7, 1, {pid}, 2, 3, 1, null),
            (16, 39, 0, 1, 13, 2, {pid}, 2, 3, 1, null);
        insert into CUPTI_ACTIVITY_KIND_MEMCPY values (66, 69, 0, 1, 7, 9, {pid}, 64, 2),
            (72, 79, 0, 1, 7, 10, {pid}, 32, 8), (80, 81, 0, 1, 7, 11, {pid}, 16, 2);
        insert into CUPTI_ACTIVITY_KIND_CUDA_EVENT values (0, 1, 13, 2, {pid}, 5, 0), (0, 1, 7, 6, {pid}, 5, 0),
            (0, 1, 7, 1, {pid}, 6, 77);
        insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values (21, 30, 0, 1, 7, 3, {pid}, 3, {unstated}, 0),
            (32, 40, 0, 1, {unstated}, 4, {pid}, 4, {unstated}, 0), (42, 50, 0, 1, {unstated}, 5, {pid}, 1, 5, 0),
            (52, 60, 0, 1, {unstated}, 6, {pid}, 1, 6, 77), (61, 62, 0, 1, 13, 7, {pid}, 2, 5, 0),
            (63, 64, 0, 1, 99, 8, {pid}, 3, {unstated}, 0);"
    );
    let trace = trace_of(&[NSIGHT, SYNCHRONIZATIONS], &rows);
    // A stream that waits, a stream without work, a copy between two places of the GPU, and one that returns at once
    // are no waits of the host. The last wait is known by its name alone.
    assert_eq!(
        device_waits(&trace),
        [
            "0.20 for 1",
            "0.31 for all",
            "0.41 for 2",
            "0.51 for 1",
            "0.65 for 1",
            "0.75 for all"
        ]
    );
    assert_eq!(sizes(&trace), ["1.66 64", "1.72 32", "1.80 16"]);
    assert_eq!(damage(&trace), []);
}

#[test]
fn tables_of_a_later_version_are_read_and_those_of_unknown_calls_are_named() {
    let main = tid(40, 40);
    let rows = format!(
        "create table NVTX_EVENTS_V2 as select * from NVTX_EVENTS;
        insert into NVTX_EVENTS_V2 (start, end, eventType, text, globalTid) values (5, 9, 59, 'work', {main});
        create table NVTX_SPANS_X (start integer, end integer, globalTid integer);
        insert into NVTX_SPANS_X values (5, 9, {main});
        create table MPI_EMPTY_EVENTS (start integer, end integer);
        create table NVTX_PAYLOAD_SCHEMAS (name text); insert into NVTX_PAYLOAD_SCHEMAS values ('x');"
    );
    let trace = trace_of(&[NSIGHT], &rows);
    assert_eq!(call_lines(&trace), ["0.0 0 work 5-9"]);
    assert_eq!(damage(&trace), [(WarningKind::TableUnread, 1)]);
    let unread = trace.warnings.iter();
    let mut unread = unread.filter(|it| it.kind == WarningKind::TableUnread);
    let first = unread.next().unwrap().first.clone();
    assert!(first.place.starts_with("NVTX_SPANS_X: "), "{first:?}");
}

#[test]
fn arguments_in_names_are_not_part_of_functions() {
    let main = tid(40, 40);
    let rows = format!(
        "insert into StringIds values (60, 'aten::mm, seq = 7, op_id = 8');
        insert into NVTX_EVENTS (start, end, eventType, text, globalTid, textId) values
            (5, 9, 59, 'aten::mm, op_id = 9', {main}, null), (10, 11, 59, null, {main}, 60);"
    );
    let trace = trace_of(&[NSIGHT], &rows);
    assert_eq!(
        call_lines(&trace),
        ["0.0 0 aten::mm 5-9", "0.0 0 aten::mm 10-11"]
    );
    assert_eq!(trace.names.len(), 1);
}

#[test]
fn ranges_nest_with_calls_and_those_that_overlap_have_lanes() {
    let main = tid(40, 40);
    let rows = format!(
        "insert into CUPTI_ACTIVITY_KIND_RUNTIME values (10, 20, 0, {main}, 1, 1, 0, null);
        insert into NVTX_EVENTS (start, end, eventType, text, globalTid, textId) values
            (5, 90, 59, null, {main}, 9), (6, 30, 59, 'forward', {main}, null), (95, null, 59, 'last', {main}, null),
            (96, 97, 59, null, {main}, null), (10, 50, 60, 'async a', {main}, null), (40, 70, 60, 'async b', {main}, null),
            (55, 60, 60, 'async c', {main}, null), (1, null, 34, 'mark', {main}, null), (0, null, 75, 'NCCL', null, null);"
    );
    let trace = trace_of(&[NSIGHT], &rows);
    assert_eq!(
        call_lines(&trace),
        [
            "0.0 0 step 5-90",
            "0.0 1 forward 6-30",
            "0.0 2 cudaLaunchKernel 10-20",
            "0.0 0 last 95-97",
            "0.0 1 NVTX range 96-97",
            "0.1 0 async a 10-50",
            "0.1 0 async c 55-60",
            "0.2 0 async b 40-70",
        ]
    );
    assert_eq!(damage(&trace), [(WarningKind::Unclosed, 1)]);
}

#[test]
fn messages_of_mpi_end_with_the_call_or_wait_that_completes_them() {
    let (a, b) = (tid(50, 50), tid(51, 51));
    let rows = format!(
        "insert into MPI_RANKS values ({a}, 0), ({b}, 1);
        insert into MPI_P2P_EVENTS values
            (10, 20, {a}, 20, 1, 5, 1, 100, null), (12, 30, {b}, 21, 1, 5, 0, 100, null),
            (40, 41, {b}, 22, 1, 6, 0, 200, 900), (42, 43, {b}, 22, 1, 7, 0, 300, 901),
            (44, 45, {a}, 30, 1, 6, 1, 200, 800), (46, 47, {a}, 30, 1, 7, 1, 300, 801),
            (80, 90, {a}, 24, 1, 8, 1, 50, null), (81, 91, {b}, 24, 1, 8, 0, 50, null), (81, 91, {b}, 24, 1, 8, 0, 50, null),
            (100, 101, {a}, 25, 1, 9, 1, 10, 700), (100, 101, {b}, 26, 1, 9, 0, 10, 700),
            (140, 150, {a}, 21, 1, 9, -1, 10, null), (150, 160, {a}, 20, 1, 9, -2, 10, null);
        insert into MPI_START_WAIT_EVENTS values (50, 70, {b}, 23, 900), (50, 70, {b}, 23, 901),
            (51, 60, {a}, 23, 800), (51, 60, {a}, 23, 801), (110, 111, {a}, 27, 700), (110, 111, {b}, 27, 700),
            (120, 130, {b}, 23, 700), (120, 121, {a}, 23, 700);
        insert into MPI_OTHER_EVENTS values (1, 3, {a}, 29), (1, 3, {b}, 29);"
    );
    let trace = trace_of(&[NSIGHT, support::NSIGHT_MPI], &rows);
    assert_eq!(
        messages(&trace),
        [
            "0 Send 1 5 100 10",
            "0 Send 1 6 200 44",
            "0 Send 1 7 300 46",
            "0 Send 1 8 50 80",
            "0 Recv 1 8 50 90",
            "0 Send 1 9 10 110",
            "1 Recv 0 5 100 30",
            "1 Recv 0 6 200 70",
            "1 Recv 0 7 300 70",
            "1 Send 0 8 50 81",
            "1 Recv 0 8 50 91",
            "1 Recv 0 9 10 130",
        ]
    );
    assert_eq!(trace.messages.len(), 6);
    let lines = call_lines(&trace);
    let waits = lines.iter().filter(|it| it.contains("MPI_Waitall"));
    assert_eq!(
        waits.count(),
        4,
        "one call for all of its requests: {lines:?}"
    );
    let exchanges = lines.iter().filter(|it| it.contains("MPI_Sendrecv"));
    assert_eq!(exchanges.count(), 2);
    assert_eq!(damage(&trace), []);
}

#[test]
fn collectives_are_those_of_known_communicators_and_of_kernels() {
    let (a, b) = (tid(50, 50), tid(51, 51));
    let rows = format!(
        "insert into MPI_RANKS values ({a}, 0), ({b}, 1);
        insert into MPI_COMMUNICATORS (rank, timestamp, commHandle, groupRoot, groupRootUid) values
            (0, 0, 111, 0, 1), (1, 0, 222, 0, 1), (0, 50, 111, 0, 2), (1, 50, 223, 0, 2);
        insert into MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId, commHandle) values
            (30, 35, {a}, 28, 111), (10, 15, {a}, 28, 111), (12, 15, {b}, 28, 222), (33, 35, {b}, 28, 222),
            (60, 61, {a}, 28, 111), (60, 61, {b}, 28, 223), (70, 71, {a}, 28, 5);
        insert into CUPTI_ACTIVITY_KIND_KERNEL values (90, 95, 0, 1, 7, 1, {a}, 6, 6, 1, null),
            (80, 85, 0, 1, 8, 2, {a}, 6, 6, 1, null), (86, 87, 0, 1, 8, 2, {a}, 7, 7, 1, null),
            (91, 92, 1, 1, 7, 2, {a}, 6, 6, 1, null);"
    );
    let trace = trace_of(&[NSIGHT, support::NSIGHT_MPI], &rows);
    let mut found = collectives(&trace);
    found.sort();
    assert_eq!(
        found,
        [
            "0.10 8000000000000001.0",
            "0.30 8000000000000001.1",
            "0.60 8000000000000002.0",
            "1.90 0.1",
            "2.80 0.0",
            "3.91 0.0",
            "4.12 8000000000000001.0",
            "4.33 8000000000000001.1",
            "4.60 8000000000000002.0",
        ]
    );
}

#[test]
fn old_schemas_and_odd_types_cost_only_their_rows() {
    let rows = "
        create table StringIds (id integer primary key, value text);
        insert into StringIds values (1, 'launch'), (2, 'kernel');
        create table CUPTI_ACTIVITY_KIND_RUNTIME (nameId, correlationId, globalTid, end, start);
        insert into CUPTI_ACTIVITY_KIND_RUNTIME values (1, '8', 16777217, '30', 20.0), (1, 9, 16777217, 50, 'x'),
            (1, 10, null, 50, 40), (1, 11, 16777217, 60, 70), (77, 12, 16777217, 90, 80), (null, 13, 16777217, 90, 85),
            (1, 14, 16777217, 9223372036854775807, 100), (1, 15, 16777217, 130, -9223372036854775808),
            (x'FF41', 16, 16777217, 140, 135);
        create table CUPTI_ACTIVITY_KIND_KERNEL (start, end, shortName, correlationId);
        insert into CUPTI_ACTIVITY_KIND_KERNEL values (35, 38, 2, 8), (39, 40, 'inline', 9);";
    let trace = trace_of(&[], rows);
    assert_eq!(
        call_lines(&trace),
        [
            "0.0 0 launch 20-30",
            "0.0 0 string 77 80-90",
            "0.0 0 \u{FFFD}A 135-140",
            "0.1 0 kernel 35-38",
            "0.1 0 inline 39-40"
        ]
    );
    assert_eq!(launches(&trace), ["1.35 by 0.20"]);
    assert_eq!(
        damage(&trace),
        [
            (WarningKind::BadRow, 6),
            (WarningKind::UnknownName, 1),
            (WarningKind::TextChanged, 1)
        ]
    );
}

/// Returns rows of one launch and kernel of each process.
fn of_processes(pids: &[u64]) -> String {
    let row = |pid: &u64| {
        let (thread, process) = (tid(*pid, *pid), tid(*pid, 0));
        format!(
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values (10, 20, 0, {thread}, 1, 1, 0, null);
            insert into CUPTI_ACTIVITY_KIND_KERNEL values (22, 30, 0, 1, 7, 1, {process}, 2, 3, 1, null);"
        )
    };
    pids.iter().map(row).collect()
}

fn ranks(trace: &callgrove_model::Trace) -> Vec<u32> {
    let mut ranks: Vec<u32> = trace.lanes.iter().map(|lane| lane.rank.0).collect();
    ranks.dedup();
    ranks
}

const ENVIRONMENT: &str = "
    create table TARGET_INFO_SYSTEM_ENV (globalVid integer, devStateName text, name text, nameEnum integer, value text);
    insert into TARGET_INFO_SYSTEM_ENV values (0, '', 'DeviceEnvironment', 1, 'HOME=/\nRANK=5\nWORLD_SIZE=8');";

#[test]
fn ranks_come_from_the_file_its_name_or_the_order_of_processes() {
    // Of one process: the environment states it.
    let trace = trace_of(&[NSIGHT, ENVIRONMENT], &of_processes(&[90]));
    assert_eq!(ranks(&trace), [5]);
    assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 0);
    assert_eq!(trace.warnings.total(WarningKind::MissingRank), 7);
    // Of several that use GPUs: their order.
    let trace = trace_of(&[NSIGHT, ENVIRONMENT], &of_processes(&[92, 90]));
    assert_eq!(ranks(&trace), [0, 1]);
    assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 2);
    // Of several, one of which uses a GPU: the others are its helpers.
    let helper = tid(91, 91);
    let rows = of_processes(&[95])
        + &format!(
            "insert into NVTX_EVENTS (start, end, eventType, text, globalTid) values (1, 9, 59, 'load', {helper});"
        );
    let trace = trace_of(&[NSIGHT], &rows);
    assert_eq!(
        call_lines(&trace),
        [
            "0.0 0 cudaLaunchKernel 10-20",
            "0.1 0 load 1-9",
            "0.2 0 void gemm<float, 4>(int) 22-30"
        ]
    );
    // Of files: their names.
    let fixture = Fixture::new();
    for rank in [3, 1] {
        let name = format!("report_rank{rank}.sqlite");
        fixture.write(&name, &[NSIGHT], &of_processes(&[90]));
    }
    let trace = load(&fixture.path("")).unwrap();
    assert_eq!(ranks(&trace), [1, 3]);
    assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 2);
}

#[test]
fn processes_without_a_rank_among_ranks_are_left_out_and_counted() {
    let rows = of_processes(&[90, 91, 92])
        + &format!(
            "insert into MPI_RANKS values ({}, 1), ({}, 0);",
            tid(90, 90),
            tid(92, 3)
        );
    let fixture = Fixture::new();
    let path = fixture.write("r.sqlite", &[NSIGHT, support::NSIGHT_MPI], &rows);
    let trace = load(&path).unwrap();
    assert_eq!(ranks(&trace), [0, 1]);
    assert_eq!(damage(&trace), [(WarningKind::OtherRank, 2)]);
    let Contents::Events(parts) = callgrove_gpu_sqlite::GpuSqliteFormat
        .open(&support::input(&path))
        .unwrap()
    else {
        panic!("events");
    };
    let stated: Vec<RankId> = parts[0].ranks().unwrap().iter().map(|it| it.1).collect();
    assert_eq!(stated, [RankId(0), RankId(1)]);
    assert!(registry().find(&path).is_ok());
}

#[test]
fn tables_of_several_chunks_and_many_threads_are_read_as_a_whole() {
    let main = tid(40, 0);
    let rows = format!(
        "insert into CUPTI_ACTIVITY_KIND_RUNTIME
            with recursive n(i) as (select 0 union all select i + 1 from n where i < 249999)
            select i * 10, i * 10 + 5, 0, {main} + 1 + i % 100000, i, 1, 0, null from n;
        delete from CUPTI_ACTIVITY_KIND_RUNTIME where rowid between 90000 and 110000;
        insert into CUPTI_ACTIVITY_KIND_KERNEL select start + 6, end + 6, 0, 1, 7, correlationId, {main}, 2, 3, 1, null
            from CUPTI_ACTIVITY_KIND_RUNTIME;"
    );
    let trace = trace_of(&[NSIGHT], &rows);
    assert_eq!(trace.num_executions(), 2 * (250_000 - 20_001));
    assert_eq!(trace.launches.len(), 250_000 - 20_001);
    assert_eq!(trace.lanes.len(), 100_001);
    assert_eq!(damage(&trace), []);
}
