//! Traces written as text.

use callgrove_model::{
    FuncEventKind, FuncId, LaneIdx, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch,
    StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_patterns::{Pattern, Patterns, events};

/// A call to be traced.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// Own time before it is left.
    pub(crate) own_us: i64,
    pub(crate) is_closed: bool,
    pub(crate) inside: Vec<Call>,
}

/// Parses calls from text: `a(b c)` is a with b and c inside, `a:30` has an own time of 30 microseconds (else 1), and
/// the exit of `a?(b)` is missing.
pub(crate) fn calls(text: &str) -> Vec<Call> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut levels = vec![Vec::new()];
    for word in spaced.split_whitespace() {
        match word {
            "(" => levels.push(Vec::new()),
            ")" => {
                let inside = levels.pop().expect("a bracket is open");
                let calls: &mut Vec<Call> = levels.last_mut().expect("one level is open");
                let caller = calls.last_mut().expect("a bracket follows its caller");
                caller.inside = inside;
            }
            word => {
                let is_time = |it: &(&str, &str)| it.1.bytes().all(|it| it.is_ascii_digit());
                let (word, own) = word.rsplit_once(':').filter(is_time).unwrap_or((word, "1"));
                levels.last_mut().expect("one level is open").push(Call {
                    name: word.trim_end_matches('?').to_owned(),
                    own_us: own.parse().expect("digits"),
                    is_closed: !word.ends_with('?'),
                    inside: Vec::new(),
                });
            }
        }
    }
    assert_eq!(levels.len(), 1, "every bracket is closed: {text}");
    levels.pop().expect("one level is open")
}

/// Returns the trace of some ranks of one thread each.
pub(crate) fn trace_of(ranks: &[Vec<Call>]) -> Trace {
    let ranks: Vec<Vec<&[Call]>> = ranks.iter().map(|it| vec![it.as_slice()]).collect();
    trace_of_threads(&ranks)
}

/// Returns the trace of the threads of some ranks.
pub(crate) fn trace_of_threads(ranks: &[Vec<&[Call]>]) -> Trace {
    let ranks = (0..).map(RankId).zip(ranks).map(|(rank, threads)| {
        let mut batch = StepBatch::empty(ProgramId(0), rank, StepId(0));
        let mut names = NameTable::default();
        for (thread, calls) in (0..).map(ThreadId).zip(threads) {
            let mut now_us = 1_000;
            let mut tasks: Vec<(&Call, bool)> = calls.iter().rev().map(|it| (it, true)).collect();
            while let Some((call, is_entry)) = tasks.pop() {
                let func: FuncId = names.intern(&call.name);
                let kind = if is_entry {
                    tasks.push((call, false));
                    tasks.extend(call.inside.iter().rev().map(|it| (it, true)));
                    FuncEventKind::Entry
                } else {
                    now_us += call.own_us;
                    if !call.is_closed {
                        continue;
                    }
                    FuncEventKind::Exit
                };
                let row = u32::try_from(batch.funcs.len()).expect("few events");
                let time = TimeNs(now_us * 1_000);
                batch.funcs.push(thread, kind, func, time, row);
            }
        }
        let mut builder = RankBuilder::new(ProgramId(0), rank);
        builder.push(batch);
        builder.finish(names, NameTable::default())
    });
    Trace::assemble(ranks.collect(), Warnings::default())
}

/// Returns the trace of some ranks, written as text.
pub(crate) fn trace(ranks: &[&str]) -> Trace {
    let ranks: Vec<Vec<Call>> = ranks.iter().map(|rank| calls(rank)).collect();
    trace_of(&ranks)
}

/// Returns the patterns of a trace, after a check that the grammar expands to every lane.
pub(crate) fn patterns_of(trace: &Trace) -> Patterns {
    let patterns = Patterns::find(trace, Progress::none()).expect("no cancellation");
    for (at, lane) in trace.lanes() {
        assert!(
            patterns.expand(at).eq(events(&lane.executions)),
            "lane {at}: {}",
            patterns.define_lane(at, &trace.names, 9)
        );
    }
    patterns
}

/// Returns the definitions of the lanes, with patterns unfolded.
pub(crate) fn unfolded(ranks: &[&str]) -> Vec<String> {
    let trace = trace(ranks);
    let patterns = patterns_of(&trace);
    let define = |(at, _): (LaneIdx, _)| patterns.define_lane(at, &trace.names, 9);
    trace.lanes().map(define).collect()
}

/// Returns the pattern with a definition.
pub(crate) fn find<'a>(patterns: &'a Patterns, trace: &Trace, definition: &str) -> &'a Pattern {
    let is_it = |it: &&Pattern| patterns.define(it.id, &trace.names, 9) == definition;
    let found: Vec<&Pattern> = patterns.all().iter().filter(is_it).collect();
    let all = patterns.all().iter();
    let all: Vec<String> = all
        .map(|it| patterns.define(it.id, &trace.names, 9))
        .collect();
    assert_eq!(found.len(), 1, "{definition} is one of {all:#?}");
    found[0]
}
