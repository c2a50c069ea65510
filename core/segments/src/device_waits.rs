//! Calls of the host that return only when work of a GPU has ended: as the format states them, else calls that launch
//! work which ends before they return, such as a copy to memory that is not pinned.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, ExecRef, LaneIdx, TimeNs, Trace};

/// The calls that wait for a GPU, each with the stream that it waits for; `None` for all streams of its process.
#[derive(Debug, Default)]
pub(crate) struct DeviceWaits(BTreeMap<ExecRef, Option<LaneIdx>>);

impl DeviceWaits {
    /// Finds the calls. Cost: O(n log n) in launches and stated waits.
    pub(crate) fn find(trace: &Trace) -> Self {
        let mut found = BTreeMap::new();
        for it in &trace.launches {
            if let Some(call) = blocking(trace, it.by, it.launched, it.lane, it.time) {
                found.insert(call, Some(it.lane));
            }
        }
        for it in &trace.device_waits {
            if let Some(exec) = innermost(trace, it.lane, it.time) {
                let lane = it.lane;
                found.insert(ExecRef { lane, exec }, it.stream);
            }
        }
        Self(found)
    }

    /// Returns whether a call waits for a GPU.
    pub(crate) fn contains(&self, call: ExecRef) -> bool {
        self.0.contains_key(&call)
    }

    /// Returns the stream that a call waits for, if it waits for only one.
    pub(crate) fn stream(&self, call: ExecRef) -> Option<LaneIdx> {
        self.0.get(&call).copied().flatten()
    }
}

/// Returns the call that launched some work, if it returned only after that had ended.
fn blocking(
    trace: &Trace,
    host: LaneIdx,
    launched: TimeNs,
    stream: LaneIdx,
    begun: TimeNs,
) -> Option<ExecRef> {
    let call = innermost(trace, host, launched)?;
    let work = innermost(trace, stream, begun)?;
    let ended = trace.lane(stream).executions.exit(work);
    let returned = trace.lane(host).executions.exit(call);
    (host != stream && ended <= returned).then_some(ExecRef {
        lane: host,
        exec: call,
    })
}

/// Returns the innermost call of a lane that is open at a time.
fn innermost(trace: &Trace, lane: LaneIdx, time: TimeNs) -> Option<ExecIdx> {
    let executions = &trace.lane(lane).executions;
    let begun = executions.entry.partition_point(|entry| *entry <= time);
    let last = ExecIdx::from_index(begun.checked_sub(1)?);
    let mut around = std::iter::successors(Some(last), |&it| executions.parent(it));
    around.find(|&it| executions.exit(it) >= time)
}
