//! A forest without what its roots called, as bytes: to be seen before the lanes have come.

use serde::{Deserialize, Serialize};

use super::{PackedError, PackedLanes, TraceHead, lane};
use crate::{Comms, Counters, ExecIdx, ExecRef, Forest, FuncId, Lane, TreeRef};

/// The roots of a forest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackedRoots {
    trees: Vec<TreeRef>,
    /// The lanes of the trace, with nothing but the roots.
    lanes: Vec<Vec<u8>>,
}

impl Forest {
    /// The roots as bytes.
    pub fn pack_roots(&self) -> PackedRoots {
        let mut rows: Vec<Vec<ExecIdx>> = vec![Vec::new(); self.trace().lanes.len()];
        for tree in self.trees() {
            rows[tree.root.lane.index()].push(tree.root.exec);
        }
        for rows in &mut rows {
            rows.sort_unstable();
        }
        let alone = |tree: &TreeRef| {
            let lane = tree.root.lane;
            let place = rows[lane.index()].partition_point(|row| *row < tree.root.exec);
            let exec = ExecIdx::from_index(place);
            TreeRef {
                root: ExecRef { lane, exec },
                ..*tree
            }
        };
        let pack = |(lane, rows): (&Lane, &Vec<ExecIdx>)| {
            let alone = Lane {
                executions: lane.executions.alone(rows),
                comms: Comms::default(),
                counters: Counters::default(),
                ..*lane
            };
            lane::pack(&alone)
        };
        PackedRoots {
            trees: self.trees().iter().map(alone).collect(),
            lanes: self.trace().lanes.iter().zip(&rows).map(pack).collect(),
        }
    }
}

impl PackedRoots {
    /// A forest with the same trees in the same order, each without what its root called. Functions and unclosed
    /// executions are those of the whole one.
    ///
    /// # Errors
    /// It is no forest, or not one of a trace with this head.
    pub fn unpack(
        self,
        head: TraceHead,
        functions: Vec<FuncId>,
        num_unclosed: usize,
    ) -> Result<Forest, PackedError> {
        let mut lanes = PackedLanes::new(head)?;
        for lane in &self.lanes {
            lanes.push(lane)?;
        }
        let trace = lanes.finish()?.into();
        Forest::of_trees(trace, functions, self.trees, num_unclosed)
            .ok_or(PackedError::Missing("tree"))
    }
}
