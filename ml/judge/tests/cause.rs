//! The excesses that the tracer's own writes explain, and those that they do not.

use std::sync::Arc;

use callgrove_judge::detector::{Cause, Detector, DetectorParams, Embedding, causes};
use callgrove_learn::cause::WriteShare;
use callgrove_model::{
    CommKind, DurationNs, Forest, FuncEventKind, FuncId, Label, LaneIdx, Metadata, NameTable,
    ProgramId, RankBuilder, RankId, StepBatch, StepId, ThreadId, TimeNs, Trace, TracerWrite,
    Warnings,
};
use callgrove_trees::Progress;

const THREAD: ThreadId = ThreadId(0);
/// Number of executions on each of three ranks.
const NUM_CALLS: i64 = 40;
/// Duration of a usual execution.
const USUAL: i64 = 1_000;
/// Time from the start of one execution to the next.
const PERIOD: i64 = 10_000;
/// Start of the slow execution of rank 0.
const SLOW_START: i64 = 20 * PERIOD;
/// Excess of the slow execution.
const EXCESS: i64 = 4_000;

/// A run of three ranks with configurable events.
struct Run {
    /// Hosts by rank; those of the other ranks are unknown.
    hosts: Vec<&'static str>,
    /// Ranks that send a message to rank 0 in its slow execution.
    senders: Vec<u32>,
    /// Rank, start and length of each write.
    writes: Vec<(u32, i64, i64)>,
    /// True if the slow execution calls a function that no other calls.
    is_new: bool,
}

impl Default for Run {
    /// Returns a run on one host in which rank 1 writes for most of the excess.
    fn default() -> Self {
        Self {
            hosts: vec!["a", "a", "a"],
            senders: Vec::new(),
            writes: vec![(1, SLOW_START + 500, 3_000)],
            is_new: false,
        }
    }
}

impl Run {
    fn forest(&self) -> Forest {
        let ranks = (0..3).map(|rank| {
            let mut names = NameTable::default();
            for name in ["compute", "part", "new"] {
                names.intern(name);
            }
            let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(0));
            for call in 0..NUM_CALLS {
                let start = call * PERIOD;
                let is_slow = rank == 0 && start == SLOW_START;
                let end = start + USUAL + if is_slow { EXCESS } else { call % 3 };
                let inner = if is_slow && self.is_new { 2 } else { 1 };
                for (kind, func, time) in [
                    (FuncEventKind::Entry, 0, start),
                    (FuncEventKind::Entry, inner, start + 100),
                    (FuncEventKind::Exit, inner, end - 100),
                    (FuncEventKind::Exit, 0, end),
                ] {
                    let row = batch.funcs.len() as u32;
                    batch
                        .funcs
                        .push(THREAD, kind, FuncId(func), TimeNs(time), row);
                }
            }
            for &sender in self.senders.iter().filter(|_| rank == 0) {
                let time = TimeNs(SLOW_START + EXCESS);
                batch
                    .comms
                    .push(THREAD, CommKind::Recv, 0, RankId(sender), 8, time);
            }
            let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
            builder.push(batch);
            builder.finish(names, NameTable::default())
        });
        let mut trace = Trace::assemble(ranks.collect(), Warnings::default());
        let host = |(rank, host): (usize, &&str)| Metadata {
            program: ProgramId(0),
            rank: RankId(rank as u32),
            thread: THREAD,
            key: "Hostname".to_owned(),
            value: (*host).to_owned(),
        };
        trace.metadata = self.hosts.iter().enumerate().map(host).collect();
        let write = |&(rank, start, length): &(u32, i64, i64)| TracerWrite {
            lane: LaneIdx(rank),
            start: TimeNs(start),
            end: TimeNs(start + length),
        };
        trace.writes = self.writes.iter().map(write).collect();
        trace.writes.sort();
        let compute = trace.names.get("compute").expect("it is called");
        Forest::grow(Arc::new(trace), &[compute])
    }

    fn shares(&self) -> Vec<Option<WriteShare>> {
        embed(&self.forest()).write_shares().to_vec()
    }

    /// Returns the explained share of the slow execution, the 21st of rank 0.
    fn share(&self) -> Option<WriteShare> {
        self.shares()[20]
    }
}

