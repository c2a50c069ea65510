//! All incidents of a run, in order, and which are alike.

use callgrove_model::LaneIdx;
use serde::{Deserialize, Serialize};

use super::like::groups;
use super::{Incident, LikeGroup};

/// The incidents of a run: what is not by design first, and of each part the one that caused most delay first.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Incidents {
    incidents: Vec<Incident>,
    groups: Vec<LikeGroup>,
}

impl Incidents {
    /// Finds which incidents, in their order, are alike.
    pub(super) fn new(mut incidents: Vec<Incident>, host_of: impl Fn(LaneIdx) -> usize) -> Self {
        let groups = groups(&mut incidents, host_of);
        Self { incidents, groups }
    }

    /// All of them: those that are not by design first, then ordered by delay, largest first.
    pub fn all(&self) -> &[Incident] {
        &self.incidents
    }

    /// Which come back, in order of their first incident in [`Incidents::all`].
    pub fn like_groups(&self) -> &[LikeGroup] {
        &self.groups
    }

    /// Those that are like one; itself among them.
    pub fn like(&self, incident: &Incident) -> Option<&LikeGroup> {
        self.groups.get(incident.like)
    }
}
