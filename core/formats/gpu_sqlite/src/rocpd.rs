//! Files of rocprofv3 and rocprofiler-systems: the views of rocpd 3 and 4.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_source::LaneIdentity;

use crate::database::Database;
use crate::environment::StatedRank;
use crate::func_names::StringTable;
use crate::process::ProcessKey;
use crate::profiled_run::{GpuWork, ProfiledRun};
use crate::scan::{Cells, Scan};
use crate::tool_reader::ToolReader;

/// A view with events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RocpdView {
    Regions,
    Kernels,
    Copies,
}

/// The first columns of each view, with alternative names. An API call and the work that it launches have the same
/// stack id.
const COMMON_COLUMNS: [&[&str]; 6] = [
    &["start"],
    &["end"],
    &["nid"],
    &["pid"],
    &["name"],
    &["stack_id"],
];
/// The thread of a region, and the JSON of its event, which has the text of a ROCTX range.
const REGION_COLUMNS: [&[&str]; 2] = [&["tid"], &["extdata"]];
/// Names of the columns with the GPU and the stream of a kernel in versions 3 and 4.
const KERNEL_COLUMNS: [&[&str]; 3] = [
    &["agent_absolute_index", "agent_abs_index"],
    &["stream_id"],
    &["queue_id"],
];
/// The same for a copy, which has two ends, each with its kind.
const COPY_COLUMNS: [&[&str]; 7] = [
    &["dst_agent_absolute_index", "dst_agent_abs_index"],
    &["stream_id"],
    &["queue_id"],
    &["src_agent_absolute_index", "src_agent_abs_index"],
    &["dst_agent_type"],
    &["src_agent_type"],
    &["size"],
];
/// The type of an agent that is not a GPU.
const CPU: &str = "CPU";
/// The views in the order in which they are read: calls before the work that they launch.
const VIEWS: [(&str, RocpdView); 3] = [
    ("regions", RocpdView::Regions),
    ("kernels", RocpdView::Kernels),
    ("memory_copies", RocpdView::Copies),
];
/// Maximum number of rows of a view about processes, threads or GPUs.
const MAX_ROWS: u64 = 1 << 20;
/// The key of the text of a ROCTX range.
const MESSAGE: &str = "message";
/// Streams of a GPU that no stream but a queue identifies have numbers from here on.
const FIRST_QUEUE: u64 = 1 << 32;

/// Reads the views of a file.
#[derive(Default)]
pub(crate) struct RocpdReader {
    views: Vec<RocpdView>,
    hosts: BTreeMap<ProcessKey, String>,
    commands: BTreeMap<ProcessKey, String>,
    environments: BTreeMap<u64, StatedRank>,
    thread_names: BTreeMap<(ProcessKey, u64), String>,
    gpu_names: Arc<BTreeMap<u64, String>>,
}

impl RocpdReader {
    /// The location of strings; the views contain them already.
    pub(crate) const STRINGS: StringTable = StringTable {
        table: "rocpd_string",
        value: "string",
    };

    fn read_facts(&mut self, database: &Database) {
        let kept = |cells: &Cells<'_>, column| {
            let text = text(cells, column)?;
            database.may_keep_text(text.len()).then_some(text)
        };
        let columns: &[&[&str]] = &[&["nid"], &["pid"], &["hostname"], &["command"]];
        read(database, "processes", columns, |cells| {
            if let Some(key) = process(cells, 0, 1) {
                self.hosts.extend(kept(cells, 2).map(|host| (key, host)));
                let command = kept(cells, 3);
                self.commands.extend(command.map(|command| (key, command)));
            }
        });
        let columns: &[&[&str]] = &[&["pid"], &["environment"]];
        read(database, "rocpd_info_process", columns, |cells| {
            let environment = text(cells, 1);
            let stated = environment.and_then(|it| StatedRank::in_environment(&it));
            if let (Some(pid), Some(stated)) = (cells.id(0), stated) {
                self.environments.insert(pid, stated);
            }
        });
        let columns: &[&[&str]] = &[&["nid"], &["pid"], &["tid"], &["name"]];
        read(database, "threads", columns, |cells| {
            if let (Some(key), Some(tid), Some(name)) =
                (process(cells, 0, 1), cells.id(2), kept(cells, 3))
            {
                self.thread_names.insert((key, tid), name);
            }
        });
        let columns: &[&[&str]] = &[&["absolute_index"], &["product_name", "name"]];
        let mut gpu_names = BTreeMap::new();
        read(database, "rocpd_info_agent", columns, |cells| {
            if let (Some(agent), Some(name)) = (cells.id(0), kept(cells, 1)) {
                gpu_names.insert(agent, name);
            }
        });
        self.gpu_names = Arc::new(gpu_names);
    }
}

