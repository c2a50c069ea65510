//! The rank of each process of a file.

use callgrove_model::{RankId, WarningKind, Warnings};

use crate::process::{ProcessKey, ProfiledProcess};

/// A process with its rank, or with the rank that it helps.
pub(crate) struct RankedProcess {
    pub(crate) rank: RankId,
    pub(crate) key: ProcessKey,
    pub(crate) process: ProfiledProcess,
}

/// The ranks of a file.
#[derive(Default)]
pub(crate) struct ProcessRanks {
    /// In the order of the ranks; of one rank the process itself comes before its helpers.
    pub(crate) processes: Vec<RankedProcess>,
    pub(crate) num_ranks: Option<u32>,
}

impl ProcessRanks {
    /// Decides the ranks of processes, which are in the order of their keys. Those that stay without one are left out,
    /// and counted.
    pub(crate) fn of(
        processes: Vec<(ProcessKey, ProfiledProcess)>,
        assumed: RankId,
        place: &str,
        warnings: &mut Warnings,
    ) -> Self {
        let has_events = |(_, process): &(ProcessKey, ProfiledProcess)| !process.is_empty();
        let processes: Vec<_> = processes.into_iter().filter(has_events).collect();
        let num_ranks = processes
            .iter()
            .filter_map(|(_, it)| it.facts.rank?.num_ranks);
        let num_ranks = num_ranks.max();
        let count = |is_one: fn(&ProfiledProcess) -> bool| {
            let is_one = |(_, process): &&(ProcessKey, ProfiledProcess)| is_one(process);
            processes.iter().filter(is_one).count()
        };
        let states_rank: fn(&ProfiledProcess) -> bool = |it| it.facts.rank.is_some();
        let uses_gpu: fn(&ProfiledProcess) -> bool = |it| it.uses_gpu;
        let all: fn(&ProfiledProcess) -> bool = |_| true;
        // One process that is a rank: the others help it, as those of a data loader do.
        let ranked = match (count(states_rank), count(uses_gpu)) {
            (1, _) => one(processes, states_rank, assumed, place, warnings),
            (0, 1) => one(processes, uses_gpu, assumed, place, warnings),
            (0, 0) => several(processes, all, assumed, place, warnings),
            (0, _) => several(processes, uses_gpu, assumed, place, warnings),
            _ => several(processes, states_rank, assumed, place, warnings),
        };
        Self {
            processes: ranked,
            num_ranks,
        }
    }
}

/// Returns all processes as one rank, the one that `is_rank` first.
fn one(
    mut processes: Vec<(ProcessKey, ProfiledProcess)>,
    is_rank: fn(&ProfiledProcess) -> bool,
    assumed: RankId,
    place: &str,
    warnings: &mut Warnings,
) -> Vec<RankedProcess> {
    processes.sort_by_key(|(_, process)| !is_rank(process));
    let stated = processes.first().and_then(|(_, it)| it.facts.rank);
    let rank = stated.map_or(assumed, |it| RankId(it.rank));
    if stated.is_none() {
        warnings.count(WarningKind::RankAssumed, Some(rank), || place.to_owned());
    }
    let ranked = processes
        .into_iter()
        .map(|(key, process)| RankedProcess { rank, key, process });
    ranked.collect()
}

/// Returns the processes that `is_rank`, each as a rank: the one that it states, or else in their order.
fn several(
    processes: Vec<(ProcessKey, ProfiledProcess)>,
    is_rank: fn(&ProfiledProcess) -> bool,
    assumed: RankId,
    place: &str,
    warnings: &mut Warnings,
) -> Vec<RankedProcess> {
    let num = processes.iter().filter(|(_, it)| is_rank(it)).count();
    let num = u32::try_from(num).unwrap_or(u32::MAX);
    // The files of a run have as many processes each.
    let mut next = assumed.0.saturating_mul(num).min(u32::MAX - num);
    let mut known = std::collections::BTreeSet::new();
    let mut ranked = Vec::new();
    for (key, process) in processes {
        let of_process = || format!("process {}: {place}", key.pid);
        if !is_rank(&process) {
            let num_calls = process.num_calls;
            warnings.count_many(WarningKind::OtherRank, None, num_calls.max(1), of_process);
            continue;
        }
        let stated = process.facts.rank.map(|stated| RankId(stated.rank));
        let rank = stated.unwrap_or_else(|| {
            next += 1;
            RankId(next - 1)
        });
        if stated.is_none() {
            warnings.count(WarningKind::RankAssumed, Some(rank), of_process);
        }
        if known.insert(rank) {
            ranked.push(RankedProcess { rank, key, process });
        } else {
            warnings.count(WarningKind::OtherRank, Some(rank), of_process);
        }
    }
    ranked
}
