//! Builds the provenance record of an execution from the state of its rank after a judged step.

use std::sync::Arc;

use callgrove_incidents::MessageNumbers;
use callgrove_model::{
    CallStackBuilder, CounterId, ExecIdx, ExecLabel, FuncId, ProgramId, RankId, StepBatch, StepId,
    ThreadId, TimeNs,
};
use callgrove_provdb::{
    CallStackEntry, CounterEvent, ExecutionRecord, GpuParent, NodeState, VERSION,
};
use serde_json::value::RawValue;

use crate::gpu::{GpuThreads, Launches};
use crate::node_state::epoch_us;

/// An execution of a rank: the index of its lane in order of thread, and its row there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ExecPosition {
    /// The index of the lane.
    pub lane: u32,
    /// The row in the lane.
    pub exec: ExecIdx,
}

/// A lane with its outliers, ascending.
#[derive(Clone, Copy)]
pub struct JudgedLane<'a> {
    /// The thread of the lane.
    pub thread: ThreadId,
    /// Its calls.
    pub stack: &'a CallStackBuilder,
    /// The outliers among them, ascending.
    pub anomalies: &'a [ExecIdx],
}

/// A function: its name and its global index.
#[derive(Clone, Debug)]
pub struct NamedFunction {
    /// The full name.
    pub name: Arc<str>,
    /// The global index.
    pub fid: u32,
}

/// An execution on the call stack of a launch.
#[derive(Clone, Debug)]
pub(crate) struct LaunchFrame {
    label: ExecLabel,
    func: FuncId,
    entry_us: u64,
    exit_us: u64,
}

/// A CPU call that launched a kernel, with its callers; the call itself first.
#[derive(Clone, Debug)]
pub struct KernelLaunch {
    thread: ThreadId,
    call: LaunchFrame,
    callers: Arc<[LaunchFrame]>,
}

/// The time of an I/O step: the times of its first and last event.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepTimes {
    /// The number of the step.
    pub step: u64,
    /// Time of the first event, in µs since the epoch.
    pub start_us: u64,
    /// Time of the last event, in µs since the epoch.
    pub end_us: u64,
}

/// The state of a rank after a step was judged.
pub struct RecordBuilder<'a> {
    /// The program of the workflow.
    pub program: ProgramId,
    /// The rank.
    pub rank: RankId,
    /// The lanes of the rank, in order of thread.
    pub lanes: Vec<JudgedLane<'a>>,
    /// Indexed by the rank's own ids.
    pub functions: &'a [NamedFunction],
    /// Indexed by the rank's own ids.
    pub counters: &'a [Arc<str>],
    /// The counter that pairs a kernel with its launch.
    pub correlation: Option<CounterId>,
    /// The threads that are streams of a GPU.
    pub gpu: &'a GpuThreads,
    /// The launches of kernels so far.
    pub launches: &'a Launches<KernelLaunch>,
    /// The host of the rank.
    pub hostname: &'a Arc<str>,
    /// The last reported state of the node.
    pub node_state: Option<NodeState>,
    /// The numbers of the messages in the step.
    pub message_numbers: &'a MessageNumbers,
    /// The times of the step.
    pub span: StepTimes,
    /// Number of executions before and after the recorded one.
    pub window: usize,
}

impl StepTimes {
    /// Returns the times of a step.
    pub fn of(batch: &StepBatch) -> Self {
        // Function events are in order on each thread.
        let ends = batch.funcs.segments().filter_map(|(_, events)| {
            let (first, last) = (events.first()?, events.last()?);
            Some([first.time, last.time])
        });
        let spans = [
            span(ends.flatten()),
            span(batch.comms.time.iter().copied()),
            span(batch.counters.time.iter().copied()),
        ];
        let spans = spans.into_iter().flatten();
        let (start, end) = spans
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or_default();
        Self {
            step: batch.step.0.into(),
            start_us: epoch_us(start),
            end_us: epoch_us(end),
        }
    }

    /// Returns the times of a step that is not recorded.
    pub fn unknown(step: StepId) -> Self {
        Self {
            step: step.0.into(),
            ..Self::default()
        }
    }

    /// Returns the step.
    pub fn step(&self) -> StepId {
        StepId(u32::try_from(self.step).unwrap_or(u32::MAX))
    }
}

