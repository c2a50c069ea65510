//! All incidents of a run, in order, and groups of similar ones.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, FuncId, LaneIdx, TimeNs};
use serde::{Deserialize, Serialize};

use super::delay::CauseKind;
use super::incident::{Incident, SimilarIncidents};

/// Minimum number of distances from which a period can be estimated.
const MIN_DISTANCES: usize = 4;
/// Divisor of the mean distance: the standard deviation of a period's distances is at most a tenth of it.
const STEADY: i128 = 10;

/// The incidents of a run: collectives that not all ranks entered, then those not by design, then the others; each part
/// ordered by delay, largest first.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Incidents {
    incidents: Vec<Incident>,
    groups: Vec<SimilarIncidents>,
}

impl Incidents {
    /// Groups similar incidents, which stay in their order.
    pub(crate) fn new(mut incidents: Vec<Incident>, host_of: impl Fn(LaneIdx) -> usize) -> Self {
        let groups = groups(&mut incidents, host_of);
        Self { incidents, groups }
    }

    /// Returns all incidents: collectives that not all ranks entered, then those not by design, then the others; each
    /// part ordered by delay, largest first.
    pub fn all(&self) -> &[Incident] {
        &self.incidents
    }

    /// Returns the incidents that are similar to one, including itself.
    pub fn similar_to(&self, incident: &Incident) -> Option<&SimilarIncidents> {
        self.groups.get(incident.similar_group)
    }
}

/// Groups incidents by kind and place: the root's lane and function, or the host if no rank is the cause. Sets the
/// group of each incident. Cost: O(n log n).
pub(super) fn groups(
    incidents: &mut [Incident],
    host_of: impl Fn(LaneIdx) -> usize,
) -> Vec<SimilarIncidents> {
    type Place = (CauseKind, usize, Option<FuncId>);
    let mut by_place: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (index, incident) in incidents.iter().enumerate() {
        let root = &incident.root;
        let place = match incident.kind {
            CauseKind::Transfer | CauseKind::Noise => (incident.kind, 0, None),
            CauseKind::BusyHost => (incident.kind, host_of(root.lane), None),
            kind => (kind, root.lane.index(), Some(root.func)),
        };
        by_place.entry(place).or_default().push(index);
    }
    let mut groups: Vec<Vec<usize>> = by_place.into_values().collect();
    groups.sort_by_key(|members| members.first().copied());
    let mut found = Vec::with_capacity(groups.len());
    for mut members in groups {
        members.sort_by_key(|&index| (incidents[index].start, index));
        let Some(&first) = members.first() else {
            continue;
        };
        for &index in &members {
            incidents[index].similar_group = found.len();
        }
        let kind = incidents[first].kind;
        let starts: Vec<TimeNs> = members.iter().map(|&it| incidents[it].start).collect();
        found.push(SimilarIncidents {
            kind,
            rank: kind.is_of_a_rank().then_some(incidents[first].root.rank),
            every: period(&starts),
            incidents: members,
        });
    }
    found
}

/// Returns the mean distance of ascending times, if it hardly varies.
pub(crate) fn period(starts: &[TimeNs]) -> Option<DurationNs> {
    let count = starts.len().checked_sub(1)?;
    if count < MIN_DISTANCES {
        return None;
    }
    let distances = || starts.windows(2).map(|it| i128::from(it[1].since(it[0]).0));
    let sum: i128 = distances().sum();
    let squares: i128 = distances()
        .map(|it| it.saturating_mul(it))
        .fold(0, i128::saturating_add);
    let count = i128::try_from(count).ok()?;
    // n Σd² − (Σd)² is n² times the variance.
    let variance = squares
        .saturating_mul(count)
        .saturating_sub(sum.saturating_mul(sum));
    let is_steady = variance.saturating_mul(STEADY * STEADY) <= sum.saturating_mul(sum);
    let mean = i64::try_from(sum / count).ok()?;
    is_steady.then_some(DurationNs(mean))
}
