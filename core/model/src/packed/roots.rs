//! A forest without what its roots called, as bytes: to be seen before the lanes have come.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::{PackedError, PackedLanes, TraceHead, lane};
use crate::{Comms, Counters, ExecIdx, Forest, FuncId, Lane, TreeRef};

/// The roots of a forest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackedRoots {
    /// The lanes of the trace, with nothing but the roots.
    lanes: Vec<ByteBuf>,
}

impl Forest {
    /// The roots as bytes.
    pub fn pack_roots(&self) -> PackedRoots {
        let mut rows: Vec<Vec<ExecIdx>> = vec![Vec::new(); self.trace().lanes.len()];
        for tree in self.trees() {
            rows[tree.root.lane.index()].push(tree.root.exec);
        }
        let pack = |(lane, rows): (&Lane, &mut Vec<ExecIdx>)| {
            rows.sort_unstable();
            let alone = Lane {
                executions: lane.executions.alone(rows),
                comms: Comms::default(),
                counters: Counters::default(),
                ..*lane
            };
            ByteBuf::from(lane::pack(&alone))
        };
        PackedRoots {
            lanes: self.trace().lanes.iter().zip(&mut rows).map(pack).collect(),
        }
    }
}

impl PackedRoots {
    /// A forest of those trees, each without what its root called. Functions, trees and the number of unclosed
    /// executions are those of the whole one.
    ///
    /// # Errors
    /// It is no forest, or not one of a trace with this head.
    pub fn unpack(
        self,
        head: TraceHead,
        functions: Vec<FuncId>,
        trees: Vec<TreeRef>,
        num_unclosed: usize,
    ) -> Result<Forest, PackedError> {
        let mut lanes = PackedLanes::new(head)?;
        for lane in &self.lanes {
            lanes.push(lane)?;
        }
        let trace = lanes.finish()?.into();
        Forest::of_roots(trace, functions, trees, num_unclosed).ok_or(PackedError::Missing("tree"))
    }
}
