//! Files of rocpd and rpd: what is read of them.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use callgrove_gpu_sqlite::GpuSqliteError;
use callgrove_model::WarningKind;
use callgrove_source::{SourceError, call_lines};
use support::{
    Fixture, ROCPD_3, ROCPD_3_ROWS, RPD, damage, device_waits, launches, load, sizes, trace_of,
};

/// Views of rocpd 4, whose rows are of tracks, over the tables of version 3.
const ROCPD_4_VIEWS: &str = "
drop view regions; drop view kernels; drop view memory_copies; drop view processes;
create view processes as select P.id, N.id as nid, N.hostname, P.guid, P.pid, P.command from rocpd_info_process P
    inner join rocpd_info_node N on N.id = P.nid and N.guid = P.guid;
create view events as select E.id, E.guid, E.stack_id, E.parent_stack_id, E.correlation_id, E.extdata from rocpd_event E;
create view tracks as select T.id, T.guid, T.nid, T.pid, T.tid, T.agent_id, A.absolute_index as agent_absolute_index,
    T.queue_id, T.stream_id from rocpd_track T left join rocpd_info_agent A on A.id = T.agent_id and A.guid = T.guid
    left join rocpd_info_thread TH on TH.tid = T.tid and TH.guid = T.guid;
create view rocpd_track as select 1000 + id as id, guid, nid, pid, tid, null as agent_id, null as queue_id,
    null as stream_id from rocpd_region_u union all select 2000 + id, guid, nid, pid, tid, agent_id, queue_id, stream_id
    from rocpd_kernel_dispatch_u union all select 3000 + id, guid, nid, pid, tid, null, queue_id, stream_id
    from rocpd_memory_copy_u;
create view regions as select R.id, R.guid, NS.string as name, T.nid, T.pid, T.tid, R.start as start, R.end as end,
    R.event_id, E.stack_id, E.parent_stack_id, E.correlation_id, E.extdata from rocpd_region R
    inner join events E on E.id = R.event_id and E.guid = R.guid
    inner join tracks T on T.id = 1000 + R.id and T.guid = R.guid
    inner join rocpd_string NS on NS.id = R.name_id and NS.guid = R.guid;
create view kernels as select K.id, K.guid, T.nid, T.pid, T.tid, S.display_name as name, T.agent_id,
    T.agent_absolute_index, T.queue_id, T.stream_id, K.start as start, K.end as end, E.stack_id
    from rocpd_kernel_dispatch K inner join tracks T on T.id = 2000 + K.id and T.guid = K.guid
    inner join events E on E.id = K.event_id and E.guid = K.guid
    inner join rocpd_info_kernel_symbol S on S.id = K.kernel_id and S.guid = K.guid;
create view memory_copies as select M.id, M.guid, T.nid, T.pid, T.tid, NS.string as name, M.start as start,
    M.end as end, T.queue_id, T.stream_id, D.absolute_index as dst_agent_absolute_index, D.type as dst_agent_type,
    C.absolute_index as src_agent_absolute_index, C.type as src_agent_type, M.size, E.stack_id
    from rocpd_memory_copy M
    inner join events E on E.id = M.event_id and E.guid = M.guid
    inner join tracks T on T.id = 3000 + M.id and T.guid = M.guid
    inner join rocpd_string NS on NS.id = M.name_id and NS.guid = M.guid
    inner join rocpd_info_agent D on D.id = M.dst_agent_id and D.guid = M.guid
    inner join rocpd_info_agent C on C.id = M.src_agent_id and C.guid = M.guid;
";

#[test]
fn views_of_rocpd_3_and_4_give_the_same_run() {
    let three = trace_of(&[ROCPD_3, ROCPD_3_ROWS], "");
    let four = trace_of(&[ROCPD_3, ROCPD_4_VIEWS, ROCPD_3_ROWS], "");
    for trace in [three, four] {
        assert_eq!(
            call_lines(&trace),
            [
                "1.0 0 solve 100-200",
                "1.0 1 hipLaunchKernel 110-120",
                "1.1 0 hipMemcpyAsync 130-170",
                "1.2 0 saxpy(float*) 125-150",
                "1.2 0 MEMORY_COPY_DEVICE_TO_HOST 155-165",
            ]
        );
        assert_eq!(launches(&trace), ["2.125 by 0.110", "2.155 by 1.130"]);
        assert_eq!(sizes(&trace), ["2.155 64"]);
        assert_eq!(device_waits(&trace), [""; 0]);
        let facts: Vec<_> = trace
            .metadata
            .iter()
            .map(|it| (it.key.as_str(), it.value.as_str()))
            .collect();
        for fact in [
            ("Hostname", "mi300"),
            ("pid", "70"),
            ("Command Line", "./app -n 2"),
            ("Thread Name", "loader"),
            ("GPU Name", "MI300X"),
            ("CUDA Device", "4"),
        ] {
            assert!(facts.contains(&fact), "{fact:?} in {facts:?}");
        }
        // The environment states rank 1 of 2.
        assert_eq!(damage(&trace), [(WarningKind::MissingRank, 1)]);
        assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 0);
    }
}

