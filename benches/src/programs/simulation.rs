//! Lanes that compute, wait for one another, and record a trace.

use std::collections::{BTreeMap, VecDeque};

use callgrove_model::{
    CommKind, FuncId, Metadata, NameTable, ProgramId, RankBuilder, RankId, StepBatch, StepId,
    ThreadId, Trace, Warnings,
};

use super::injection::{Injection, InjectionKind, LaneUnit};
use super::lane::SimulatedLane;

/// Number of ranks on a host.
const RANKS_PER_HOST: usize = 4;
/// Latency of a message in microseconds on the same host, and to another one.
const LATENCY_US: [f64; 2] = [5.0, 12.0];
/// Approximate time in microseconds between two writes of a rank's tracer, as TAU had in recorded runs.
const WRITE_PERIOD_US: f64 = 500_000.0;
/// Duration of an extra call in microseconds.
const EXTRA_US: f64 = 30.0;

/// A function that makes calls, and in which something may be injected.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelCall {
    pub(super) name: &'static str,
    /// The function that it calls.
    pub(super) inner: &'static str,
    pub(super) num_calls: usize,
    /// Duration of each call in microseconds.
    pub(super) call_us: f64,
}

/// A run of a program. Lanes are numbered by rank and then by thread.
#[derive(Debug)]
pub(super) struct Simulation<'a> {
    num_ranks: usize,
    num_threads: usize,
    /// Number of executions of the root function between two writes of a rank's tracer.
    write_every: usize,
    seed: u64,
    injections: &'a BTreeMap<LaneUnit, Injection>,
    names: NameTable<FuncId>,
    lanes: Vec<SimulatedLane>,
    /// Arrival times of messages in microseconds, by sender and receiver.
    mail: BTreeMap<(usize, usize), VecDeque<f64>>,
}

impl<'a> Simulation<'a> {
    pub(super) fn new(
        (num_ranks, num_threads): (usize, usize),
        (usual_us, spread): (f64, f64),
        seed: u64,
        injections: &'a BTreeMap<LaneUnit, Injection>,
    ) -> Self {
        // Far apart, so that lanes of different seeds share no random numbers.
        let lane_seed = |lane: usize| seed.wrapping_mul(1_000_003) ^ ((lane as u64 + 1) << 40);
        let lanes = (0..num_ranks * num_threads).map(lane_seed);
        Self {
            num_ranks,
            num_threads,
            write_every: (WRITE_PERIOD_US / usual_us) as usize,
            seed,
            injections,
            names: NameTable::default(),
            lanes: lanes.map(|seed| SimulatedLane::new(seed, spread)).collect(),
            mail: BTreeMap::new(),
        }
    }

    pub(super) fn num_lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the seed of the run.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn lane(&mut self, lane: usize) -> &mut SimulatedLane {
        &mut self.lanes[lane]
    }

    /// Begins an execution on a lane, with its own random numbers.
    pub(super) fn begin(&mut self, lane: usize, unit: usize) {
        let injection = self.injections.get(&(lane, unit)).copied();
        self.lanes[lane].begin(unit, injection);
    }

    /// Begins an execution of the root function, and enters it.
    pub(super) fn begin_root(&mut self, lane: usize, unit: usize, root: &'static str) {
        self.begin(lane, unit);
        self.enter(lane, root);
    }

    /// Ends an execution of the root function. The tracer of the first thread writes periodically at this point.
    pub(super) fn end_root(&mut self, lane: usize, unit: usize) {
        self.lanes[lane].leave();
        let rank = lane / self.num_threads;
        // Ranks do not write simultaneously.
        let is_due = (unit + 7 * rank) % self.write_every == self.write_every - 1;
        if lane.is_multiple_of(self.num_threads) && is_due {
            self.lanes[lane].write();
        }
    }

    pub(super) fn enter(&mut self, lane: usize, name: &str) {
        let func = self.names.intern(name);
        self.lanes[lane].enter(func);
    }

    pub(super) fn leave(&mut self, lane: usize) {
        self.lanes[lane].leave();
    }

    /// Makes a call without callees.
    pub(super) fn call(&mut self, lane: usize, name: &str, usual_us: f64) {
        self.enter(lane, name);
        let taken_us = self.lanes[lane].draw_us(usual_us);
        self.lanes[lane].now_us += taken_us;
        self.leave(lane);
    }

