//! Small traces for tests, written down as calls or as random walks up and down the stack.

use std::sync::Arc;

use callgrove_model::{
    CommKind, Executions, Forest, FuncEventKind, FuncId, NameTable, ProgramId, RankBuilder, RankId,
    RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use proptest::prelude::*;

use super::Tile;

const THREAD: ThreadId = ThreadId(0);

/// Returns one rank from `+name@time` and `-name@time` events and messages `(kind, partner, time)`.
pub(crate) fn rank(rank: u32, calls: &str, messages: &[(CommKind, u32, i64)]) -> RankTrace {
    let mut names = NameTable::default();
    let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(0));
    for (row, event) in calls.split_whitespace().enumerate() {
        let (name, time) = event[1..].split_once('@').expect("name@time");
        let kind = if event.starts_with('+') {
            FuncEventKind::Entry
        } else {
            FuncEventKind::Exit
        };
        let time = TimeNs(time.parse().expect("a number"));
        batch
            .funcs
            .push(THREAD, kind, names.intern(name), time, row as u32);
    }
    for &(kind, partner, time) in messages {
        batch
            .comms
            .push(THREAD, kind, 7, RankId(partner), 64, TimeNs(time));
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
    builder.push(batch);
    builder.finish(names, NameTable::default())
}

/// Returns the forest of the executions of `root`.
pub(crate) fn forest(ranks: Vec<RankTrace>, root: &str) -> Forest {
    let trace = Trace::assemble(ranks, Warnings::default());
    let func = trace.names.get(root).expect("the root is called");
    Forest::grow(Arc::new(trace), &[func])
}

/// Returns a tile from `from` to `to` with bars down to `min_bar_ns`.
pub(crate) fn tile(from: i64, to: i64, min_bar_ns: i64) -> Tile {
    Tile {
        from: TimeNs(from),
        to: TimeNs(to),
        min_bar_ns,
    }
}

/// Generates the steps of a random walk: whether to call or return, and the time until then.
pub(crate) fn walks() -> impl Strategy<Value = Vec<(bool, i64)>> {
    let pause = prop_oneof![Just(0_i64), 0_i64..4, 0_i64..60];
    prop::collection::vec((any::<bool>(), pause), 1..300)
}

/// Returns the forest of a random walk inside `main`, which is the root.
pub(crate) fn walked(walk: &[(bool, i64)]) -> Forest {
    let mut calls = String::from("+main@0");
    let mut open = Vec::new();
    let mut now = 0;
    for (step, &(calls_next, pause)) in walk.iter().enumerate() {
        now += pause;
        if calls_next {
            open.push(step % 5);
            calls.push_str(&format!(" +f{}@{now}", step % 5));
        } else if let Some(name) = open.pop() {
            calls.push_str(&format!(" -f{name}@{now}"));
        }
    }
    while let Some(name) = open.pop() {
        calls.push_str(&format!(" -f{name}@{now}"));
    }
    calls.push_str(&format!(" -main@{now}"));
    forest(vec![rank(0, &calls, &[])], "main")
}

/// Returns the calls of the only lane.
pub(crate) fn executions(forest: &Forest) -> &Executions {
    &forest.trace().lanes[0].executions
}

/// Returns the name of a function.
pub(crate) fn name(forest: &Forest, func: FuncId) -> &str {
    forest.trace().names.name(func)
}
