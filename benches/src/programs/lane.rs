//! One rank, thread or GPU stream: its clock, its random numbers and its events.

use callgrove_model::{CommKind, FuncEventKind, FuncId, RankId, StepBatch, ThreadId, TimeNs};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::injection::Injection;
use crate::rows::normal;

/// Time to enter or leave a function, in microseconds.
const EVENT_US: f64 = 0.25;
/// Fraction of the calls that the system interrupts.
const INTERRUPT_SHARE: f64 = 1.0 / 800.0;
/// Minimum duration of an interrupt, in microseconds.
const INTERRUPT_US: f64 = 60.0;
/// Exponent of the Pareto distribution of its duration: one in a thousand takes ten times as long.
const INTERRUPT_EXPONENT: f64 = 3.0;
/// Maximum duration of an interrupt, in microseconds.
const MAX_INTERRUPT_US: f64 = 5_000.0;
/// Relative standard deviation of the speed of lanes.
const SPEED_SPREAD: f64 = 0.02;

/// A message event: kind, partner, time in microseconds.
type Message = (CommKind, usize, i64);

#[derive(Debug)]
pub(super) struct SimulatedLane {
    /// Microseconds since the start of the run.
    pub(super) now_us: f64,
    /// The fault injected in the current execution of the root function.
    pub(super) injection: Option<Injection>,
    /// Number of kernels of this execution so far.
    pub(super) num_kernels: usize,
    seed: u64,
    rng: ChaCha8Rng,
    /// Factor of all its times.
    speed: f64,
    spread: f64,
    stack: Vec<FuncId>,
    events: Vec<(FuncEventKind, FuncId, i64)>,
    messages: Vec<Message>,
    /// Times in microseconds at which the tracer wrote the preceding events.
    writes_us: Vec<i64>,
}

impl SimulatedLane {
    pub(super) fn new(seed: u64, spread: f64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Self {
            // Lanes do not start simultaneously.
            now_us: rng.random_range(1_000.0..1_400.0),
            injection: None,
            num_kernels: 0,
            seed,
            speed: (SPEED_SPREAD * normal(&mut rng)).exp(),
            rng,
            spread,
            stack: Vec::new(),
            events: Vec::new(),
            messages: Vec::new(),
            writes_us: Vec::new(),
        }
    }

    /// Begins an execution of the root function, with its own random numbers.
    pub(super) fn begin(&mut self, unit: usize, injection: Option<Injection>) {
        // An odd factor keeps all seeds of a lane distinct.
        let unit = (unit as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.rng = ChaCha8Rng::seed_from_u64(self.seed ^ unit);
        (self.injection, self.num_kernels) = (injection, 0);
    }

    pub(super) fn rng(&mut self) -> &mut ChaCha8Rng {
        &mut self.rng
    }

    pub(super) fn enter(&mut self, func: FuncId) {
        self.stack.push(func);
        self.event(FuncEventKind::Entry, func);
    }

    pub(super) fn leave(&mut self) {
        if let Some(func) = self.stack.pop() {
            self.event(FuncEventKind::Exit, func);
        }
    }

    fn event(&mut self, kind: FuncEventKind, func: FuncId) {
        self.events.push((kind, func, self.now_us as i64));
        self.now_us += EVENT_US;
    }

    /// Draws the duration of something that usually takes `usual_us`.
    pub(super) fn draw_us(&mut self, usual_us: f64) -> f64 {
        let usual_us = usual_us * self.speed * (self.spread * normal(&mut self.rng)).exp();
        let (is_interrupted, size): (f64, f64) = (self.rng.random(), self.rng.random());
        if is_interrupted >= INTERRUPT_SHARE {
            return usual_us;
        }
        let interrupt_us = INTERRUPT_US * (1.0 - size).powf(-1.0 / INTERRUPT_EXPONENT);
        usual_us + interrupt_us.min(MAX_INTERRUPT_US)
    }

    pub(super) fn message(&mut self, kind: CommKind, partner: usize) {
        self.messages.push((kind, partner, self.now_us as i64));
    }

    /// Makes the tracer write all events so far, which takes a while.
    pub(super) fn write(&mut self) {
        self.writes_us.push(self.now_us as i64);
        self.now_us += self.draw_us(350.0);
    }

    pub(super) fn writes_us(&self) -> &[i64] {
        &self.writes_us
    }

    /// Assigns its events to the I/O steps of its rank, which end at these times.
    pub(super) fn put(&self, thread: ThreadId, ends_us: &[i64], steps: &mut [StepBatch]) {
        let step = |time_us: i64| ends_us.partition_point(|&end_us| end_us < time_us);
        let time = |time_us: i64| TimeNs(1_000 * time_us);
        for &(kind, func, time_us) in &self.events {
            let batch = &mut steps[step(time_us)];
            let row = batch.funcs.len() as u32;
            batch.funcs.push(thread, kind, func, time(time_us), row);
        }
        for &(kind, partner, time_us) in &self.messages {
            let partner = RankId(partner as u32);
            let comms = &mut steps[step(time_us)].comms;
            comms.push(thread, kind, 1, partner, 4_096, time(time_us));
        }
    }
}
