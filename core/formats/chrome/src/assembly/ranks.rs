//! The rank of each process of a file.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::RankId;
use callgrove_source::rank_in_text;

use crate::events::FileFacts;
use crate::recorder::{EventRecorder, RowName, RowPlace};

/// The program that wrote a file, which determines the meaning of its processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TraceWriter {
    /// Kineto: one rank, whose processes are the program and its GPUs.
    Kineto,
    /// JAX: one rank, whose processes are the host and its GPUs.
    Jax,
    /// The profiler of PyTorch before Kineto: one rank, whose processes are the CPU and all GPUs.
    Autograd,
    /// Others: each process with calls is a rank.
    Other,
}

/// The ranks of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AssignedRanks {
    pub(crate) writer: TraceWriter,
    pub(crate) by_process: BTreeMap<RowName, RankId>,
    /// True if the file does not state the ranks.
    pub(crate) are_assumed: bool,
}

/// Prefixes of the names that JAX gives to processes.
const JAX_PROCESSES: [&str; 2] = ["/host:", DEVICE_PROCESS];
/// Prefix of the names that JAX gives to GPUs and TPUs.
const DEVICE_PROCESS: &str = "/device:";
/// Prefix of the names that JAX gives to the rows of streams. Other rows of a GPU show the same work by modules,
/// operations or lines of source, and may nest.
const JAX_STREAM: &str = "Stream";
/// The name of the process of operations on the CPU, by PyTorch before Kineto.
const CPU: &str = "CPU functions";
/// The name of the process of kernels, by PyTorch before Kineto.
pub(crate) const CUDA: &str = "CUDA functions";

impl AssignedRanks {
    /// Returns the ranks of the processes with calls. `assumed` is that of a file of one process that states none.
    pub(crate) fn of(recorder: &EventRecorder, facts: &FileFacts, assumed: RankId) -> Self {
        let rows = recorder.rows.list.iter().filter(|it| it.is_lane());
        let processes: BTreeSet<RowName> = rows.map(|it| recorder.rows.names(it.place).0).collect();
        let mut names: BTreeMap<_, _> = recorder.process_names.iter().cloned().collect();
        for process in &processes {
            // A process without a name may be named where others have a number.
            if let RowName::Text(index) = process
                && let Some(text) = recorder.rows.texts.get(*index)
            {
                names.entry(*process).or_insert_with(|| text.clone());
            }
        }
        let is_jax = |name: &String| JAX_PROCESSES.iter().any(|it| name.starts_with(it));
        let writer = if facts.is_of_kineto || recorder.is_of_kineto {
            TraceWriter::Kineto
        } else if names.values().any(is_jax) {
            TraceWriter::Jax
        } else if names.values().any(|it| [CPU, CUDA].contains(&it.as_str())) {
            TraceWriter::Autograd
        } else {
            TraceWriter::Other
        };
        if writer != TraceWriter::Other {
            let rank = facts.rank.map(RankId);
            let all = |process| (process, rank.unwrap_or(assumed));
            return Self {
                writer,
                by_process: processes.into_iter().map(all).collect(),
                are_assumed: rank.is_none(),
            };
        }
        let (ranks, are_assumed) = ranks_of(&processes, &names, assumed);
        Self {
            writer,
            by_process: processes.into_iter().zip(ranks).collect(),
            are_assumed,
        }
    }

    /// Returns the rank of a process; of one without calls, the only rank of the file.
    pub(crate) fn rank(&self, process: RowName) -> Option<RankId> {
        let only = || {
            let ranks: BTreeSet<_> = self.by_process.values().collect();
            (ranks.len() == 1).then(|| ranks.first().copied().copied())?
        };
        self.by_process.get(&process).copied().or_else(only)
    }
}

/// Returns the numbers of the GPUs among the processes of JAX.
pub(crate) fn jax_devices(recorder: &EventRecorder) -> BTreeMap<RowName, u64> {
    let names = recorder.process_names.iter();
    let devices: BTreeSet<_> = names
        .filter(|(_, name)| name.starts_with(DEVICE_PROCESS))
        .map(|(process, _)| *process)
        .collect();
    devices.into_iter().zip(0..).collect()
}

/// Returns the rows of GPUs that JAX does not name as streams.
pub(crate) fn jax_summaries(recorder: &EventRecorder) -> BTreeSet<RowPlace> {
    let names = recorder.thread_names.iter();
    let summaries = names.filter(|(_, name)| !name.starts_with(JAX_STREAM));
    let devices = jax_devices(recorder);
    let is_on_device = |place: &RowPlace| devices.contains_key(&recorder.rows.names(*place).0);
    summaries.map(|it| it.0).filter(is_on_device).collect()
}

/// Returns the rank of each process, and whether they are assumed: the ranks in their names if all have one, else their
/// numbers if these are 0 to the number of processes, else their order.
fn ranks_of(
    processes: &BTreeSet<RowName>,
    names: &BTreeMap<RowName, String>,
    assumed: RankId,
) -> (Vec<RankId>, bool) {
    let num = processes.len();
    let distinct = |ranks: Vec<u32>| {
        let are_distinct = ranks.iter().collect::<BTreeSet<_>>().len() == num;
        are_distinct.then(|| ranks.into_iter().map(RankId).collect::<Vec<_>>())
    };
    let named = processes.iter().map(|it| rank_in_text(names.get(it)?));
    if let Some(ranks) = named.collect::<Option<Vec<u32>>>().and_then(distinct) {
        return (ranks, false);
    }
    if num == 1 {
        return (vec![assumed], true);
    }
    let number = |process: &RowName| match process {
        RowName::Number(number) => u32::try_from(*number).ok(),
        RowName::Missing | RowName::Text(_) => None,
    };
    let are_small = |it: &Vec<u32>| {
        it.iter()
            .all(|rank| usize::try_from(*rank).is_ok_and(|it| it < num))
    };
    let numbers = processes.iter().map(number).collect::<Option<Vec<u32>>>();
    match numbers.filter(are_small).and_then(distinct) {
        Some(ranks) => (ranks, false),
        None => ((0..).take(num).map(RankId).collect(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_names_then_small_numbers_then_the_order() {
        let check = |processes: &[(i64, &str)], expected: (&[u32], bool)| {
            let number = |it: &(i64, &str)| RowName::Number(it.0);
            let names = processes.iter().map(|it| (number(it), it.1.to_owned()));
            let (ranks, are_assumed) = ranks_of(
                &processes.iter().map(number).collect(),
                &names.collect(),
                RankId(9),
            );
            let ranks: Vec<u32> = ranks.into_iter().map(|it| it.0).collect();
            assert_eq!((&ranks[..], are_assumed), expected);
        };
        check(&[(70, "MPI Rank 5"), (71, "rank=2")], (&[5, 2], false));
        check(&[(70, "Rank 5"), (71, "Rank 5")], (&[0, 1], true));
        check(&[(0, ""), (1, "")], (&[0, 1], false));
        check(&[(1, ""), (2, "")], (&[0, 1], true));
        check(&[(4711, "python")], (&[9], true));
        check(&[(4711, "rank_3")], (&[3], false));
    }
}
