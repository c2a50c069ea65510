//! All incidents of a run, in order, and which are alike.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::like::groups;
use super::{Incident, LikeGroup};

/// The incidents of a run, the one that caused most delay first.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Incidents {
    incidents: Vec<Incident>,
    groups: Vec<LikeGroup>,
}

impl Incidents {
    /// Orders incidents and finds which are alike.
    pub(super) fn new(mut incidents: Vec<Incident>) -> Self {
        incidents.sort_by_key(|it| (Reverse(it.delay), it.start, it.root.lane));
        let groups = groups(&mut incidents);
        Self { incidents, groups }
    }

    /// All of them, ordered by delay, largest first.
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
