//! Made-up runs: what each rank does, with times in microseconds.

use callgrove_model::{
    CommKind, ExecIdx, ExecRef, FuncEventKind, LaneIdx, Metadata, NameTable, ProgramId,
    RankBuilder, RankId, RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};

const THREAD: ThreadId = ThreadId(0);
/// Short calls before and after what a test is about, so that the run has usual gaps.
const USUAL_CALLS: i64 = 3_000;
/// The time between them.
const USUAL_US: i64 = 5;
/// Now and then one is longer, so that only gaps beyond that are unusual.
const LONG_EVERY: i64 = 200;
/// How long that one is.
const LONG_US: i64 = 1_500;
/// When what a test is about begins, after the usual calls.
pub(crate) const START_US: i64 =
    USUAL_CALLS * 2 * USUAL_US + USUAL_CALLS / LONG_EVERY * LONG_US + 100;

/// One rank: `+f` enters and `-f` leaves a function, `s2` sends to rank 2, `r2` receives from it (`s2.1` with tag 1), `|` ends an I/O
/// step, each after its time in microseconds since [`START_US`]: `10 +f 40 s2 50 -f`. Usual calls go before.
pub(crate) fn rank(number: u32, script: &str) -> RankTrace {
    rank_on(number, "", 0, script)
}

/// The same on a host whose clock is ahead by so many microseconds.
pub(crate) fn rank_on(number: u32, host: &str, ahead_us: i64, script: &str) -> RankTrace {
    let mut names = NameTable::default();
    let mut builder = RankBuilder::new(ProgramId(0), RankId(number));
    let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
    let at = |time_us: i64| TimeNs((time_us + ahead_us) * 1_000);
    let mut step = 0;
    let main = names.intern("main");
    let tick = names.intern("tick");
    let func = |batch: &mut StepBatch, kind, func, time_us| {
        let row = batch.funcs.len() as u32;
        batch.funcs.push(THREAD, kind, func, at(time_us), row);
    };
    func(&mut batch, FuncEventKind::Entry, main, 0);
    let mut time_us = 0;
    for call in 0..USUAL_CALLS {
        time_us += USUAL_US;
        func(&mut batch, FuncEventKind::Entry, tick, time_us);
        let is_long = call % LONG_EVERY == LONG_EVERY - 1;
        time_us += USUAL_US + if is_long { LONG_US } else { 0 };
        func(&mut batch, FuncEventKind::Exit, tick, time_us);
    }
    if !host.is_empty() {
        batch.metadata.push(Metadata {
            rank: RankId(number),
            thread: THREAD,
            key: "Hostname".to_owned(),
            value: host.to_owned(),
        });
    }
    time_us = START_US;
    for word in script.split_whitespace() {
        let (what, rest) = word.split_at(1);
        let partner = || {
            let (partner, tag) = rest.split_once('.').unwrap_or((rest, "0"));
            let tag: u64 = tag.parse().expect("a tag");
            (RankId(partner.parse().expect("a rank")), tag)
        };
        match what {
            "+" => func(
                &mut batch,
                FuncEventKind::Entry,
                names.intern(rest),
                time_us,
            ),
            "-" => func(&mut batch, FuncEventKind::Exit, names.intern(rest), time_us),
            "s" => {
                let (partner, tag) = partner();
                let (kind, time) = (CommKind::Send, at(time_us));
                batch.comms.push(THREAD, kind, tag, partner, 8, time);
            }
            "r" => {
                let (partner, tag) = partner();
                let (kind, time) = (CommKind::Recv, at(time_us));
                batch.comms.push(THREAD, kind, tag, partner, 8, time);
            }
            "|" => {
                step += 1;
                let next = StepBatch::empty(ProgramId(0), RankId(number), StepId(step));
                builder.push(std::mem::replace(&mut batch, next));
            }
            _ => time_us = START_US + word.parse::<i64>().expect("a time"),
        }
    }
    func(&mut batch, FuncEventKind::Exit, main, time_us + USUAL_US);
    builder.push(batch);
    builder.finish(names, NameTable::default())
}

/// Ranks as one run.
pub(crate) fn run(ranks: Vec<RankTrace>) -> Trace {
    Trace::assemble(ranks, Warnings::default())
}

/// Ranks 0, 1, … as one run.
pub(crate) fn scripts(scripts: &[&str]) -> Trace {
    run((0..)
        .zip(scripts)
        .map(|(number, it)| rank(number, it))
        .collect())
}

/// The last execution of a function on a rank of a run with one lane for each.
pub(crate) fn last(trace: &Trace, rank: u32, function: &str) -> ExecRef {
    let func = trace.names.get(function).expect("the function is called");
    let lane = LaneIdx(rank);
    let funcs = &trace.lane(lane).executions.func;
    let row = funcs.iter().rposition(|&it| it == func);
    let exec = ExecIdx::from_index(row.expect("it is called on this rank"));
    ExecRef { lane, exec }
}
