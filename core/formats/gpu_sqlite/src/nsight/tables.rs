//! The tables with events, and the conversion of their rows.

use callgrove_model::FuncId;
use callgrove_source::LaneIdentity;

use crate::database::Database;
use crate::func_names::StringTable;
use crate::nsight::facts::NsightFacts;
use crate::nsight::global_id::{process_of, thread_of};
use crate::nsight::mpi_calls::{MpiCalls, MpiTable};
use crate::nsight::synchronizations::{RecordedEvents, Synchronization};
use crate::nsight::table_names::{count_unread, versions_of};
use crate::process::{CallSpan, ProcessKey};
use crate::profiled_run::{GpuWork, LanePlace, ProfiledRun};
use crate::scan::{Cells, Scan};
use crate::tool_reader::ToolReader;

/// A table with events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NsightTable {
    /// Calls that may launch work on a GPU.
    Api,
    /// Other calls.
    Calls,
    Mpi(MpiTable),
    Nvtx,
    Kernels,
    Copies,
    Memsets,
    Graphs,
    /// Events that were recorded in a stream.
    CudaEvents,
    Synchronizations,
}

/// The columns of tables of calls.
const CALL_COLUMNS: &[&[&str]] = &[
    &["start"],
    &["end"],
    &["globalTid"],
    &["nameId", "textId"],
    &["correlationId"],
];
/// The columns of ranges of NVTX.
const NVTX_COLUMNS: &[&[&str]] = &[
    &["start"],
    &["end"],
    &["globalTid"],
    &["textId"],
    &["text"],
    &["eventType"],
];
/// The columns that tables of work on a GPU have in common; the next one is what distinguishes their rows. The short
/// name of a kernel has no template arguments, so it would merge kernels that do different work.
const GPU_COLUMNS: [&[&str]; 6] = [
    &["start"],
    &["end"],
    &["globalPid"],
    &["deviceId"],
    &["streamId"],
    &["correlationId"],
];

/// The columns of events.
const CUDA_EVENT_COLUMNS: &[&[&str]] = &[
    &["globalPid"],
    &["deviceId"],
    &["streamId"],
    &["correlationId"],
    &["eventId"],
    &["eventSyncId"],
];
/// The columns of synchronisations after those of other work.
const SYNCHRONIZATION_COLUMNS: [&[&str]; 3] = [&["syncType"], &["eventId"], &["eventSyncId"]];

/// The tables in the order in which they are read: calls before the work that they launch.
const TABLES: [(&str, NsightTable); 17] = [
    ("CUPTI_ACTIVITY_KIND_RUNTIME", NsightTable::Api),
    ("CUPTI_ACTIVITY_KIND_DRIVER", NsightTable::Api),
    ("CUDNN_EVENTS", NsightTable::Calls),
    ("CUBLAS_EVENTS", NsightTable::Calls),
    ("MPI_P2P_EVENTS", NsightTable::Mpi(MpiTable::PointToPoint)),
    (
        "MPI_START_WAIT_EVENTS",
        NsightTable::Mpi(MpiTable::StartWait),
    ),
    (
        "MPI_COLLECTIVES_EVENTS",
        NsightTable::Mpi(MpiTable::Collectives),
    ),
    ("MPI_OTHER_EVENTS", NsightTable::Calls),
    ("NVTX_EVENTS", NsightTable::Nvtx),
    ("OSRT_API", NsightTable::Calls),
    ("UCP_EVENTS", NsightTable::Calls),
    ("CUPTI_ACTIVITY_KIND_KERNEL", NsightTable::Kernels),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", NsightTable::Copies),
    ("CUPTI_ACTIVITY_KIND_MEMSET", NsightTable::Memsets),
    ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", NsightTable::Graphs),
    ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", NsightTable::CudaEvents),
    (
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        NsightTable::Synchronizations,
    ),
];

