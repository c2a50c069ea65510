//! Generated programs with known anomalies: calls delayed as if their process had been stopped.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use callgrove_ad::{Stream, WriterGone};
use callgrove_model::{
    CounterId, FuncEventKind, FuncId, NameTable, ProgramId, RankId, StepBatch, StepId, ThreadId,
    TimeNs, Warnings,
};
use callgrove_source::{EventStream, Next, SourceError};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NUM_RANKS: u32 = 4;
/// Time of the start, in the range of recorded runs.
const START_US: u64 = 1_795_231_715_000_000;

/// The distribution of times around the typical time of a function.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Log-normal; the standard deviation of a function is between these two numbers.
    Lognormal(f64, f64),
    /// Several modes, each with its share of the calls and its factor, and with a standard deviation of 10 %.
    Modes(&'static [(f64, f64)]),
    /// Pareto distribution with this index.
    Pareto(f64),
    /// Multiples of the typical time: mostly one; each further multiple is a fifth as frequent.
    Quantised,
}

/// The change of the usual times over the run.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Drift {
    None,
    /// Gradual, up to this factor.
    Slow(f64),
    /// Sudden, by this factor, in the middle of the run.
    Sudden(f64),
}

/// A kind of program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneratedProgram {
    /// Name in the tables.
    pub(crate) name: &'static str,
    num_functions: usize,
    shapes: &'static [Shape],
    /// Typical times of functions, in microseconds, from the shortest to the longest.
    typical_us: (f64, f64),
    /// Callers of each function, and the factor between the typical times under consecutive callers.
    callers: (usize, f64),
    drift: Drift,
    num_steps: u32,
    /// Calls of all functions together, per step and rank.
    calls_per_step: usize,
    /// Share of the calls that are delayed.
    anomaly_share: f64,
    /// Shortest and longest delay of an anomaly, in microseconds. Negative values are factors of the usual time.
    delay_us: (f64, f64),
}

const LOGNORMAL: Shape = Shape::Lognormal(0.05, 0.5);
const MODES: [Shape; 3] = [
    Shape::Modes(&[(0.7, 1.0), (0.3, 2.0)]),
    Shape::Modes(&[(0.8, 1.0), (0.16, 3.0), (0.04, 8.0)]),
    Shape::Modes(&[(0.5, 1.0), (0.5, 10.0)]),
];

const BASE: GeneratedProgram = GeneratedProgram {
    name: "one mode",
    num_functions: 30,
    shapes: &[LOGNORMAL],
    typical_us: (2.0, 3_000.0),
    callers: (1, 1.0),
    drift: Drift::None,
    num_steps: 20,
    calls_per_step: 1_500,
    anomaly_share: 1e-3,
    delay_us: (20_000.0, 200_000.0),
};

/// All kinds of programs.
pub(crate) const PROGRAMS: [GeneratedProgram; 12] = [
    BASE,
    GeneratedProgram {
        name: "300 functions",
        num_functions: 300,
        calls_per_step: 6_000,
        ..BASE
    },
    GeneratedProgram {
        name: "several modes",
        shapes: &MODES,
        typical_us: (2.0, 300.0),
        ..BASE
    },
    GeneratedProgram {
        name: "heavy tails",
        shapes: &[Shape::Lognormal(0.5, 0.9), Shape::Pareto(3.0)],
        typical_us: (2.0, 300.0),
        ..BASE
    },
    GeneratedProgram {
        name: "quantised times",
        shapes: &[Shape::Quantised],
        ..BASE
    },
    GeneratedProgram {
        name: "other times under other callers",
        callers: (3, 10.0),
        typical_us: (2.0, 30.0),
        ..BASE
    },
    GeneratedProgram {
        name: "slow drift",
        drift: Drift::Slow(4.0),
        typical_us: (2.0, 600.0),
        num_steps: 200,
        calls_per_step: 300,
        ..BASE
    },
    GeneratedProgram {
        name: "sudden change",
        drift: Drift::Sudden(5.0),
        typical_us: (2.0, 600.0),
        num_steps: 200,
        calls_per_step: 300,
        ..BASE
    },
    GeneratedProgram {
        name: "short run",
        num_steps: 3,
        calls_per_step: 1_000,
        anomaly_share: 5e-3,
        ..BASE
    },
    GeneratedProgram {
        name: "tiny functions",
        shapes: &[Shape::Pareto(2.0)],
        typical_us: (1.0, 4.0),
        ..BASE
    },
    GeneratedProgram {
        name: "1 in 10 delayed",
        anomaly_share: 0.1,
        ..BASE
    },
    GeneratedProgram {
        name: "10 to 100 times as long",
        typical_us: (4.0, 600.0),
        calls_per_step: 6_000,
        delay_us: (-10.0, -100.0),
        ..BASE
    },
];

#[derive(Debug)]
struct Function {
    name: String,
    shape: Shape,
    spread: f64,
    typical_us: f64,
}

/// The steps of one rank.
struct Source {
    rank: RankId,
    names: NameTable<FuncId>,
    counters: NameTable<CounterId>,
    steps: VecDeque<StepBatch>,
}

