//! One thread that makes calls, and the rows that it records.

use callgrove_tau::TauStep;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::names::{CORRELATION_ID, HEAP_KB, RECEIVED_BYTES, SENT_BYTES, TimerIndices};
use super::program::{Program, Role};
use super::spec::{ENTRY, EXIT, Outlier, RECV, SEND, START_US, TauTraceSpec};

/// Fraction of the calls that are messages, as in the trace that the other tool was measured with.
const MESSAGE_SHARE: f64 = 109_526.0 / 2_000_000.0;
/// Fraction of the calls that sample the heap, as in that trace.
const HEAP_SHARE: f64 = (163_971.0 - 109_526.0) / 2_000_000.0;
/// Fraction of the calls that launch a kernel, if there is a GPU.
const LAUNCH_SHARE: f64 = 0.03;

/// The rows of one thread in the current step.
#[derive(Debug)]
pub(super) struct ThreadRows {
    rank: u32,
    thread: u32,
    funcs: Vec<[u64; 6]>,
    counters: Vec<[u64; 6]>,
    comms: Vec<[u64; 8]>,
    /// Row of the ENTRY, function, time.
    outliers: Vec<(usize, usize, u64)>,
}

impl ThreadRows {
    pub(super) fn new(rank: u32, thread: u32) -> Self {
        Self {
            rank,
            thread,
            funcs: Vec::new(),
            counters: Vec::new(),
            comms: Vec::new(),
            outliers: Vec::new(),
        }
    }

    pub(super) fn func(&mut self, event_type: u64, timer: u64, time_us: u64) {
        let (rank, thread) = (self.rank.into(), self.thread.into());
        self.funcs
            .push([0, rank, thread, event_type, timer, time_us]);
    }

    pub(super) fn counter(&mut self, counter: u64, value: u64, time_us: u64) {
        let (rank, thread) = (self.rank.into(), self.thread.into());
        self.counters
            .push([0, rank, thread, counter, value, time_us]);
    }

    fn comm(&mut self, event_type: u64, partner: u32, size_bytes: u64, time_us: u64) {
        let (rank, thread) = (self.rank.into(), u64::from(self.thread));
        let tag = 100 + thread;
        self.comms.push([
            0,
            rank,
            thread,
            event_type,
            tag,
            partner.into(),
            size_bytes,
            time_us,
        ]);
    }

    /// Marks the next ENTRY as an outlier's.
    pub(super) fn outlier(&mut self, function: usize, exclusive_us: u64) {
        self.outliers
            .push((self.funcs.len(), function, exclusive_us));
    }

    /// Appends the rows to the step, after those of the previous threads.
    pub(super) fn hand_over(
        &mut self,
        number: u32,
        step: &mut TauStep,
        outliers: &mut Vec<Outlier>,
        program: &Program,
    ) {
        let first_row = step.funcs.len();
        for (row, function, exclusive_us) in self.outliers.drain(..) {
            outliers.push(Outlier {
                rank: self.rank,
                step: number,
                row: (first_row + row) as u64,
                thread: self.thread,
                function: program.functions[function].name.clone(),
                exclusive_us,
            });
        }
        step.funcs.append(&mut self.funcs);
        step.counters.append(&mut self.counters);
        step.comms.append(&mut self.comms);
    }
}

/// A call that has not returned.
#[derive(Debug)]
struct Frame {
    function: usize,
    calls_left: u32,
    own_left_us: u64,
}

/// A kernel to be started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PendingLaunch {
    pub(super) time_us: u64,
    pub(super) correlation: u64,
}

/// A thread on the CPU.
pub(super) struct CpuThread<'a> {
    spec: TauTraceSpec,
    program: &'a Program,
    pub(super) lane: ThreadRows,
    /// Launches since they were last taken.
    pub(super) launches: Vec<PendingLaunch>,
    rng: ChaCha8Rng,
    stack: Vec<Frame>,
    clock_us: u64,
    num_events: u64,
    events_made: u64,
    calls_made: u64,
    outliers_made: u64,
    messages_made: u64,
    launches_made: u64,
    /// Number of the first call that may be the next outlier.
    next_outlier: u64,
}

impl<'a> CpuThread<'a> {
    pub(super) fn new(spec: TauTraceSpec, program: &'a Program, rank: u32, thread: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
        rng.set_stream((u64::from(rank) << 16) | (u64::from(thread) + 1));
        let mut made = Self {
            spec,
            program,
            lane: ThreadRows::new(rank, thread),
            launches: Vec::new(),
            rng,
            stack: Vec::new(),
            clock_us: START_US + u64::from(thread) * 50,
            // Every ENTRY has its EXIT, including the root's.
            num_events: (spec.num_events / u64::from(spec.num_threads) / 2 * 2).max(2),
            events_made: 0,
            calls_made: 0,
            outliers_made: 0,
            messages_made: 0,
            launches_made: 0,
            next_outlier: 0,
        };
        made.plan_outlier();
        made
    }

    pub(super) fn clock_us(&self) -> u64 {
        self.clock_us
    }