/// Kinds of NVTX events: a range of a thread, and one that may begin and end on different threads; the other two are
/// the same, imported from text files.
mod nvtx_kind {
    pub(super) const PUSH_POP: [i64; 2] = [59, 70];
    pub(super) const START_END: [i64; 2] = [60, 71];
}
/// The name of a range without one.
const NO_TEXT: &str = "NVTX range";
/// Kinds of copies, by `copyKind`, as the Kineto library abbreviates them.
const COPY_KINDS: [&str; 14] = [
    "", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "HtoD",
    "DtoH", "DtoD",
];
/// The `copyKind` of copies from and to the memory of the host.
const HOST_COPIES: [i64; 4] = [1, 2, 11, 12];

/// Reads the tables of a file.
#[derive(Default)]
pub(crate) struct NsightReader {
    tables: Vec<NsightTable>,
    facts: NsightFacts,
    mpi: MpiCalls,
    memset: Option<FuncId>,
    events: RecordedEvents,
}

impl NsightReader {
    /// The location of names.
    pub(crate) const STRINGS: StringTable = StringTable {
        table: "StringIds",
        value: "value",
    };
}

impl ToolReader for NsightReader {
    fn begin(&mut self, database: &Database, run: &mut ProfiledRun) -> Vec<Scan> {
        self.facts = NsightFacts::read(database, run);
        let mut scans = Vec::new();
        for (name, table) in TABLES {
            for relation in versions_of(database, name) {
                scans.extend(Scan::of_table(database, relation, &table.columns()));
                self.tables.push(table);
            }
        }
        count_unread(database, &TABLES.map(|it| it.0), run);
        scans
    }

    fn take(
        &mut self,
        table: usize,
        cells: &Cells<'_>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()> {
        match *self.tables.get(table)? {
            NsightTable::Api => {
                let (place, span) = thread_row(cells, run)?;
                let func = named(cells, 3, database, run)?;
                if let Some(process) = run.process(place.process) {
                    process.uses_gpu = true;
                }
                run.api_call(place, func, span, cells.id(4));
            }
            NsightTable::Calls => {
                let (place, span) = thread_row(cells, run)?;
                let func = named(cells, 3, database, run)?;
                run.call(place, func, span);
            }
            NsightTable::Mpi(table) => {
                let (place, span) = thread_row(cells, run)?;
                let func = named(cells, 3, database, run)?;
                let calls = &mut self.mpi;
                calls.take(table, (place, span, func), cells, &self.facts.mpi, run);
            }
            NsightTable::Nvtx => take_nvtx(cells, database, run)?,
            NsightTable::CudaEvents => self.events.take(cells, run)?,
            NsightTable::Synchronizations => self.take_synchronization(cells, run)?,
            kind => self.take_gpu(kind, cells, database, run)?,
        }
        Some(())
    }

    fn finish(&mut self, run: &mut ProfiledRun) {
        self.mpi.finish(run);
        self.facts.apply(run);
    }
}

impl NsightReader {
    fn take_gpu(
        &mut self,
        kind: NsightTable,
        cells: &Cells<'_>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()> {
        let span = run.span(cells.integer(0), cells.integer(1))?;
        let correlation = cells.id(5);
        let process = process_of_work(cells, run);
        let (device, stream) = (number(cells, 3)?, number(cells, 4)?);
        let func = match kind {
            NsightTable::Kernels => named(cells, 6, database, run)?,
            NsightTable::Copies => {
                let kind = of_list(&COPY_KINDS, cells.integer(6));
                run.names.intern(format!("Memcpy {kind}").trim_end())
            }
            NsightTable::Memsets => *self
                .memset
                .get_or_insert_with(|| run.names.intern("Memset")),
            _ => {
                let graph = cells.id(6).unwrap_or_default();
                run.names.intern(&format!("CUDA graph {graph}"))
            }
        };
        let place = run.lane(process, LaneIdentity::Stream { device, stream })?;
        let is_copy = kind == NsightTable::Copies;
        let num_bytes = match kind {
            NsightTable::Copies | NsightTable::Memsets => cells.integer(7),
            _ => None,
        };
        let work = GpuWork {
            device,
            func,
            span,
            correlation,
            num_bytes: num_bytes.and_then(|it| u64::try_from(it).ok()),
            is_host_copy: is_copy && cells.integer(6).is_some_and(|it| HOST_COPIES.contains(&it)),
        };
        run.gpu_call(place, work);
        Some(())
    }