impl ToolReader for RocpdReader {
    fn begin(&mut self, database: &Database, _: &mut ProfiledRun) -> Vec<Scan> {
        database.bound_texts();
        self.read_facts(database);
        let mut scans = Vec::new();
        for (name, view) in VIEWS {
            let mut columns = COMMON_COLUMNS.to_vec();
            columns.extend(match view {
                RocpdView::Regions => &REGION_COLUMNS[..],
                RocpdView::Kernels => &KERNEL_COLUMNS[..],
                RocpdView::Copies => &COPY_COLUMNS[..],
            });
            if let Some(scan) = Scan::of_view(database, name, &columns) {
                scans.push(scan);
                self.views.push(view);
            }
        }
        scans
    }

    fn take(
        &mut self,
        table: usize,
        cells: &Cells<'_>,
        _: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()> {
        let view = *self.views.get(table)?;
        let span = run.span(cells.integer(0), cells.integer(1))?;
        let process = process(cells, 2, 3)?;
        let correlation = cells.id(5).filter(|it| *it != 0);
        if view == RocpdView::Regions {
            let place = run.lane(process, LaneIdentity::Thread(cells.id(6)?))?;
            let func = match marker(cells) {
                Some(message) => run.names.intern(&message),
                None => run.intern_text(&cells.text(4)?),
            };
            run.api_call(place, func, span, correlation);
            return Some(());
        }
        let func = run.intern_text(&cells.text(4)?);
        let target = cells.id(6);
        // A copy to the host is of the GPU that it comes from.
        let is_copy = view == RocpdView::Copies;
        let is_of_host = |column| is_copy && cells.text(column).is_some_and(|it| it.0 == CPU);
        let is_to_host = is_of_host(10);
        let device = if is_to_host { cells.id(9) } else { target };
        let queue = cells.id(8).map(|it| FIRST_QUEUE.saturating_add(it));
        let stream = cells.id(7).or(queue).unwrap_or_default();
        let device = device.or(target).unwrap_or_default();
        let place = run.lane(process, LaneIdentity::Stream { device, stream })?;
        let num_bytes = cells.integer(12).filter(|_| is_copy);
        let work = GpuWork {
            device,
            func,
            span,
            correlation,
            num_bytes: num_bytes.and_then(|it| u64::try_from(it).ok()),
            is_host_copy: is_to_host || is_of_host(11),
        };
        run.gpu_call(place, work);
        Some(())
    }

    fn finish(&mut self, run: &mut ProfiledRun) {
        for (key, index) in run.keys().collect::<Vec<_>>() {
            let Some(process) = run.process(index) else {
                continue;
            };
            let facts = &mut process.facts;
            facts.rank = self.environments.get(&key.pid).copied();
            facts.host = self.hosts.remove(&key);
            facts.command_line = self.commands.remove(&key);
            let threads = self.thread_names.range((key, 0)..=(key, u64::MAX));
            facts.thread_names = threads
                .map(|((_, tid), name)| (*tid, name.clone()))
                .collect();
            facts.gpu_names = Arc::clone(&self.gpu_names);
        }
    }
}

/// Returns the text of a ROCTX range, whose name is that of the function of ROCTX.
fn marker(cells: &Cells<'_>) -> Option<String> {
    let (json, _) = cells.text(7)?;
    if !json.contains(MESSAGE) {
        return None;
    }
    let event: serde_json::Value = serde_json::from_str(&json).ok()?;
    let message = event.get(MESSAGE)?.as_str()?;
    (!message.is_empty()).then(|| message.to_owned())
}

fn process(cells: &Cells<'_>, node: usize, pid: usize) -> Option<ProcessKey> {
    Some(ProcessKey {
        node: cells.id(node).unwrap_or_default(),
        pid: cells.id(pid)?,
    })
}

fn text(cells: &Cells<'_>, column: usize) -> Option<String> {
    cells.text(column).map(|(text, _)| text.into_owned())
}

fn read(database: &Database, name: &str, columns: &[&[&str]], take: impl FnMut(&Cells<'_>)) {
    if let Some(mut scan) = Scan::of_view(database, name, columns) {
        scan.read(database, MAX_ROWS, MAX_ROWS, take);
    }
}
