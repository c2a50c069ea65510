//! Traces of any size in the format of TAU's plugin, with outliers at known positions: input for measuring the pipeline
//! where no recorded trace is long enough.
//!
//! Each thread calls the functions of one synthetic program, at most five deep, until it has made its share of events.
//! Exclusive times are drawn from the function's own distribution (log-normal, with one mode or two). A step ends when
//! the first thread has made its share of the step; the others are cut at the same time, so calls extend over steps as
//! in a real run. Some calls are outliers: they take 10 to 100 times as long. With a GPU, launches on the CPU start
//! kernels on virtual threads, one per stream, linked by the counter `Correlation ID`; a kernel is written in the step
//! in which it ends, often after that of its launch.
//!
//! The same spec gives the same trace.

mod gpu;
mod lane;
mod names;
mod program;
mod spec;

use std::path::Path;

use callgrove_adios2_sys::Library;
use callgrove_tau::{TauError, TauStep, TauWriter};

use gpu::Gpu;
use lane::CpuThread;
use names::{COUNTERS, TimerIndices, first_attributes};
use program::Program;

pub use spec::{Outlier, TauTraceSpec};

/// Summary of the written trace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    /// Function events.
    pub num_events: u64,
    /// Rows of messages.
    pub num_messages: u64,
    /// Rows of counters.
    pub num_counter_rows: u64,
    /// All outliers, in order of rank, step and row.
    pub outliers: Vec<Outlier>,
}

/// Writes one stream per rank, `tau-metrics-synth-<rank>.bp`, into the folder `out`, which must exist.
///
/// # Errors
/// [`TauError::Write`].
pub fn write_trace(spec: TauTraceSpec, out: &Path, library: &Library) -> Result<Summary, TauError> {
    let mut summary = Summary::default();
    let program = Program::new(spec.seed);
    for rank in 0..spec.num_ranks {
        let path = out.join(format!("tau-metrics-synth-{rank}.bp"));
        let mut writer = TauWriter::open(&path, spec.engine, library)?;
        let mut maker = RankMaker::new(spec, &program, rank);
        for step in 0..spec.num_steps {
            writer.write(&maker.make_step(step, &mut summary))?;
        }
        writer.close()?;
    }
    Ok(summary)
}

/// The generator of one rank.
struct RankMaker<'a> {
    spec: TauTraceSpec,
    rank: u32,
    names: TimerIndices<'a>,
    threads: Vec<CpuThread<'a>>,
    gpu: Option<Gpu<'a>>,
}

impl<'a> RankMaker<'a> {
    fn new(spec: TauTraceSpec, program: &'a Program, rank: u32) -> Self {
        let threads =
            (0..spec.num_threads).map(|thread| CpuThread::new(spec, program, rank, thread));
        let gpu = spec.has_gpu.then(|| Gpu::new(spec, program, rank));
        Self {
            spec,
            rank,
            names: TimerIndices::new(program),
            threads: threads.collect(),
            gpu,
        }
    }