fn embed(forest: &Forest) -> Embedding {
    let params = DetectorParams::default()
        .check()
        .expect("defaults are valid");
    Embedding::fit(forest, &params, 1, Progress::none()).expect("there are enough trees")
}

#[test]
fn a_write_on_the_same_host_explains_the_excess_that_it_covers() {
    let share = Run::default().share().expect("rank 1 wrote meanwhile");
    assert_eq!(share.excess.0, EXCESS - 1, "the median takes 1 more");
    // Less the expected writes in a time range of this length: 3,000 of 391,001 ns.
    assert_eq!(share.covered, DurationNs(3_000 - 38));
    assert!(share.explains());
    let little = Run {
        writes: vec![(1, SLOW_START + 500, 1_500)],
        ..Run::default()
    };
    assert!(!little.share().expect("it wrote").explains());
}

#[test]
fn only_ranks_on_the_same_host_and_message_partners_explain_a_tree() {
    let run = |hosts: &[&'static str], senders: &[u32]| Run {
        hosts: hosts.to_vec(),
        senders: senders.to_vec(),
        ..Run::default()
    };
    assert!(run(&["a", "b", "a"], &[]).share().is_none());
    assert!(run(&[], &[]).share().is_none());
    assert!(run(&[], &[2]).share().is_none());
    let expected = Run::default().share();
    assert_eq!(run(&["a", "a", "b"], &[]).share(), expected);
    assert_eq!(run(&["a", "b", "a"], &[1]).share(), expected);
    assert_eq!(run(&[], &[1, 2]).share(), expected);
    let own = Run {
        hosts: Vec::new(),
        writes: vec![(0, SLOW_START + 500, 3_000)],
        ..Run::default()
    };
    assert_eq!(own.share(), expected);
}

#[test]
fn trees_that_are_not_slow_or_overlap_no_write_and_new_structure_are_exempt() {
    let shares = Run::default().shares();
    // Those of rank 0; all are slightly slower or faster than usual.
    assert_eq!(shares[..40].iter().flatten().count(), 1);
    let new = Run {
        is_new: true,
        ..Run::default()
    };
    assert!(new.share().is_none());
}

#[test]
fn permanent_writes_explain_nothing() {
    let always = (0..NUM_CALLS).map(|call| (1, call * PERIOD, PERIOD - 100));
    let run = Run {
        writes: always.collect(),
        ..Run::default()
    };
    assert!(!run.share().is_some_and(|share| share.explains()));
}

#[test]
fn a_write_counts_with_at_most_the_usual_time_of_writes() {
    // Four writes elsewhere take 600; during the fifth its rank was stopped.
    let others = [2, 5, 8, 11].map(|call| (1, call * PERIOD + 2_000, 600));
    let run = Run {
        writes: others.into_iter().chain(Run::default().writes).collect(),
        ..Run::default()
    };
    let share = run.share().expect("it overlaps");
    assert!(share.covered < DurationNs(600) && !share.explains());
}

#[test]
fn an_explained_tree_is_tagged_unless_it_is_labelled_abnormal() {
    let embedding = embed(&Run::default().forest());
    let mut labels = vec![None; embedding.num_trees()];
    let detector = Detector::train(&embedding, &labels, None, Progress::none());
    let abnormal = detector.expect("it can be trained").abnormal().to_vec();
    assert!(abnormal[20]);
    let found = causes(&abnormal, &labels, embedding.write_shares());
    let tagged: Vec<usize> = (0..found.len()).filter(|&at| found[at].is_some()).collect();
    assert_eq!(tagged, [20]);
    assert_eq!(found[20], Some(Cause::TraceWrite));
    labels[20] = Some(Label::Abnormal);
    let found = causes(&abnormal, &labels, embedding.write_shares());
    assert_eq!(found[20], None);
}