impl GeneratedProgram {
    /// Returns the streams of a run, and the labels of its anomalies.
    pub(crate) fn run(&self, seed: u64) -> (Vec<Stream>, BTreeSet<String>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (least, most) = self.typical_us;
        let functions = (0..self.num_functions).map(|number| {
            let shape = self.shapes[number % self.shapes.len()];
            let spread = match shape {
                Shape::Lognormal(least, most) => rng.random_range(least..most),
                _ => 0.1,
            };
            Function {
                name: format!("function_{number}"),
                shape,
                spread,
                typical_us: least * (most / least).powf(rng.random()),
            }
        });
        let functions: Vec<Function> = functions.collect();
        let mut anomalies = BTreeSet::new();
        let ranks = (0..NUM_RANKS).map(|rank| {
            rng.set_stream(u64::from(rank) + 1);
            let source = self.rank(RankId(rank), &functions, &mut rng.clone(), &mut anomalies);
            Stream {
                rank: RankId(rank),
                open: Box::new(move || Ok(Box::new(source))),
                path: format!("{} {rank}", self.name),
                reopen: None,
                writer_gone: WriterGone::default(),
            }
        });
        (ranks.collect(), anomalies)
    }

    fn rank(
        &self,
        rank: RankId,
        functions: &[Function],
        rng: &mut ChaCha8Rng,
        anomalies: &mut BTreeSet<String>,
    ) -> Source {
        let mut names = NameTable::default();
        let ids: Vec<FuncId> = functions.iter().map(|it| names.intern(&it.name)).collect();
        let callers = (0..self.callers.0).map(|number| names.intern(&format!("caller_{number}")));
        let callers: Vec<FuncId> = callers.collect();
        let mut clock_us = START_US;
        let steps = (0..self.num_steps).map(|step| {
            let mut batch = StepBatch::empty(ProgramId(0), rank, StepId(step));
            let mut event = |kind, func, clock_us: u64| {
                let row = batch.funcs.len() as u32;
                let time = TimeNs(clock_us as i64 * 1_000);
                batch.funcs.push(ThreadId(0), kind, func, time, row);
                row
            };
            for _ in 0..self.calls_per_step {
                let (number, caller) = (
                    rng.random_range(0..functions.len()),
                    rng.random_range(0..callers.len()),
                );
                let function = &functions[number];
                let scale =
                    self.callers.1.powi(caller as i32) * self.drift.at(step, self.num_steps);
                let mut own_us = function.typical_us * scale * function.draw(rng);
                event(FuncEventKind::Entry, callers[caller], clock_us);
                clock_us += 1;
                let row = event(FuncEventKind::Entry, ids[number], clock_us);
                if rng.random::<f64>() < self.anomaly_share {
                    let (least, most) = self.delay_us;
                    let delay = least * (most / least).powf(rng.random());
                    own_us = if delay > 0.0 {
                        own_us + delay
                    } else {
                        -delay * own_us.max(function.typical_us * scale)
                    };
                    anomalies.insert(format!("{rank}:{step}:{row}"));
                }
                clock_us += own_us.round() as u64;
                event(FuncEventKind::Exit, ids[number], clock_us);
                clock_us += 1;
                event(FuncEventKind::Exit, callers[caller], clock_us);
            }
            batch
        });
        Source {
            rank,
            steps: steps.collect(),
            counters: NameTable::default(),
            names,
        }
    }
}

impl Drift {
    /// Returns the factor relative to the start.
    fn at(self, step: u32, num_steps: u32) -> f64 {
        let share = f64::from(step) / f64::from(num_steps);
        match self {
            Self::Slow(factor) => factor.powf(share),
            Self::Sudden(factor) if share >= 0.5 => factor,
            Self::None | Self::Sudden(_) => 1.0,
        }
    }
}

impl Function {
    /// Draws a factor relative to the typical time.
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * rng.random::<f64>()).cos();
        let noise = (self.spread * normal).exp();
        match self.shape {
            Shape::Lognormal(..) => noise,
            Shape::Modes(modes) => {
                let mut at: f64 = rng.random();
                let chosen = modes.iter().find(|(share, _)| {
                    at -= share;
                    at < 0.0
                });
                chosen.map_or(1.0, |(_, factor)| *factor) * noise
            }
            Shape::Pareto(index) => (1.0 - rng.random::<f64>()).powf(-1.0 / index),
            Shape::Quantised => 1.0 + (rng.random::<f64>().ln() / 0.2_f64.ln()).floor(),
        }
    }
}

impl EventStream for Source {
    fn next_step(&mut self, _: Duration) -> Result<Next, SourceError> {
        let step = self.steps.pop_front();
        Ok(step.map_or(Next::End, |batch| Next::Step(Box::new(batch))))
    }

    fn rank(&self) -> Option<RankId> {
        Some(self.rank)
    }

    fn num_ranks(&self) -> Option<u32> {
        Some(NUM_RANKS)
    }

    fn position(&self) -> f32 {
        0.0
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.names
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.counters
    }

    fn take_warnings(&mut self) -> Warnings {
        Warnings::default()
    }
}
