//! What is known of one rank when a step has been judged, and the provenance records made of it.

use std::ops::Range;
use std::sync::Arc;

use callgrove_model::{
    CallStackBuilder, CommKind, CounterId, ExecIdx, ExecLabel, FuncId, ProgramId, RankId, ThreadId,
    TimeNs,
};
use callgrove_provdb::{
    CallStackEntry, CommType, CommWindowEntry, CounterEvent, EventWindow, ExecWindowEntry,
    ExecutionRecord, GpuParent, NodeState, VERSION,
};
use serde_json::value::RawValue;

use crate::gpu::{GpuThreads, Launches};
use crate::group::{Fate, Place};
use crate::node_state::us;

/// What stands for the caller of the bottom of a call stack.
const ROOT: &str = "root";

/// A lane with what became of its executions.
#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    pub(crate) thread: ThreadId,
    pub(crate) stack: &'a CallStackBuilder,
    pub(crate) fates: &'a [Fate],
}

/// A name with its global index.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: Arc<str>,
    pub(crate) fid: u32,
}

/// An execution on the call stack of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    label: ExecLabel,
    func: FuncId,
    entry_us: u64,
    exit_us: u64,
}

/// A CPU call that launched a kernel, with its callers; the call itself first.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    thread: ThreadId,
    call: Frame,
    callers: Arc<[Frame]>,
}

/// When an I/O step took place: times of its first and last event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepSpan {
    pub(crate) step: u64,
    pub(crate) start_us: u64,
    pub(crate) end_us: u64,
}

/// One rank after a step.
pub(crate) struct Scene<'a> {
    pub(crate) program: ProgramId,
    pub(crate) rank: RankId,
    pub(crate) lanes: Vec<Lane<'a>>,
    /// By the rank's own ids.
    pub(crate) functions: &'a [Named],
    /// By the rank's own ids.
    pub(crate) counters: &'a [Arc<str>],
    pub(crate) correlation: Option<CounterId>,
    pub(crate) gpu: &'a GpuThreads,
    pub(crate) launches: &'a Launches<Launch>,
    pub(crate) hostname: &'a Arc<str>,
    pub(crate) node_state: Option<NodeState>,
    pub(crate) span: StepSpan,
    /// Executions before and after the one in question.
    pub(crate) window: usize,
}

impl<'a> Lane<'a> {
    fn label(&self, rank: RankId, exec: ExecIdx) -> ExecLabel {
        let executions = self.stack.executions();
        ExecLabel {
            rank,
            step: executions.step[exec.index()],
            row: executions.row[exec.index()],
        }
    }

    /// Entry, and exit or 0 if there was none yet.
    fn times_us(&self, exec: ExecIdx) -> (u64, u64) {
        let executions = self.stack.executions();
        let exit = if executions.is_open(exec) {
            0
        } else {
            us(executions.exit(exec))
        };
        (us(executions.entry[exec.index()]), exit)
    }

    fn is_anomaly(&self, exec: ExecIdx) -> bool {
        self.fates.get(exec.index()) == Some(&Fate::Anomaly)
    }

    /// The execution and its callers, innermost first.
    fn stack_from(&self, exec: ExecIdx) -> impl Iterator<Item = ExecIdx> + use<'a> {
        let executions = self.stack.executions();
        std::iter::successors(Some(exec), |&exec| executions.parent(exec))
    }

    fn frame(&self, rank: RankId, exec: ExecIdx) -> Frame {
        let (entry_us, exit_us) = self.times_us(exec);
        let func = self.stack.executions().func[exec.index()];
        Frame {
            label: self.label(rank, exec),
            func,
            entry_us,
            exit_us,
        }
    }

    /// The counter samples taken while the execution itself was on top of the stack.
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

    /// The launches among the counter samples from `first` on, as ids with what is to be remembered.
    pub(crate) fn launches(
        &self,
        rank: RankId,
        correlation: CounterId,
        first: usize,
    ) -> Vec<(u64, Launch)> {
        let counters = self.stack.counters();
        let mut launches: Vec<(u64, Launch)> = Vec::new();
        let mut callers: Option<(Option<ExecIdx>, Arc<[Frame]>)> = None;
        for row in first..counters.len() {
            let Some(exec) = counters.exec[row].map(ExecIdx::from) else {
                continue;
            };
            if counters.counter[row] != correlation {
                continue;
            }
            // Launches mostly come in runs with one caller, whose stack they share.
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
                Launch {
                    thread: self.thread,
                    call,
                    callers: shared,
                },
            ));
        }
        launches
    }
}

