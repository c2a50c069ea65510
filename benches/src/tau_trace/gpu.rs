//! Kernels on virtual threads, one per stream of the GPU.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::lane::{PendingLaunch, ThreadRows};
use super::names::{CORRELATION_ID, NUM_STREAMS, TimerIndices};
use super::program::Program;
use super::spec::{ENTRY, EXIT, TauTraceSpec};

/// Stream of random numbers for the GPU, different from those of all threads.
const RNG_STREAM: u64 = 0xffff;

/// The GPU of one rank.
pub(super) struct Gpu<'a> {
    program: &'a Program,
    outlier_share: f64,
    rng: ChaCha8Rng,
    streams: Vec<Stream>,
}

struct Stream {
    lane: ThreadRows,
    free_us: u64,
    /// Kernels that have not ended yet.
    running: VecDeque<Kernel>,
}

struct Kernel {
    function: usize,
    entry_us: u64,
    exit_us: u64,
    is_outlier: bool,
    correlation: u64,
}

impl<'a> Gpu<'a> {
    pub(super) fn new(spec: TauTraceSpec, program: &'a Program, rank: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
        rng.set_stream((u64::from(rank) << 16) | RNG_STREAM);
        let stream = |stream| Stream {
            lane: ThreadRows::new(rank, spec.num_threads + stream),
            free_us: 0,
            running: VecDeque::new(),
        };
        Self {
            program,
            outlier_share: spec.outlier_share,
            rng,
            streams: (0..NUM_STREAMS).map(stream).collect(),
        }
    }

    pub(super) fn num_streams(&self) -> u32 {
        self.streams.len() as u32
    }

    pub(super) fn lanes(&mut self) -> impl Iterator<Item = &mut ThreadRows> {
        self.streams.iter_mut().map(|stream| &mut stream.lane)
    }

    /// Queues the launched kernels, and writes those that have ended by `end_us`.
    pub(super) fn run(
        &mut self,
        launches: &mut [PendingLaunch],
        end_us: u64,
        names: &mut TimerIndices<'_>,
    ) {
        launches.sort_unstable();
        for launch in launches {
            self.queue(*launch);
        }
        for stream in &mut self.streams {
            while let Some(kernel) = stream
                .running
                .pop_front_if(|kernel| kernel.exit_us <= end_us)
            {
                stream.write(&kernel, names);
            }
        }
    }

    fn queue(&mut self, launch: PendingLaunch) {
        let program = self.program;
        let function = program.kernels[self.rng.random_range(0..program.kernels.len())];
        let is_outlier = self.rng.random::<f64>() < self.outlier_share;
        let took_us = if is_outlier {
            program.functions[function].outlier_us(&mut self.rng)
        } else {
            program.functions[function].usual_us(&mut self.rng)
        };
        // On the stream that is free first. Kernels never touch, so that counters are unambiguous.
        let Some(stream) = self.streams.iter_mut().min_by_key(|stream| stream.free_us) else {
            return;
        };
        let entry_us = (launch.time_us + self.rng.random_range(4..12)).max(stream.free_us + 1);
        let exit_us = entry_us + took_us.max(2);
        stream.free_us = exit_us;
        stream.running.push_back(Kernel {
            function,
            entry_us,
            exit_us,
            is_outlier,
            correlation: launch.correlation,
        });
    }
}

impl Stream {
    fn write(&mut self, kernel: &Kernel, names: &mut TimerIndices<'_>) {
        if kernel.is_outlier {
            self.lane
                .outlier(kernel.function, kernel.exit_us - kernel.entry_us);
        }
        let timer = names.timer(kernel.function);
        self.lane.func(ENTRY, timer, kernel.entry_us);
        self.lane.func(EXIT, timer, kernel.exit_us);
        self.lane
            .counter(CORRELATION_ID, kernel.correlation, kernel.exit_us - 1);
    }
}
