//! The processes of a trace, and their ranks.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{RankId, WarningKind, Warnings};
use callgrove_source::rank_in_text;

use super::track::TrackTable;

/// Maximum number of tracks from one to its process. A cycle of parents ends there, too.
const MAX_PARENTS: usize = 64;

/// A process of a trace.
#[derive(Debug, Default)]
pub(crate) struct TracedProcess {
    pub(crate) pid: Option<i64>,
    pub(crate) command_line: Option<String>,
    /// The rank that the name of the process or of one of its threads states.
    stated_rank: Option<u32>,
    /// True if it has slices, messages or counters.
    has_events: bool,
    pub(crate) rank: RankId,
    /// True if the trace states the rank.
    pub(crate) has_rank: bool,
    /// True if Callgrove wrote it, so that its number is not that of the system.
    pub(crate) is_own: bool,
}

/// The processes of a trace, and that of each track.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    pub(crate) all: Vec<TracedProcess>,
    /// Index of the process of each track.
    pub(crate) of_track: Vec<usize>,
    by_key: BTreeMap<ProcessKey, usize>,
    /// The rank that the name of each track of a process states.
    in_names: BTreeMap<usize, Option<u32>>,
}

/// The identity of a process. Processes of several hosts may have the same number, but then they state ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ProcessKey {
    Pid(i64, Option<u32>),
    Track(usize),
    /// Of tracks without a process.
    None,
}

impl Processes {
    /// Returns the processes of the tracks.
    pub(crate) fn of(tracks: &TrackTable) -> Self {
        let mut processes = Self::default();
        for index in 0..tracks.tracks.len() {
            let process = processes.process_of(tracks, index);
            processes.of_track.push(process);
        }
        for (track, process) in tracks.tracks.iter().zip(&processes.of_track) {
            let name = track.thread.as_ref().and_then(|it| it.name.as_deref());
            if let Some(process) = processes.all.get_mut(*process) {
                process.stated_rank = process.stated_rank.or(name.and_then(rank_in_text));
                process.is_own |= track.own.is_some();
            }
        }
        processes
    }

    fn process_of(&mut self, tracks: &TrackTable, index: usize) -> usize {
        let (process, pid) = process_above(tracks, index);
        let process = process.or_else(|| pid.and_then(|pid| tracks.find_process(pid)));
        let track = process.and_then(|it| tracks.tracks.get(it));
        let facts = track.and_then(|it| it.process.as_ref());
        let stated = process.and_then(|it| self.rank_in_name(tracks, it));
        let pid = facts.and_then(|it| it.pid).or(pid);
        let key = match (pid, process) {
            (Some(pid), _) => ProcessKey::Pid(pid, stated),
            (None, Some(track)) => ProcessKey::Track(track),
            (None, None) => ProcessKey::None,
        };
        let processes = &mut self.all;
        let number = *self.by_key.entry(key).or_insert_with(|| {
            processes.push(TracedProcess {
                pid,
                stated_rank: stated,
                ..TracedProcess::default()
            });
            processes.len() - 1
        });
        if let Some(process) = processes.get_mut(number)
            && process.command_line.is_none()
        {
            process.command_line = facts.and_then(|it| it.command_line.clone());
        }
        number
    }

    /// Returns the rank that the name of a track of a process states.
    fn rank_in_name(&mut self, tracks: &TrackTable, index: usize) -> Option<u32> {
        let track = tracks.tracks.get(index)?;
        *self.in_names.entry(index).or_insert_with(|| {
            let name = track.process.as_ref().and_then(|it| it.name.as_deref());
            name.or(track.name.as_deref()).and_then(rank_in_text)
        })
    }

    /// Returns the process of a track.
    pub(crate) fn get(&self, track: usize) -> Option<&TracedProcess> {
        self.all.get(*self.of_track.get(track)?)
    }

    /// States that a track has events.
    pub(crate) fn mark(&mut self, track: usize) {
        let process = self.of_track.get(track);
        if let Some(process) = process.and_then(|it| self.all.get_mut(*it)) {
            process.has_events = true;
        }
    }

    /// Assigns ranks to the processes with events: those that they state; their numbers, if these are those of ranks;
    /// else their order. A single process without a rank has that of its file. Tracks without a process belong to that
    /// of the lowest rank.
    pub(crate) fn assign_ranks(&mut self, of_file: RankId, file: &str, warnings: &mut Warnings) {
        let without_process = self.by_key.get(&ProcessKey::None).copied();
        let mut order: Vec<usize> = (0..self.all.len())
            .filter(|it| Some(*it) != without_process)
            .filter(|it| self.all.get(*it).is_some_and(|it| it.has_events))
            .collect();
        order.sort_by_key(|it| self.all.get(*it).map(|it| (it.pid, it.stated_rank)));
        let ranks = self.ranks_of(&order, of_file, file, warnings);
        for (process, rank) in order.iter().zip(&ranks) {
            if let Some(process) = self.all.get_mut(*process) {
                process.rank = *rank;
                process.has_rank = true;
            }
        }
        if let Some(process) = without_process.and_then(|it| self.all.get_mut(it)) {
            if ranks.is_empty() && process.has_events {
                assumed(warnings, of_file, file);
            }
            process.rank = ranks.iter().min().copied().unwrap_or(of_file);
            process.has_rank = true;
        }
    }

    fn ranks_of(
        &self,
        order: &[usize],
        of_file: RankId,
        file: &str,
        warnings: &mut Warnings,
    ) -> Vec<RankId> {
        let processes = order.iter().filter_map(|it| self.all.get(*it));
        let stated: Vec<Option<u32>> = processes.clone().map(|it| it.stated_rank).collect();
        let mut taken = BTreeSet::new();
        // The first of two that state the same rank has it.
        let stated = stated
            .into_iter()
            .map(|rank| rank.filter(|it| taken.insert(*it)));
        let stated: Vec<Option<u32>> = stated.collect();
        if stated.iter().all(Option::is_none) {
            if order.len() == 1 {
                assumed(warnings, of_file, file);
                return vec![of_file];
            }
            let pids = processes.map(|it| it.pid);
            if pids.zip(0..).all(|(pid, rank)| pid == Some(rank)) {
                let ranks = (0..).take(order.len());
                return ranks.map(RankId).collect();
            }
        }
        let mut free = (0..).filter(|it| !taken.contains(it));
        let ranks = stated.into_iter().map(|rank| {
            let rank = rank.map(RankId);
            rank.unwrap_or_else(|| {
                let rank = RankId(free.next().unwrap_or_default());
                assumed(warnings, rank, file);
                rank
            })
        });
        ranks.collect()
    }
}

fn assumed(warnings: &mut Warnings, rank: RankId, file: &str) {
    let place = || file.to_owned();
    warnings.count(WarningKind::RankAssumed, Some(rank), place);
}

/// Returns the process track above a track, or the number of the process of its thread.
fn process_above(tracks: &TrackTable, index: usize) -> (Option<usize>, Option<i64>) {
    let (mut next, mut pid) = (Some(index), None);
    for _ in 0..MAX_PARENTS {
        let Some(index) = next else {
            break;
        };
        let Some(track) = tracks.tracks.get(index) else {
            break;
        };
        if track.process.is_some() {
            return (Some(index), pid);
        }
        let thread = track.thread.as_ref().map(|it| it.pid);
        pid = pid.or(thread).or(track.owner);
        next = track.parent.and_then(|uuid| tracks.find(uuid));
    }
    (None, pid)
}