/// Returns the earliest and the latest time.
fn span(mut times: impl Iterator<Item = TimeNs>) -> Option<(TimeNs, TimeNs)> {
    let first = times.next()?;
    let wider = |(start, end): (TimeNs, TimeNs), time: TimeNs| (start.min(time), end.max(time));
    Some(times.fold((first, first), wider))
}

impl<'a> JudgedLane<'a> {
    /// Returns the label of an execution.
    pub fn label(&self, rank: RankId, exec: ExecIdx) -> ExecLabel {
        let executions = self.stack.executions();
        ExecLabel {
            rank,
            step: executions.step[exec.index()],
            row: executions.row[exec.index()],
        }
    }

    /// Returns the severity of an anomaly: its exclusive time in µs.
    pub fn severity_us(&self, exec: ExecIdx) -> u64 {
        let executions = self.stack.executions();
        u64::try_from(executions.exclusive[exec.index()].as_us()).unwrap_or(0)
    }

    /// Returns the entry time, and the exit time or 0 if the execution is open, in µs since the epoch.
    pub fn times_us(&self, exec: ExecIdx) -> (u64, u64) {
        let executions = self.stack.executions();
        let exit = if executions.is_open(exec) {
            0
        } else {
            epoch_us(executions.exit(exec))
        };
        (epoch_us(executions.entry[exec.index()]), exit)
    }

    /// Returns whether an execution is an outlier.
    pub fn is_anomaly(&self, exec: ExecIdx) -> bool {
        self.anomalies.binary_search(&exec).is_ok()
    }

    /// Returns the execution and its callers, innermost first.
    fn stack_from(&self, exec: ExecIdx) -> impl Iterator<Item = ExecIdx> + use<'a> {
        let executions = self.stack.executions();
        std::iter::successors(Some(exec), |&exec| executions.parent(exec))
    }

    fn frame(&self, rank: RankId, exec: ExecIdx) -> LaunchFrame {
        let (entry_us, exit_us) = self.times_us(exec);
        let func = self.stack.executions().func[exec.index()];
        LaunchFrame {
            label: self.label(rank, exec),
            func,
            entry_us,
            exit_us,
        }
    }

    /// Returns the rows of the counter samples taken while the execution itself was on top of the stack.
    fn own_counters(&self, exec: ExecIdx) -> impl Iterator<Item = usize> + use<'a> {
        let (counters, executions) = (self.stack.counters(), self.stack.executions());
        let entry = executions.entry[exec.index()];
        let start = counters.time.partition_point(|&time| time < entry);
        let end = if executions.is_open(exec) {
            counters.len()
        } else {
            counters
                .time
                .partition_point(|&time| time <= executions.exit(exec))
        };
        (start..end.max(start))
            .filter(move |&row| counters.exec[row].map(ExecIdx::from) == Some(exec))
    }

    /// Returns the launches among the counter samples from `first` on, as ids with their call stacks.
    pub fn launches(
        &self,
        rank: RankId,
        correlation: CounterId,
        first: usize,
    ) -> Vec<(u64, KernelLaunch)> {
        let counters = self.stack.counters();
        let mut launches: Vec<(u64, KernelLaunch)> = Vec::new();
        let mut callers: Option<(Option<ExecIdx>, Arc<[LaunchFrame]>)> = None;
        for row in first..counters.len() {
            let Some(exec) = counters.exec[row].map(ExecIdx::from) else {
                continue;
            };
            if counters.counter[row] != correlation {
                continue;
            }
            // Most consecutive launches have the same caller, so they share its stack.
            let caller = self.stack.executions().parent(exec);
            let shared = match &callers {
                Some((known, shared)) if *known == caller => Arc::clone(shared),
                _ => self
                    .stack_from(exec)
                    .skip(1)
                    .map(|exec| self.frame(rank, exec))
                    .collect(),
            };
            callers = Some((caller, Arc::clone(&shared)));
            let call = self.frame(rank, exec);
            launches.push((
                counters.value[row],
                KernelLaunch {
                    thread: self.thread,
                    call,
                    callers: shared,
                },
            ));
        }
        launches
    }
}