    /// Calls a kernel, with its injection if any. The random numbers are drawn in any case, so that twins agree.
    pub(super) fn kernel(&mut self, lane: usize, kernel: &KernelCall) {
        let held = &mut self.lanes[lane];
        let site = held.num_kernels;
        held.num_kernels += 1;
        let injected = held.injection.filter(|injection| injection.site == site);
        let kind = injected.map(|injection| injection.kind);
        let taken_us: Vec<f64> = (0..kernel.num_calls)
            .map(|_| held.draw_us(kernel.call_us))
            .collect();
        if kind == Some(InjectionKind::Missing) {
            return;
        }
        self.enter(lane, kernel.name);
        for (call, taken_us) in taken_us.into_iter().enumerate() {
            let (inner, factor) = match kind {
                Some(InjectionKind::Slow(factor)) => (kernel.inner, factor),
                Some(InjectionKind::Replaced) => ("Fallback::evaluate", 1.0),
                _ => (kernel.inner, 1.0),
            };
            self.enter(lane, inner);
            self.lanes[lane].now_us += factor * taken_us;
            if let Some(InjectionKind::Stall(stall_us)) = kind
                && call == kernel.num_calls / 2
            {
                self.lanes[lane].now_us += stall_us;
            }
            self.leave(lane);
        }
        if let Some(InjectionKind::Extra(num_calls)) = kind {
            for _ in 0..num_calls {
                self.enter(lane, "Diagnostics::dump");
                self.lanes[lane].now_us += EXTRA_US;
                self.leave(lane);
            }
        }
        self.leave(lane);
    }

    /// Sends a message between the first threads of two ranks.
    pub(super) fn send(&mut self, from: usize, to: usize) {
        let (sender, is_far) = (
            from * self.num_threads,
            from / RANKS_PER_HOST != to / RANKS_PER_HOST,
        );
        self.enter(sender, "MPI_Send()");
        let lane = &mut self.lanes[sender];
        lane.message(CommKind::Send, to);
        let latency_us = lane.draw_us(LATENCY_US[usize::from(is_far)]);
        let arrival_us = lane.now_us + latency_us;
        lane.now_us += 1.0;
        self.leave(sender);
        self.mail
            .entry((from, to))
            .or_default()
            .push_back(arrival_us);
    }

    /// Returns when the next message between two ranks arrives, if one was sent.
    pub(super) fn arrival_us(&self, from: usize, to: usize) -> Option<f64> {
        self.mail.get(&(from, to))?.front().copied()
    }

    /// Receives the next message, which must have been sent, in a function of this name.
    pub(super) fn receive(&mut self, to: usize, from: usize, name: &str) {
        let receiver = to * self.num_threads;
        self.enter(receiver, name);
        let arrival_us = self.mail.get_mut(&(from, to)).and_then(VecDeque::pop_front);
        let lane = &mut self.lanes[receiver];
        lane.now_us = lane.now_us.max(arrival_us.unwrap_or_default()) + 0.8;
        lane.message(CommKind::Recv, from);
        self.leave(receiver);
    }

    /// Makes lanes wait for the last of them, in a function of this name, and then work together for `usual_us`.
    pub(super) fn collective(&mut self, name: &str, lanes: &[usize], usual_us: f64) {
        for &lane in lanes {
            self.enter(lane, name);
        }
        let last_us = lanes.iter().map(|&lane| self.lanes[lane].now_us);
        let last_us = last_us.fold(0.0, f64::max);
        for &lane in lanes {
            let taken_us = self.lanes[lane].draw_us(usual_us);
            self.lanes[lane].now_us = last_us + taken_us;
            self.leave(lane);
        }
    }

    /// Returns the trace of the run. The I/O steps of a rank end where its first thread wrote.
    pub(super) fn into_trace(self) -> Trace {
        let ranks = (0..self.num_ranks).map(|rank| {
            let lanes = &self.lanes[rank * self.num_threads..][..self.num_threads];
            let ends_us = lanes[0].writes_us();
            let (program, rank_id) = (ProgramId(0), RankId(rank as u32));
            let step = |step| StepBatch::empty(program, rank_id, StepId(step));
            let mut steps: Vec<StepBatch> = (0..=ends_us.len() as u32).map(step).collect();
            steps[0].metadata.push(Metadata {
                program: ProgramId(0),
                rank: rank_id,
                thread: ThreadId(0),
                key: "Hostname".to_owned(),
                value: format!("node{}", rank / RANKS_PER_HOST),
            });
            for (thread, lane) in (0..).map(ThreadId).zip(lanes) {
                lane.put(thread, ends_us, &mut steps);
            }
            let mut builder = RankBuilder::new(program, rank_id);
            for step in steps {
                builder.push(step);
            }
            builder.finish(self.names.clone(), NameTable::default())
        });
        Trace::assemble(ranks.collect(), Warnings::default())
    }
}
