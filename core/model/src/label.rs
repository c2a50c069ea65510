//! What a person says about a tree.

use serde::{Deserialize, Serialize};

/// A person's judgement of a tree. Trees that nobody has judged have none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// As it should be, even if it is rare (l = 1 in the paper).
    Normal,
    /// Wrong (l = −1 in the paper).
    Abnormal,
}
