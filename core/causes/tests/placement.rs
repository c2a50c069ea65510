//! The placement of ranks on hosts changes no incident, and the offset of a host's clock is found.

use callgrove_causes::{Causes, Incident};
use callgrove_model::{
    CommKind, DurationNs, FuncEventKind, FuncId, Metadata, NameTable, ProgramId, Progress,
    RankBuilder, RankId, RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use proptest::prelude::*;

const NUM_RANKS: usize = 6;
const NUM_ROUNDS: usize = 60;
const FUNCTIONS: [&str; 5] = [
    "main",
    "work",
    "MPI_Send()",
    "MPI_Wait()",
    "MPI_Allreduce()",
];

/// A rank that is being generated.
struct Generated {
    batch: StepBatch,
    ahead_us: i64,
    /// The end of its last call, on an exact clock.
    now_us: i64,
}

impl Generated {
    fn new(number: usize, host: u8, ahead_us: i64) -> Self {
        let rank = RankId(number as u32);
        let mut batch = StepBatch::empty(ProgramId(0), rank, StepId(0));
        batch.metadata.push(Metadata {
            program: ProgramId(0),
            rank,
            thread: ThreadId(0),
            key: "Hostname".to_owned(),
            value: format!("n{host}"),
        });
        let mut generated = Self {
            batch,
            ahead_us,
            now_us: 0,
        };
        generated.func(FuncEventKind::Entry, 0, -1);
        generated
    }

    fn time(&self, at_us: i64) -> TimeNs {
        TimeNs((at_us + self.ahead_us) * 1_000)
    }

    fn func(&mut self, kind: FuncEventKind, func: u32, at_us: i64) {
        let (row, time) = (self.batch.funcs.len() as u32, self.time(at_us));
        let funcs = &mut self.batch.funcs;
        funcs.push(ThreadId(0), kind, FuncId(func), time, row);
    }

    fn call(&mut self, func: u32, from_us: i64, to_us: i64) {
        self.func(FuncEventKind::Entry, func, from_us);
        self.func(FuncEventKind::Exit, func, to_us);
        self.now_us = to_us + 1;
    }

    fn message(&mut self, kind: CommKind, partner: usize, at_us: i64) {
        let (partner, time) = (RankId(partner as u32), self.time(at_us));
        let comms = &mut self.batch.comms;
        comms.push(ThreadId(0), kind, 0, partner, 8, time);
    }

    fn finish(mut self) -> RankTrace {
        self.func(FuncEventKind::Exit, 0, self.now_us + 5);
        let mut names = NameTable::default();
        for name in FUNCTIONS {
            names.intern(name);
        }
        let mut builder = RankBuilder::new(ProgramId(0), self.batch.rank);
        builder.push(self.batch);
        builder.finish(names, NameTable::default())
    }
}

/// Returns a run whose ranks each send to the next one, work, and wait for the message of the previous one, so that a
/// receive ends when the work does. In every third round all ranks meet. `work_us` is by rank, then round. The clock of
/// host 1 is ahead by `ahead_us`.
fn ring(work_us: &[Vec<i64>], hosts: &[u8], ahead_us: i64) -> Trace {
    let ranks = hosts.iter().enumerate();
    let mut ranks: Vec<Generated> = ranks
        .map(|(rank, &host)| Generated::new(rank, host, i64::from(host == 1) * ahead_us))
        .collect();
    for round in 0..NUM_ROUNDS {
        let sent: Vec<i64> = ranks.iter().map(|it| it.now_us).collect();
        for ((number, rank), work_us) in ranks.iter_mut().enumerate().zip(work_us) {
            let previous = (number + NUM_RANKS - 1) % NUM_RANKS;
            rank.message(CommKind::Send, (number + 1) % NUM_RANKS, sent[number]);
            rank.call(2, sent[number], sent[number] + 2);
            rank.call(1, rank.now_us, rank.now_us + work_us[round]);
            let received = (rank.now_us + 1).max(sent[previous] + 6);
            rank.message(CommKind::Recv, previous, received);
            rank.call(3, rank.now_us, received + 1);
        }
        if round % 3 == 2 {
            let last = ranks.iter().map(|it| it.now_us).max().unwrap_or_default();
            for (number, rank) in ranks.iter_mut().enumerate() {
                let left = last + 4 + ((number + round) % 3) as i64;
                rank.call(4, rank.now_us, left);
            }
        }
    }
    let ranks = ranks.into_iter().map(Generated::finish);
    Trace::assemble(ranks.collect(), Warnings::default())
}

fn find(trace: &Trace) -> Causes {
    Causes::find(trace, Progress::none()).expect("no cancellation")
}

/// Returns the incidents without the numbers of their groups: only similar incidents of one host are one group.
fn incidents(causes: &Causes) -> Vec<Incident> {
    let all = causes.incidents().all().iter().cloned();
    all.map(|it| Incident {
        similar_group: 0,
        ..it
    })
    .collect()
}

/// The speeds of the ranks, and the noise of each rank and round.
fn work() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let noise = proptest::collection::vec(0..10_i64, NUM_ROUNDS);
    let rank = (2..6_i64, noise)
        .prop_map(|(factor, noise)| noise.into_iter().map(|it| factor * (100 + it)).collect());
    proptest::collection::vec(rank, NUM_RANKS)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn the_placement_of_ranks_on_hosts_changes_no_incident(
        mut work_us in work(),
        (late, round, late_us) in (0..NUM_RANKS, 20..NUM_ROUNDS - 10, 4_000..30_000_i64),
        hosts in proptest::collection::vec(0..3_u8, NUM_RANKS),
    ) {
        work_us[late][round] += late_us;
        let one = find(&ring(&work_us, &[0; NUM_RANKS], 0));
        let spread = find(&ring(&work_us, &hosts, 0));
        prop_assert_eq!(one.roots(), spread.roots());
        prop_assert_eq!(incidents(&one), incidents(&spread));
        let names_late = |it: &Incident| it.root.rank.0 as usize == late;
        prop_assert!(one.incidents().all().iter().any(names_late));
    }

    #[test]
    fn collectives_reveal_the_offset_of_a_clock(
        mut work_us in work(),
        ahead_us in prop_oneof![-8_000..-100_i64, 100..8_000_i64],
    ) {
        // Each rank is the last of a meeting in turn.
        for round in 0..NUM_ROUNDS {
            work_us[round / 3 % NUM_RANKS][round] += 2_000;
        }
        let causes = find(&ring(&work_us, &[0, 0, 1, 1, 2, 2], ahead_us));
        let ahead: Vec<_> = causes.clocks().hosts().iter().map(|it| it.ahead).collect();
        let zero = Some(DurationNs::ZERO);
        prop_assert_eq!((ahead[0], ahead[2]), (zero, zero));
        let remote = &causes.clocks().hosts()[1];
        let off = ahead[1].unwrap_or_default() - DurationNs::from_us(ahead_us);
        prop_assert!(off.0.abs() <= remote.uncertainty.0, "{off} of {remote:?}");
        prop_assert!(remote.uncertainty <= DurationNs::from_us(20), "{remote:?}");
    }
}
