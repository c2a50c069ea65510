//! The processes of an archive: their ranks, their threads, and the partners that ranks of communicators mean.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{RankId, ThreadId};

use crate::definitions::{Communicator, Definitions, group_type};

/// A group of locations that is a process.
const PROCESS: u8 = 1;
/// A location that is a thread.
pub(crate) const CPU_THREAD: u8 = 1;
/// A location that is a stream of an accelerator.
pub(crate) const STREAM: u8 = 2;

/// A process of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Process {
    pub(crate) rank: RankId,
    /// Its location group.
    pub(crate) group: u32,
    /// The locations of its threads, then of its streams, with their thread ids.
    pub(crate) locations: Vec<(u64, ThreadId)>,
}

/// Returns the processes in the order of their ranks: that of MPI's locations, or else of the ids. Processes without an
/// MPI rank come last.
pub(crate) fn processes(definitions: &Definitions) -> Vec<Process> {
    let mut of_group: BTreeMap<u32, Vec<(u8, u64)>> = BTreeMap::new();
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
        Process {
            rank: RankId(rank),
            group,
            locations: ids.zip((0..).map(ThreadId)).collect(),
        }
    };
    (0..).zip(order).map(process).collect()
}

/// The ranks that partners in communicators mean.
#[derive(Debug, Default)]
pub(crate) struct Partners {
    /// The members of each communicator, and those of the other group, as ranks of the run.
    of_communicator: BTreeMap<u32, (u32, Vec<u32>, Option<Vec<u32>>)>,
}

impl Partners {
    /// Returns the partners of all communicators. The largest communicator has number 0, the others follow by id.
    pub(crate) fn new(definitions: &Definitions) -> Self {
        let num_ranks = definitions.mpi_locations().unwrap_or_default().len();
        let members = |id: u32| -> Vec<u32> {
            if definitions.group(id, group_type::COMM_GROUP).is_none()
                && definitions.group(id, group_type::COMM_LOCATIONS).is_some()
            {
                return (0..num_ranks)
                    .filter_map(|rank| u32::try_from(rank).ok())
                    .collect();
            }
            let group = definitions.group(id, group_type::COMM_GROUP);
            let ranks = group.unwrap_or_default().iter();
            ranks
                .map(|rank| u32::try_from(*rank).unwrap_or(u32::MAX))
                .collect()
        };
        let mut all: Vec<(u32, Vec<u32>, Option<Vec<u32>>)> = Vec::new();
        for (&id, communicator) in &definitions.communicators {
            let (own, other) = match *communicator {
                Communicator::Within(group) => (members(group), None),
                Communicator::Between(a, b) => (members(a), Some(members(b))),
            };
            all.push((id, own, other));
        }
        let largest = all
            .iter()
            .map(|(_, own, _)| own.len())
            .max()
            .unwrap_or_default();
        let world = all.iter().position(|(_, own, _)| own.len() == largest);
        let mut next = 0;
        let numbered = all
            .into_iter()
            .enumerate()
            .map(|(index, (id, own, other))| {
                let number = if Some(index) == world {
                    0
                } else {
                    next += 1;
                    next
                };
                (id, (number, own, other))
            });
        Self {
            of_communicator: numbered.collect(),
        }
    }

    /// Returns the number of a communicator, and the rank of the run that a rank in it is, as process `own` sees it.
    pub(crate) fn find(&self, communicator: u32, rank: u32, own: RankId) -> (u32, RankId) {
        let Some((number, members, other)) = self.of_communicator.get(&communicator) else {
            return (0, RankId(rank));
        };
        let members = match other {
            Some(other) if members.contains(&own.0) => other,
            _ => members,
        };
        // A communicator with the process alone has no members.
        let found = if members.is_empty() {
            Some(own.0)
        } else {
            usize::try_from(rank)
                .ok()
                .and_then(|at| members.get(at).copied())
        };
        (*number, RankId(found.unwrap_or(rank)))
    }
}
