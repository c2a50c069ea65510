//! The trees that a running job has recorded, as a forest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{
    CallStackBuilder, Comms, Counters, ExecIdx, ExecLabel, ExecRef, Forest, FuncEvent,
    FuncEventKind, FuncId, Lane, LaneIdx, NameTable, ProgramId, RankId, RunIdentity, ThreadId,
    TimeNs, Trace, Warnings,
};
use callgrove_provdb::{RecordedTree, TreeRecord};

/// Prefix of the address of a job, or of its database, in the source name of its recorded trees.
pub const RECORDED_TREES: &str = "trees:";

/// Returns the forest of the recorded trees of a run, for all functions that are the root of one, and the number of
/// omitted records: those without calls, and invalid ones.
///
/// The usual trees are learned from the sample only ([`Forest::sample`]), because all abnormal trees are recorded, far
/// more than their share.
///
/// Trees are numbered among the recorded ones (`#rank-index`). Labels identify them by their event labels, which are
/// those of the run.
pub fn recorded_forest(records: &[TreeRecord], run: RunIdentity) -> (Forest, usize) {
    let mut names = NameTable::<FuncId>::default();
    let mut functions = BTreeSet::new();
    let mut by_lane: BTreeMap<(u32, u32, u32), Vec<Root<'_>>> = BTreeMap::new();
    let mut num_left_out = 0;
    for record in records {
        match Root::of(record) {
            Some(root) => {
                functions.insert(names.intern(&record.func));
                let lane = (record.pid, record.rid, record.tid);
                by_lane.entry(lane).or_default().push(root);
            }
            None => num_left_out += 1,
        }
    }
    let mut unsampled = BTreeSet::new();
    let mut lanes = Vec::with_capacity(by_lane.len());
    for ((program, rank, thread), mut roots) in by_lane {
        let (program, rank, thread) = (ProgramId(program), RankId(rank), ThreadId(thread));
        // Of trees with equal entry, the longest comes first.
        roots.sort_by_key(|root| {
            (
                root.record.entry,
                std::cmp::Reverse(root.record.exit),
                root.label,
            )
        });
        let lane = LaneIdx::from_index(lanes.len());
        let mut stack = CallStackBuilder::new(rank);
        let (mut is_over_at, mut num_calls) = (0, 0);
        for root in roots {
            // A tree inside another one is already part of it.
            if root.record.exit > is_over_at {
                is_over_at = root.record.exit;
                root.run(&mut stack, &mut names);
                let calls = num_calls..num_calls + root.tree.func.len();
                num_calls = calls.end;
                if !root.record.is_sample {
                    let of_lane = |call| ExecRef {
                        lane,
                        exec: ExecIdx::from_index(call),
                    };
                    unsampled.extend(calls.map(of_lane));
                }
            }
        }
        let (executions, ..) = stack.finish(&mut Warnings::default());
        lanes.push(Lane {
            program,
            rank,
            thread,
            executions,
            comms: Comms::default(),
            counters: Counters::default(),
        });
    }
    let trace = Trace {
        names,
        lanes,
        identity: run,
        is_selection: true,
        unsampled,
        ..Trace::default()
    };
    let functions: Vec<FuncId> = functions.into_iter().collect();
    (Forest::grow(Arc::new(trace), &functions), num_left_out)
}

/// A recorded tree with consistent columns.
struct Root<'a> {
    record: &'a TreeRecord,
    tree: &'a RecordedTree,
    label: ExecLabel,
}

impl<'a> Root<'a> {
    fn of(record: &'a TreeRecord) -> Option<Self> {
        let tree = record.tree.as_ref()?;
        let len = tree.func.len();
        let is_whole = len > 0
            && [tree.depth.len(), tree.entry.len(), tree.inclusive.len()] == [len; 3]
            && tree.depth[0] == 0
            && tree
                .depth
                .windows(2)
                .all(|pair| (1..=pair[0] + 1).contains(&pair[1]))
            && tree
                .func
                .iter()
                .all(|&func| (func as usize) < tree.functions.len());
        let is_in_time = tree.entry.is_sorted() && TimeNs::from_us(record.exit).is_some();
        let label = ExecLabel::parse(&record.event_id)?;
        let has_rows = u64::from(label.row) + len as u64 <= FuncEvent::MAX_ROWS;
        (is_whole && is_in_time && has_rows).then_some(Self {
            record,
            tree,
            label,
        })
    }

    /// Enters and leaves the calls of the tree.
    fn run(&self, stack: &mut CallStackBuilder, names: &mut NameTable<FuncId>) {
        let tree = self.tree;
        let ids: Vec<FuncId> = tree
            .functions
            .iter()
            .map(|name| names.intern(name))
            .collect();
        let at = |us| TimeNs::from_us(self.record.entry.saturating_add(us)).unwrap_or_default();
        let exit = |(func, end)| FuncEvent::new(FuncEventKind::Exit, func, at(end), 0);
        let mut events = Vec::with_capacity(2 * tree.func.len());
        let mut open: Vec<(FuncId, u64)> = Vec::new();
        for ((vertex, &depth), row) in tree.depth.iter().enumerate().zip(self.label.row..) {
            events.extend(open.drain(depth as usize..).rev().map(exit));
            let (func, entry) = (ids[tree.func[vertex] as usize], tree.entry[vertex]);
            events.push(FuncEvent::new(FuncEventKind::Entry, func, at(entry), row));
            open.push((func, entry.saturating_add(tree.inclusive[vertex])));
        }
        events.extend(open.into_iter().rev().map(exit));
        stack.extend(&events, self.label.step, &mut Warnings::default());
    }
}

