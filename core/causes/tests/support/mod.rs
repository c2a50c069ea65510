//! Generated runs: scripts of each rank, with times in microseconds.

use callgrove_causes::{Causes, DelayCause};
use callgrove_model::{
    CommKind, ExecIdx, ExecRef, FuncEventKind, LaneIdx, Metadata, NameTable, ProgramId, Progress,
    RankBuilder, RankId, RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};

const THREAD: ThreadId = ThreadId(0);
/// Number of rounds before the tested events in which the same happens a thousand times faster, so that everything
/// has a usual duration.
const USUAL_ROUNDS: i64 = 12;
/// Time from one round to the next.
const ROUND_US: i64 = 500;
/// Start of the tested events.
pub(crate) const START_US: i64 = USUAL_ROUNDS * ROUND_US;

/// Returns one rank: `+f` enters and `-f` leaves a function, `s2` sends to rank 2, `r2` receives from it (`s2.1` with
/// tag 1), `|` ends an I/O step, each after its time in microseconds since [`START_US`]: `10 +f 40 s2 50 -f`. Usual
/// rounds come first.
pub(crate) fn rank(number: u32, script: &str) -> RankTrace {
    rank_on(number, "", 0, script)
}

/// Returns one rank on a host whose clock is ahead by `ahead_us`.
pub(crate) fn rank_on(number: u32, host: &str, ahead_us: i64, script: &str) -> RankTrace {
    play(number, host, ahead_us, script, USUAL_ROUNDS)
}

/// Returns ranks 0, 1, … as one run, without usual rounds.
pub(crate) fn only(scripts: &[&str]) -> Trace {
    let ranks = (0..).zip(scripts);
    run(ranks
        .map(|(number, it)| play(number, "", 0, it, 0))
        .collect())
}

fn play(number: u32, host: &str, ahead_us: i64, script: &str, num_rounds: i64) -> RankTrace {
    let mut player = Player {
        names: NameTable::default(),
        builder: RankBuilder::new(ProgramId(0), RankId(number)),
        batch: StepBatch::empty(ProgramId(0), RankId(number), StepId(0)),
        ahead_us,
    };
    if !host.is_empty() {
        player.batch.metadata.push(Metadata {
            program: ProgramId(0),
            rank: RankId(number),
            thread: THREAD,
            key: "Hostname".to_owned(),
            value: host.to_owned(),
        });
    }
    player.func(FuncEventKind::Entry, "main", -1_000);
    let without_steps = script.replace('|', "");
    for round in 0..num_rounds {
        player.script(&without_steps, round * ROUND_US * 1_000, 1);
    }
    let end_ns = player.script(script, START_US * 1_000, 1_000);
    player.func(FuncEventKind::Exit, "main", end_ns + 5_000);
    player.builder.push(player.batch);
    player.builder.finish(player.names, NameTable::default())
}

/// A rank that is being generated.
struct Player {
    names: NameTable,
    builder: RankBuilder,
    batch: StepBatch,
    ahead_us: i64,
}

impl Player {
    fn at(&self, time_ns: i64) -> TimeNs {
        TimeNs(time_ns + self.ahead_us * 1_000)
    }

    fn func(&mut self, kind: FuncEventKind, name: &str, time_ns: i64) {
        let row = self.batch.funcs.len() as u32;
        let (func, time) = (self.names.intern(name), self.at(time_ns));
        self.batch.funcs.push(THREAD, kind, func, time, row);
    }

    fn message(&mut self, kind: CommKind, partner: &str, time_ns: i64) {
        let (partner, tag) = partner.split_once('.').unwrap_or((partner, "0"));
        let partner = RankId(partner.parse().expect("a rank"));
        let (tag, time) = (tag.parse().expect("a tag"), self.at(time_ns));
        self.batch.comms.push(THREAD, kind, tag, partner, 8, time);
    }

    /// Plays a script with a unit of time; returns when it ended.
    fn script(&mut self, script: &str, start_ns: i64, unit_ns: i64) -> i64 {
        let mut time_ns = start_ns;
        for word in script.split_whitespace() {
            let (what, rest) = word.split_at(1);
            match what {
                "+" => self.func(FuncEventKind::Entry, rest, time_ns),
                "-" => self.func(FuncEventKind::Exit, rest, time_ns),
                "s" => self.message(CommKind::Send, rest, time_ns),
                "r" => self.message(CommKind::Recv, rest, time_ns),
                "|" => {
                    let step = StepId(self.batch.step.0 + 1);
                    let next = StepBatch::empty(ProgramId(0), self.batch.rank, step);
                    self.batch.ends_with_write = true;
                    self.builder.push(std::mem::replace(&mut self.batch, next));
                }
                _ => time_ns = start_ns + word.parse::<i64>().expect("a time") * unit_ns,
            }
        }
        time_ns
    }
}

/// Returns ranks as one run.
pub(crate) fn run(ranks: Vec<RankTrace>) -> Trace {
    Trace::assemble(ranks, Warnings::default())
}

/// Returns ranks 0, 1, … as one run.
pub(crate) fn scripts(scripts: &[&str]) -> Trace {
    run((0..)
        .zip(scripts)
        .map(|(number, it)| rank(number, it))
        .collect())
}

/// Returns one rank of four threads that meet in a barrier after 1 ms of work, `num_rounds` times; the last time
/// thread 2 works longer by `late_us`. The first thread's stack is deeper.
pub(crate) fn threads(num_rounds: i64, late_us: i64) -> Trace {
    let mut names = NameTable::default();
    let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
    let mut row = 0;
    for thread in 0..4 {
        let mut func = |kind, name: &str, time_us: i64| {
            let time = TimeNs(time_us * 1_000);
            let func = names.intern(name);
            batch.funcs.push(ThreadId(thread), kind, func, time, row);
            row += 1;
        };
        let around: &[&str] = match thread {
            0 => &["main", "parallel"],
            _ => &["parallel"],
        };
        for name in around {
            func(FuncEventKind::Entry, name, 0);
        }
        for round in 0..num_rounds {
            let is_last = round == num_rounds - 1;
            let begin = 10 + round * 2_000;
            let late = |of| if is_last && of == 2 { late_us } else { 0 };
            let work = begin + 1_000 + i64::from(thread) + late(thread);
            func(FuncEventKind::Entry, "work", begin);
            func(FuncEventKind::Exit, "work", work);
            func(FuncEventKind::Entry, "omp_barrier", work + 1);
            func(FuncEventKind::Exit, "omp_barrier", begin + 1_010 + late(2));
        }
        for name in around.iter().rev() {
            func(
                FuncEventKind::Exit,
                name,
                num_rounds * 2_000 + late_us + 100,
            );
        }
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(0));
    builder.push(batch);
    run(vec![builder.finish(names, NameTable::default())])
}

/// Returns the last execution of a function on a rank of a run with one lane per rank.
pub(crate) fn last(trace: &Trace, rank: u32, function: &str) -> ExecRef {
    let func = trace.names.get(function).expect("the function is called");
    let lane = LaneIdx(rank);
    let funcs = &trace.lane(lane).executions.func;
    let row = funcs.iter().rposition(|&it| it == func);
    let exec = ExecIdx::from_index(row.expect("it is called on this rank"));
    ExecRef { lane, exec }
}

/// Finds the causes of a run.
pub(crate) fn find(trace: &Trace) -> Causes {
    Causes::find(trace, Progress::none()).expect("no cancellation")
}

/// Returns the rank of a cause's root.
pub(crate) fn root_rank(causes: &Causes, cause: &DelayCause) -> Option<u32> {
    cause.root.map(|root| causes.roots()[root].rank.0)
}