    fn make_step(&mut self, number: u32, summary: &mut Summary) -> TauStep {
        let is_last = number + 1 == self.spec.num_steps;
        let mut step = TauStep::default();
        let mut launches = Vec::new();
        let mut end_us = u64::MAX;
        for (index, thread) in self.threads.iter_mut().enumerate() {
            if index == 0 {
                thread.run_to_share(number, &mut self.names);
                end_us = if is_last { u64::MAX } else { thread.clock_us() };
            } else {
                thread.run_to_time(end_us, &mut self.names);
            }
            launches.append(&mut thread.launches);
            thread.lane.hand_over(
                number,
                &mut step,
                &mut summary.outliers,
                self.names.program(),
            );
        }
        if let Some(gpu) = &mut self.gpu {
            gpu.run(&mut launches, end_us, &mut self.names);
            for lane in gpu.lanes() {
                lane.hand_over(
                    number,
                    &mut step,
                    &mut summary.outliers,
                    self.names.program(),
                );
            }
        }
        // In TAU's order: by time, then by the other columns of the row.
        step.counters.sort_unstable_by_key(|row| (row[5], *row));
        step.comms.sort_unstable_by_key(|row| (row[7], *row));
        if number == 0 {
            step.attributes = first_attributes(self.spec, self.rank);
        }
        step.attributes.append(&mut self.names.take_new());
        step.num_ranks = self.spec.num_ranks as i32;
        step.num_threads =
            (self.spec.num_threads + self.gpu.as_ref().map_or(0, Gpu::num_streams)) as i32;
        step.num_timers = self.names.num_timers() as i32;
        step.num_counters = COUNTERS.len() as i32;
        summary.num_events += step.funcs.len() as u64;
        summary.num_messages += step.comms.len() as u64;
        summary.num_counter_rows += step.counters.len() as u64;
        step
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callgrove_adios2_sys::default_candidates;
    use callgrove_model::{ExecIdx, Progress, RankId, Trace};

    use super::*;

    /// Generates two ranks with a GPU each; returns the folder, the summary and the trace.
    fn make(seed: u64) -> (tempfile::TempDir, Summary, Trace) {
        let folder = tempfile::tempdir().unwrap();
        let spec = TauTraceSpec {
            num_events: 20_000,
            num_steps: 7,
            num_threads: 3,
            num_ranks: 2,
            outlier_share: 0.005,
            has_gpu: true,
            seed,
            ..TauTraceSpec::default()
        };
        let library = Library::load(&default_candidates()).unwrap();
        let summary = write_trace(spec, folder.path(), &library).unwrap();
        let trace = callgrove_formats::load(folder.path(), Progress::none()).unwrap();
        (folder, summary, trace)
    }

    #[test]
    fn the_reader_accepts_the_trace_and_finds_every_outlier_at_its_position() {
        let (_folder, summary, trace) = make(1);
        let of_calls: Vec<_> = trace
            .warnings
            .iter()
            .filter(|warning| !format!("{:?}", warning.kind).starts_with("Unmatched"))
            .filter(|warning| {
                !["SizeDiffers", "RecvBeforeSend"].contains(&&*format!("{:?}", warning.kind))
            })
            .collect();
        assert_eq!(of_calls, [], "clocks of two ranks need not agree");
        assert_eq!(trace.num_steps, 14);
        assert_eq!(summary.num_events, 2 * trace.num_executions() as u64);
        let mut found = BTreeMap::new();
        for lane in &trace.lanes {
            let calls = &lane.executions;
            for call in 0..calls.len() {
                assert!(calls.depth[call] < 5);
                let key = (lane.rank, calls.step[call].0, u64::from(calls.row[call]));
                let name = trace.names.name(calls.func[call]);
                found.insert(key, (lane.thread.0, name, calls.exclusive[call].as_us()));
            }
        }
        let cpu = summary.outliers.iter().filter(|it| it.thread < 3).count();
        assert_eq!(cpu, 2 * 3 * (20_000 / 3 / 2) / 200, "{cpu}");
        for outlier in &summary.outliers {
            let key = (RankId(outlier.rank), outlier.step, outlier.row);
            let stated = (
                outlier.thread,
                &*outlier.function,
                outlier.exclusive_us as i64,
            );
            assert_eq!(found.get(&key), Some(&stated));
        }
    }

    #[test]
    fn a_kernel_and_its_launch_share_a_correlation_id() {
        let (_folder, _, trace) = make(2);
        let mut of_launch = BTreeMap::new();
        let mut of_kernel = BTreeMap::new();
        for lane in &trace.lanes {
            for row in 0..lane.counters.len() {
                if trace.counter_names.name(lane.counters.counter[row]) == "Correlation ID" {
                    let call = ExecIdx::from(lane.counters.exec[row].unwrap());
                    let name = trace.names.name(lane.executions.func[call.index()]);
                    let calls = if lane.thread.0 < 3 {
                        &mut of_launch
                    } else {
                        &mut of_kernel
                    };
                    calls.insert((lane.rank, lane.counters.value[row]), name);
                }
            }
        }
        assert!(of_kernel.len() > 200);
        assert!(of_launch.keys().eq(of_kernel.keys()));
        assert!(of_launch.values().all(|name| *name == "cudaLaunchKernel"));
        assert!(of_kernel.values().all(|name| name.starts_with("[GPU] ")));
        let streams = trace
            .metadata
            .iter()
            .filter(|entry| entry.key == "CUDA Stream");
        assert_eq!(streams.count(), 4);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let ((_a, first, trace), (_b, again, same), (_c, other, _)) = (make(3), make(3), make(4));
        assert_eq!(first, again);
        assert_eq!(format!("{:?}", trace.lanes), format!("{:?}", same.lanes));
        assert_ne!(first.outliers, other.outliers);
    }
}
