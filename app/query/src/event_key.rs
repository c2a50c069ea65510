//! The key of an execution that records and traces of a run share.

use callgrove_model::{ExecLabel, Forest, ProgramId, TreeIdx};
use serde::{Deserialize, Serialize};

/// Identifies an execution in every source of a run, with or without its trace: its event label.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EventKey {
    /// Program.
    #[serde(default)]
    pub program: ProgramId,
    /// Event label.
    #[serde(flatten)]
    pub event: ExecLabel,
}

impl EventKey {
    /// Returns the key of a tree's root.
    pub fn of(forest: &Forest, tree: TreeIdx) -> Self {
        Self {
            program: forest.lane_of(tree).program,
            event: forest.label(tree),
        }
    }

    /// Returns the key of a record by its event id, `rank:step:row`; `None` if the id is invalid.
    pub fn parse(program: ProgramId, event_id: &str) -> Option<Self> {
        let event = ExecLabel::parse(event_id)?;
        Some(Self { program, event })
    }
}