#[cfg(test)]
mod tests {
    use callgrove_provdb::TREE_VERSION;

    use super::*;

    /// Returns a record in which `a` from 1,000 to 1,100 calls `b`, which calls `a`, and then `b` again.
    fn record() -> TreeRecord {
        TreeRecord {
            version: TREE_VERSION,
            event_id: "2:1:7".to_owned(),
            pid: 0,
            rid: 2,
            tid: 0,
            fid: 3,
            func: "a".into(),
            hostname: "".into(),
            entry: 1_000,
            exit: 1_100,
            runtime_total: 100,
            io_step: 1,
            is_sample: true,
            judged: None,
            outlier_score: 0.0,
            outlier_severity: 100,
            num_calls: 4,
            tree: Some(RecordedTree {
                functions: vec!["a".into(), "b".into()],
                func: vec![0, 1, 0, 1],
                depth: vec![0, 1, 2, 1],
                entry: vec![0, 10, 20, 60],
                inclusive: vec![100, 40, 5, 30],
            }),
        }
    }

    #[test]
    fn recorded_trees_are_restored_with_the_trees_inside_them() {
        // A tree inside another one is recorded a second time.
        let within = TreeRecord {
            event_id: "2:1:9".to_owned(),
            entry: 1_020,
            exit: 1_025,
            tree: Some(RecordedTree {
                functions: vec!["a".into()],
                func: vec![0],
                depth: vec![0],
                entry: vec![0],
                inclusive: vec![5],
            }),
            ..record()
        };
        let (forest, num_left_out) = recorded_forest(&[within, record()], RunIdentity::default());
        assert_eq!((forest.len(), num_left_out), (2, 0));
        let tree = forest.tree(callgrove_model::TreeIdx(0));
        let parents: Vec<_> = (0..tree.len()).map(|vertex| tree.parent(vertex)).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(0)]);
        let times: Vec<i64> = tree.inclusive().iter().map(|it| it.as_us()).collect();
        assert_eq!(times, [100, 40, 5, 30]);
        let own: Vec<i64> = tree.exclusive().iter().map(|it| it.as_us()).collect();
        assert_eq!(own, [30, 35, 5, 30]);
        let label = forest.label(callgrove_model::TreeIdx(0));
        assert_eq!(label.to_string(), "2:1:7");
    }

    #[test]
    fn anomalies_recorded_in_addition_are_not_in_the_sample() {
        let at = |event: &str, start_us: u64, is_sample| TreeRecord {
            event_id: event.to_owned(),
            entry: start_us,
            exit: start_us + 100,
            is_sample,
            ..record()
        };
        let records = [
            at("2:1:7", 1_000, true),
            at("2:1:17", 2_000, false),
            at("2:1:27", 3_000, true),
        ];
        // Each has a tree inside it.
        let (forest, _) = recorded_forest(&records, RunIdentity::default());
        assert_eq!(forest.sample(), [true, true, false, false, true, true]);
        let (forest, _) = recorded_forest(&records[1..2], RunIdentity::default());
        assert_eq!(
            forest.sample(),
            [true, true],
            "there are no sampled records"
        );
    }

    #[test]
    fn invalid_trees_are_omitted_and_counted() {
        let broken = |change: &dyn Fn(&mut TreeRecord, &mut RecordedTree)| {
            let mut record = record();
            let mut tree = record.tree.take().unwrap_or_default();
            change(&mut record, &mut tree);
            record.tree = Some(tree);
            record
        };
        let records = [
            TreeRecord {
                tree: None,
                ..record()
            },
            broken(&|_, tree| tree.func.clear()),
            broken(&|_, tree| tree.func[2] = 9),
            broken(&|_, tree| tree.depth[1] = 2),
            broken(&|_, tree| tree.depth[3] = 0),
            broken(&|_, tree| tree.entry[3] = 1),
            broken(&|_, tree| tree.inclusive.truncate(3)),
            broken(&|record, _| record.event_id = "7".to_owned()),
            broken(&|record, _| record.event_id = format!("2:1:{}", (1_u32 << 31) - 3)),
            broken(&|record, _| record.exit = u64::MAX),
        ];
        let (forest, num_left_out) = recorded_forest(&records, RunIdentity::default());
        assert_eq!((forest.len(), num_left_out), (0, records.len()));
        // Invalid times are repaired as in a damaged trace.
        let late = broken(&|_, tree| tree.inclusive[2] = u64::MAX);
        let (forest, _) = recorded_forest(&[late], RunIdentity::default());
        assert_eq!(forest.len(), 1 + 1);
    }
}