    /// Runs until the thread has made its share of events up to the end of a step.
    pub(super) fn run_to_share(&mut self, step: u32, names: &mut TimerIndices<'_>) {
        let share = self.num_events * u64::from(step + 1) / u64::from(self.spec.num_steps);
        while self.events_made < share {
            self.make_event(names);
        }
    }

    /// Runs until a time, or until the thread has made all its events.
    pub(super) fn run_to_time(&mut self, end_us: u64, names: &mut TimerIndices<'_>) {
        while self.events_made < self.num_events && self.clock_us < end_us {
            self.make_event(names);
        }
    }

    fn make_event(&mut self, names: &mut TimerIndices<'_>) {
        // The events of a call and of all following returns must fit into the remaining number.
        let fits = self.num_events - self.events_made >= self.stack.len() as u64 + 2;
        self.events_made += 1;
        let is_root = self.stack.len() == 1;
        let Some(frame) = self.stack.last_mut() else {
            self.call(0, names);
            return;
        };
        if frame.calls_left == 0 || !fits {
            self.leave(names);
            return;
        }
        let pause_us = frame.own_left_us / (u64::from(frame.calls_left) + 1);
        frame.own_left_us -= pause_us;
        frame.calls_left -= 1;
        let caller = frame.function;
        self.clock_us += pause_us
            + if is_root {
                self.rng.random_range(0..3)
            } else {
                0
            };
        let callee = self.choose(caller);
        self.call(callee, names);
    }

    fn choose(&mut self, caller: usize) -> usize {
        let chance: f64 = self.rng.random();
        if chance < MESSAGE_SHARE {
            self.messages_made += 1;
            return [self.program.recv, self.program.send][self.messages_made as usize % 2];
        }
        if self.spec.has_gpu && chance < MESSAGE_SHARE + LAUNCH_SHARE {
            return self.program.launch;
        }
        let callees = &self.program.functions[caller].callees;
        callees[self.rng.random_range(0..callees.len())]
    }

    fn call(&mut self, index: usize, names: &mut TimerIndices<'_>) {
        let function = &self.program.functions[index];
        let is_outlier = self.calls_made >= self.next_outlier && !self.stack.is_empty();
        self.calls_made += 1;
        let own_us = if is_outlier {
            function.outlier_us(&mut self.rng)
        } else {
            function.usual_us(&mut self.rng)
        };
        // A launch and its correlation id need three timestamps.
        let own_us = own_us.max(if function.role == Role::Launch { 2 } else { 0 });
        if is_outlier {
            self.outliers_made += 1;
            self.plan_outlier();
            self.lane.outlier(index, own_us);
        }
        self.lane.func(ENTRY, names.timer(index), self.clock_us);
        self.act(function.role);
        let calls_left = match function.max_calls {
            0 | u32::MAX => function.max_calls,
            most => self.rng.random_range(0..=most),
        };
        self.stack.push(Frame {
            function: index,
            calls_left,
            own_left_us: own_us,
        });
    }

    /// Does what a function does when it is called.
    fn act(&mut self, role: Role) {
        let (rank, num_ranks) = (self.lane.rank, self.spec.num_ranks);
        match role {
            Role::Send => {
                let size_bytes = 8 << self.rng.random_range(0..14);
                self.lane
                    .comm(SEND, (rank + 1) % num_ranks, size_bytes, self.clock_us);
                self.lane.counter(SENT_BYTES, size_bytes, self.clock_us);
            }
            Role::Recv => {
                let size_bytes = 8 << self.rng.random_range(0..14);
                let partner = (rank + num_ranks - 1) % num_ranks;
                self.lane.comm(RECV, partner, size_bytes, self.clock_us + 1);
                self.lane
                    .counter(RECEIVED_BYTES, size_bytes, self.clock_us + 1);
            }
            Role::Launch => {
                self.launches_made += 1;
                let thread = u64::from(self.lane.thread);
                let correlation = self.launches_made * u64::from(self.spec.num_threads) + thread;
                let time_us = self.clock_us + 1;
                self.lane.counter(CORRELATION_ID, correlation, time_us);
                self.launches.push(PendingLaunch {
                    time_us,
                    correlation,
                });
            }
            Role::Plain | Role::Kernel => {}
        }
    }

    fn leave(&mut self, names: &mut TimerIndices<'_>) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        self.clock_us += frame.own_left_us;
        self.lane
            .func(EXIT, names.timer(frame.function), self.clock_us);
        if self.rng.random::<f64>() < HEAP_SHARE {
            let kib = 40_000 + self.rng.random_range(0..9_000);
            self.lane.counter(HEAP_KB, kib, self.clock_us);
        }
    }

    /// Plans the next outlier: one at a random position of each interval of calls.
    fn plan_outlier(&mut self) {
        let interval = 1.0 / self.spec.outlier_share;
        // Above 0, so that without outliers the product is infinite and no call has that number.
        let place = self.outliers_made as f64 + 1.0 - self.rng.random::<f64>();
        self.next_outlier = (place * interval) as u64;
    }
}
