//! A single CSTree without its trace: as bytes, and in memory.

use serde::{Deserialize, Serialize};

use super::{PackedError, lane};
use crate::executions::Executions;
use crate::forest::CsTree;
use crate::id::{ExecIdx, ExecRef, ProgramId, RankId, ThreadId};
use crate::lane::Lane;
use crate::lane_events::{Comms, Counters};
use crate::trace::Trace;

/// All calls of an execution, as bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackedTree {
    root: ExecRef,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

/// All calls of an execution.
#[derive(Clone, Debug)]
pub struct TreeCalls {
    root: ExecRef,
    executions: Executions,
}

impl PackedTree {
    /// Returns the tree of an execution of a trace.
    pub fn of(trace: &Trace, root: ExecRef) -> Self {
        let executions = &trace.lane(root.lane).executions;
        let rows: Vec<ExecIdx> = executions
            .subtree(root.exec)
            .map(ExecIdx::from_index)
            .collect();
        let tree = Lane {
            program: ProgramId(0),
            rank: RankId(0),
            thread: ThreadId(0),
            executions: executions.only_rows(&rows),
            comms: Comms::default(),
            counters: Counters::default(),
        };
        Self {
            root,
            bytes: lane::pack(&tree),
        }
    }

    /// Returns the number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the tree in memory. `head` is its trace, whose lanes may be empty.
    ///
    /// # Errors
    /// If the bytes are not a tree of such a trace.
    pub fn unpack(&self, head: &Trace) -> Result<TreeCalls, PackedError> {
        let executions = lane::unpack(&self.bytes, head.names.len(), 0)?.executions;
        let (root, end) = (self.root, executions.subtree_end.first());
        if end.map(|end| end.index()) != Some(executions.len()) {
            return Err(PackedError::Missing("root of a tree"));
        }
        Ok(TreeCalls { root, executions })
    }
}

impl TreeCalls {
    /// Returns the tree.
    pub fn tree(&self) -> CsTree<'_> {
        CsTree::new(&self.executions, ExecIdx(0))
    }

    /// Returns the execution of a vertex in the trace.
    pub fn exec(&self, vertex: usize) -> ExecRef {
        ExecRef {
            exec: ExecIdx::from_index(self.root.exec.index() + vertex),
            ..self.root
        }
    }

    /// Returns the vertex of an execution of the trace, or `None` if the tree does not contain it.
    pub fn vertex(&self, call: ExecRef) -> Option<usize> {
        let vertex = call.exec.index().checked_sub(self.root.exec.index())?;
        (call.lane == self.root.lane && vertex < self.executions.len()).then_some(vertex)
    }
}
