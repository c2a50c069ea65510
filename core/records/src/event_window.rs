//! Event windows of records: the executions entered just before and after an execution, and their messages.

use std::ops::Range;
use std::sync::Arc;

use callgrove_model::{CommKind, ExecIdx, TimeNs};
use callgrove_provdb::{CommType, CommWindowEntry, EventWindow, ExecWindowEntry};

use crate::node_state::epoch_us;
use crate::record_builder::{JudgedLane, RecordBuilder};

/// The event id of the caller of an outermost execution.
const ROOT: &str = "root";

impl RecordBuilder<'_> {
    /// Returns the executions entered around `exec` on its thread, and the messages sent and received in them.
    pub(crate) fn event_window(&self, lane: JudgedLane<'_>, exec: ExecIdx) -> EventWindow {
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

    fn comm_window(&self, lane: JudgedLane<'_>, rows: Range<usize>) -> Vec<CommWindowEntry> {
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
        let mut numbers = self.message_numbers.of_thread(lane.thread, comms);
        (first..comms.len())
            .take_while(|&row| comms.time[row] <= end)
            .filter_map(|row| {
                let exec = ExecIdx::from(comms.exec[row]?);
                rows.contains(&exec.index())
                    .then(|| self.comm_entry(lane, row, exec, numbers.number(row)))
            })
            .collect()
    }

    fn comm_entry(
        &self,
        lane: JudgedLane<'_>,
        row: usize,
        exec: ExecIdx,
        number: Option<u64>,
    ) -> CommWindowEntry {
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
            number,
            timestamp_us: epoch_us(comms.time[row]),
            execdata_key: lane.label(self.rank, exec).to_string(),
        }
    }
}
