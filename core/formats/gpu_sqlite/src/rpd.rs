//! Files of rocmProfileData (`.rpd`), of its schema versions 1 and 2.

use std::collections::HashMap;

use callgrove_model::FuncId;
use callgrove_source::LaneIdentity;

use crate::database::Database;
use crate::func_names::StringTable;
use crate::process::ProcessKey;
use crate::profiled_run::{GpuWork, ProfiledRun};
use crate::scan::{Cells, Scan};
use crate::tool_reader::ToolReader;

/// A table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RpdTable {
    ApiCalls,
    /// The API call that launched each operation.
    Launches,
    /// The sizes of the copies that API calls start.
    Copies,
    /// Work on a GPU.
    Operations,
}

/// The columns of API calls.
const API_COLUMNS: &[&[&str]] = &[
    &["start"],
    &["end"],
    &["pid"],
    &["tid"],
    &["apiName_id"],
    &["args_id"],
    &["id"],
];
/// The columns of the relation between API calls and operations.
const LAUNCH_COLUMNS: &[&[&str]] = &[&["api_id"], &["op_id"]];
/// The columns of copies.
const COPY_COLUMNS: &[&[&str]] = &[
    &["api_ptr_id"],
    &["size"],
    &["width"],
    &["height"],
    &["sync"],
];
/// The columns of operations.
const OPERATION_COLUMNS: &[&[&str]] = &[
    &["start"],
    &["end"],
    &["gpuId"],
    &["queueId"],
    &["description_id"],
    &["opType_id"],
    &["id"],
];
/// The tables in the order in which they are read: calls and launches before the operations.
const TABLES: [(&str, RpdTable, &[&[&str]]); 4] = [
    ("rocpd_api", RpdTable::ApiCalls, API_COLUMNS),
    ("rocpd_api_ops", RpdTable::Launches, LAUNCH_COLUMNS),
    ("rocpd_copyapi", RpdTable::Copies, COPY_COLUMNS),
    ("rocpd_op", RpdTable::Operations, OPERATION_COLUMNS),
];
/// The API call under which ranges and marks of ROCTX are; its arguments are their text.
const MARKER: &str = "UserMarker";

/// The types of copies from and to the memory of the host.
const HOST_COPIES: [&str; 2] = ["CopyHostToDevice", "CopyDeviceToHost"];

/// Reads the tables of a file.
#[derive(Default)]
pub(crate) struct RpdReader {
    tables: Vec<RpdTable>,
    /// The process of each API call, if there are several; else the only one.
    process_of_api: HashMap<u64, ProcessKey>,
    only_process: Option<ProcessKey>,
    /// The API call of each operation.
    api_of_operation: HashMap<u64, u64>,
    /// Number of bytes of the copy that an API call starts.
    sizes_of_api: HashMap<u64, u64>,
    marker: Option<i64>,
}

impl RpdReader {
    /// The location of names.
    pub(crate) const STRINGS: StringTable = StringTable {
        table: "rocpd_string",
        value: "string",
    };

    /// Remembers the process of an API call. In a file of one process that is always the same.
    fn note_process(&mut self, api: u64, process: ProcessKey) {
        match self.only_process {
            None => self.only_process = Some(process),
            Some(only) if only == process => {}
            Some(_) => {
                self.process_of_api.insert(api, process);
            }
        }
    }

    fn take_api_call(
        &mut self,
        cells: &Cells<'_>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()> {
        let span = run.span(cells.integer(0), cells.integer(1))?;
        let process = ProcessKey {
            node: 0,
            pid: cells.id(2)?,
        };
        let place = run.lane(process, LaneIdentity::Thread(cells.id(3)?))?;
        let name = cells.integer(4)?;
        let func = self.func(name, cells.integer(5), database, run);
        let api = cells.id(6);
        if let Some(api) = api {
            self.note_process(api, process);
        }
        run.api_call(place, func, span, api);
        Some(())
    }

    /// Returns the function of an API call; of a range of ROCTX, its text.
    fn func(
        &mut self,
        name: i64,
        arguments: Option<i64>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> FuncId {
        let func = run.names.of_id(name, database, &mut run.warnings);
        if self.marker.is_none() && run.names.table.name(func) == MARKER {
            self.marker = Some(name);
        }
        let text = arguments.filter(|_| self.marker == Some(name));
        let text = text.and_then(|id| run.names.text(id, database, &mut run.warnings));
        text.map_or(func, |text| run.names.intern(&text))
    }

    fn take_copy(&mut self, cells: &Cells<'_>, run: &mut ProfiledRun) -> Option<()> {
        let api = cells.id(0)?;
        let number = |column| cells.integer(column).and_then(|it| u64::try_from(it).ok());
        // Of a copy of rows, the width of a row and the number of rows are stated.
        let num_bytes = number(1).filter(|it| *it > 0).or_else(|| {
            let num_rows = number(3)?.max(1);
            number(2)?.checked_mul(num_rows)
        });
        if let Some(num_bytes) = num_bytes {
            self.sizes_of_api.insert(api, num_bytes);
        }
        let process = self.process_of(Some(api));
        if cells.integer(4) == Some(1)
            && let Some(index) = run.process_index(process)
            && let Some(process) = run.process(index)
        {
            process.blocking_copy(api);
        }
        Some(())
    }

    /// Returns the process of an API call.
    fn process_of(&self, api: Option<u64>) -> ProcessKey {
        let process = api.and_then(|it| self.process_of_api.get(&it).copied());
        process.or(self.only_process).unwrap_or_default()
    }

    fn take_operation(
        &mut self,
        cells: &Cells<'_>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()> {
        let span = run.span(cells.integer(0), cells.integer(1))?;
        let api = cells.id(6).and_then(|it| self.api_of_operation.get(&it));
        let api = api.copied();
        let process = self.process_of(api);
        let (device, stream) = (cells.id(2)?, cells.id(3)?);
        // A kernel is described by its name; a copy has only a type.
        let description = cells.integer(4);
        let description = description.filter(|id| {
            let text = run.names.text(*id, database, &mut run.warnings);
            text.is_some()
        });
        let name = description.or(cells.integer(5))?;
        let func = run.names.of_id(name, database, &mut run.warnings);
        let place = run.lane(process, LaneIdentity::Stream { device, stream })?;
        let is_host_copy = HOST_COPIES.contains(&run.names.table.name(func));
        let is_copy = description.is_none();
        let num_bytes = api.filter(|_| is_copy);
        let work = GpuWork {
            device,
            func,
            span,
            correlation: api,
            num_bytes: num_bytes.and_then(|it| self.sizes_of_api.get(&it).copied()),
            is_host_copy,
        };
        run.gpu_call(place, work);
        Some(())
    }
}

impl ToolReader for RpdReader {
    fn begin(&mut self, database: &Database, _: &mut ProfiledRun) -> Vec<Scan> {
        let mut scans = Vec::new();
        for (name, table, columns) in TABLES {
            if let Some(scan) = Scan::of_table(database, name, columns) {
                scans.push(scan);
                self.tables.push(table);
            }
        }
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
            RpdTable::ApiCalls => self.take_api_call(cells, database, run),
            RpdTable::Launches => {
                let (api, operation) = (cells.id(0)?, cells.id(1)?);
                self.api_of_operation.entry(operation).or_insert(api);
                Some(())
            }
            RpdTable::Copies => self.take_copy(cells, run),
            RpdTable::Operations => self.take_operation(cells, database, run),
        }
    }

    fn finish(&mut self, _: &mut ProfiledRun) {}
}
