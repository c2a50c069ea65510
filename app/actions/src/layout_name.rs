//! The names of the layouts.

use serde::{Deserialize, Serialize};

/// The task that the views are arranged for.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LayoutName {
    /// Trees of a recorded run.
    #[default]
    Analyse,
    /// Live anomalies of a run, and their records.
    Watch,
}

impl LayoutName {
    /// Returns the name that the user sees.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analyse => "Analyse",
            Self::Watch => "Watch",
        }
    }
}