#[test]
fn rows_of_equal_ids_of_merged_files_are_all_read() {
    // As if two files with the same ids were joined: each row twice.
    let rows = format!(
        "{ROCPD_3_ROWS}
        insert into rocpd_event_u (id, stack_id) select i, i from
            (with recursive n(i) as (select 100 union all select i + 1 from n where i < 130000) select i from n);
        insert into rocpd_region_u (id, nid, pid, tid, start, end, name_id, event_id)
            select id, 1, 70, 70, 1000 + id * 10, 1005 + id * 10, 1, id from rocpd_event_u where id >= 100;
        drop view rocpd_region;
        create view rocpd_region as select * from rocpd_region_u union all select * from rocpd_region_u where id >= 100;"
    );
    let trace = trace_of(&[ROCPD_3], &rows);
    assert_eq!(trace.num_executions(), 5 + 2 * 129_901);
}

#[test]
fn a_view_with_endless_or_too_many_rows_is_cut_off() {
    for view in [
        "create view kernels as with recursive n(i) as (select 1 union all select i + 1 from n)
            select i as id, i as start, i + 1 as end, 1 as nid, 70 as pid, 'k' as name from n",
        // No rows, and no end.
        "create view kernels as with recursive n(i) as (select 1 union all select i + 1 from n)
            select i as id, i as start, i + 1 as end, 1 as nid, 70 as pid, 'k' as name from n where i < 0",
        // More than memory holds, if it is built.
        "create view kernels as select id, start, end, nid, pid, hex(zeroblob(1000000000)) as name from regions",
        "create view kernels as select * from kernels_2; create view kernels_2 as select * from kernels",
        "create view kernels as select a.id, a.start, a.end, a.nid, a.pid, a.name from regions a, regions b, regions c,
            rocpd_string d, rocpd_string e, rocpd_event f, rocpd_event g, rocpd_event h, rocpd_event i, rocpd_event j",
    ] {
        let rows = format!("{ROCPD_3_ROWS} drop view kernels; {view};");
        let trace = trace_of(&[ROCPD_3], &rows);
        let lines = call_lines(&trace);
        for call in ["hipLaunchKernel 110-120", "MEMORY_COPY_DEVICE_TO_HOST 155-165"] {
            assert!(lines.iter().any(|it| it.ends_with(call)), "{view}: {call}");
        }
        assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 1, "{view}");
    }
}

#[test]
fn texts_that_a_view_makes_up_are_bounded_by_the_file() {
    let rows = format!(
        "{ROCPD_3_ROWS}
        drop view kernels; drop view processes;
        create view kernels as with recursive n(i) as (select 1 union all select i + 1 from n limit 5000)
            select i as id, i as start, i + 1 as end, 1 as nid, 70 as pid, printf('%.*c', 60000, 'x') || i as name from n;
        create view processes as select id as nid, id as pid, printf('%.*c', 900000, 'h') as hostname,
            printf('%.*c', 900000, 'c') as command from kernels;"
    );
    let fixture = Fixture::new();
    let path = fixture.write("r.db", &[ROCPD_3], &rows);
    let trace = load(&path).unwrap();
    let names = trace.names.iter().map(|(_, name)| name.len());
    let num_bytes = std::fs::metadata(&path).unwrap().len() as usize;
    // The smallest file has 64 KiB for names that are not in it.
    assert!(names.sum::<usize>() < num_bytes.max(1 << 16) + 1_000);
    let facts = trace.metadata.iter().map(|it| it.value.len());
    assert!(facts.sum::<usize>() < num_bytes + 1_000);
}

#[test]
fn tables_without_views_are_refused_with_the_reason() {
    let fixture = Fixture::new();
    let rows = "drop view regions; drop view kernels; drop view memory_copies;";
    let path = fixture.write("70_results.db", &[ROCPD_3, ROCPD_3_ROWS], rows);
    let SourceError::Invalid { source, .. } = load(&path).unwrap_err() else {
        panic!("another error");
    };
    assert_eq!(source.to_string(), GpuSqliteError::NoViews.to_string());
}

#[test]
fn operations_of_rpd_are_launched_by_the_calls_of_their_process() {
    let rows = "
        insert into rocpd_api values (1, 30, 31, 100, 110, 2, 1), (2, 30, 30, 120, 150, 3, 1), (3, 40, 40, 100, 105, 2, 1),
            (4, 30, 30, 90, 200, 7, 8);
        insert into rocpd_op values (1, 2, 0, 0, '', 112, 118, 6, 4), (2, 2, 1, 0, '', 125, 145, 1, 5),
            (3, 2, 0, 0, '', 107, 109, 6, 4);
        insert into rocpd_api_ops values (1, 1, 1), (2, 2, 2), (3, 3, 3);
        insert into rocpd_copyapi values (2, '0x0', 96, 0, 0, 1, 1);";
    let trace = trace_of(&[RPD], rows);
    assert_eq!(
        call_lines(&trace),
        [
            "0.0 0 epoch 90-200",
            "0.0 1 hipMemcpy 120-150",
            "0.1 0 hipLaunchKernel 100-110",
            "0.2 0 gemm(float*) 112-118",
            "0.3 0 CopyHostToDevice 125-145",
            "1.0 0 hipLaunchKernel 100-105",
            "1.1 0 gemm(float*) 107-109",
        ]
    );
    assert_eq!(
        launches(&trace),
        ["2.112 by 1.100", "3.125 by 0.120", "5.107 by 4.100"]
    );
    assert_eq!(sizes(&trace), ["3.125 96"]);
    assert_eq!(device_waits(&trace), ["0.120 for 3"]);
    assert_eq!(damage(&trace), []);
    assert_eq!(trace.warnings.total(WarningKind::RankAssumed), 2);
}
