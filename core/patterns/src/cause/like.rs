//! Which incidents come back.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, LaneIdx};

use super::{CauseKind, Incident, LikeGroup};

/// Fewer distances than this tell no usual distance.
const MIN_DISTANCES: usize = 2;

/// Groups incidents by kind and root rank, and those that are alone on their rank by kind; each incident learns its
/// group. Those of a busy host are alike whatever rank was hit most. Cost: O(n log n).
pub(super) fn groups(incidents: &mut [Incident]) -> Vec<LikeGroup> {
    let mut by_rank: BTreeMap<(CauseKind, Option<LaneIdx>), Vec<usize>> = BTreeMap::new();
    for (index, incident) in incidents.iter().enumerate() {
        // A busy host is not one rank's doing.
        let lane = (incident.kind != CauseKind::BusyHost).then_some(incident.root.lane);
        let key = (incident.kind, lane);
        by_rank.entry(key).or_default().push(index);
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut alone: BTreeMap<CauseKind, Vec<usize>> = BTreeMap::new();
    for ((kind, _), members) in by_rank {
        if members.len() > 1 {
            groups.push(members);
        } else {
            alone.entry(kind).or_default().extend(members);
        }
    }
    groups.extend(alone.into_values());
    groups.sort_by_key(|members| members.iter().min().copied());
    let mut found = Vec::with_capacity(groups.len());
    for mut members in groups {
        members.sort_by_key(|&index| (incidents[index].start, index));
        let Some(&first) = members.first() else {
            continue;
        };
        for &index in &members {
            incidents[index].like = found.len();
        }
        let ranks: BTreeSet<_> = members.iter().map(|&it| incidents[it].root.rank).collect();
        let starts = members
            .windows(2)
            .map(|pair| incidents[pair[1]].start.since(incidents[pair[0]].start));
        found.push(LikeGroup {
            kind: incidents[first].kind,
            rank: (ranks.len() == 1).then_some(incidents[first].root.rank),
            num_ranks: ranks.len(),
            every: median(starts.collect()),
            incidents: members,
        });
    }
    found
}

fn median(mut distances: Vec<DurationNs>) -> Option<DurationNs> {
    if distances.len() < MIN_DISTANCES {
        return None;
    }
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied()
}