impl Scene<'_> {
    /// The severity of an anomaly: its exclusive time.
    pub(crate) fn severity_us(&self, place: Place) -> u64 {
        let executions = self.lanes[place.lane as usize].stack.executions();
        u64::try_from(executions.exclusive[place.exec.index()].as_us()).unwrap_or(0)
    }

    /// The record of an execution that was judged.
    pub(crate) fn record(
        &self,
        place: Place,
        score: f64,
        algo_params: &Arc<RawValue>,
    ) -> ExecutionRecord {
        let lane = self.lanes[place.lane as usize];
        let executions = lane.stack.executions();
        let exec = place.exec;
        let row = exec.index();
        let (entry, exit) = lane.times_us(exec);
        let function = self.function(executions.func[row]);
        let location = self.gpu.location(lane.thread).copied();
        let runtime_exclusive = self.severity_us(place);
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

    fn function(&self, func: FuncId) -> &Named {
        &self.functions[func.index()]
    }

    fn call_stack_entry(&self, lane: Lane<'_>, exec: ExecIdx) -> CallStackEntry {
        let frame = lane.frame(self.rank, exec);
        CallStackEntry {
            is_anomaly: Some(lane.is_anomaly(exec)),
            ..self.entry_of(&frame)
        }
    }

    fn entry_of(&self, frame: &Frame) -> CallStackEntry {
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

    fn counter_event(&self, lane: Lane<'_>, row: usize) -> CounterEvent {
        let counters = lane.stack.counters();
        let counter = counters.counter[row];
        CounterEvent {
            counter_idx: counter.0,
            counter_name: Arc::clone(&self.counters[counter.index()]),
            counter_value: counters.value[row],
            pid: self.program.0,
            rid: self.rank.0,
            tid: lane.thread.0,
            ts_us: us(counters.time[row]),
        }
    }

    /// Executions entered around `exec` on its thread, and the messages within them.
    fn event_window(&self, lane: Lane<'_>, exec: ExecIdx) -> EventWindow {
        let executions = lane.stack.executions();
        let first = exec.index().saturating_sub(self.window);
        let rows = first..executions.len().min(exec.index() + self.window + 1);
        let exec_window = rows.clone().map(|row| {
            let exec = ExecIdx::from_index(row);
            let (entry, exit) = lane.times_us(exec);
            let function = self.function(executions.func[row]);
            let caller = executions.parent(exec);
            ExecWindowEntry {
                entry,
                exit,
                fid: function.fid,
                func: Arc::clone(&function.name),
                event_id: lane.label(self.rank, exec).to_string(),
                parent_event_id: caller.map_or_else(
                    || ROOT.to_owned(),
                    |exec| lane.label(self.rank, exec).to_string(),
                ),
                is_anomaly: lane.is_anomaly(exec),
            }
        });
        EventWindow {
            exec_window: exec_window.collect(),
            comm_window: self.comm_window(lane, rows),
        }
    }

    fn comm_window(&self, lane: Lane<'_>, rows: Range<usize>) -> Vec<CommWindowEntry> {
        let (executions, comms) = (lane.stack.executions(), lane.stack.comms());
        let Some(&start) = executions.entry.get(rows.start) else {
            return Vec::new();
        };
        let last = rows.clone().map(|row| {
            let exec = ExecIdx::from_index(row);
            if executions.is_open(exec) {
                TimeNs(i64::MAX)
            } else {
                executions.exit(exec)
            }
        });
        let end = last.max().unwrap_or(start);
        let first = comms.time.partition_point(|&time| time < start);
        (first..comms.len())
            .take_while(|&row| comms.time[row] <= end)
            .filter_map(|row| {
                let exec = ExecIdx::from(comms.exec[row]?);
                rows.contains(&exec.index())
                    .then(|| self.comm_entry(lane, row, exec))
            })
            .collect()
    }

    fn comm_entry(&self, lane: Lane<'_>, row: usize, exec: ExecIdx) -> CommWindowEntry {
        let comms = lane.stack.comms();
        let (own, partner) = (self.rank.0, comms.partner[row].0);
        let (kind, src, tar) = match comms.kind[row] {
            CommKind::Send => (CommType::Send, own, partner),
            CommKind::Recv => (CommType::Recv, partner, own),
        };
        CommWindowEntry {
            kind,
            pid: self.program.0,
            rid: own,
            tid: lane.thread.0,
            src,
            tar,
            bytes: comms.size_bytes[row],
            tag: comms.tag[row],
            timestamp_us: us(comms.time[row]),
            execdata_key: lane.label(self.rank, exec).to_string(),
        }
    }

    /// The CPU call that launched a kernel, by the correlation id that both carry.
    fn gpu_parent(&self, lane: Lane<'_>, exec: ExecIdx) -> GpuParent {
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
