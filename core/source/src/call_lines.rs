//! The calls of a trace as text, for the tests of formats.

use callgrove_model::{ExecIdx, Trace};

/// Returns a line for each call, lane by lane: `rank.thread depth name entry-exit`, with times in nanoseconds.
pub fn call_lines(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for lane in &trace.lanes {
        let calls = &lane.executions;
        for row in 0..calls.len() {
            lines.push(format!(
                "{}.{} {} {} {}-{}",
                lane.rank,
                lane.thread.0,
                calls.depth[row],
                trace.names.name(calls.func[row]),
                calls.entry[row].0,
                calls.exit(ExecIdx::from_index(row)).0,
            ));
        }
    }
    lines
}