    fn take_synchronization(&mut self, cells: &Cells<'_>, run: &mut ProfiledRun) -> Option<()> {
        let span = run.span(cells.integer(0), cells.integer(1))?;
        let process = process_of_work(cells, run);
        let index = run.process_index(process)?;
        let synchronization = Synchronization::of(cells);
        let func = run.names.intern(synchronization.name());
        let target = synchronization.target(index, &mut self.events);
        let process = run.process(index)?;
        process.synchronization(func, span);
        if let (Some(target), Some(correlation)) = (target, cells.id(5)) {
            process.stated_wait(correlation, target);
        }
        Some(())
    }
}

impl NsightTable {
    /// Returns the columns to read.
    fn columns(self) -> Vec<&'static [&'static str]> {
        let gpu = |last: &[&'static [&'static str]]| [&GPU_COLUMNS[..], last].concat();
        match self {
            Self::Api | Self::Calls => CALL_COLUMNS.to_vec(),
            Self::Mpi(table) => table.columns().to_vec(),
            Self::Nvtx => NVTX_COLUMNS.to_vec(),
            Self::Kernels => gpu(&[&["demangledName", "shortName", "mangledName", "name"]]),
            Self::Copies => gpu(&[&["copyKind"], &["bytes"]]),
            Self::Memsets => gpu(&[&["value"], &["bytes"]]),
            Self::Graphs => gpu(&[&["graphId"]]),
            Self::CudaEvents => CUDA_EVENT_COLUMNS.to_vec(),
            Self::Synchronizations => gpu(&SYNCHRONIZATION_COLUMNS),
        }
    }
}

/// Returns the process of a row of work on a GPU.
fn process_of_work(cells: &Cells<'_>, run: &mut ProfiledRun) -> ProcessKey {
    match cells.id(2) {
        Some(global) => process_of(global),
        None => run.process_of_launch(cells.id(5)).unwrap_or_default(),
    }
}

/// Returns a number that is zero where it is not stated.
fn number(cells: &Cells<'_>, column: usize) -> Option<u64> {
    match cells.id(column) {
        None if cells.is_null(column) => Some(0),
        number => number,
    }
}

/// Returns the thread and the span of a row of calls.
fn thread_row(cells: &Cells<'_>, run: &mut ProfiledRun) -> Option<(LanePlace, CallSpan)> {
    let span = run.span(cells.integer(0), cells.integer(1))?;
    let global = cells.id(2)?;
    let place = run.lane(process_of(global), LaneIdentity::Thread(thread_of(global)))?;
    Some((place, span))
}

/// Returns the function that a column names, by the id of a string or as text.
fn named(
    cells: &Cells<'_>,
    column: usize,
    database: &Database,
    run: &mut ProfiledRun,
) -> Option<FuncId> {
    match cells.integer(column) {
        Some(id) => Some(run.names.of_id(id, database, &mut run.warnings)),
        None => cells.text(column).map(|text| run.intern_text(&text)),
    }
}

fn take_nvtx(cells: &Cells<'_>, database: &Database, run: &mut ProfiledRun) -> Option<()> {
    let kind = cells.integer(5);
    let is_start_end = kind.is_some_and(|it| nvtx_kind::START_END.contains(&it));
    let is_push_pop = kind.is_none_or(|it| nvtx_kind::PUSH_POP.contains(&it));
    if !is_start_end && !is_push_pop {
        return Some(());
    }
    let (place, span) = thread_row(cells, run)?;
    let func = match cells.text(4) {
        Some(text) => run.intern_text(&text),
        None => match cells.integer(3) {
            Some(id) => run.names.of_id(id, database, &mut run.warnings),
            None => run.names.intern(NO_TEXT),
        },
    };
    if is_start_end {
        run.process(place.process)?.range(func, span);
    } else {
        run.call(place, func, span);
    }
    Some(())
}

/// Returns the entry of a list; the first one, which is empty, for a number beyond it.
fn of_list(names: &[&'static str], number: Option<i64>) -> &'static str {
    let index = number.and_then(|it| usize::try_from(it).ok());
    let name = index.and_then(|it| names.get(it));
    name.copied().unwrap_or_default()
}
