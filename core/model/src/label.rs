//! Labels that a person gives to trees.

use serde::{Deserialize, Serialize};

/// A person's judgement of a tree. Trees without a judgement have no label.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Normal, even if rare (l = 1 in the paper).
    Normal,
    /// Abnormal (l = −1 in the paper).
    Abnormal,
}

impl Label {
    /// Returns the name: that of files, tables and views.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Abnormal => "abnormal",
        }
    }
}
