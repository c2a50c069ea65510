//! The facts about the run in its small tables: clock, host, processes, threads and GPUs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::database::Database;
use crate::environment::StatedRank;
use crate::nsight::global_id::{process_of, thread_of};
use crate::nsight::mpi_ranks::MpiRanks;
use crate::process::ProcessKey;
use crate::profiled_run::ProfiledRun;
use crate::scan::{Cells, Scan};

/// Maximum number of rows of such a table: threads of a large run.
const MAX_ROWS: u64 = 1 << 20;

/// Size of a text that is too long for the name of a host, a thread or a GPU, in bytes.
const TOO_LONG_BYTES: usize = 256;

/// The facts in the small tables.
#[derive(Default)]
pub(crate) struct NsightFacts {
    pub(crate) mpi: MpiRanks,
    host: Option<String>,
    environment: Option<StatedRank>,
    thread_names: BTreeMap<(ProcessKey, u64), String>,
    process_names: BTreeMap<ProcessKey, String>,
    /// By the number of the GPU in the file.
    gpu_names: Arc<BTreeMap<u64, String>>,
    /// The number in the file of a GPU of a process, by the number that the process gives it.
    gpus: BTreeMap<(u64, u64), u64>,
}

impl NsightFacts {
    pub(crate) fn read(database: &Database, run: &mut ProfiledRun) -> Self {
        let mut facts = Self {
            mpi: MpiRanks::read(database),
            ..Self::default()
        };
        read(
            database,
            "TARGET_INFO_SESSION_START_TIME",
            &[&["utcEpochNs"]],
            |cells| {
                if let Some(origin_ns) = cells.integer(0) {
                    run.set_origin(origin_ns);
                }
            },
        );
        let columns: &[&[&str]] = &[&["name"], &["value"]];
        read(database, "TARGET_INFO_SYSTEM_ENV", columns, |cells| {
            facts.take_environment(&text(cells, 0), &text(cells, 1));
        });
        let columns: &[&[&str]] = &[&["globalTid"], &["nameId"]];
        read(database, "ThreadNames", columns, |cells| {
            let name = cells.integer(1);
            let name = name.and_then(|id| run.names.text(id, database, &mut run.warnings));
            if let (Some(global), Some(name)) = (cells.id(0), name)
                && is_name(&name)
            {
                let thread = (process_of(global), thread_of(global));
                facts.thread_names.insert(thread, name);
            }
        });
        let columns: &[&[&str]] = &[&["globalPid"], &["name"]];
        read(database, "PROCESSES", columns, |cells| {
            if let Some(global) = cells.id(0) {
                facts
                    .process_names
                    .insert(process_of(global), text(cells, 1));
            }
        });
        let columns: &[&[&str]] = &[&["id"], &["name"]];
        let mut gpu_names = BTreeMap::new();
        read(database, "TARGET_INFO_GPU", columns, |cells| {
            let name = text(cells, 1);
            if let Some(gpu) = cells.id(0)
                && is_name(&name)
            {
                gpu_names.insert(gpu, name);
            }
        });
        facts.gpu_names = Arc::new(gpu_names);
        let columns: &[&[&str]] = &[&["pid"], &["cudaId"], &["gpuId"]];
        read(database, "TARGET_INFO_CUDA_DEVICE", columns, |cells| {
            if let (Some(pid), Some(device), Some(gpu)) = (cells.id(0), cells.id(1), cells.id(2)) {
                facts.gpus.insert((pid, device), gpu);
            }
        });
        facts
    }

    fn take_environment(&mut self, name: &str, value: &str) {
        if name.eq_ignore_ascii_case("hostname") && is_name(value) {
            self.host = Some(value.to_owned());
        }
        if name.contains("Environment") {
            self.environment = self.environment.or(StatedRank::in_environment(value));
        }
    }

    /// Adds the known facts about each process.
    pub(crate) fn apply(&mut self, run: &mut ProfiledRun) {
        let processes: Vec<_> = run.keys().collect();
        let uses_gpu = |run: &mut ProfiledRun, index| {
            let process = run.process(index);
            process.is_some_and(|it| it.uses_gpu && !it.is_empty())
        };
        let num_on_gpu = processes.iter().filter(|it| uses_gpu(run, it.1)).count();
        // The environment is that of the profiler, so it is that of a process only if there is one to choose.
        let is_alone = self.mpi.of_process.is_empty() && (num_on_gpu == 1 || processes.len() == 1);
        for (key, index) in processes {
            let of_environment = self
                .environment
                .filter(|_| is_alone && (num_on_gpu == 0 || uses_gpu(run, index)));
            let of_mpi = self.mpi.of_process.get(&key).map(|rank| StatedRank {
                rank: *rank,
                num_ranks: None,
            });
            let Some(process) = run.process(index) else {
                continue;
            };
            let facts = &mut process.facts;
            facts.rank = of_mpi.or(of_environment);
            facts.host.clone_from(&self.host);
            facts.executable = self.process_names.remove(&key).filter(|it| !it.is_empty());
            let threads = (key, 0)..=(key, u64::MAX);
            let threads = self.thread_names.range(threads);
            facts.thread_names = threads
                .map(|((_, tid), name)| (*tid, name.clone()))
                .collect();
            let of_process = (key.pid, 0)..=(key.pid, u64::MAX);
            let mapped = self.gpus.range(of_process);
            let mapped: BTreeMap<u64, u64> = mapped.map(|((_, id), gpu)| (*id, *gpu)).collect();
            facts.gpu_names = if mapped.is_empty() {
                Arc::clone(&self.gpu_names)
            } else {
                let name = |(id, gpu)| Some((id, self.gpu_names.get(&gpu)?.clone()));
                Arc::new(mapped.into_iter().filter_map(name).collect())
            };
        }
    }
}

/// Reads a small table, if the file has it. Of a damaged table, the rows before the damage are used.
fn read(database: &Database, name: &str, columns: &[&[&str]], take: impl FnMut(&Cells<'_>)) {
    if let Some(mut scan) = Scan::of_table(database, name, columns) {
        scan.read(database, MAX_ROWS, MAX_ROWS, take);
    }
}

fn text(cells: &Cells<'_>, column: usize) -> String {
    let text = cells.text(column);
    text.map_or_else(String::new, |(text, _)| text.into_owned())
}

/// Returns whether a text can be the name of a host, a thread or a GPU.
fn is_name(text: &str) -> bool {
    (1..TOO_LONG_BYTES).contains(&text.len())
}
