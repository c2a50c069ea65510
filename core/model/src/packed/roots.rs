//! The roots of a forest as bytes, to be displayed before the lanes are received.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::{PackedError, PackedLanes, TraceHead, lane};
use crate::forest::{Forest, TreeRef};
use crate::id::{ExecIdx, FuncId};
use crate::lane::Lane;
use crate::lane_events::{Comms, Counters};

/// The roots of a forest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackedRoots {
    /// The lanes of the trace, with the roots only.
    lanes: Vec<ByteBuf>,
}

impl Forest {
    /// Returns the roots as bytes.
    pub fn pack_roots(&self) -> PackedRoots {
        let mut rows: Vec<Vec<ExecIdx>> = vec![Vec::new(); self.trace().lanes.len()];
        for tree in self.trees() {
            rows[tree.root.lane.index()].push(tree.root.exec);
        }
        let pack = |(lane, rows): (&Lane, &mut Vec<ExecIdx>)| {
            rows.sort_unstable();
            let roots = Lane {
                executions: lane.executions.only_rows(rows),
                comms: Comms::default(),
                counters: Counters::default(),
                ..*lane
            };
            ByteBuf::from(lane::pack(&roots))
        };
        PackedRoots {
            lanes: self.trace().lanes.iter().zip(&mut rows).map(pack).collect(),
        }
    }
}

impl PackedRoots {
    /// Returns the forest of the roots, each without the calls inside it. Functions, trees and the number of unclosed
    /// executions are those of the complete forest.
    ///
    /// # Errors
    /// If the bytes are not a forest, or not one of a trace with this head.
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
