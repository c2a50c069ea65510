//! The synthetic program: which functions call which, and their exclusive times.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Number of functions at each depth below the root, which is function 0: 50 in total.
const LEVELS: [usize; 4] = [6, 12, 14, 15];
const KERNELS: [&str; 3] = [
    "[GPU] void pair_force_kernel<float, 128>(float4*, int)",
    "[GPU] void neighbour_list_kernel<float>(int*, int)",
    "[GPU] void reduce_energy_kernel<double>(double*)",
];

/// The role of a function: its events other than its entry and exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Nothing.
    Plain,
    /// Sends a message.
    Send,
    /// Receives one.
    Recv,
    /// Starts a kernel.
    Launch,
    /// Runs on the GPU.
    Kernel,
}

/// A function of the program.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) role: Role,
    /// Maximum number of calls that it makes; the actual number is random.
    pub(super) max_calls: u32,
    pub(super) callees: Vec<usize>,
    times: Times,
}

/// Distribution of the exclusive time of a function: log-normal, with one mode or two.
#[derive(Clone, Copy, Debug)]
struct Times {
    median_us: f64,
    sigma: f64,
    /// Factor of the second mode relative to the first; 1 without a second mode.
    second: f64,
    second_share: f64,
}

/// The functions; 0 is the root of every thread.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) functions: Vec<Function>,
    pub(super) send: usize,
    pub(super) recv: usize,
    pub(super) launch: usize,
    pub(super) kernels: Vec<usize>,
}

impl Program {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut functions = vec![Function {
            name: ".TAU application".to_owned(),
            role: Role::Plain,
            max_calls: u32::MAX,
            callees: (1..=LEVELS[0]).collect(),
            times: Times::around(1.0, 0.1),
        }];
        for (level, num_functions) in LEVELS.into_iter().enumerate() {
            let below = functions.len() + num_functions;
            let num_below = LEVELS.get(level + 1).copied().unwrap_or(0);
            for number in 0..num_functions {
                functions.push(Function::plain(
                    level,
                    number,
                    below..below + num_below,
                    &mut rng,
                ));
            }
        }
        let mut add = |name: &str, role, times| {
            functions.push(Function {
                name: name.to_owned(),
                role,
                max_calls: 0,
                callees: Vec::new(),
                times,
            });
            functions.len() - 1
        };
        Self {
            send: add("MPI_Send()", Role::Send, Times::around(12.0, 0.3)),
            recv: add("MPI_Recv()", Role::Recv, Times::around(25.0, 0.4)),
            launch: add("cudaLaunchKernel", Role::Launch, Times::around(6.0, 0.2)),
            kernels: KERNELS
                .iter()
                .zip([90.0, 160.0, 25.0])
                .map(|(name, median_us)| add(name, Role::Kernel, Times::around(median_us, 0.15)))
                .collect(),
            functions,
        }
    }
}

impl Function {
    fn plain(
        level: usize,
        number: usize,
        below: std::ops::Range<usize>,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut callees: Vec<usize> = below.clone().collect();
        while callees.len() > 4 {
            callees.swap_remove(rng.random_range(0..callees.len()));
        }
        callees.sort_unstable();
        let has_two_modes = rng.random::<f64>() < 0.33;
        Self {
            name: format!(
                "synth::Level{level}::step{number}(int, double) [{{/src/level{level}.cpp}} {{{},0}}]",
                10 * number + 7
            ),
            role: Role::Plain,
            max_calls: if callees.is_empty() {
                0
            } else {
                rng.random_range(2..=6)
            },
            callees,
            times: Times {
                median_us: 4.0 * 150_f64.powf(rng.random()),
                sigma: rng.random_range(0.08..0.4),
                second: if has_two_modes {
                    rng.random_range(3.0..6.0)
                } else {
                    1.0
                },
                second_share: rng.random_range(0.15..0.5),
            },
        }
    }

    /// Draws a usual time in microseconds, at least one.
    pub(super) fn usual_us(&self, rng: &mut ChaCha8Rng) -> u64 {
        self.times.draw(rng).round().max(1.0) as u64
    }

    /// Draws a time 10 to 100 times as long as usual in the slowest mode.
    pub(super) fn outlier_us(&self, rng: &mut ChaCha8Rng) -> u64 {
        let slow_us = self
            .times
            .draw(rng)
            .max(self.times.median_us * self.times.second);
        (slow_us * 10_f64.powf(1.0 + rng.random::<f64>())).round() as u64
    }
}

impl Times {
    fn around(median_us: f64, sigma: f64) -> Self {
        Self {
            median_us,
            sigma,
            second: 1.0,
            second_share: 0.0,
        }
    }

    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        let is_second = rng.random::<f64>() < self.second_share;
        let mode_us = self.median_us * if is_second { self.second } else { 1.0 };
        mode_us * (self.sigma * crate::rows::normal(rng)).exp()
    }
}