impl RecordBuilder<'_> {
    /// Returns the caller of an execution, if it has one.
    pub fn caller(&self, position: ExecPosition) -> Option<FuncId> {
        let executions = self.lanes[position.lane as usize].stack.executions();
        let caller = executions.parent(position.exec);
        caller.map(|it| executions.func[it.index()])
    }

    /// Returns the record of a judged execution.
    pub fn record(
        &self,
        position: ExecPosition,
        score: f64,
        algo_params: &Arc<RawValue>,
    ) -> ExecutionRecord {
        let lane = self.lanes[position.lane as usize];
        let executions = lane.stack.executions();
        let exec = position.exec;
        let row = exec.index();
        let (entry, exit) = lane.times_us(exec);
        let function = self.function(executions.func[row]);
        let location = self.gpu.location(lane.thread).copied();
        let runtime_exclusive = lane.severity_us(exec);
        ExecutionRecord {
            version: VERSION,
            call_stack: lane
                .stack_from(exec)
                .map(|exec| self.call_stack_entry(lane, exec))
                .collect(),
            counter_events: lane
                .own_counters(exec)
                .map(|row| self.counter_event(lane, row))
                .collect(),
            entry,
            exit,
            event_id: lane.label(self.rank, exec).to_string(),
            fid: function.fid,
            func: Arc::clone(&function.name),
            algo_params: Arc::clone(algo_params),
            is_gpu_event: location.is_some(),
            gpu_location: location,
            gpu_parent: location.map(|_| self.gpu_parent(lane, exec)),
            pid: self.program.0,
            rid: self.rank.0,
            tid: lane.thread.0,
            hostname: Arc::clone(self.hostname),
            runtime_exclusive,
            runtime_total: exit.saturating_sub(entry),
            io_step: self.span.step,
            io_step_tstart: self.span.start_us,
            io_step_tend: self.span.end_us,
            outlier_score: score,
            outlier_severity: runtime_exclusive,
            event_window: self.event_window(lane, exec),
            node_state: self.node_state.clone(),
        }
    }

    pub(crate) fn function(&self, func: FuncId) -> &NamedFunction {
        &self.functions[func.index()]
    }

    fn call_stack_entry(&self, lane: JudgedLane<'_>, exec: ExecIdx) -> CallStackEntry {
        let frame = lane.frame(self.rank, exec);
        CallStackEntry {
            is_anomaly: Some(lane.is_anomaly(exec)),
            ..self.entry_of(&frame)
        }
    }

    fn entry_of(&self, frame: &LaunchFrame) -> CallStackEntry {
        let function = self.function(frame.func);
        CallStackEntry {
            entry: frame.entry_us,
            exit: frame.exit_us,
            fid: function.fid,
            func: Arc::clone(&function.name),
            event_id: frame.label.to_string(),
            is_anomaly: None,
        }
    }

    fn counter_event(&self, lane: JudgedLane<'_>, row: usize) -> CounterEvent {
        let counters = lane.stack.counters();
        let counter = counters.counter[row];
        CounterEvent {
            counter_idx: counter.0,
            counter_name: Arc::clone(&self.counters[counter.index()]),
            counter_value: counters.value[row],
            pid: self.program.0,
            rid: self.rank.0,
            tid: lane.thread.0,
            ts_us: epoch_us(counters.time[row]),
        }
    }

    /// Returns the CPU call that launched a kernel, found by the correlation id of both.
    fn gpu_parent(&self, lane: JudgedLane<'_>, exec: ExecIdx) -> GpuParent {
        let counters = lane.stack.counters();
        let mut ids: Vec<u64> = lane
            .own_counters(exec)
            .filter(|&row| Some(counters.counter[row]) == self.correlation)
            .map(|row| counters.value[row])
            .collect();
        ids.dedup();
        let &[id] = ids.as_slice() else {
            let text = match ids.len() {
                0 => "the kernel carries no correlation id".to_owned(),
                several => format!("the kernel carries {several} correlation ids"),
            };
            return GpuParent::Missing(text);
        };
        let Some(launch) = self.launches.get(id) else {
            return GpuParent::Missing(format!("no CPU call with correlation id {id} was seen"));
        };
        let frames = std::iter::once(&launch.call).chain(launch.callers.iter());
        GpuParent::Found {
            event_id: launch.call.label.to_string(),
            tid: launch.thread.0,
            call_stack: frames.map(|frame| self.entry_of(frame)).collect(),
        }
    }
}
