//! The processes of an archive: their ranks, their threads, and the run's ranks of the members of communicators.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{RankId, ThreadId};

use crate::definitions::{Communicator, Definitions, group_type};

/// A group of locations that is a process.
const PROCESS: u8 = 1;
/// A location that is a thread.
pub(crate) const CPU_THREAD: u8 = 1;
/// A location that is a stream of an accelerator.
pub(crate) const STREAM: u8 = 2;
/// A location that samples metrics, such as the power of a device.
pub(crate) const METRIC: u8 = 3;

/// A process of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Otf2Process {
    pub(crate) rank: RankId,
    /// Its location group.
    pub(crate) group: u32,
    /// The locations of its threads, then of its streams, with their thread ids, and those of metrics, whose samples
    /// are on its first thread.
    pub(crate) locations: Vec<(u64, ThreadId)>,
}

/// Returns the processes in the order of their ranks: that of MPI's locations, or else of the ids. Processes without an
/// MPI rank come last.
pub(crate) fn processes(definitions: &Definitions) -> Vec<Otf2Process> {
    let mut of_group: BTreeMap<u32, Vec<(u8, u64)>> = BTreeMap::new();
    let mut metrics_of: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (&id, location) in &definitions.locations {
        let group = definitions.location_groups.get(&location.group);
        // Streams belong to the process that uses their accelerator.
        let owner = match group {
            Some(group) if definitions.location_groups.contains_key(&group.creator) => {
                group.creator
            }
            _ => location.group,
        };
        if [CPU_THREAD, STREAM].contains(&location.kind) {
            of_group.entry(owner).or_default().push((location.kind, id));
        } else if location.kind == METRIC {
            metrics_of.entry(owner).or_default().push(id);
        }
    }
    let mut order: Vec<u32> = Vec::new();
    let of_mpi = definitions.mpi_locations().unwrap_or_default();
    let group_of = |id: &u64| definitions.locations.get(id).map(|it| it.group);
    let of_mpi = of_mpi.iter().filter_map(group_of);
    let is_process = |group: &u32| {
        let group = definitions.location_groups.get(group);
        group.is_none_or(|group| group.kind == PROCESS)
    };
    let others = of_group.keys().copied().filter(is_process);
    let others: Vec<u32> = others.collect();
    let mut known = BTreeSet::new();
    for group in of_mpi.chain(others) {
        if known.insert(group) {
            order.push(group);
        }
    }
    let process = |(rank, group): (u32, u32)| {
        let mut locations = of_group.get(&group).cloned().unwrap_or_default();
        locations.sort_unstable();
        let ids = locations.into_iter().map(|(_, id)| id);
        let threads = ids.zip((0..).map(ThreadId));
        let metrics = metrics_of.get(&group).into_iter().flatten();
        let metrics = metrics.map(|&id| (id, ThreadId(0)));
        Otf2Process {
            rank: RankId(rank),
            group,
            locations: threads.chain(metrics).collect(),
        }
    };
    (0..).zip(order).map(process).collect()
}

/// The ranks of the run for the members of all communicators.
#[derive(Debug, Default)]
pub(crate) struct CommunicatorRanks {
    of_communicator: BTreeMap<u32, Members>,
}

/// The members of a communicator, as ranks of the run.
#[derive(Debug)]
struct Members {
    /// The number of the communicator in tags.
    number: u32,
    own: Vec<u32>,
    /// Those of the other group, if it is between two.
    other: Option<Vec<u32>>,
}

impl CommunicatorRanks {
    /// Returns the partners of all communicators. The largest communicator has number 0, the others follow by id.
    pub(crate) fn new(definitions: &Definitions) -> Self {
        let mut of_communicator = BTreeMap::new();
        for (&id, communicator) in &definitions.communicators {
            let (own, other) = match *communicator {
                Communicator::Within(group) => (members(definitions, group), None),
                Communicator::Between(a, b) => {
                    (members(definitions, a), Some(members(definitions, b)))
                }
            };
            let number = 0;
            of_communicator.insert(id, Members { number, own, other });
        }
        let sizes = of_communicator
            .iter()
            .map(|(id, it)| (it.own.len(), Reverse(*id)));
        let world = sizes.max().map(|(_, Reverse(id))| id);
        let others = of_communicator
            .iter_mut()
            .filter(|(id, _)| Some(**id) != world);
        for (number, (_, members)) in (1..).zip(others) {
            members.number = number;
        }
        Self { of_communicator }
    }

    /// Returns the identity of a communicator in the whole run; `None` if it is not defined. Each process has its own
    /// communicator with itself alone.
    pub(crate) fn key(&self, communicator: u32, own: RankId) -> Option<u64> {
        let members = self.of_communicator.get(&communicator)?;
        let alone = if members.own.is_empty() {
            u64::from(own.0) + 1
        } else {
            0
        };
        Some(alone << 32 | u64::from(members.number))
    }

    /// Returns the number of a communicator, and the rank of the run for a rank in it, as process `own` sees it.
    pub(crate) fn find(&self, communicator: u32, rank: u32, own: RankId) -> (u32, RankId) {
        let Some(members) = self.of_communicator.get(&communicator) else {
            return (0, RankId(rank));
        };
        let partners = match &members.other {
            Some(other) if members.own.contains(&own.0) => other,
            _ => &members.own,
        };
        // A communicator with the process alone has no members.
        let found = if partners.is_empty() {
            Some(own.0)
        } else {
            let at = usize::try_from(rank).unwrap_or(usize::MAX);
            partners.get(at).copied()
        };
        (members.number, RankId(found.unwrap_or(rank)))
    }
}

/// Returns the members of a group of a communicator, as ranks of the run.
fn members(definitions: &Definitions, group: u32) -> Vec<u32> {
    let rank = |rank: &u64| u32::try_from(*rank).unwrap_or(u32::MAX);
    let of_group = definitions.group(group, group_type::COMM_GROUP);
    if let Some(ranks) = of_group {
        return ranks.iter().map(rank).collect();
    }
    let all = definitions.group(group, group_type::COMM_LOCATIONS);
    (0..).take(all.unwrap_or_default().len()).collect()
}
