//! Collective operations: which calls of the ranks belong together.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, ExecRef, FuncId, ProgramId, TimeNs, Trace};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::wait::Collective;

/// Matches the i-th call of a collective on every rank of a program with the i-th call of the others.
///
/// TAU does not record the communicator. Ranks that call a function equally often are taken for one communicator;
/// an operation some of whose ranks had left before others came is no meeting, and is left out. Cost: linear.
pub(super) fn collectives(trace: &Trace, kinds: &[CallKind], clocks: &Clocks) -> Vec<Collective> {
    let mut calls: BTreeMap<(ProgramId, FuncId), Vec<Vec<ExecRef>>> = BTreeMap::new();
    for (index, lane) in trace.lanes() {
        let mut on_lane: BTreeMap<FuncId, Vec<ExecRef>> = BTreeMap::new();
        for (row, func) in lane.executions.func.iter().enumerate() {
            if kinds[func.index()].is_collective() {
                let exec = ExecIdx::from_index(row);
                let call = ExecRef { lane: index, exec };
                on_lane.entry(*func).or_default().push(call);
            }
        }
        for (func, made) in on_lane {
            calls.entry((lane.program, func)).or_default().push(made);
        }
    }
    let mut found = Vec::new();
    for lanes in calls.into_values() {
        let mut alike: BTreeMap<usize, Vec<Vec<ExecRef>>> = BTreeMap::new();
        for made in lanes {
            alike.entry(made.len()).or_default().push(made);
        }
        for (count, lanes) in alike {
            if lanes.len() > 1 {
                found.extend((0..count).filter_map(|at| meeting(trace, clocks, &lanes, at)));
            }
        }
    }
    found
}

fn meeting(
    trace: &Trace,
    clocks: &Clocks,
    lanes: &[Vec<ExecRef>],
    at: usize,
) -> Option<Collective> {
    let calls: Vec<ExecRef> = lanes.iter().map(|made| made[at]).collect();
    let entry = |call: &ExecRef| clocks.common(call.lane, entry_of(trace, *call));
    let exit = |call: &ExecRef| {
        let executions = &trace.lane(call.lane).executions;
        clocks.common(call.lane, executions.exit(call.exec))
    };
    let last = *calls.iter().max_by_key(|call| (entry(call), **call))?;
    let last_entry = entry(&last);
    let num_left = calls.iter().filter(|call| exit(call) < last_entry).count();
    // Of a broadcast the root may leave before all have come, of a reduction all but one.
    (num_left + 1 < calls.len()).then_some(Collective {
        calls,
        last,
        last_entry,
    })
}

fn entry_of(trace: &Trace, call: ExecRef) -> TimeNs {
    trace.lane(call.lane).executions.entry[call.exec.index()]
}
