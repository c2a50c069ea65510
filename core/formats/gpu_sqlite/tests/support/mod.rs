//! Files as the profilers write them: their tables, with the columns that matter, and rows of a test.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_gpu_sqlite::GpuSqliteFormat;
use callgrove_local::LocalFiles;
use callgrove_model::{Progress, Trace, WarningKind};
use callgrove_source::{Input, OneByOne, Registry, SourceError};
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder with files.
pub(crate) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file with a schema and rows.
    pub(crate) fn write(&self, name: &str, schemas: &[&str], rows: &str) -> PathBuf {
        let path = self.path(name);
        let connection = Connection::open(&path).unwrap();
        // Files of tests need not survive a power failure.
        connection
            .execute_batch("pragma synchronous = off; pragma journal_mode = memory")
            .unwrap();
        connection.execute_batch("begin").unwrap();
        for schema in schemas {
            connection.execute_batch(schema).unwrap();
        }
        connection.execute_batch(rows).unwrap();
        connection.execute_batch("commit").unwrap();
        path
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

pub(crate) fn registry() -> Registry {
    Registry::new(Arc::new(LocalFiles), vec![Box::new(GpuSqliteFormat)])
}

/// Reads a file, or a folder of files.
pub(crate) fn load(path: &Path) -> Result<Trace, SourceError> {
    registry().load(path, &OneByOne, Progress::none())
}

/// Reads one run from a file with a schema and rows.
pub(crate) fn trace_of(schemas: &[&str], rows: &str) -> Trace {
    let fixture = Fixture::new();
    load(&fixture.write("report.sqlite", schemas, rows)).unwrap()
}

pub(crate) fn input(path: &Path) -> Input {
    let files: Arc<dyn callgrove_source::FileSystem> = Arc::new(LocalFiles);
    Input::new(path, &files)
}

/// Returns the counts of all warnings but that of the assumed rank.
pub(crate) fn damage(trace: &Trace) -> Vec<(WarningKind, u64)> {
    let warnings = trace.warnings.iter();
    let found = warnings.filter(|it| it.kind != WarningKind::RankAssumed);
    found.map(|it| (it.kind, it.count)).collect()
}

/// Returns `lane.time by lane.time` of each launch.
pub(crate) fn launches(trace: &Trace) -> Vec<String> {
    let launches = trace.launches.iter();
    let line = |it: &callgrove_model::Launch| {
        format!(
            "{}.{} by {}.{}",
            it.lane.0, it.time.0, it.by.0, it.launched.0
        )
    };
    launches.map(line).collect()
}

/// Returns `lane.time bytes` of each call that moves data.
pub(crate) fn sizes(trace: &Trace) -> Vec<String> {
    let sizes = trace.sizes.iter();
    let line = |it: &callgrove_model::CallSize| format!("{}.{} {}", it.lane.0, it.time.0, it.bytes);
    sizes.map(line).collect()
}

/// Returns `lane.time for stream` of each call that waits for a GPU.
pub(crate) fn device_waits(trace: &Trace) -> Vec<String> {
    let line = |it: &callgrove_model::DeviceWait| {
        let stream = it.stream.map(|it| it.0.to_string());
        let stream = stream.unwrap_or_else(|| "all".to_owned());
        format!("{}.{} for {stream}", it.lane.0, it.time.0)
    };
    trace.device_waits.iter().map(line).collect()
}

/// Returns `lane.time communicator.sequence` of each call that takes part in a collective.
pub(crate) fn collectives(trace: &Trace) -> Vec<String> {
    let line = |it: &callgrove_model::CollectiveMember| {
        format!(
            "{}.{} {:x}.{}",
            it.lane.0, it.time.0, it.communicator, it.sequence
        )
    };
    trace.collectives.iter().map(line).collect()
}

/// Returns `rank kind partner tag size time` of each end of a message.
pub(crate) fn messages(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for lane in &trace.lanes {
        let comms = &lane.comms;
        for row in 0..comms.len() {
            lines.push(format!(
                "{} {:?} {} {} {} {}",
                lane.rank,
                comms.kind[row],
                comms.partner[row],
                comms.tag[row],
                comms.size_bytes[row],
                comms.time[row].0
            ));
        }
    }
    lines
}

/// The main tables of Nsight Systems.
pub(crate) const NSIGHT: &str = "
create table StringIds (id integer not null primary key, value text not null);
create table CUPTI_ACTIVITY_KIND_RUNTIME (start integer not null, end integer not null, eventClass integer not null,
    globalTid integer, correlationId integer, nameId integer not null, returnValue integer not null, callchainId integer);
create table CUPTI_ACTIVITY_KIND_KERNEL (start integer not null, end integer not null, deviceId integer not null,
    contextId integer not null, streamId integer not null, correlationId integer, globalPid integer,
    demangledName integer not null, shortName integer not null, gridX integer, graphNodeId integer);
create table NVTX_EVENTS (start integer not null, end integer, eventType integer not null, rangeId integer,
    category integer, color integer, text text, globalTid integer, endGlobalTid integer, textId integer, domainId integer);
insert into StringIds values (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<float, 4>(int)'), (3, 'gemm'),
    (4, 'cudaMemcpyAsync_v3020'), (5, 'worker'), (6, 'ncclDevKernel_AllReduce_Sum_f16_RING_LL(args)'),
    (7, 'ncclDevKernel_SendRecv(args)'), (8, 'read'), (9, 'step');
";
/// The tables of MPI in files of Nsight Systems.
pub(crate) const NSIGHT_MPI: &str = "
create table MPI_RANKS (globalTid integer not null, rank integer not null);
create table MPI_P2P_EVENTS (start integer not null, end integer, globalTid integer, textId integer, commHandle integer,
    tag integer, remoteRank integer, size integer, requestHandle integer);
create table MPI_START_WAIT_EVENTS (start integer not null, end integer, globalTid integer, textId integer,
    requestHandle integer);
create table MPI_COLLECTIVES_EVENTS (start integer not null, end integer, globalTid integer, textId integer,
    commHandle integer, rootRank integer, size integer, recvSize integer, requestHandle integer);
create table MPI_OTHER_EVENTS (start integer not null, end integer, globalTid integer, textId integer);
create table MPI_COMMUNICATORS (rank integer, timestamp integer, commHandle integer, parentHandle integer,
    localRank integer, size integer, groupRoot integer, groupRootUid integer, members text);
insert into StringIds values (20, 'MPI_Send'), (21, 'MPI_Recv'), (22, 'MPI_Irecv'), (23, 'MPI_Waitall'),
    (24, 'MPI_Sendrecv'), (25, 'MPI_Send_init'), (26, 'MPI_Recv_init'), (27, 'MPI_Startall'), (28, 'MPI_Allreduce'),
    (29, 'MPI_Init'), (30, 'MPI_Isend');
";

/// Returns a serialized thread id of Nsight Systems.
pub(crate) fn tid(pid: u64, thread: u64) -> u64 {
    pid << 24 | thread
}

/// Tables of rocpd 3 with their suffix, the views of the tables, and the views that tools read.
pub(crate) const ROCPD_3: &str = "
create table rocpd_metadata_u (id integer primary key, tag text, value text);
create table rocpd_string_u (id integer primary key, guid text default 'g', string text);
create table rocpd_info_node_u (id integer primary key, guid text default 'g', hostname text, machine_id text);
create table rocpd_info_process_u (id integer primary key, guid text default 'g', nid integer, pid integer, command text,
    environment jsonb default '{}');
create table rocpd_info_thread_u (id integer primary key, guid text default 'g', nid integer, pid integer, tid integer,
    name text);
create table rocpd_info_agent_u (id integer primary key, guid text default 'g', type text, absolute_index integer,
    name text, product_name text);
create table rocpd_info_kernel_symbol_u (id integer primary key, guid text default 'g', display_name text);
create table rocpd_event_u (id integer primary key, guid text default 'g', category_id integer, stack_id integer,
    parent_stack_id integer, correlation_id integer, extdata jsonb default '{}');
create table rocpd_region_u (id integer primary key, guid text default 'g', nid integer, pid integer, tid integer,
    start bigint, end bigint, name_id integer, event_id integer);
create table rocpd_kernel_dispatch_u (id integer primary key, guid text default 'g', nid integer, pid integer,
    tid integer, agent_id integer, kernel_id integer, queue_id integer, stream_id integer, start bigint, end bigint,
    event_id integer);
create table rocpd_memory_copy_u (id integer primary key, guid text default 'g', nid integer, pid integer, tid integer,
    start bigint, end bigint, name_id integer, dst_agent_id integer, src_agent_id integer, size integer,
    queue_id integer, stream_id integer, event_id integer);
create view rocpd_string as select * from rocpd_string_u;
create view rocpd_info_node as select * from rocpd_info_node_u;
create view rocpd_info_process as select * from rocpd_info_process_u;
create view rocpd_info_thread as select * from rocpd_info_thread_u;
create view rocpd_info_agent as select * from rocpd_info_agent_u;
create view rocpd_info_kernel_symbol as select * from rocpd_info_kernel_symbol_u;
create view rocpd_event as select * from rocpd_event_u;
create view rocpd_region as select * from rocpd_region_u;
create view rocpd_kernel_dispatch as select * from rocpd_kernel_dispatch_u;
create view rocpd_memory_copy as select * from rocpd_memory_copy_u;
create view processes as select N.id as nid, N.hostname, P.guid, P.pid, P.command from rocpd_info_process P
    inner join rocpd_info_node N on N.id = P.nid and N.guid = P.guid;
create view threads as select N.id as nid, P.guid, P.pid, T.tid, T.name from rocpd_info_thread T
    inner join rocpd_info_process P on P.id = T.pid and N.guid = T.guid
    inner join rocpd_info_node N on N.id = T.nid and N.guid = T.guid;
create view regions as select R.id, R.guid,
    (select string from rocpd_string S2 where S2.id = E.category_id and S2.guid = E.guid) as category, S.string as name,
    R.nid, P.pid, T.tid, R.start, R.end, E.stack_id, E.parent_stack_id, E.correlation_id as corr_id, E.extdata
    from rocpd_region R inner join rocpd_event E on E.id = R.event_id and E.guid = R.guid
    inner join rocpd_string S on S.id = R.name_id and S.guid = R.guid
    inner join rocpd_info_process P on P.id = R.pid and P.guid = R.guid
    inner join rocpd_info_thread T on T.id = R.tid and T.guid = R.guid;
create view kernels as select K.id, K.guid, S.display_name as name, K.nid, P.pid, A.absolute_index as agent_abs_index,
    K.stream_id, K.queue_id, K.start, K.end, E.stack_id from rocpd_kernel_dispatch K
    inner join rocpd_info_agent A on A.id = K.agent_id and A.guid = K.guid
    inner join rocpd_event E on E.id = K.event_id and E.guid = K.guid
    inner join rocpd_info_kernel_symbol S on S.id = K.kernel_id and S.guid = K.guid
    inner join rocpd_info_process P on P.id = K.pid and P.guid = K.guid;
create view memory_copies as select M.id, M.guid, M.nid, P.pid, M.start, M.end, S.string as name, M.stream_id,
    M.queue_id, D.absolute_index as dst_agent_abs_index, D.type as dst_agent_type,
    C.absolute_index as src_agent_abs_index, C.type as src_agent_type, M.size, E.stack_id from rocpd_memory_copy M
    inner join rocpd_string S on S.id = M.name_id and S.guid = M.guid
    inner join rocpd_info_agent D on D.id = M.dst_agent_id and D.guid = M.guid
    inner join rocpd_info_agent C on C.id = M.src_agent_id and C.guid = M.guid
    inner join rocpd_event E on E.id = M.event_id and E.guid = M.guid
    inner join rocpd_info_process P on P.id = M.pid and P.guid = M.guid;
insert into rocpd_info_node_u (id, hostname) values (1, 'mi300');
insert into rocpd_info_thread_u (id, nid, pid, tid, name) values (77, 1, 70, 77, 'loader'), (70, 1, 70, 70, null);
";
/// Rows of rocpd 3: an API call of each thread, a ROCTX range, a kernel, and a copy to the host.
pub(crate) const ROCPD_3_ROWS: &str = r#"
insert into rocpd_info_process_u (id, nid, pid, command, environment)
    values (70, 1, 70, './app -n 2', '{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}');
insert into rocpd_info_agent_u (id, type, absolute_index, name, product_name)
    values (0, 'CPU', 0, 'epyc', 'EPYC'), (4, 'GPU', 4, 'gfx942', 'MI300X');
insert into rocpd_string_u (id, string) values (1, 'hipLaunchKernel'), (2, 'hipMemcpyAsync'), (3, 'roctxRangePushA'),
    (4, 'MEMORY_COPY_DEVICE_TO_HOST');
insert into rocpd_info_kernel_symbol_u (id, display_name) values (9, 'saxpy(float*)');
insert into rocpd_event_u (id, stack_id, parent_stack_id, extdata) values (1, 11, 0, '{}'), (2, 12, 0, '{}'),
    (3, 13, 0, '{"message": "solve"}'), (4, 11, 11, '{}'), (5, 12, 12, '{}');
insert into rocpd_region_u (id, nid, pid, tid, start, end, name_id, event_id)
    values (11, 1, 70, 70, 110, 120, 1, 1), (12, 1, 70, 77, 130, 170, 2, 2), (13, 1, 70, 70, 100, 200, 3, 3);
insert into rocpd_kernel_dispatch_u (id, nid, pid, tid, agent_id, kernel_id, queue_id, stream_id, start, end, event_id)
    values (1, 1, 70, 70, 4, 9, 1, 2, 125, 150, 4);
insert into rocpd_memory_copy_u (id, nid, pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, stream_id,
    event_id) values (1, 1, 70, 77, 155, 165, 4, 0, 4, 64, 2, 5);
"#;

/// Tables of rpd.
pub(crate) const RPD: &str = "
create table rocpd_string (id integer not null primary key autoincrement, string varchar(4096) not null);
create table rocpd_api (id integer not null primary key autoincrement, pid integer not null, tid integer not null,
    start integer not null, end integer not null, apiName_id integer not null, args_id integer not null);
create table rocpd_op (id integer not null primary key autoincrement, gpuId integer not null, queueId integer not null,
    sequenceId integer not null, completionSignal varchar(18) not null, start integer not null, end integer not null,
    description_id integer not null, opType_id integer not null);
create table rocpd_copyapi (api_ptr_id integer not null primary key, stream varchar(18) not null,
    size integer not null, width integer not null, height integer not null, kind integer not null, sync bool not null);
create table rocpd_api_ops (id integer not null primary key autoincrement, api_id integer not null,
    op_id integer not null);
insert into rocpd_string values (1, ''), (2, 'hipLaunchKernel'), (3, 'hipMemcpy'), (4, 'KernelExecution'),
    (5, 'CopyHostToDevice'), (6, 'gemm(float*)'), (7, 'UserMarker'), (8, 'epoch');
";
